"""What a person can do besides saying yes: take back, tell the agent something, undo; and what is learnt from it."""

import threading

import pytest

from rememberer.approval import Auto
from rememberer.errors import NoSuchStep, SessionError
from rememberer.events import Guided
from rememberer.exemplars import advise
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.records import Decision
from rememberer.session import Session
from tests.rememberer.logs import Log, values
from tests.rememberer.worlds import Corridor, Once, Scripted, answer, begin, memory_on


def q(memory: Memory, action: str = "go on") -> list[float]:
    """The values of an action, by place."""
    known = sorted(memory.experiences(), key=lambda each: each.state.observation)
    return [row.q for each in known for row in each.actions if row.action == action and row.visits]


def test_a_step_that_is_taken_back_has_never_been() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "approve")
    before = [(each.state, each.actions) for each in memory.experiences()]
    answer(session, "override", "go back")
    memory.label(session.episode, 2, -1.0, comment="not that way")
    changes = session.take_back()
    assert {(each.action, each.new) for each in changes} == {("go on", 0.0), ("go back", None)}
    assert [(each.state, each.actions) for each in memory.experiences()] == before
    assert memory.labels(session.episode) == {}
    assert session.transcript.actions == ("go on",)
    assert [each.action for each in session.propose().candidates] == ["go on", "go back"]
    answer(session, "approve")
    assert session.turn.state.observation == "place 2 "
    assert world.executed == ["go on", "go back", "go on", "go on"]  # replayed up to there, and then on
    assert memory.labels(session.episode) == {}


def test_the_end_of_a_task_can_be_taken_back_and_other_steps_be_taken() -> None:
    memory = memory_on()
    session = begin(memory)
    for _ in range(3):
        answer(session, "approve")
    assert (session.ended, q(memory)) == ("terminated", [1.0, 1.0, 1.0])
    session.take_back()
    assert (session.ended, q(memory)) == ("", [0.0, 0.0])
    session.propose()
    answer(session, "override", "go back")
    answer(session, "approve")
    answer(session, "approve")
    assert session.ended == "terminated"
    assert q(memory) == [1.0, 1.0, 1.0]
    assert q(memory, "go back") == [1.0]


def test_a_stop_can_be_taken_back_and_comes_again() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    for _ in range(2):
        session.decide(Decision(step=2, kind="stop"))
        assert (session.ended, memory.trace(session.episode).ended) == ("stopped", "truncated")
        session.take_back()
        assert (session.ended, memory.trace(session.episode).ended) == ("", "")
        assert session.transcript.actions == ("go on",)
        session.propose()
    memory.end_open()
    assert Session.resume(memory, Corridor(), session.episode, Scripted()).ended == "stopped"


def test_it_is_still_taken_back_after_a_restart_and_in_another_window() -> None:
    memory = memory_on()
    session = begin(memory)
    other = Session.resume(Memory(memory.store, "me", memory.encoder), Corridor(), session.episode, Scripted())
    answer(session, "approve")
    answer(session, "approve")
    session.take_back()
    for there in (other, Session.resume(memory_on(memory.store), Corridor(), session.episode, Scripted())):
        there.propose()
        assert there.transcript.actions == ("go on",)
    other.decide(Decision(step=2, kind="override", action="go back"))
    assert other.turn.state.observation == "place 0 "
    session.propose()
    assert session.transcript.actions == ("go on", "go back")


def test_what_cannot_be_taken_back() -> None:
    memory = memory_on()
    session = begin(memory)
    with pytest.raises(SessionError, match="no step to take back"):
        session.take_back()
    session = Session.start(memory, Once(), "through", Scripted())
    session.propose()
    answer(session, "approve")
    written = len(memory.store.events("me"))
    with pytest.raises(SessionError, match="once cannot go back"):
        session.take_back()
    assert len(memory.store.events("me")) == written


def test_what_the_agent_is_told_goes_before_what_it_was_about_to_do() -> None:
    policy, world = Scripted(), Corridor()
    session = begin(memory_on(), world, policy)
    policy.gate.clear()
    running = threading.Thread(target=session.run, args=(Auto(),))
    policy.actions = ("go back",)
    session.guide("go nowhere")  # what waited is proposed anew
    running.start()
    while len(policy.asked) < 2:
        pass
    policy.actions = ("go on",)
    session.guide("all the way through")
    policy.gate.set()
    running.join(20)
    assert world.executed == ["go on"] * 3
    assert [each.hint for each in policy.asked[:3]] == ["", "go nowhere", "go nowhere\nall the way through"]
    assert {each.hint for each in policy.asked[2:]} == {"go nowhere\nall the way through"}


def test_nothing_is_no_guidance() -> None:
    session = begin(memory_on())
    for text in ("", " \n"):
        with pytest.raises(SessionError, match="Nothing was said"):
            session.guide(text)
    assert not [each for each in session.memory.store.events("me") if isinstance(each.body, Guided)]
    assert session.turn.waiting


def test_undo_and_redo_go_through_what_was_said() -> None:
    memory = memory_on()
    session = begin(memory)
    for _ in range(3):
        answer(session, "approve")
    memory.label(session.episode, 1, -1.0)
    memory.label(session.episode, 1, 1.0)
    memory.withdraw(session.episode, 1)
    seen = [q(memory)[0]]
    for step in (memory.undo, memory.undo, memory.undo, memory.redo, memory.redo, memory.redo):
        step()
        seen.append(q(memory)[0])
    assert seen == [1.0, 2.0, 0.0, 1.0, 0.0, 2.0, 1.0]
    assert memory.can_undo() == (True, False)
    memory.undo()
    memory.label(session.episode, 2, 0.5)  # what comes after an undo is what is redone no more
    assert memory.can_undo() == (True, False)
    with pytest.raises(NoSuchStep, match="nothing of yours to do again"):
        memory.redo()


def test_an_earlier_label_can_be_undone_while_a_later_one_stands() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    memory.label(session.episode, 1, -1.0)
    memory.label(session.episode, 1, 1.0)
    first, second = memory.history(session.episode, 1)
    memory.undo(label=first.event.id)
    assert memory.labels(session.episode) == {1: 1.0}
    memory.undo(label=second.event.id)
    assert memory.labels(session.episode) == {}
    memory.redo(label=first.event.id)
    assert memory.labels(session.episode) == {1: -1.0}
    assert [each.undone for each in memory.history(session.episode, 1)] == [False, True]


def test_several_people_are_averaged_and_each_takes_back_their_own() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    memory.label(session.episode, 1, 1.0, by="ann")
    memory.label(session.episode, 1, 0.0, by="bob")
    assert q(memory) == [0.5]
    assert (memory.labels(session.episode, "ann"), memory.labels(session.episode, "bob")) == ({1: 1.0}, {1: 0.0})
    memory.withdraw(session.episode, 1, by="bob")
    assert q(memory) == [1.0]
    with pytest.raises(NoSuchStep):
        memory.withdraw(session.episode, 1, by="bob")
    with pytest.raises(NoSuchStep):
        memory.redo(by="bob")


def test_a_whole_task_is_rewarded_with_its_last_step() -> None:
    log = Log()
    log.start("e0", "one", gamma=0.5)
    log.step("e0", "a", 0.0, "two")
    log.label("e0", 0, 1.0)
    log.step("e0", "b", 0.0, "three")
    assert values(Learner(log.events)) == {"one a": 0.0, "two b": 0.0}
    log.end("e0")
    assert values(Learner(log.events)) == {"one a": 0.5, "two b": 1.0}


def test_a_task_that_goes_on_is_not_rewarded_as_a_whole() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    with pytest.raises(NoSuchStep, match="when it is over"):
        memory.label(session.episode, 0, 1.0)
    session.decide(Decision(step=2, kind="stop"))
    memory.label(session.episode, 0, 1.0)
    assert q(memory) == [1.0]
    with pytest.raises(NoSuchStep, match="The whole task has no reward of yours"):
        memory.withdraw(session.episode, 0, by="bob")


@pytest.mark.parametrize("first", [True, False])
def test_the_better_of_two_actions_is_worth_a_half_more_whenever_it_is_done(first: bool) -> None:
    log = Log()
    if first:
        log.compare("a", "b", "one")
    for name, action in (("e0", "a"), ("e1", "b"), ("e2", "c")):
        log.start(name, "one")
        log.step(name, action, 0.0, "two", terminated=True)
    if not first:
        log.compare("a", "b", "one")
    assert values(Learner(log.events)) == {"one a": 0.5, "one b": -0.5, "one c": 0.0}
    log.compare("c", "a", "one")  # a is better once, and worse once
    assert values(Learner(log.events)) == {"one a": 0.0, "one b": -0.5, "one c": 0.5}
    log.compare("a", "b", "one", equal=True)  # who compares the same two again has another mind
    assert values(Learner(log.events)) == {"one a": -0.25, "one b": 0.0, "one c": 0.5}


def test_the_better_of_two_tasks() -> None:
    log = Log()
    for name, action in (("e0", "a"), ("e1", "b")):
        log.start(name, "one")
        log.step(name, action, 0.25, "two", terminated=True)
    log.compare("e1", "e0")
    assert values(Learner(log.events)) == {"one a": -0.25, "one b": 0.75}


def test_what_can_be_compared() -> None:
    memory = memory_on()
    session = begin(memory)
    answer(session, "approve")
    with pytest.raises(SessionError, match="both are 'go on'"):
        memory.compare("go on", "go on", key="k")
    with pytest.raises(NoSuchStep, match="when it is over"):
        memory.compare(session.episode, session.episode + "x")


def test_a_persons_words_stand_in_the_exemplar_as_theirs() -> None:
    memory = memory_on()
    session = begin(memory)
    for _ in range(3):
        answer(session, "approve")
    memory.label(session.episode, 3, 0.5, comment="just  right\n")
    memory.label(session.episode, 0, 0.5, by="ann", comment="well done")
    known = next(each for each in memory.experiences() if each.state.observation == "place 2 ")
    encouraged, _ = advise(known, seed=0)
    assert encouraged[0].line == "go on -> 2.0 why go on (a person said: just right) (a person said: well done)"
    memory.undo(by="ann")
    known = next(each for each in memory.experiences() if each.state.observation == "place 2 ")
    assert known.actions[0].comments == ("just  right\n",)


def test_comments_and_guidance_are_forgotten_with_what_they_are_about() -> None:
    memory = memory_on()
    session = begin(memory)
    session.guide("the secret way")
    session.propose()
    for _ in range(3):
        answer(session, "approve")
    memory.label(session.episode, 1, 0.5, comment="a secret place")
    memory.label(session.episode, 0, 0.5, comment="a secret task")
    first = next(each for each in memory.experiences() if each.state.observation == "place 0 ")
    memory.compare("go on", "say[secret]", key=first.key)
    before = q(memory)[1:]
    memory.forget([first.key])
    assert not [each for each in memory.store.events("me") if "secret" in each.model_dump_json()]
    assert q(memory) == before
    assert memory_on(memory.store).labels(session.episode) == {0: 0.5, 1: 0.5}
