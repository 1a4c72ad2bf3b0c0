"""That a commit outlives a power cut: everything that makes it up was synced before it was acknowledged."""

import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from storage.durability import write_durably
from tests.storage.conftest import episode, event, experience, open_store


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """Everything that was synced so far, in this process."""
    if not sys.platform.startswith("linux"):
        pytest.skip("which file a descriptor belongs to is asked of Linux's /proc")
    seen: set[Path] = set()
    fsync = os.fsync

    def spy(descriptor: int) -> None:
        fsync(descriptor)
        seen.add(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", spy)
    return seen


def _unsynced(folder: Path, synced: set[Path]) -> set[str]:
    """Files and folders that a power cut may take. What LanceDB writes as a mere hint may be lost, and so may locks."""
    written_aside = {path.with_suffix("") for path in synced if path.suffix == ".part"}
    content = {path for path in folder.rglob("*") if path.suffix != ".lock" and "hint" not in path.name}
    return {str(path.relative_to(folder)) for path in content - synced - written_aside}


def test_every_file_and_folder_of_a_commit_is_synced_before_it_is_acknowledged(
    tmp_path: Path, synced: set[Path]
) -> None:
    with closing(open_store(tmp_path)) as store:
        assert _unsynced(tmp_path, synced) == set()
        assert tmp_path in synced
        assert tmp_path / "store.json.part" in synced
        stored = []
        for change in (
            lambda: stored.extend(store.append(episode())),
            lambda: store.put_experiences("me", [experience(), experience("another")], 0),
            lambda: store.put_experiences("me", [experience(q=1.0)], 1),
            lambda: store.drop_experiences("me", [experience("another").key]),
            lambda: store.replace("me", stored[:1], event()),
            store.forget_files,
        ):
            change()
            assert _unsynced(tmp_path, synced) == set()


@pytest.mark.parametrize("blink", [0.0, 10.0])
def test_what_maintenance_joins_is_synced_before_it_removes_what_it_joined(
    tmp_path: Path, synced: set[Path], monkeypatch: pytest.MonkeyPatch, blink: float
) -> None:
    monkeypatch.setattr("storage.maintenance._BLINK", blink)
    removals: list[set[Path]] = []
    with closing(open_store(tmp_path)) as store:
        table = store._log
        optimize: Callable[..., None] = table._optimize

        def watch(*arguments: object, **more: object) -> None:
            before, safe = set(table.files.path.rglob("*.lance")), set(synced)
            optimize(*arguments, **more)
            left = set(table.files.path.rglob("*.lance"))
            if before - left:
                removals.append(left - safe)

        monkeypatch.setattr(table, "_optimize", watch)
        for _ in range(120):
            store.append([event()])
    assert removals
    assert not any(removals)
    assert _unsynced(tmp_path, synced) == set()


def test_a_file_is_written_wholly_or_not_at_all(tmp_path: Path, synced: set[Path]) -> None:
    file = tmp_path / "file"
    write_durably(file, ["one\n", "two\n"])
    assert file.read_text() == "one\ntwo\n"
    assert {tmp_path, tmp_path / "file.part"} <= synced
    with pytest.raises(ZeroDivisionError):
        write_durably(file, (str(1 // (2 - number)) for number in range(4)))
    assert file.read_text() == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [file]
