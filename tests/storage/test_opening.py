"""Opening: what is refused and left alone, what is taken over, and what a power cut has torn."""

import json
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rememberer.errors import StoreError, WrongStore
from storage import LanceStore
from tests.storage.conftest import MODEL, Child, episode, event, experience, open_store, says, tell

OTHER = "another-model"


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _filled(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        store.append(episode())
        store.put_experiences("me", [experience()], 0)
        store.put_vectors("me", {"text": np.ones(3, np.float32)})


def test_what_was_stored_is_there_again(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down" / "memory"
    _filled(folder)
    with closing(open_store(folder)) as store:
        assert len(store.events("me")) == len(episode())
        assert store.experiences("me") == [experience()]
        assert store.vectors("me")["text"].tolist() == [1, 1, 1]
        assert store.users() == ["me"]


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.txt").write_text("photos")
    with pytest.raises(WrongStore, match=r"no memory of this program: it has no store\.json but holiday\.txt"):
        open_store(tmp_path)
    assert _content(tmp_path) == {"holiday.txt": b"photos"}


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(WrongStore, match="is a file; a folder was expected"):
        open_store(tmp_path / "file")


def test_another_schema_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    _filled(tmp_path / "memory")
    mark = tmp_path / "memory" / "store.json"
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"schema_version": 7}))
    before = _content(tmp_path)
    with pytest.raises(WrongStore, match=r"schema version 7, and this program reads up to 2\. Nothing was changed"):
        open_store(tmp_path / "memory")
    assert _content(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": "?"}'])
def test_a_spoilt_store_json_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    _filled(tmp_path / "memory")
    (tmp_path / "memory" / "store.json").write_text(text)
    with pytest.raises(WrongStore, match=r"store\.json cannot be read"):
        open_store(tmp_path / "memory")


def test_another_embedding_model_is_refused_until_one_asks_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    _filled(folder)
    before = _content(folder)
    with pytest.raises(WrongStore, match=f"'{MODEL}'.*'{OTHER}'.*rememberer memory rebuild"):
        LanceStore(folder, embedding_model=OTHER)
    assert _content(folder) == before
    with closing(LanceStore(folder, embedding_model=OTHER, reembed=True)) as store:
        assert store.vectors("me") == {}
        assert len(store.events("me")) == len(episode())
        store.put_vectors("me", {"text": np.zeros(5, np.float32)})
    with closing(LanceStore(folder, embedding_model=OTHER)) as store:
        assert store.vectors("me")["text"].shape == (5,)
    with pytest.raises(WrongStore):
        open_store(folder)


def test_the_same_model_again_keeps_its_embeddings(tmp_path: Path) -> None:
    _filled(tmp_path / "memory")
    with closing(LanceStore(tmp_path / "memory", embedding_model=MODEL, reembed=True)) as store:
        assert list(store.vectors("me")) == ["text"]


def test_who_still_has_the_old_model_cannot_mix_its_embeddings_in(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    _filled(folder)
    with (
        closing(open_store(folder)) as old,
        closing(LanceStore(folder, embedding_model=OTHER, reembed=True)) as new,
    ):
        with pytest.raises(WrongStore, match="rememberer memory rebuild"):
            old.put_vectors("me", {"more": np.ones(3, np.float32)})
        with pytest.raises(WrongStore):
            old.vectors("me")
        assert new.vectors("me") == {}


def test_embeddings_of_another_length_are_refused_and_nothing_is_stored(lance: LanceStore) -> None:
    lance.put_vectors("me", {"text": np.ones(3, np.float32)})
    with pytest.raises(WrongStore, match="another length"):
        lance.put_vectors("me", {"more": np.ones(4, np.float32)})
    with pytest.raises(StoreError, match="one length each"):
        lance.put_vectors("me", {"more": np.ones(3, np.float32), "most": np.ones(4, np.float32)})
    assert list(lance.vectors("me")) == ["text"]


@pytest.mark.parametrize("left", [[], ["writing.lock", "maintenance.lock"], ["store.json.part"]])
def test_a_store_whose_making_was_cut_short_is_made(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).touch()
    _filled(tmp_path)
    with closing(open_store(tmp_path)) as store:
        assert len(store.events("me")) == len(episode())


def test_a_table_whose_making_was_cut_short_is_made(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)):
        pass
    shutil.rmtree(tmp_path / "log.lance")
    (tmp_path / "log.lance" / "_transactions").mkdir(parents=True)
    _filled(tmp_path)
    with closing(open_store(tmp_path)) as store:
        assert len(store.events("me")) == len(episode())


def test_two_who_make_the_store_at_once_both_have_it(tmp_path: Path, child: Callable[..., Child]) -> None:
    both = [child("open"), child("open")]
    for each in both:
        assert says(each) == "ready"
    for number in range(5):
        folder = tmp_path / str(number)
        for each in both:
            tell(each, folder)
        for each in both:
            assert says(each) == "done"
        with closing(open_store(folder)) as store:
            assert [each.seq for each in store.events("me")] == [0, 1]


def _newest_manifest(folder: Path) -> Path:
    return min((folder / "log.lance" / "_versions").glob("*.manifest"))


def _newest_data(folder: Path) -> Path:
    return max((folder / "log.lance" / "data").glob("*.lance"), key=lambda path: path.stat().st_mtime_ns)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [_empty, _zeros, _half])
@pytest.mark.parametrize("newest", [_newest_manifest, _newest_data])
def test_a_write_that_a_power_cut_tore_is_set_aside_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None], newest: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store:
        first, second = store.append([event()]), store.append([event()])
        store.append([event()])
    damage(newest(folder))
    with caplog.at_level(logging.WARNING), closing(open_store(folder)) as store:
        assert "did not reach the disk" in caplog.text
        assert store.events("me") == first + second
        (again,) = store.append([event()])
        assert again.seq == 2
    caplog.clear()
    with caplog.at_level(logging.WARNING), closing(open_store(folder)) as store:
        assert store.events("me") == [*first, *second, again]
        assert not caplog.text


def test_what_was_compacted_beside_a_torn_write_is_set_aside_with_it(tmp_path: Path) -> None:
    """To compact is two versions: one that reserves numbers, and one that joins. Both list the file that is torn."""
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store:
        first = store.append([event()])
        store.append([event()])
        torn = _newest_data(folder)
        for _ in range(2):  # versions that add no row, as those two
            store._log.files.lance().delete("seq = 99")
    _half(torn)
    with closing(open_store(folder)) as store:
        assert store.events("me") == first


def test_a_log_that_is_damaged_beyond_that_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store:
        for _ in range(3):
            store.append([event()])
    for path in (folder / "log.lance" / "data").iterdir():
        _zeros(path)
    before = _content(folder)
    with pytest.raises(StoreError, match="damaged beyond its newest versions, so nothing was changed"):
        open_store(folder)
    assert _content(folder) == before


def test_a_log_without_its_versions_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    _filled(tmp_path / "memory")
    for path in (tmp_path / "memory" / "log.lance" / "_versions").iterdir():
        path.unlink()
    with pytest.raises(StoreError):
        open_store(tmp_path / "memory").append([event()])
    assert any((tmp_path / "memory" / "log.lance" / "data").iterdir())


def test_a_closed_store_says_so(lance: LanceStore) -> None:
    lance.append([event()])
    lance.close()
    for use in (
        lambda: lance.append([event()]),
        lambda: lance.events("me"),
        lambda: lance.drop_vectors("me"),
        lance.users,
        lance.forget_files,
        lance.stats,
    ):
        with pytest.raises(StoreError, match=r"was closed\. Open it again"):
            use()


def test_an_event_that_is_not_there_cannot_be_replaced(lance: LanceStore) -> None:
    stored = lance.append([event("me"), event("you")])
    with pytest.raises(StoreError, match="Nothing was replaced"):
        lance.replace("me", stored, event())
    assert lance.events("me") == stored[:1]
