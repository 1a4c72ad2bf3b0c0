"""Nothing is done twice and nothing is lost: cuts, restarts, other windows, other processes."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememberer.errors import AlreadyAnswered, SessionError
from rememberer.records import Decision, DecisionKind, Event
from rememberer.session import Session
from rememberer.store import InMemoryStore
from rememberer.transcript import transcript_of
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


@settings(max_examples=60, deadline=None)
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


def _race(*sessions: Session) -> list[Exception]:
    """Let all approve step 1 at once; returns what was refused."""
    refused: list[Exception] = []
    start = threading.Barrier(len(sessions))

    def approve(session: Session) -> None:
        start.wait()
        try:
            session.decide(Decision(step=1, kind="approve"))
        except SessionError as problem:
            refused.append(problem)

    threads = [threading.Thread(target=approve, args=(each,)) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_one_answer_counts_of_many_at_once() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    refused = _race(*[session] * 8)
    assert len(refused) == 7
    assert all(isinstance(each, AlreadyAnswered) for each in refused)
    assert world.executed == ["go on"]


@pytest.mark.parametrize("processes", [False, True], ids=["one store", "two stores on one folder"])
def test_two_who_know_nothing_of_each_other(tmp_path: Path, processes: bool) -> None:
    stores = [LanceStore(tmp_path / "memory", embedding_model="words")]
    stores += [LanceStore(tmp_path / "memory", embedding_model="words") if processes else stores[0]]
    one = Session.start(memory_on(stores[0]), Corridor(), "through", Scripted())
    other = Session.resume(memory_on(stores[1]), Corridor(), one.episode, Scripted("go back"))
    # Both propose, and the first proposal is the one for both.
    assert one.propose().candidates[0].action == "go on"
    assert other.propose().candidates[0].action == "go on"
    assert len(_race(one, other)) == 1
    for session in (one, other):
        session.memory.refresh()
        assert transcript_of(session.memory, one.episode).actions == ("go on",)
    # Whoever came too late catches up, and both can go on.
    other.propose()
    other.decide(Decision(step=2, kind="override", action="say[other]"))
    # It hears of it when it wants to propose or, having had the proposal already, when it answers.
    with suppress(AlreadyAnswered):
        one.propose()
    with pytest.raises(AlreadyAnswered):
        one.decide(Decision(step=2, kind="override", action="say[one]"))
    one.propose()
    one.decide(Decision(step=3, kind="override", action="say[one]"))
    assert transcript_of(other.memory, one.episode).actions == ("go on", "say[other]", "say[one]")
    for store in stores:
        store.close()


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


def test_a_task_that_another_window_ended_is_over_here_too(tmp_path: Path) -> None:
    stores = [LanceStore(tmp_path / "memory", embedding_model="words") for _ in range(2)]
    world = Corridor()
    here = begin(memory_on(stores[0]), world)
    there = Session.resume(memory_on(stores[1]), Corridor(), here.episode, Scripted())
    there.decide(Decision(step=1, kind="stop"))
    with pytest.raises(SessionError, match="over"):
        here.decide(Decision(step=1, kind="approve"))
    with pytest.raises(SessionError, match="over"):
        here.propose()
    assert world.executed == []
    assert here.ended == "stopped"
    for store in stores:
        store.close()


def _two_windows(world: Corridor, other: Corridor) -> tuple[Session, Session]:
    """Two sessions of one open episode that know of each other by the log only, with a proposal on the table."""
    memory = memory_on()
    here = Session.start(memory, world, "through", Scripted())
    there = Session(memory_on(memory.store), other, Scripted(), transcript_of(memory, here.episode))
    here.propose()
    there.propose()
    return here, there


def test_what_was_rejected_in_another_window_is_not_approved_here() -> None:
    world = Corridor()
    here, there = _two_windows(world, Corridor())
    there.decide(Decision(step=1, kind="reject", hint="not that way"))
    for kind in ("approve", "reject"):
        with pytest.raises(SessionError):
            here.decide(Decision(step=1, kind=kind, proposed="go on"))
    assert world.executed == []
    assert [each.action for each in here.propose().candidates] == ["go back"]
    here.decide(Decision(step=1, kind="approve"))
    assert world.executed == ["go back"]


def test_of_a_rejection_and_an_approval_at_the_same_moment_one_counts() -> None:
    """The other window writes between the look at the log and the write."""
    world = Corridor()
    here, there = _two_windows(world, Corridor())
    resolve = here._resolve

    def meanwhile(*given: Any) -> Decision:
        there.decide(Decision(step=1, kind="reject"))
        return resolve(*given)

    with mock.patch.object(here, "_resolve", meanwhile), pytest.raises(AlreadyAnswered):
        here.decide(Decision(step=1, kind="approve"))
    assert world.executed == []
    assert [event.body.type for event in here.memory.store.events("me")].count("decided") == 1
    here.propose()
    here.decide(Decision(step=1, kind="approve"))
    assert world.executed == ["go back"]


def test_a_proposal_to_a_step_that_is_over_is_not_shown_at_the_next() -> None:
    memory, slow = memory_on(), Scripted("say[late]")
    here = Session.start(memory, Corridor(), "through", slow)
    there = Session.resume(memory_on(memory.store), Corridor(), here.episode, Scripted())
    append = memory.append

    def meanwhile(*given: Any) -> Any:
        there.decide(Decision(step=1, kind="override", action="go on"))
        return append(*given)

    with mock.patch.object(memory, "append", meanwhile), pytest.raises(AlreadyAnswered):
        here.propose()
    for session in (here, there, Session.resume(memory_on(memory.store), Corridor(), here.episode, Scripted())):
        assert session.transcript.turn.step == 2
        assert session.transcript.turn.waiting is None
    here.policy = Scripted()
    assert here.propose().candidates[0].action == "go on"


def test_a_world_that_cannot_be_walked_again_is_never_walked_again() -> None:
    world = Once()
    here, there = _two_windows(world, Once())
    # To come second with a proposal moves no world.
    here.decide(Decision(step=1, kind="approve"))
    here.propose()
    assert world.executed == ["go on"]
    # The other window's world has not taken that step, and cannot.
    with pytest.raises(SessionError, match="over"):
        there.decide(Decision(step=2, kind="approve", action="go on"))
    assert world.executed == ["go on"]


def test_a_step_is_not_decided_in_a_world_that_is_another_now() -> None:
    here, there = _two_windows(Corridor(), Corridor(sign="new "))
    here.decide(Decision(step=1, kind="approve"))
    here.propose()
    before = here.memory.store.events("me")
    with pytest.raises(SessionError, match="not what it was"):
        there.decide(Decision(step=2, kind="approve"))
    assert here.memory.store.events("me") == before
    here.decide(Decision(step=2, kind="approve"))
    assert here.transcript.actions == ("go on", "go on")


def test_both_ask_their_policies_at_once_and_one_proposal_is_for_both() -> None:
    memory = memory_on()
    policies = [Scripted("go on"), Scripted("go back")]
    here = Session.start(memory, Corridor(), "through", policies[0])
    there = Session.resume(memory_on(memory.store), Corridor(), here.episode, policies[1])
    for policy in policies:
        policy.gate.clear()
    seen: list[str] = []
    threads = [
        threading.Thread(target=lambda each=each: seen.append(each.propose().candidates[0].action))
        for each in (here, there)
    ]
    for thread in threads:
        thread.start()
    while not all(policy.asked for policy in policies):
        threads[0].join(0.01)
    for policy, thread in zip(policies, threads, strict=True):
        policy.gate.set()
        thread.join(20)
    assert seen == ["go on", "go on"]
    assert kinds(memory).count("proposed") == 1
