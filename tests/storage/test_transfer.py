"""Export and import: the same log again, twice changes nothing, a broken file is refused whole with its line."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememberer.errors import StoreError
from rememberer.events import Event, Quarantined, new_id
from rememberer.learning import Learner
from rememberer.store import InMemoryStore, Store
from storage import LanceStore, export_log, import_log
from tests.storage.conftest import NASTY, episode, event, open_store
from tests.storage.strategies import experiences, logs

often = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@often
@given(data=st.data())
def test_a_store_gives_back_any_log_and_any_view(lance: LanceStore, data: st.DataObject) -> None:
    user = new_id()
    log = data.draw(logs(user))
    view = {each.key: each for each in data.draw(st.lists(experiences, max_size=3))}
    stored = lance.append(log)
    lance.put_experiences(user, view.values(), 0)
    assert [each.model_copy(update={"seq": -1}) for each in lance.events(user)] == log
    assert lance.events(user) == stored
    assert {each.key: each for each in lance.experiences(user)} == view


def _without_source(events: list[Event]) -> list[Event]:
    return [each.model_copy(update={"source": ""}) for each in events]


@often
@given(data=st.data())
def test_exported_and_imported_a_log_is_the_same(lance: LanceStore, tmp_path: Path, data: st.DataObject) -> None:
    user = new_id()
    stored = lance.append(data.draw(logs(user)))
    first = tmp_path / "first.jsonl"
    assert export_log(lance, user, first) == len(stored)
    elsewhere = InMemoryStore()
    assert import_log(elsewhere, user, first) == len(stored)
    assert _without_source(elsewhere.events(user)) == _without_source(stored)
    assert import_log(lance, user, first) == 0
    assert lance.events(user) == stored


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=logs("me"))
def test_export_import_export_is_the_identity_and_teaches_the_same(tmp_path: Path, log: list[Event]) -> None:
    """Wherever the events came from, and whatever of it is in quarantine, even from a file of this very name."""
    here, there = InMemoryStore(), InMemoryStore()
    here.append(log)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    export_log(here, "me", first)
    import_log(there, "me", first)
    export_log(there, "me", second)
    assert second.read_bytes() == first.read_bytes()
    assert list(Learner(there.events("me")).experiences()) == list(Learner(here.events("me")).experiences())


def test_what_was_imported_names_its_file_and_an_export_does_not(store: Store, tmp_path: Path) -> None:
    elsewhere = InMemoryStore()
    elsewhere.append(episode(name="theirs"))
    export_log(elsewhere, "me", tmp_path / "team.jsonl")
    mine = store.append(episode(name="mine"))
    import_log(store, "me", tmp_path / "team.jsonl")
    assert [each.source for each in store.events("me", after=mine[-1].seq)] == ["team.jsonl"] * len(mine)
    assert store.events("me")[: len(mine)] == mine
    export_log(store, "me", tmp_path / "all.jsonl")
    assert "team.jsonl" not in (tmp_path / "all.jsonl").read_text("utf-8")


def test_what_is_in_quarantine_is_told_apart_elsewhere(tmp_path: Path) -> None:
    """Also from what is fine in a file that has the same name as the bad one had."""
    file = tmp_path / "team.jsonl"
    bad = [each.model_copy(update={"source": "team.jsonl"}) for each in episode(name="bad")]
    here, there = InMemoryStore(), InMemoryStore()
    here.append([*episode(name="good"), *bad, event(body=Quarantined(source="team.jsonl"))])
    export_log(here, "me", file)
    import_log(there, "me", file)
    assert {each.source for each in there.events("me", episode="bad")} == {"team.jsonl"}
    assert {each.source for each in there.events("me", episode="good")} == {"team.jsonl (2)"}
    learnt = list(Learner(there.events("me")).experiences())
    assert {episode for each in learnt for episode in each.episodes} == {"good"}
    assert learnt == list(Learner(here.events("me")).experiences())


def test_wiped_and_imported_a_memory_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "me.jsonl"
    with closing(open_store(tmp_path / "old")) as old:
        old.append([*episode(name="one"), *episode(name="two")])
        export_log(old, "me", file)
        before = old.events("me")
    with closing(open_store(tmp_path / "new")) as new:
        assert import_log(new, "me", file) == len(before)
        assert import_log(new, "me", file) == 0
        assert _without_source(new.events("me")) == before
        assert list(Learner(new.events("me")).experiences()) == list(Learner(before).experiences())


@pytest.mark.parametrize("user", NASTY)
def test_a_log_goes_to_the_user_who_imports_it(store: Store, tmp_path: Path, user: str) -> None:
    file = tmp_path / "log.jsonl"
    before = store.append(episode("somebody", task=user))
    export_log(store, "somebody", file)
    other = InMemoryStore() if isinstance(store, InMemoryStore) else store
    assert import_log(other, user, file) == len(before)
    assert [each.model_copy(update={"user": "somebody", "source": ""}) for each in other.events(user)] == before
    assert store.events("somebody") == before


def test_what_is_imported_comes_after_what_is_there(store: Store, tmp_path: Path) -> None:
    elsewhere = InMemoryStore()
    elsewhere.append(episode(name="theirs"))
    export_log(elsewhere, "me", tmp_path / "log.jsonl")
    mine = store.append(episode(name="mine"))
    import_log(store, "me", tmp_path / "log.jsonl")
    events = store.events("me")
    assert events[: len(mine)] == mine
    assert {each.episode for each in events[len(mine) :]} == {"theirs"}
    assert [each.seq for each in events] == list(range(len(events)))


def _line(number: int, change: Callable[[str], str]) -> Callable[[list[str]], None]:
    def mend(lines: list[str]) -> None:
        lines[number - 1] = change(lines[number - 1])

    return mend


def _with(**changes: object) -> Callable[[str], str]:
    return lambda line: json.dumps(json.loads(line) | changes)


BROKEN: list[tuple[int, Callable[[list[str]], object]]] = [
    (1, lambda lines: lines.clear()),
    (1, _line(1, lambda line: "[]")),
    (1, _line(1, _with(version=2))),
    (1, _line(1, _with(format="something else"))),
    (3, _line(3, lambda line: line[: len(line) // 2])),
    (3, _line(3, lambda line: '{"\\ud800')),
    (3, _line(3, lambda line: "")),
    (3, _line(3, _with(body={"type": "labelled", "step": 1, "value": 7}))),
    (3, _line(3, _with(surprise=1))),
    (3, lambda lines: lines.pop(2)),
    (4, lambda lines: lines.insert(3, lines[2])),
    (7, lambda lines: lines.pop()),
    (8, lambda lines: lines.append(lines[-1])),
    (3, _line(3, _with(episode="never started"))),
]


@pytest.mark.parametrize(("number", "damage"), BROKEN)
def test_a_broken_file_is_refused_whole_with_the_line(
    store: Store, tmp_path: Path, number: int, damage: Callable[[list[str]], object]
) -> None:
    elsewhere = InMemoryStore()
    elsewhere.append([*episode(steps=2)[:5], event()])
    file = tmp_path / "log.jsonl"
    assert export_log(elsewhere, "me", file) == 6
    lines = file.read_text("utf-8").splitlines()
    damage(lines)
    file.write_text("".join(line + "\n" for line in lines), "utf-8")
    with pytest.raises(StoreError, match=rf"log\.jsonl, line {number}: .*Nothing was imported"):
        import_log(store, "me", file)
    assert store.events("me") == []


def test_bytes_that_are_no_text_are_refused_with_the_line(lance: LanceStore, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    lance.append([event("a"), event("a")])
    export_log(lance, "a", file)
    file.write_bytes(file.read_bytes().replace(b'"pinned"', b'"pinn\xff"', 1))
    with pytest.raises(StoreError, match="line 2: it is not UTF-8"):
        import_log(lance, "me", file)


def test_a_file_that_is_not_there_or_cannot_be_written_is_a_plain_sentence(lance: LanceStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        import_log(lance, "me", tmp_path / "nowhere.jsonl")
    with pytest.raises(StoreError, match="No such file"):
        export_log(lance, "me", tmp_path / "nowhere" / "log.jsonl")
