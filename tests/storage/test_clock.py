"""The clock was wrong and is set right: times go backwards, and nothing else does.

A process whose clock is three years ahead works first. Its clock is a library that is compiled here and loaded into it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.session import Session
from storage import LanceStore, export_log, import_log, table
from tests.rememberer.worlds import Corridor, Scripted, answer, memory_on
from tests.storage.conftest import ROOT

AHEAD = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    int result = syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME) t->tv_sec += 3 * 365 * 86400;
    return result;
}
"""
SECRET = "slippers"
LABELS = 100


def visit(memory: Memory, task: str) -> None:
    session = Session.start(memory, Corridor(), f"own:{task}", Scripted())
    session.propose()
    for _ in range(3):
        answer(session, "approve")
    memory.label(session.episode, 1, 0.5)


def work(folder: str) -> None:
    """In the process of the future."""
    with closing(LanceStore(Path(folder), embedding_model="words")) as store:
        memory = memory_on(store)
        for number in range(4):
            visit(memory, f"find {SECRET if number % 2 else 'a lamp'}")


def work_hard(folder: str) -> None:
    """In the process of the future: compacted all the time, and written to meanwhile."""
    table.MANY = table.SOME = 2
    with closing(LanceStore(Path(folder), embedding_model="words")) as store:
        memory = memory_on(store)
        visit(memory, "find a lamp")
        for number in range(LABELS):
            memory.label(memory.episodes()[0].id, 1, number / LABELS)


def in_the_future(tmp_path: Path, work: Callable[[str], None]) -> None:
    """Run `work` on the folder `memory` in a process whose clock is ahead."""
    if not sys.platform.startswith("linux") or not shutil.which("cc"):
        pytest.skip("another clock for one process is made with Linux's loader and a C compiler")
    (tmp_path / "ahead.c").write_text(AHEAD)
    clock = tmp_path / "ahead.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", clock, tmp_path / "ahead.c"], check=True)
    code = f"from tests.storage import test_clock; test_clock.{work.__name__}({str(tmp_path / 'memory')!r})"
    told = os.environ | {"LD_PRELOAD": str(clock), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=told)


@pytest.fixture
def from_the_future(tmp_path: Path) -> Iterator[Memory]:
    """A memory whose events and files are all of a time to come."""
    in_the_future(tmp_path, work)
    with closing(LanceStore(tmp_path / "memory", embedding_model="words")) as store:
        assert all(each.time > datetime.now(UTC) for each in store.events("me"))
        yield memory_on(store)


def test_it_is_learnt_in_the_order_of_the_log(from_the_future: Memory, tmp_path: Path) -> None:
    memory = from_the_future
    before = {row.action: row.visits for row in memory.experiences()[0].actions}
    visit(memory, "find a lamp")
    events = memory.store.events("me")
    assert events[-1].time < events[0].time
    assert {row.action: row.visits for row in memory.experiences()[0].actions} == {"go on": before["go on"] + 1}
    assert memory.experiences() == list(Learner(events).experiences()) == memory_on(memory.store).experiences()
    assert {each.key: each for each in memory.store.experiences("me")} == {
        each.key: each for each in memory.experiences()
    }
    episode = memory.episodes()[0].id
    for value in (1.0, -1.0):  # the last said counts, whatever the clock says
        memory.label(episode, 1, value)
    assert memory_on(memory.store).labels(episode)[1] == -1.0
    export_log(memory.store, "me", tmp_path / "me.jsonl")
    with closing(LanceStore(tmp_path / "other", embedding_model="words")) as other:
        import_log(other, "me", tmp_path / "me.jsonl")
        assert memory_on(other).experiences() == memory.experiences()


def test_nothing_is_taken_for_left_behind_that_is_just_being_written(tmp_path: Path) -> None:
    in_the_future(tmp_path, work_hard)
    with closing(LanceStore(tmp_path / "memory", embedding_model="words")) as store:
        labels = [each.body.value for each in store.events("me") if each.body.type == "labelled"]
    assert labels == [0.5, *(number / LABELS for number in range(LABELS))]


def test_it_stays_small_and_forgets_for_good(from_the_future: Memory, tmp_path: Path) -> None:
    memory = from_the_future
    episode = memory.episodes()[0].id
    for number in range(60):
        memory.label(episode, 1, number / 60)
    memory.store.close()
    with closing(LanceStore(tmp_path / "memory", embedding_model="words")) as store:
        assert store.stats().log.versions <= 60
        memory = memory_on(store)
        memory.forget([each.key for each in memory.experiences() if SECRET in each.state.task])
        files = [path for path in (tmp_path / "memory").rglob("*") if path.is_file()]
        assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
        assert store.stats().log.versions == 1
        assert memory_on(store).labels(episode)[1] == 59 / 60
