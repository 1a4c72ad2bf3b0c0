"""A session: what each answer does, to the world, the log and the values."""

from pathlib import Path

import pytest

from rememberer.errors import (
    AlreadyAnswered,
    ModelError,
    NoSuchStep,
    NotAvailable,
    SessionError,
    UnknownEpisode,
)
from rememberer.memory import Memory
from rememberer.records import ActionValue, Decision, LearningSettings
from rememberer.session import Session
from rememberer.transcript import transcript_of
from storage import LanceStore
from tests.rememberer.worlds import Corridor, Scripted, answer, begin, kinds, memory_on


def rows(memory: Memory, place: int) -> dict[str, ActionValue]:
    """The table of the state at a place of the corridor."""
    (known,) = [each for each in memory.experiences() if each.state.observation == f"place {place} "]
    return {row.action: row for row in known.actions}


def test_an_approved_step_is_executed_written_and_learnt() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    outcome = session.decide(Decision(step=1, kind="approve"))
    assert world.executed == ["go on"]
    assert outcome.observed is not None
    assert outcome.observed.reason == "why go on"
    assert [(each.action, each.old, each.new) for each in outcome.changes] == [("go on", None, 0.0)]
    assert kinds(memory) == ["started", "proposed", "decided", "observed"]
    assert session.turn.step == 2


def test_to_the_end() -> None:
    memory = memory_on()
    session = begin(memory)
    for _ in range(3):
        answer(session, "approve")
    assert session.ended == "terminated"
    assert [rows(memory, place)["go on"].q for place in range(3)] == [1.0, 1.0, 1.0]
    for refused in (lambda: session.propose(), lambda: session.decide(Decision(step=4, kind="approve"))):
        with pytest.raises(SessionError, match="over"):
            refused()


def test_a_chosen_candidate_is_credited() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "choose", "go back")
    assert world.executed == ["go back"]
    assert rows(memory, 0)["go back"].visits == 1
    assert "go on" not in rows(memory, 0)
    with pytest.raises(NotAvailable, match="go on; go back"):
        session.decide(Decision(step=2, kind="choose", action="say[hello]"))


def test_an_override_is_credited_and_the_proposal_rejected() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "override", "say[hello]", hint="be polite")
    assert world.executed == ["say[hello]"]
    table = rows(memory, 0)
    assert (table["say[hello]"].visits, table["say[hello]"].rejections) == (1, ())
    assert (table["go on"].visits, table["go on"].q, table["go on"].rejections) == (0, 0.0, ("be polite",))


def test_to_type_what_is_proposed_is_to_approve() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "override", "  Go ON ")
    assert world.executed == ["go on"]
    decision = session.transcript.turns[0].decision
    assert decision is not None
    assert decision.kind == "approve"
    assert rows(memory, 0)["go on"].rejections == ()


@pytest.mark.parametrize("typed", ["fly", "", "say[]", "say[ ]", "go  on", "go on; go on"])
def test_what_cannot_be_done_is_refused_with_what_can(typed: str) -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    before = kinds(memory)
    with pytest.raises(NotAvailable, match=r"What can be done: go on; go back; say\[<words>\]\."):
        session.decide(Decision(step=1, kind="override", action=typed))
    assert world.executed == []
    assert kinds(memory) == before
    answer(session, "approve")
    assert world.executed == ["go on"]


def test_a_rejection_reaches_the_policy_and_nothing_is_done() -> None:
    memory, world, policy = memory_on(), Corridor(), Scripted("go on", "go back")
    session = begin(memory, world, policy)
    answer(session, "reject", hint="not that way")
    assert world.executed == []
    assert policy.asked[-1].refused == ("go on",)
    assert policy.asked[-1].hint == "not that way"
    assert session.turn.waiting is not None
    assert [each.action for each in session.turn.waiting.candidates] == ["go back"]
    assert rows(memory, 0)["go on"].rejections == ("not that way",)
    answer(session, "reject")
    with pytest.raises(SessionError, match="no proposal to approve"):
        session.decide(Decision(step=1, kind="approve"))
    answer(session, "override", "say[well]")
    assert world.executed == ["say[well]"]


def test_an_answer_is_to_the_card_that_was_seen() -> None:
    session = begin(memory_on())
    session.policy = Scripted("go back", "go on")
    session.propose(again=True)
    for kind in ("approve", "reject"):
        with pytest.raises(AlreadyAnswered, match="replaced"):
            session.decide(Decision(step=1, kind=kind, proposed="go on"))
    with pytest.raises(AlreadyAnswered, match="replaced"):
        session.decide(Decision(step=1, kind="approve", action="go on"))
    answer(session, "approve", "go back")
    with pytest.raises(AlreadyAnswered, match="Step 1 was answered already"):
        session.decide(Decision(step=1, kind="approve"))
    with pytest.raises(SessionError, match="not there yet"):
        session.decide(Decision(step=7, kind="approve"))


def test_a_proposal_waits_for_its_answer() -> None:
    memory, policy = memory_on(), Scripted()
    session = begin(memory, policy=policy)
    assert session.propose() is session.propose()
    assert len(policy.asked) == 1
    assert kinds(memory).count("proposed") == 1


def test_the_policy_is_told_what_was_done() -> None:
    policy = Scripted()
    session = begin(memory_on(), policy=policy, seed=5)
    answer(session, "approve")
    answer(session, "override", "say[hm]")
    told = policy.asked[-1]
    assert told.last_actions == ("go on", "say[hm]")
    assert (told.last_reward, told.total_reward, told.seed) == (0.0, 0.0, 5)
    assert told.grammar == Corridor.grammar
    assert told.refused == ()


@pytest.mark.parametrize("problem", [ModelError("The server is away."), ZeroDivisionError()])
def test_a_policy_that_breaks_leaves_nothing_behind(problem: Exception) -> None:
    memory, policy = memory_on(), Scripted()
    session = Session.start(memory, Corridor(), "through", policy)
    policy.problem = problem
    with pytest.raises(type(problem)):
        session.propose()
    assert kinds(memory) == ["started"]
    policy.problem = None
    assert session.propose().candidates


def test_to_stop_ends_the_episode_where_it_stands() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "approve")
    session.decide(Decision(step=2, kind="stop"))
    assert session.ended == "stopped"
    assert world.executed == ["go on"]
    assert kinds(memory)[-2:] == ["decided", "ended"]
    (episode,) = memory.episodes()
    assert (episode.ended, episode.outcome) == ("truncated", "stopped")


def test_what_was_left_open_can_be_ended_without_its_world() -> None:
    memory = memory_on()
    one, other = begin(memory), begin(memory)
    one.decide(Decision(step=1, kind="stop"))
    memory.end_open()
    assert transcript_of(memory, other.episode).ended == "stopped"
    memory.end_open()
    assert kinds(memory).count("ended") == 2


def test_the_limit_truncates_and_the_last_step_may_still_win() -> None:
    long = begin(memory_on(), step_limit=2)
    answer(long, "approve")
    answer(long, "approve")
    assert long.ended == "truncated"
    won = begin(memory_on(), step_limit=3)
    for _ in range(3):
        answer(won, "approve")
    assert won.ended == "terminated"


def test_rewards_of_a_person() -> None:
    memory = memory_on()
    session = begin(memory)
    with pytest.raises(NoSuchStep, match="No step was"):
        session.label(1, 1.0)
    for _ in range(3):
        answer(session, "approve")
    changes = session.label(2, -1.0)
    assert [(each.old, each.new) for each in changes] == [(1.0, 0.0), (1.0, 0.0)]
    assert session.label(2, 1.0)[0].new == 2.0
    assert memory.labels(session.episode) == {2: 1.0}
    session.memory.withdraw(session.episode, 2)
    assert rows(memory, 0)["go on"].q == 1.0
    before = kinds(memory)
    for refused in (
        lambda: session.memory.withdraw(session.episode, 2),
        lambda: session.label(4, 1.0),
        lambda: session.label(-1, 1.0),
        lambda: session.label(1, 1.5),
        lambda: session.label(1, float("nan")),
        lambda: memory.label("no such episode", 1, 1.0),
    ):
        with pytest.raises(SessionError):
            refused()
    assert kinds(memory) == before


def test_an_episode_that_nobody_has() -> None:
    memory = memory_on()
    with pytest.raises(UnknownEpisode, match="nobody"):
        Session.resume(memory, Corridor(), "nobody", Scripted())


def test_a_task_in_own_words() -> None:
    session = Session.start(memory_on(), Corridor(), "own: find the way ", Scripted())
    assert session.transcript.started.task == "find the way"


@pytest.mark.parametrize(
    "words",
    ["买鞋 🦊", 'it\'s "so"', "'; drop table log; --", "two\nlines\u2028more", "NUL \0", "half \ud83e", "x" * 20_000],
)
def test_any_words_go_through_as_they_are(tmp_path: Path, words: str) -> None:
    store = LanceStore(tmp_path / "memory", embedding_model="words")
    session = begin(memory_on(store))
    answer(session, "override", f"say[{words}]", hint=words)
    again = transcript_of(memory_on(store), session.episode)
    assert again.actions == (f"say[{words}]",)
    assert again.turns[0].decision is not None
    assert again.turns[0].decision.hint == words
    assert again.turn.state.observation == f"place 0 {words}"
    store.close()


def test_the_record_that_stood_for_a_new_state_is_logged() -> None:
    """Learning again from the log needs no similarity: the nearest record is in it."""
    memory = memory_on()
    settings = LearningSettings(n=1, bootstrap="nearest")
    first = begin(memory, learning=settings)
    for _ in range(3):
        answer(first, "approve")
    second = Session.start(memory, Corridor(sign="new "), "through", Scripted(), learning=settings)
    second.propose()
    answer(second, "approve")
    outcome = second.transcript.turns[0].outcome
    assert outcome is not None
    assert outcome.nearest in [each.key for each in memory.experiences()]
    assert outcome.nearest != second.transcript.turns[0].state.key
    live = memory.experiences()
    assert memory_on(memory.store).experiences() == live


def test_an_override_is_spelled_as_the_world_does() -> None:
    world = Corridor()
    session = begin(memory_on(), world)
    answer(session, "override", " SAY[Hello You] ")
    answer(session, "override", "GO ON")
    assert world.executed == ["say[Hello You]", "go on"]
    assert session.turn.state.observation == "place 1 "


def test_to_choose_the_first_is_to_approve_it_and_to_type_another_candidate_passes_it_over() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "choose", "go on")
    answer(session, "override", "go back", hint="wrong way")
    first, second = (each.decision for each in session.transcript.turns[:2])
    assert first is not None
    assert (first.kind, first.proposed) == ("approve", "go on")
    assert second is not None
    assert (second.kind, second.proposed) == ("override", "go on")
    assert rows(memory, 1)["go on"].rejections == ("wrong way",)


def test_after_the_end_a_reward_still_counts_and_nothing_else_does() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world, step_limit=1)
    answer(session, "approve")
    before = kinds(memory)
    answers = [Decision(step=2, kind=kind, action="go on") for kind in ("approve", "choose", "override", "stop")]
    for refused in [session.propose, session.carry_on, *(lambda each=each: session.decide(each) for each in answers)]:
        with pytest.raises(SessionError, match=r"This task is over \(truncated\)\. Start a new one\."):
            refused()
    assert kinds(memory) == before
    assert world.executed == ["go on"]
    assert [(each.old, each.new) for each in session.label(1, 0.5)] == [(0.0, 0.5)]


def test_another_policy_takes_over_in_the_middle() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world)
    answer(session, "approve")
    session.policy = Scripted("say[I know better]")
    assert session.propose().candidates[0].action == "go on"
    assert session.propose(again=True).candidates[0].action == "say[I know better]"
    answer(session, "approve")
    assert world.executed == ["go on", "say[I know better]"]
    assert kinds(memory).count("proposed") == 4
