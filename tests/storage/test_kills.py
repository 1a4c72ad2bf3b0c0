"""Killed at any moment, a memory has all that was acknowledged, nothing twice and nothing half.

Processes work through real episodes on one folder until they are killed, at a random moment of a random piece of work;
then the folder is opened and compared with what they had said. `make nightly` does it 500 times.
"""

import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rememberer.events import Decided, EpisodeStarted, Event, Observed
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.records import Decision, Proposal
from rememberer.session import Session
from storage import LanceStore, export_log
from tests.rememberer.worlds import Corridor, Once
from tests.storage.conftest import ROOT
from tests.storage.conftest import episode as an_episode
from tests.storage.working import Life, Reminded, encoder, model_of, work

A_FOLDER = 20
"""Kills after which a new folder is begun, so that it stays quick, and is often killed while it is made."""


@dataclass
class Ledger:
    """What a worker, over all its lives, has said that it had done; and what it was doing when it died."""

    name: str
    user: str
    tasks: dict[str, str] = field(default_factory=dict)
    steps: dict[tuple[str, int], str] = field(default_factory=dict)
    labels: dict[tuple[str, int], float | None] = field(default_factory=dict)
    pins: dict[str, bool] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    doing: tuple[Any, ...] = ()
    does: str = "open"

    def take(self, *said: Any) -> None:
        self.doing = ()
        match said:
            case ("broke", trace):
                pytest.fail(f"{self.name} was not killed but failed: {trace}")
            case ("does", what):
                self.does = what
            case ("begun", episode, task):
                self.tasks[episode] = task
            case ("decided", episode, step, action, task) if action is not None:
                self.tasks[episode] = task  # it may have died before it said that it had begun
                self.steps[episode, step] = action
            case ("labelled", episode, step, value):
                self.labels[episode, step] = value
            case ("pinned", key, pinned):
                self.pins[key] = pinned
            case ("forgotten", task):
                self.forgotten.add(task)
            case ("deciding" | "labelling" | "pinning" | "forgetting", *_):
                self.doing = said

    def check(self, memory: Memory, events: list[Event], files: bytes) -> None:
        """All that was said is so. What was being done is done or not, and is taken as it is from now on."""
        log = "".join(event.model_dump_json() for event in events)
        outcomes = Counter((e.episode, e.body.step) for e in events if isinstance(e.body, Observed))
        assert max(outcomes.values(), default=1) == 1
        done = {(e.episode, e.body.step): e.body.action for e in events if isinstance(e.body, Observed)}
        left = {each.key: each for each in memory.experiences()}

        if self.doing[:1] == ("forgetting",) and self.doing[1] not in log:
            self.forgotten.add(self.doing[1])
        for task in self.forgotten:
            assert task not in log
            assert task.encode() not in files
        if self.doing[:1] == ("forgetting",) and self.doing[1] not in self.forgotten:
            # None of it is forgotten: where a step was taken, it is remembered.
            whole = [
                each.state for trace in memory.episodes() if trace.task == self.doing[1] for each in trace.transitions
            ]
            assert whole
            assert {state.key for state in whole} <= left.keys()

        for (episode, step), action in self.steps.items():
            assert (episode, step) in done
            assert done[episode, step] == action or self.tasks[episode] in self.forgotten
        for episode in self.tasks:
            memory.trace(episode)

        if self.doing[:1] == ("labelling",):
            _, episode, step, value = self.doing
            if memory.labels(episode).get(step) == value:
                self.labels[episode, step] = value
        for (episode, step), value in self.labels.items():
            assert memory.labels(episode).get(step) == value

        if self.doing[:1] == ("pinning",) and left[self.doing[1]].pinned == self.doing[2]:
            self.pins[self.doing[1]] = self.doing[2]
        self.pins = {key: pinned for key, pinned in self.pins.items() if key in left}
        assert {key: left[key].pinned for key in self.pins} == self.pins
        self.doing = ()


def _lives(server: ForkServerContext, lives: list[tuple[Life, Ledger]], chance: random.Random) -> None:
    """Let these processes live, and kill each at its moment."""
    running = []
    for life, ledger in lives:
        here, there = server.Pipe(duplex=False)
        process = server.Process(target=work, args=(life, there))
        process.start()
        there.close()
        assert here.poll(60), "it did not start"
        assert here.recv() == ("up",)
        ledger.does = "open"
        # Half of them early, while they open and resume.
        end = time.monotonic() + chance.uniform(0, chance.choice([0.06, 0.8]))
        running.append((end, process, here, ledger))
    for end, process, _, _ in sorted(running, key=lambda each: each[0]):
        time.sleep(max(0, end - time.monotonic()))
        process.kill()
    for _, process, here, ledger in running:
        process.join()
        for said in _said(here):
            ledger.take(*said)


def _said(pipe: Connection) -> Iterator[tuple[Any, ...]]:
    try:
        while True:
            yield pipe.recv()
    except (EOFError, OSError):
        pipe.close()


def _check(folder: Path, ledgers: list[Ledger]) -> None:
    model = model_of(folder)
    with closing(LanceStore(folder, embedding_model=model, reembed=True)) as store:
        assert not (folder / "set-aside").exists()
        memories = {each.user: Memory(store, each.user, encoder(model), tables=lambda env: None) for each in ledgers}
        files = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        for table in store._tables:
            if table.schema():
                ids = table.read(["id"])["id"].to_pylist()
                assert len(set(ids)) == len(ids)
        for user, memory in memories.items():
            events = store.events(user)
            assert [each.seq for each in events] == list(range(len(events)))
            assert len({each.id for each in events}) == len(events)
            learnt = list(Learner(events).experiences())
            assert memory.experiences() == learnt
            assert {each.key: each for each in store.experiences(user)} == {each.key: each for each in learnt}
            for text, vector in store.vectors(user).items():
                np.testing.assert_array_equal(vector, encoder(model).encode([text])[0])
            for ledger in ledgers:
                if ledger.user == user:
                    ledger.check(memory, events, files)
        noted = folder.with_name("executed")
        _check_once(
            [event for user in memories for event in store.events(user)],
            noted.read_text().splitlines() if noted.exists() else [],
        )


def _check_once(events: list[Event], executed: list[str]) -> None:
    """In a world that cannot be replayed each step was done once, and its outcome is known or said to be unknown."""
    noted = [tuple(line.split(maxsplit=2)) for line in executed]
    steps = [(episode, int(step)) for episode, step, _ in noted]
    assert len(set(steps)) == len(steps)
    once = {e.episode for e in events if isinstance(e.body, EpisodeStarted) and e.body.env == "once"}
    told = {(e.episode, e.body.step): e.body for e in events if isinstance(e.body, Observed) and e.episode in once}
    decided = {(e.episode, e.body.decision.step) for e in events if isinstance(e.body, Decided)}
    assert set(steps) <= decided
    for episode, step, action in noted:
        if outcome := told.get((episode, int(step))):
            assert outcome.outcome_unknown or outcome.action == action or outcome.action.startswith("forgotten:")
    for step_id, outcome in told.items():
        assert outcome.outcome_unknown or step_id in steps


def _play_on(folder: Path, ledgers: list[Ledger]) -> None:
    """Every task that is open can be taken up and worked through to its end."""
    model = model_of(folder)
    with closing(LanceStore(folder, embedding_model=model)) as store:
        for user in {each.user for each in ledgers}:
            memory = Memory(store, user, encoder(model), tables=lambda env: None)
            for each in memory.episodes():
                if not each.ended:
                    world = Once() if each.env == "once" else Corridor()
                    session = Session.resume(memory, world, each.id, Reminded())
                    session.run(Yes())
                    assert session.ended


class Yes:
    def review(self, step: int, proposal: Proposal) -> Decision:
        return Decision(step=step, kind="approve", by="auto")


def _torture(place: Path, kills: int, seed: int) -> Counter[str]:
    """Kill so many processes, on several folders. Returns how often each kind of work was cut short."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.storage.working"])
    chance, cut, number = random.Random(seed), Counter[str](), 0
    while number < kills:
        folder = place / str(number) / "memory"
        folder.parent.mkdir(parents=True)
        with closing(LanceStore(place / f"{number}-gift", embedding_model="words")) as elsewhere:
            elsewhere.append([*an_episode(name="a gift"), *an_episode(name="another")])
            export_log(elsewhere, "me", folder.with_name("gift.jsonl"))
        ledgers = [Ledger("Ada", "ada"), Ledger("Ben", "ben"), Ledger("Eve", "ada")]
        for _ in range(A_FOLDER):
            if number >= kills:
                break
            alive = chance.choice([ledgers[:1], ledgers[:1], ledgers[:2], ledgers[::2]])
            lives = [(Life(each.name, each.user, folder, number, alone=len(alive) == 1), each) for each in alive]
            _lives(server, lives, chance)
            cut.update(each.does for each in alive)
            number += len(alive)
            _check(folder, ledgers)
        _play_on(folder, ledgers)
        _check(folder, ledgers)
    return cut


@pytest.fixture(autouse=True)
def _found_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_done_twice(tmp_path: Path) -> None:
    _torture(tmp_path, 16, seed=int(os.environ.get("SEED", "1")))


@pytest.mark.nightly
def test_killed_five_hundred_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = _torture(tmp_path, 500, seed=random.randrange(10**6))
    with capsys.disabled():
        print(f"\n{sum(cut.values())} processes killed, while they did: {dict(cut)}")
