"""After Stop, nothing arrives late."""

import threading
from collections.abc import Callable

import pytest

from rememberer.approval import Auto
from rememberer.errors import Cancelled
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


def test_a_decision_that_overtakes_a_thought_makes_it_void() -> None:
    memory, policy = memory_on(), Scripted()
    session = Session.start(memory, Corridor(), "through", policy)
    policy.gate.clear()
    thread, ended = _in_thread(session.propose)
    while not policy.asked:
        thread.join(0.01)
    answered = threading.Thread(target=lambda: answer(session, "override", "say[me first]"))
    policy.gate.set()
    answered.start()
    answered.join(20)
    thread.join(20)
    assert session.transcript.actions == ("say[me first]",)
    assert kinds(memory).count("observed") == 1
    if ended:
        assert [type(each) for each in ended] == [Cancelled]


@pytest.mark.parametrize("closed", [False, True])
def test_stop_between_steps(closed: bool) -> None:
    memory = memory_on()
    session = begin(memory)
    session.close() if closed else session.cancel()
    assert session.ended == ""
    assert kinds(memory) == ["started", "proposed"]
