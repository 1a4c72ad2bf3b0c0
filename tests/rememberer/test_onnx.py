"""The default encoder exported to ONNX: the same vectors, without torch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from rememberer import onnx_encoder
from rememberer.embedding import SentenceEncoder, bundled
from rememberer.onnx_export import export

TEXTS = [
    "a red shoe",
    "",
    " \n\t",
    "half \ud83e a pair, and \0 nothing",
    "买一双红色的鞋",
    "کفش قرمز بخر",
    "Straßenschuhe für müde Füße 👟👟🏽",
    "search[red shoe] click[buy now] <b>&amp;</b> '; drop table",
    "word " * 2000,
    *(f"page {n} of {n * n} shoes" + " with laces" * n for n in range(60)),
]


def test_it_gives_the_same_vectors_and_the_same_nearest(exported: Path) -> None:
    with_torch, without = SentenceEncoder().encode(TEXTS), SentenceEncoder(exported=exported).encode(TEXTS)
    assert without.dtype == np.float32
    assert (with_torch * without).sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert np.abs(with_torch - without).max() < 1e-5
    for one, other in zip(with_torch @ with_torch.T, without @ without.T, strict=True):
        wanted = np.argsort(-one, kind="stable")[:10]
        assert other[np.argsort(-other, kind="stable")[:10]] == pytest.approx(one[wanted], abs=1e-5)


def test_alone_a_text_has_the_vector_that_it_has_among_others(exported: Path) -> None:
    encoder = SentenceEncoder(exported=exported)
    together = encoder.encode(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert encoder.encode([text])[0] == pytest.approx(row, abs=1e-5)
    assert encoder.encode([]).shape == (0, 384)


def test_it_loads_without_torch(exported: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rememberer.embedding import SentenceEncoder;"
        f"SentenceEncoder(exported=Path({str(exported)!r})).encode(['a red shoe']);"
        "print({'torch', 'transformers', 'sentence_transformers'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_what_is_there_is_not_made_again(exported: Path) -> None:
    assert export(exported) is None


def test_two_processes_make_it_once(tmp_path: Path) -> None:
    with FileLock(tmp_path / "export.lock"):
        assert export(tmp_path) is None
    assert not list(tmp_path.glob("*.onnx"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that an export was asked for, which does not happen."""
    folders: list[Path] = []
    monkeypatch.setattr(onnx_encoder, "export_in_background", folders.append)
    return folders


def test_until_it_is_there_torch_answers_and_it_is_made_in_the_background(tmp_path: Path, asked: list[Path]) -> None:
    encoder = SentenceEncoder(exported=tmp_path / "not there yet")
    assert np.linalg.norm(encoder.encode(["a red shoe"])[0]) == pytest.approx(1, abs=1e-5)
    encoder.encode(["a blue shoe"])
    assert asked == [tmp_path / "not there yet"]


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_file_is_made_anew(
    exported: Path, tmp_path: Path, asked: list[Path], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    (whole,) = exported.glob("*.onnx")
    content = bytearray(whole.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 1
    broken = tmp_path / whole.name
    broken.write_bytes(content)
    assert SentenceEncoder(exported=tmp_path).encode(["a red shoe"]).shape == (1, 384)
    assert asked == [tmp_path]
    assert not broken.exists()
    assert f"{broken} is damaged. It is removed, and made anew." in caplog.text


def test_a_damaged_file_that_cannot_be_removed_stops_nobody(
    exported: Path, tmp_path: Path, asked: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    (whole,) = exported.glob("*.onnx")
    (tmp_path / whole.name).mkdir()  # not even root can read it as a file, or unlink it
    assert SentenceEncoder(exported=tmp_path).encode(["a red shoe"]).shape == (1, 384)
    assert "cannot be used: [Errno 21] Is a directory" in caplog.text


def test_what_a_killed_export_left_is_removed_by_the_next(exported: Path, tmp_path: Path) -> None:
    (whole,) = exported.glob("*.onnx")
    (tmp_path / whole.name).hardlink_to(whole)
    (tmp_path / whole.name.replace(".onnx", ".part")).write_bytes(b"half of it")
    assert export(tmp_path) is None
    assert not list(tmp_path.glob("*.part"))


def test_another_model_is_never_looked_for_there(tmp_path: Path, asked: list[Path]) -> None:
    encoder = SentenceEncoder(str(bundled()), exported=tmp_path)
    encoder.encode(["a red shoe"])
    assert asked == []
