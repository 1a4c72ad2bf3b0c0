"""Several processes on one folder, and some are killed: nothing acknowledged is lost, nothing is there twice."""

import os
import random
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from storage import LanceStore
from storage.place import connect
from storage.table import _again
from tests.storage.conftest import Child, event, open_store, says

KILLS = int(os.environ.get("KILLS", "8"))
"""How many processes are killed while they append. `KILLS=100` in the environment for a long run."""


def test_what_was_acknowledged_outlives_kill_9(tmp_path: Path, child: Callable[..., Child]) -> None:
    chance = random.Random(20)
    folder = tmp_path / "memory"
    pair = ("left", "right")  # two at a time, so that they also write while the other one dies
    acknowledged = dict.fromkeys(pair, 0)
    for _ in range((KILLS + 1) // 2):
        running = {name: child("append", folder, "me", name, acknowledged[name], 10_000) for name in pair}
        for name in pair:
            for _ in range(chance.randint(1, 70)):
                acknowledged[name] = int(says(running[name])) + 1
            time.sleep(chance.random() / 50)
            running[name].kill()
        for name in pair:
            while said := says(running[name]):  # what it still said before it died was acknowledged, too
                acknowledged[name] = int(said) + 1
    with closing(open_store(folder)) as store:
        events = store.events("me")
        (last,) = store.append([event()])
    assert [each.seq for each in events] == list(range(len(events)))
    assert last.seq == len(events)
    for name in pair:
        stored = [each.id for each in events if each.episode == name]
        # The next process began with the first that was not acknowledged, so there is no gap and nothing twice.
        assert stored[: acknowledged[name]] == [f"{name}-{number}" for number in range(acknowledged[name])]
        assert len(stored) in (acknowledged[name], acknowledged[name] + 1)


def test_three_processes_append_at_once(tmp_path: Path, child: Callable[..., Child]) -> None:
    folder = tmp_path / "memory"
    names = ["one", "two", "three"]
    running = [child("append", folder, "me", name, 0, 60) for name in names]
    said = [process.communicate()[0] for process in running]
    assert [text.split() for text in said] == [[str(number) for number in range(60)]] * 3
    with closing(open_store(folder)) as store:
        events = store.events("me")
    assert [each.seq for each in events] == list(range(180))
    for name in names:
        assert [each.id for each in events if each.episode == name] == [f"{name}-{number}" for number in range(60)]


def test_one_sees_what_another_wrote(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "memory")) as one, closing(open_store(tmp_path / "memory")) as two:
        assert two.events("me") == []
        first = one.append([event()])
        assert two.events("me") == first
        second = two.append([event(), first[0]])
        assert second[0].seq == 1
        assert second[1] == first[0]
        assert one.events("me", after=0) == second[:1]
        one.forget_files()
        assert two.events("me") == one.events("me")


def test_reading_goes_on_while_another_process_compacts(tmp_path: Path, child: Callable[..., Child]) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store:
        first = store.append([event() for _ in range(2000)])
        compacting = child("compact", folder)
        seen = len(first)
        while says(compacting):
            for _ in range(5):
                events = store.events("me")
                assert [each.seq for each in events] == list(range(len(events)))
                assert len(events) >= seen
                seen = len(events)
        assert seen > len(first)


def test_what_another_removes_while_it_is_read_is_read_again(lance: LanceStore) -> None:
    lance.append([event()])
    old = connect(lance.place.path).open_table("log")
    old.checkout(old.version)
    lance.append([event()])
    lance.forget_files()
    answers = iter([old.search().to_arrow, lambda: lance.events("me")])
    assert len(_again(lambda: next(answers)())) == 2
    with pytest.raises(RuntimeError, match="Not found"):
        old.search().to_arrow()
