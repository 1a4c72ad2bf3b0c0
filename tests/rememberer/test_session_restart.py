"""Nothing is done twice and nothing is lost: cuts, restarts, kill -9, what fails in the middle."""

import dataclasses
import os
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import Observation, Step
from rememberer.errors import AlreadyAnswered, EnvError, SessionError, StoreError
from rememberer.events import Event
from rememberer.records import Decision, DecisionKind
from rememberer.session import Session
from rememberer.store import InMemoryStore
from storage import LanceStore
from tests.rememberer.worlds import Corridor, Once, Scripted, answer, begin, kinds, memory_on

ROOT = Path(__file__).parents[2]
Answer = tuple[DecisionKind, str]
ANSWERS: st.SearchStrategy[Answer] = st.sampled_from(
    [("approve", ""), ("choose", "go back"), ("override", "say[a]"), ("override", "go on"), ("reject", "")]
)


def play(session: Session, answers: list[Answer], first: int = 0) -> None:
    """Give the answers from `first` on, as far as they are possible."""
    for kind, action in answers[first:]:
        if session.ended:
            return
        proposed = session.propose().candidates
        if kind == "reject" and len(proposed) < 2:
            kind = "approve"
        if kind == "choose" and action not in [each.action for each in proposed]:
            kind = "override"
        session.decide(Decision(step=session.turn.step, kind=kind, action=action))


def told(events: list[Event]) -> list[object]:
    """What events say, without what differs from run to run: ids, times, how long it took."""
    return [event.body.model_dump(exclude={"proposal": {"seconds", "recalled"}}) for event in events]


@given(answers=st.lists(ANSWERS, min_size=1, max_size=6), data=st.data())
def test_cut_anywhere_it_goes_on_as_if_nothing_had_been(answers: list[Answer], data: st.DataObject) -> None:
    whole = memory_on()
    session = begin(whole)
    play(session, answers)
    events = whole.store.events("me")
    cut = data.draw(st.integers(1, len(events)), "events that are left")

    store = InMemoryStore()
    store.append(events[:cut])
    answered = sum(event.body.type == "decided" for event in events[:cut])
    executed = sum(event.body.type == "observed" for event in events[:cut])
    world = Corridor()
    again = Session.resume(memory_on(store), world, session.episode, Scripted())
    open_decision = events[cut - 1].body.type == "decided" and again.turn.step > executed + 1
    if events[cut - 1].body.type != "observed" or not again.ended:
        assert len(world.executed) == executed + open_decision
    play(again, answers, answered)
    assert told(store.events("me")) == told(events)
    live, right = again.memory.experiences(), whole.experiences()
    assert [(each.key, [(row.action, row.q, row.visits) for row in each.actions]) for each in live] == [
        (each.key, [(row.action, row.q, row.visits) for row in each.actions]) for each in right
    ]


def test_a_waiting_proposal_comes_back_without_asking_again() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    waiting = session.turn.waiting
    policy = Scripted("go back")
    again = Session.resume(memory_on(memory.store), Corridor(), session.episode, policy)
    assert again.propose() == waiting
    assert policy.asked == []


def _cut_after_decision() -> tuple[InMemoryStore, str]:
    memory = memory_on()
    session = begin(memory)
    session.decide(Decision(step=1, kind="approve"))
    store = InMemoryStore()
    store.append(memory.store.events("me")[:3])
    return store, session.episode


def test_a_decision_without_outcome_is_executed_once() -> None:
    store, episode = _cut_after_decision()
    world = Corridor()
    for _ in range(3):
        session = Session.resume(memory_on(store), world, episode, Scripted())
    assert [event.body.type for event in store.events("me")] == ["started", "proposed", "decided", "observed"]
    assert world.executed == ["go on"] * 3  # once for real, then twice to come back to where it stands
    assert session.turn.step == 2


def test_where_nothing_can_be_walked_again_the_outcome_is_unknown() -> None:
    store, episode = _cut_after_decision()
    world = Once()
    session = Session.resume(memory_on(store), world, episode, Scripted())
    assert world.executed == []
    outcome = session.transcript.turns[0].outcome
    assert outcome is not None
    assert outcome.outcome_unknown
    assert session.ended == "truncated"
    idle = begin(memory_on(store))
    assert Session.resume(memory_on(store), Once(), idle.episode, Scripted()).ended == "stopped"


def test_a_world_that_is_another_now_is_noticed() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    before = kinds(memory)
    with pytest.raises(SessionError, match="not what it was"):
        Session.resume(memory_on(memory.store), Corridor(sign="new "), session.episode, Scripted())
    assert kinds(memory) == before


def test_a_world_that_breaks_keeps_the_decision() -> None:
    broken = True

    def before(action: str) -> None:
        if broken and action == "go on":
            raise OSError("the line went dead")

    memory, world = memory_on(), Corridor(before)
    session = begin(memory, world)
    with pytest.raises(OSError, match="dead"):
        session.decide(Decision(step=1, kind="approve"))
    with pytest.raises(AlreadyAnswered):
        session.decide(Decision(step=1, kind="override", action="go back"))
    with pytest.raises(AlreadyAnswered):
        session.propose()
    broken = False
    session.carry_on()
    assert world.executed == ["go on"]
    assert session.turn.step == 2
    session.propose()
    answer(session, "approve")
    assert kinds(memory).count("observed") == 2


def test_killed_in_the_middle_of_a_step(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    code = (
        "import sys, os, signal, time;"
        "from pathlib import Path;"
        "from storage import LanceStore;"
        "from tests.rememberer.worlds import Corridor, answer, begin, memory_on;"
        "wait = lambda action: (print(action, flush=True), time.sleep(60) if action == 'go back' else None);"
        "session = begin(memory_on(LanceStore(Path(sys.argv[1]), embedding_model='words')), Corridor(wait));"
        "answer(session, 'approve'); answer(session, 'choose', 'go back')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "go on\n"
        assert child.stdout.readline() == "go back\n"
        os.kill(child.pid, signal.SIGKILL)
    store = LanceStore(folder, embedding_model="words")
    memory = memory_on(store)
    (episode,) = memory.episodes()
    assert kinds(memory)[-1] == "decided"
    world = Corridor()
    session = Session.resume(memory, world, episode.id, Scripted())
    assert world.executed == ["go on", "go back"]
    assert kinds(memory).count("observed") == 2
    assert session.transcript.actions == ("go on", "go back")
    store.close()


@pytest.mark.parametrize("fails", ["append", "put_experiences"])
@pytest.mark.parametrize("written", [1, 2], ids=["decision", "outcome"])
def test_a_disk_that_fails_loses_nothing_and_does_nothing_twice(fails: str, written: int) -> None:
    """Whether it fails before the event is in the log or after, at the decision or at its outcome."""
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    works, calls = getattr(memory.store, fails), count(1)

    def sometimes(*given: Any) -> Any:
        if next(calls) == written:
            raise StoreError("The disk is full.")
        return works(*given)

    refused = pytest.raises(StoreError) if fails == "append" else nullcontext()  # else it is in the log, and counts
    with mock.patch.object(memory.store, fails, sometimes), refused:
        session.decide(Decision(step=1, kind="approve"))
    with suppress(AlreadyAnswered):
        session.decide(Decision(step=1, kind="approve"))
    if not session.transcript.actions:
        session.carry_on()
    assert session.transcript.actions == ("go on",)
    assert session.turn.state.observation == "place 1 "
    assert kinds(memory) == ["started", "proposed", "decided", "observed"]
    session.propose()
    answer(session, "approve")
    answer(session, "approve")
    assert session.ended == "terminated"
    whole = begin(memory_on())
    for _ in range(3):
        answer(whole, "approve")
    for known in (memory, memory_on(memory.store)):
        assert [[(row.q, row.visits) for row in each.actions] for each in known.experiences()] == [
            [(row.q, row.visits) for row in each.actions] for each in whole.memory.experiences()
        ]


class Odd(Corridor):
    """Answers `go back` with something that is no step."""

    wrong: ClassVar[dict[str, Any]]

    def step(self, action: str) -> Step:
        return dataclasses.replace(super().step(action), **self.wrong if action == "go back" else {})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"reward": float("nan")}, "reward is nan"),
        ({"reward": float("-inf")}, "reward is -inf"),
        ({"reward": 1e300}, "reward is 1e"),
        ({"reward": None}, "reward is None"),
        ({"observation": Observation(None, "place")}, "observation is None"),  # type: ignore[arg-type]
        ({"terminated": "perhaps"}, "terminated is 'perhaps'"),
    ],
)
def test_an_answer_of_the_world_that_is_none_is_refused_in_a_sentence(wrong: dict[str, Any], told: str) -> None:
    memory, world = memory_on(), type("Odder", (Odd,), {"wrong": wrong})()
    session = begin(memory, world)
    answer(session, "approve")
    before = memory.experiences()
    with pytest.raises(EnvError, match=rf"world corridor answered 'go back'.*{told}.*Nothing was written"):
        session.decide(Decision(step=2, kind="choose", action="go back"))
    assert kinds(memory)[-1] == "decided"
    assert memory_on(memory.store).experiences() == memory.experiences() == before
    with pytest.raises(EnvError):
        session.carry_on()
    world.wrong = {}  # the maker of the world has mended it
    session.carry_on()
    assert session.transcript.actions == ("go on", "go back")


def test_a_world_that_breaks_and_cannot_be_walked_again_ends_the_task() -> None:
    def before(action: str) -> None:
        raise OSError("the line went dead")

    memory, world = memory_on(), Once(before)
    session = begin(memory, world)
    with pytest.raises(OSError, match="dead"):
        session.decide(Decision(step=1, kind="approve"))
    session.carry_on()
    outcome = session.transcript.turns[0].outcome
    assert outcome is not None
    assert outcome.outcome_unknown
    assert session.ended == "truncated"
    assert world.executed == []
