"""Several who work on one task at once, in threads, sessions and stores: each step is done once, and all hear of it."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rememberer.answer import resolve
from rememberer.errors import AlreadyAnswered, SessionError
from rememberer.records import Decision
from rememberer.session import Session
from rememberer.transcript import transcript_of
from storage import LanceStore
from tests.rememberer.worlds import Corridor, Once, Scripted, begin, kinds, memory_on


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
    patch = mock.patch("rememberer.session.resolve")

    def meanwhile(*given: Any) -> Decision:
        patch.stop()
        there.decide(Decision(step=1, kind="reject"))
        return resolve(*given)

    patch.start().side_effect = meanwhile
    with pytest.raises(AlreadyAnswered):
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
