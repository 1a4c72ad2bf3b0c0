"""The doctor: real stores, each broken in one way, are reported and mended, and the log keeps every event."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from rememberer.learning import Learner
from rememberer.memory import Memory
from storage import LanceStore
from storage.doctor import examine, mend
from storage.schema import fingerprint, log_rows
from tests.rememberer.encoders import WordEncoder
from tests.storage.conftest import episode, event, experience, open_store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two users' memories, with embeddings."""
    folder = tmp_path_factory.mktemp("made") / "memory"
    with closing(open_store(folder)) as store:
        for user in ("me", "you"):
            memory = Memory(store, user, WordEncoder(), tables=lambda env: None)
            store.append([*episode(user, "one", steps=3), *episode(user, "two", task="buy a lamp")])
            memory.page()
            memory.retrieve(memory.experiences()[0].state)
            memory.embed()
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Iterator[LanceStore]:
    shutil.copytree(made, tmp_path / "memory")
    with closing(open_store(tmp_path / "memory")) as copy:
        yield copy


def _found(store: LanceStore) -> list[str]:
    return [each.text for each in examine(store, lambda told: None)]


def _duplicate(table: str) -> Callable[[LanceStore], object]:
    def damage(store: LanceStore) -> None:
        lance = next(each for each in store._tables if each.name == table).files.lance()
        rows = lance.search().where(f"user = '{fingerprint('me')}'").to_arrow()
        lance.add(rows.slice(0, 1))

    return damage


def _delete(table: str, where: str) -> Callable[[LanceStore], object]:
    return lambda store: next(each for each in store._tables if each.name == table).files.lance().delete(where)


def _renumber(store: LanceStore, old: int, new: int) -> None:
    """An event of mine as another program would have numbered it."""
    events = store.events("me")
    store._log.files.lance().delete(f"user = '{fingerprint('me')}' AND seq = {old}")
    store._log.files.lance().add(log_rows([events[old].model_copy(update={"seq": new})]))


def _vector(store: LanceStore) -> NDArray[np.float32]:
    return store.vectors("me").popitem()[1]


ME = f"user = '{fingerprint('me')}'"
STRAY = experience("of nothing that the log knows")

BREAKS: dict[str, tuple[str, Callable[[LanceStore], object]]] = {
    "number twice": ("me: numbers of the log that were given twice: 1 (3)", lambda store: _renumber(store, 4, 3)),
    "number missing": ("me: numbers of the log that are missing: 2 (5, 14)", lambda store: _renumber(store, 5, 15)),
    "first missing": ("me: numbers of the log that are missing: 1 (0)", lambda store: _renumber(store, 0, 14)),
    "event twice": ("me: events that are in the log once more: 1", _duplicate("log")),
    "state twice": ("me: rows of states that are there twice: 1", _duplicate("states")),
    "values twice": ("me: rows of values that are there twice: 1", _duplicate("values")),
    "state lost": ("me: rows of values without a state: 5", _delete("states", ME)),
    "values lost": ("me: rows of states without values: 5", _delete("values", ME)),
    "view lost": (
        "me: experiences that the view has not as the log has them: 5 (",
        lambda store: store.drop_experiences("me"),
    ),
    "old row": (
        "me: experiences that the view has not as the log has them: 1 (",
        lambda store: store.put_experiences(
            "me", [store.experiences("me")[0].model_copy(update={"visits": 99})], len(store.events("me")) - 1
        ),
    ),
    "stray row": (
        "me: rows of the view of nothing that the log knows: 1",
        lambda store: store.put_experiences("me", [STRAY], store.view_seq("me")),
    ),
    "ahead": ("me: the view claims to be ahead of the log", lambda store: store.put_experiences("me", [], 99)),
    "strange states": (
        "Rows of states of somebody who has no log: 1",
        lambda store: store.put_experiences("nobody", [STRAY], 0),
    ),
    "strange embedding": (
        "Rows of vectors of somebody who has no log: 1",
        lambda store: store.put_vectors("nobody", {"text": _vector(store)}),
    ),
    "lost embedding": (
        "me: embeddings of texts that the log does not have: 1",
        lambda store: store.put_vectors("me", {"of nowhere": _vector(store)}),
    ),
    "left over": ("Left over: experiences.lance", lambda store: (store.place.path / "experiences.lance").mkdir()),
    "half a file": ("Left over: store.json.part", lambda store: (store.place.path / "store.json.part").touch()),
    "set aside": (
        "Unreadable files that were set aside: 1 (log-1.manifest)",
        lambda store: (
            (store.place.path / "set-aside").mkdir(),
            (store.place.path / "set-aside" / "log-1.manifest").touch(),
        ),
    ),
    "unforgotten": (
        "Something was forgotten and is still in old files",
        lambda store: (store.place.path / "forgetting-unfinished").write_text(f"{fingerprint('me')} 3\n"),
    ),
}


def test_a_store_that_is_well_is_told_so_and_counted(store: LanceStore) -> None:
    told: list[str] = []
    assert examine(store, told.append) == []
    assert "me: events 14, experiences 5" in told
    assert "you: events 14, experiences 5" in told
    assert any(line.split()[:3] == ["log", "28", "rows"] for line in told)


@pytest.mark.parametrize("what", BREAKS)
def test_what_is_broken_is_reported_and_mended(store: LanceStore, what: str) -> None:
    words, damage = BREAKS[what]
    log = [each.model_copy(update={"seq": -1}) for each in store.events("me")]
    yours = store.events("you"), store.experiences("you"), store.vectors("you").keys()
    damage(store)
    assert any(each.startswith(words) for each in _found(store)), _found(store)
    told: list[str] = []
    while found := [each for each in examine(store, lambda told: None) if each.mend]:
        mend(store, found, told.append)
        assert len(told) < 9
    assert _found(store) == []
    assert told
    events = store.events("me")
    assert sorted(each.id for each in events) == sorted(each.id for each in log)
    assert [each.seq for each in events] == list(range(len(log)))
    assert {each.id: each.body for each in events} == {each.id: each.body for each in log}
    assert store.experiences("me") == list(Learner(events).experiences())
    assert store.view_seq("me") == len(log) - 1
    assert (store.events("you"), store.experiences("you"), store.vectors("you").keys()) == yours
    assert store.users() == ["me", "you"]


def test_two_events_of_one_id_that_differ_both_stay(store: LanceStore) -> None:
    events = store.events("me")
    other = events[3].model_copy(update={"seq": len(events), "episode": "another"})
    store._log.files.lance().add(log_rows([other]))
    assert _found(store) == ["me: events that are in the log once more: 1"]
    mend(store, examine(store, lambda told: None), lambda told: None)
    assert _found(store) == []
    assert [each.body for each in store.events("me")] == [*(each.body for each in events), other.body]


def test_a_copy_of_an_event_is_kept_in_a_file(store: LanceStore) -> None:
    _duplicate("log")(store)
    told: list[str] = []
    mend(store, examine(store, lambda told: None), told.append)
    assert (
        told[0] == "me: numbered the log anew, from 0 to 13; what was there once more is in copies-of-events.jsonl now."
    )
    assert (store.place.path / "copies-of-events.jsonl").read_text("utf-8").count("\n") == 1


def test_a_row_that_is_no_event_is_reported_and_left_alone(store: LanceStore) -> None:
    rows = log_rows([event("me").model_copy(update={"seq": 14})])
    broken = rows.set_column(7, rows.schema.field("payload"), pa.array(["no JSON"]))
    store._log.files.lance().add(broken)
    (finding,) = examine(store, lambda told: None)
    assert finding.text.startswith("me: The memory holds something that is no event")
    assert finding.mend is None


def test_a_large_memory_says_how_far_it_is(store: LanceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.doctor._CHUNK", 2)
    told: list[str] = []
    assert examine(store, told.append) == []
    assert [each for each in told if "compared" in each][:2] == ["me: 2 of 5 compared", "me: 4 of 5 compared"]


def test_many_versions_are_compacted(store: LanceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.table.MANY", 10**6)
    monkeypatch.setattr("storage.table.SOME", 10**6)
    for _ in range(110):
        store.append([event()])
    assert any(each.startswith("Versions of log that were not compacted: 1") for each in _found(store))
    mend(store, examine(store, lambda told: None), lambda told: None)
    assert store.stats().log.versions == 1
    assert _found(store) == []


def test_an_empty_store_is_well(lance: LanceStore) -> None:
    assert _found(lance) == []
