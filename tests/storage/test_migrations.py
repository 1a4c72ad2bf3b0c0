"""A folder that an older version of the program wrote becomes one of this version, once, and loses nothing."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rememberer.errors import StoreError, WrongStore
from rememberer.events import Imported, ImportedAction, Pinned
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.store import InMemoryStore
from storage import LanceStore, migrations
from storage.schema import STORE_VERSION
from tests.rememberer.encoders import WordEncoder
from tests.storage.conftest import MODEL, episode, event, open_store, state
from tests.storage.version1 import write_version_1

QUERY = state("page 1", "buy a red shoe")


@pytest.fixture
def before() -> Memory:
    """A memory that has all there is: episodes, labels, a rejection, an import, a pin."""
    store = InMemoryStore()
    rows = (ImportedAction(action="click[buy]", q=0.5, visits=3),)
    store.append([*episode(name="one", steps=3), *episode(name="two", task="buy a lamp")])
    store.append([event(body=Imported(state=state("from a file"), actions=rows, source="pool"))])
    store.append([event(body=Pinned(key=state("from a file").key))])
    return Memory(store, encoder=WordEncoder(), tables=lambda env: None)


@pytest.fixture
def old(tmp_path: Path, before: Memory) -> Path:
    """The same memory in a folder of version 1."""
    folder = tmp_path / "memory"
    vectors = before.encoder.encode([QUERY.task])
    events = before.store.events("me")
    write_version_1(folder, MODEL, "me", events, before.experiences(), {QUERY.task: vectors[0]})
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _is_whole(store: LanceStore, before: Memory) -> bool:
    after = Memory(store, encoder=WordEncoder(), tables=lambda env: None)
    assert store.events("me") == before.store.events("me")
    assert after.experiences() == before.experiences() == list(Learner(store.events("me")).experiences())
    assert store.experiences("me") == before.experiences()
    assert after.retrieve(QUERY, 100) == before.retrieve(QUERY, 100)
    assert after.labels("one") == before.labels("one") == {1: -0.5}
    assert store.page("me", words=["lamp"]) == before.store.page("me", words=["lamp"])
    assert list(store.vectors("me")) == [QUERY.task]
    return True


def test_version_1_is_taken_over_once_and_its_log_stays_as_it_is(old: Path, before: Memory) -> None:
    log = _content(old / "log.lance")
    with closing(open_store(old)) as store:
        assert _is_whole(store, before)
    assert _content(old / "log.lance") == log
    assert not (old / "experiences.lance").exists()
    told = json.loads((old / "store.json").read_text())
    assert (told["schema_version"], told["embedding_model"]) == (STORE_VERSION, MODEL)
    assert told["migrations"] == [each.name for each in migrations.MIGRATIONS]
    mark = old / "experiences.lance" / "mark"
    mark.parent.mkdir()
    mark.touch()
    with closing(open_store(old)) as store:
        assert _is_whole(store, before)
    assert mark.exists()  # it does not run again


def test_a_new_folder_needs_none(tmp_path: Path) -> None:
    with closing(open_store(tmp_path)):
        told = json.loads((tmp_path / "store.json").read_text())
        assert (told["schema_version"], told["migrations"]) == (STORE_VERSION, [])


remove = shutil.rmtree


def _half(folder: Path, **_: object) -> None:
    remove(folder / "data")
    raise OSError("killed")


def _wholly(folder: Path, **_: object) -> None:
    remove(folder)
    raise OSError("killed")


def _not(folder: Path, **_: object) -> None:
    raise OSError("killed")


@pytest.mark.parametrize("dies", [_not, _half, _wholly])
def test_a_migration_that_was_cut_short_is_finished_at_the_next_opening(
    old: Path, before: Memory, monkeypatch: pytest.MonkeyPatch, dies: Callable[[Path], None]
) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(shutil, "rmtree", dies)
        with pytest.raises(StoreError, match="killed"):
            open_store(old)
    assert json.loads((old / "store.json").read_text())["schema_version"] == 1
    with closing(open_store(old)) as store:
        assert _is_whole(store, before)
    assert not (old / "experiences.lance").exists()


def test_what_is_refused_is_not_migrated(old: Path) -> None:
    before = _content(old)
    with pytest.raises(WrongStore, match="another-model"):
        LanceStore(old, embedding_model="another-model")
    assert _content(old) == before


def test_another_model_and_an_older_version_at_once(old: Path, before: Memory) -> None:
    with closing(LanceStore(old, embedding_model="another-model", reembed=True)) as store:
        assert store.vectors("me") == {}
        Memory(store, encoder=WordEncoder(), tables=lambda env: None)
        assert store.experiences("me") == before.experiences()
    told = json.loads((old / "store.json").read_text())
    assert (told["schema_version"], told["embedding_model"]) == (STORE_VERSION, "another-model")
