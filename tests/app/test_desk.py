"""One person's desk: what several windows and a worker thread do to it at once."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.desk import Desk
from app.settings import Settings, load_settings
from rememberer.errors import AlreadyAnswered, ModelError, NotAvailable, SessionError, StoreError, UnknownEpisode
from rememberer.memory import Memory
from rememberer.policy import Retrieved, Situation
from rememberer.records import Candidate, Proposal
from rememberer.store import InMemoryStore
from tests.rememberer.encoders import WordEncoder

OFFICIAL = Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"
TASK = "own:a red scarf"


class First:
    """Proposes what can be done, in order; breaks, or waits, when told to."""

    name = "first"

    def __init__(self) -> None:
        self.broken = ""
        self.gate = threading.Event()
        self.gate.set()
        self.hints: list[str] = []

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        self.hints.append(situation.hint)
        assert self.gate.wait(20)
        if self.broken:
            raise ModelError(self.broken)
        actions = ["search[scarf]" if each.typed else each.text for each in situation.state.actions]
        left = [each for each in actions if each not in situation.refused]
        return Proposal(candidates=tuple(Candidate(action=each) for each in left[:k]), policy=self.name)


@pytest.fixture
def policy() -> First:
    return First()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path, data=OFFICIAL)


@pytest.fixture
def desk_on(policy: First, settings: Settings) -> Iterator[Callable[[InMemoryStore], Desk]]:
    desks: list[Desk] = []

    def make(store: InMemoryStore) -> Desk:
        memory = Memory(store, "me", WordEncoder())
        desks.append(Desk("me", lambda: (memory, {"first": policy, "other": First()}), "first", settings))
        assert desks[-1].memory is memory  # which waits until it is open
        return desks[-1]

    yield make
    policy.gate.set()
    for desk in desks:
        desk.close()


@pytest.fixture
def desk(desk_on: Callable[[InMemoryStore], Desk]) -> Desk:
    """A desk with the first card of a task on it."""
    made = desk_on(InMemoryStore())
    made.start("webshop", TASK)
    until(made, "waiting")
    return made


def until(desk: Desk, *status: str) -> None:
    """Wait for the desk to come to a status."""
    for _ in range(200):
        view = desk.view()
        if view.status in status:
            return
        desk.wait(view.version, 5)
    raise AssertionError(f"The desk stays {desk.view().status}; expected {status}.")


def kinds(desk: Desk) -> list[str]:
    return [event.body.type for event in desk.memory.store.events("me")]


def test_a_desk_starts_empty(desk_on: Callable[[InMemoryStore], Desk]) -> None:
    desk = desk_on(InMemoryStore())
    view = desk.view()
    assert view.status == "empty"
    assert view.transcript is None
    with pytest.raises(SessionError, match="no task"):
        desk.propose()


def test_a_step(desk: Desk) -> None:
    card = desk.view().card
    desk.approve(card)
    until(desk, "waiting")
    assert kinds(desk) == ["started", "proposed", "decided", "observed", "proposed"]
    news = desk.view().news
    assert news is not None
    assert news.text == "Step 1 done"
    assert [(each.action, each.old, each.new) for each in news.changes] == [("search[scarf]", None, 0.0)]


def test_a_card_is_answered_once_however_many_answer(desk: Desk) -> None:
    card = desk.view().card
    refused: list[Exception] = []

    def answer() -> None:
        try:
            desk.approve(card)
        except SessionError as problem:
            refused.append(problem)

    threads = [threading.Thread(target=answer) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    until(desk, "waiting")
    assert len(refused) == 7
    assert all(isinstance(each, AlreadyAnswered) for each in refused)
    assert kinds(desk).count("observed") == 1


def test_a_card_that_was_replaced_is_not_approved(desk: Desk) -> None:
    desk.approve(desk.view().card)
    until(desk, "waiting")
    card = desk.view().card
    desk.reject(card, "none of these")
    until(desk, "waiting")
    for picked in (0, 1):
        with pytest.raises(AlreadyAnswered, match="replaced"):
            desk.approve(card, picked)
    assert kinds(desk).count("observed") == 1
    # What is typed is meant for the step, whatever is proposed there.
    desk.override(card, "click[back to search]")
    until(desk, "waiting")
    assert kinds(desk).count("observed") == 2


def test_a_model_that_breaks_is_told_and_asked_again(desk: Desk, policy: First) -> None:
    policy.broken = "The model server cannot be reached."
    desk.approve(desk.view().card)
    until(desk, "waiting")
    assert desk.view().error == "The model server cannot be reached."
    assert kinds(desk)[-1] == "observed"
    policy.broken = ""
    desk.propose()
    until(desk, "waiting")
    assert desk.view().error == ""
    assert kinds(desk)[-1] == "proposed"


def test_a_refused_answer_leaves_the_card(desk: Desk) -> None:
    card = desk.view().card
    with pytest.raises(NotAvailable):
        desk.override(card, "fly")
    assert desk.view().card == card
    assert desk.view().status == "waiting"


def test_another_policy_takes_over(desk: Desk) -> None:
    desk.use("other")
    until(desk, "waiting")
    assert desk.view().policy == "other"
    assert kinds(desk) == ["started", "proposed", "proposed"]
    with pytest.raises(SessionError, match="first, other"):
        desk.use("nobody")


def test_a_new_task_leaves_the_old_one(desk: Desk) -> None:
    desk.start("webshop", "own:a blue lamp")
    until(desk, "waiting")
    assert kinds(desk) == ["started", "proposed", "ended", "started", "proposed"]
    transcript = desk.view().transcript
    assert transcript is not None
    assert transcript.started.task == "a blue lamp"


def test_a_new_task_that_does_not_exist_leaves_the_old_one_open(desk: Desk) -> None:
    card = desk.view().card
    desk.start("webshop", "no such goal")
    until(desk, "waiting")
    assert "no such goal" in desk.view().error
    assert desk.view().card == card
    desk.approve(card)
    until(desk, "waiting")


def test_a_task_that_does_not_exist_is_told(desk_on: Callable[[InMemoryStore], Desk]) -> None:
    desk = desk_on(InMemoryStore())
    desk.start("webshop", "no such goal")
    until(desk, "empty")
    assert "no such goal" in desk.view().error
    assert kinds(desk) == []


def test_stop_lets_nothing_through(desk: Desk, policy: First) -> None:
    policy.gate.clear()
    desk.approve(desk.view().card)
    assert desk.view().status == "thinking"
    desk.stop()
    assert desk.view().status == "waiting"
    written = kinds(desk)
    policy.gate.set()
    for thread in threading.enumerate():
        if thread.name == "desk":
            thread.join(20)
    assert kinds(desk) == written
    assert desk.view().status == "waiting"


def test_it_runs_to_the_limit_and_rewards_count_after(desk: Desk) -> None:
    desk.run(ask=False)
    until(desk, "done")
    transcript = desk.view().transcript
    assert transcript is not None
    assert transcript.ended == "truncated"
    assert len(transcript.actions) == 15
    desk.label(15, 1.0)
    news = desk.view().news
    assert news is not None
    assert news.changes[0].action == transcript.actions[14]
    assert {step: each.value for step, each in desk.view().labels.items()} == {15: 1.0}
    desk.withdraw(15)
    assert desk.view().labels == {}
    with pytest.raises(SessionError, match="over"):
        desk.run(ask=False)


@pytest.mark.parametrize("ended", [False, True])
def test_the_last_task_is_back_on_the_desk(desk_on: Callable[[InMemoryStore], Desk], ended: bool) -> None:
    store = InMemoryStore()
    first = desk_on(store)
    first.start("webshop", TASK)
    until(first, "waiting")
    first.approve(first.view().card)
    until(first, "waiting")
    if ended:
        first.run(ask=False)
        until(first, "done")
    before, written = first.view(), kinds(first)
    first.close()
    again = desk_on(store)
    until(again, "done" if ended else "waiting")
    assert again.view().card == before.card
    assert kinds(again) == written


def test_what_is_said_while_it_runs_counts_before_its_next_action(
    desk_on: Callable[[InMemoryStore], Desk], policy: First
) -> None:
    desk = desk_on(InMemoryStore())
    desk.start("webshop", TASK)
    until(desk, "waiting")
    policy.gate.clear()
    desk.approve(desk.view().card)
    while len(policy.hints) < 2:
        threading.Event().wait(0.01)
    desk.guide("only cotton")
    policy.gate.set()
    until(desk, "waiting")
    # What was thought of before is not proposed; said once more, while it waits, it thinks anew.
    assert policy.hints == ["", "", "only cotton"]
    desk.guide("and cheap")
    until(desk, "waiting")
    assert policy.hints[3:] == ["only cotton\nand cheap"]
    desk.take_back()
    until(desk, "waiting")
    assert desk.view().card[1] == 1
    assert desk.view().steps == 0


def test_a_desk_is_there_before_its_memory_and_says_so(settings: Settings, policy: First) -> None:
    gate = threading.Event()
    store = InMemoryStore()

    def opened() -> tuple[Memory, dict[str, First]]:
        assert gate.wait(20)
        return Memory(store, "me", WordEncoder()), {"first": policy}

    desk = Desk("me", opened, "first", settings)
    view = desk.view()
    assert (view.status, view.user, view.memories, view.policies, view.busy) == ("reading", "me", 0, ("first",), True)
    # Who starts a task meanwhile is not turned away: it begins as soon as it can.
    starting = threading.Thread(target=desk.start, args=("webshop", TASK))
    starting.start()
    starting.join(0.2)
    assert starting.is_alive()
    gate.set()
    starting.join(20)
    until(desk, "waiting")
    assert len(desk.memory) == 0
    desk.close()


def test_a_memory_that_cannot_be_opened_is_told_and_tried_again(settings: Settings, policy: First) -> None:
    tries = iter([StoreError("The disk is full."), ValueError("nobody foresaw this"), None])

    def opened() -> tuple[Memory, dict[str, First]]:
        if problem := next(tries):
            raise problem
        return Memory(InMemoryStore(), "me", WordEncoder()), {"first": policy}

    desk = Desk("me", opened, "first", settings)
    for words in ("The disk is full.", "Something unforeseen went wrong (ValueError)"):
        until(desk, "shut")
        assert desk.view().error.startswith(words)
        assert not desk.view().busy
        with pytest.raises(StoreError, match=re.escape(words)):
            assert desk.memory
        with pytest.raises(StoreError, match=re.escape(words)):
            desk.start("webshop", TASK)
        desk.open()
    until(desk, "empty")
    assert desk.view().error == ""
    desk.close()


def test_a_task_is_put_back_on_the_table(desk_on: Callable[[InMemoryStore], Desk]) -> None:
    desk = desk_on(InMemoryStore())
    desk.start("webshop", TASK)
    until(desk, "waiting")
    desk.approve(desk.view().card)
    until(desk, "waiting")
    first = desk.view().card[0]
    desk.start("webshop", "own:a hat")
    until(desk, "waiting")
    desk.put(first)
    until(desk, "waiting", "done")
    assert desk.view().status == "done"
    desk.put(first, go_on=True)
    until(desk, "waiting", "done")
    assert (desk.view().card[0], desk.view().steps, desk.view().status) == (first, 1, "waiting")
    with pytest.raises(UnknownEpisode, match="nowhere"):
        desk.put("nowhere")
    assert desk.view().card[0] == first


def test_a_fork_does_again_what_was_done_and_refuses_what_was_not(desk_on: Callable[[InMemoryStore], Desk]) -> None:
    store = InMemoryStore()
    desk = desk_on(store)
    desk.start("webshop", TASK)
    until(desk, "waiting")
    desk.approve(desk.view().card)
    until(desk, "waiting")
    first = desk.view().card[0]
    desk.fork(first, 5)
    until(desk, "waiting", "done")
    assert "There is no step 5" in desk.view().error
    assert desk.view().card[0] == first
    events = len(store.events("me"))
    desk.fork(first, 2)
    until(desk, "waiting", "done")
    view = desk.view()
    assert view.card[0] != first
    assert view.transcript
    assert view.transcript.started.forked == (first, 2)
    assert view.transcript.actions == ("search[scarf]",)
    assert view.transcript.turns[0].decision
    assert view.transcript.turns[0].decision.by == "fork"
    assert len(store.events("me")) == events + 5  # ended, started, decided, observed, proposed
