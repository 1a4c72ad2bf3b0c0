"""After Stop, nothing arrives late."""

import threading
from collections.abc import Callable

import pytest

from rememberer.approval import Auto
from rememberer.errors import Cancelled, ModelError
from rememberer.records import Decision, Proposal
from rememberer.session import Session
from tests.rememberer.worlds import Corridor, Scripted, answer, begin, kinds, memory_on


def _in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    ended: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            ended.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, ended


def test_a_proposal_that_comes_after_stop_is_dropped() -> None:
    memory, policy = memory_on(), Scripted()
    session = Session.start(memory, Corridor(), "through", policy)
    policy.gate.clear()
    thread, ended = _in_thread(session.propose)
    while not policy.asked:
        thread.join(0.01)
    assert not policy.asked[-1].cancelled()
    session.cancel()
    assert policy.asked[-1].cancelled()
    policy.gate.set()
    thread.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert kinds(memory) == ["started"]
    # The task is open, and goes on when somebody wants it to.
    session.propose()
    answer(session, "approve")
    assert session.turn.step == 2


def test_no_step_after_stop() -> None:
    policy = Scripted("go on", "go back")
    memory, world = memory_on(), Corridor(lambda action: policy.gate.clear())
    session = begin(memory, world, policy)
    thread, ended = _in_thread(lambda: session.run(Auto()))
    # The first step is done, and the run thinks about the second one.
    while len(policy.asked) < 2:
        thread.join(0.01)
    session.cancel()
    written = kinds(memory)
    policy.gate.set()
    thread.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert kinds(memory) == written == ["started", "proposed", "decided", "observed"]
    assert world.executed == ["go on"]


def _thinking(session: Session, policy: Scripted, again: bool = False) -> tuple[threading.Thread, list[BaseException]]:
    """Have the session ask its policy, which is now thinking."""
    asked = len(policy.asked)
    policy.gate.clear()
    thread, ended = _in_thread(lambda: session.propose(again=again))
    while len(policy.asked) == asked:
        thread.join(0.01)
    return thread, ended


def test_a_decision_that_overtakes_a_thought_makes_it_void() -> None:
    memory, policy = memory_on(), Scripted()
    session = Session.start(memory, Corridor(), "through", policy)
    thread, ended = _thinking(session, policy)
    session.decide(Decision(step=1, kind="override", action="say[me first]"))
    policy.gate.set()
    thread.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert kinds(memory) == ["started", "decided", "observed"]
    assert session.turn.waiting is None


def test_a_thought_that_does_not_know_of_the_hint_is_not_proposed() -> None:
    memory, policy = memory_on(), Scripted()
    session = begin(memory, policy=policy)
    thread, ended = _thinking(session, policy, again=True)
    session.decide(Decision(step=1, kind="reject", hint="not that way"))
    policy.gate.set()
    thread.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert session.propose().candidates[0].action == "go back"
    assert policy.asked[-1].hint == "not that way"


def test_a_task_that_is_ended_while_the_policy_thinks() -> None:
    memory, policy = memory_on(), Scripted()
    session = Session.start(memory, Corridor(), "through", policy)
    thread, ended = _thinking(session, policy)
    session.decide(Decision(step=1, kind="stop"))
    policy.gate.set()
    thread.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert kinds(memory) == ["started", "decided", "ended"]


def test_no_step_when_stopped_while_somebody_makes_up_their_mind() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)

    class Slow(Auto):
        def review(self, step: int, proposal: Proposal) -> Decision | None:
            session.cancel()
            return super().review(step, proposal)

    with pytest.raises(Cancelled):
        session.run(Slow())
    assert world.executed == []
    assert kinds(memory) == ["started", "proposed"]
    session.run(Auto())
    assert session.ended == "terminated"


def test_stop_waits_for_the_step_under_way_and_that_is_the_last() -> None:
    entered, go = threading.Event(), threading.Event()

    def before(action: str) -> None:
        entered.set()
        assert go.wait(20)

    memory, world, policy = memory_on(), Corridor(before), Scripted()
    session = begin(memory, world, policy)
    run, ended = _in_thread(lambda: session.run(Auto()))
    assert entered.wait(20)
    written_at_stop: list[list[str]] = []
    stop, _ = _in_thread(lambda: (session.cancel(), written_at_stop.append(kinds(memory))))
    while not policy.asked[-1].cancelled():
        stop.join(0.01)
    assert written_at_stop == []
    go.set()
    stop.join(20)
    run.join(20)
    assert [type(each) for each in ended] == [Cancelled]
    assert world.executed == ["go on"]
    assert kinds(memory) == written_at_stop[0] == ["started", "proposed", "decided", "observed"]


@pytest.mark.parametrize("problem", [ModelError("The server is away."), ZeroDivisionError()])
def test_a_policy_that_breaks_in_a_run_leaves_the_steps_before(problem: Exception) -> None:
    memory, policy = memory_on(), Scripted()
    session = begin(memory, policy=policy)
    policy.problem = problem
    with pytest.raises(type(problem)):
        session.run(Auto())
    assert kinds(memory) == ["started", "proposed", "decided", "observed"]
    policy.problem = None
    session.run(Auto())
    assert session.ended == "terminated"
    assert session.transcript.actions == ("go on",) * 3


@pytest.mark.parametrize("closed", [False, True])
def test_to_stop_or_close_leaves_the_task_open(closed: bool) -> None:
    memory = memory_on()
    session = begin(memory)
    session.close() if closed else session.cancel()
    assert session.ended == ""
    assert kinds(memory) == ["started", "proposed"]
    again = Session.resume(memory, Corridor(), session.episode, Scripted())
    assert again.turn.waiting == session.turn.waiting
