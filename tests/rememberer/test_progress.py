"""What episodes tell of learning: small ones through a real memory, the numbers exactly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememberer.approval import Auto
from rememberer.events import Asked, Decided, EpisodeStarted, Observed, Proposed
from rememberer.memory import Memory
from rememberer.policy import Retrieved, Situation
from rememberer.progress import BINS, Calibration, Foreseen, Progress, calibration, progress, smoothed
from rememberer.records import Candidate, Decision, LearningSettings, Proposal
from rememberer.session import Session
from tests.rememberer.fakes import state
from tests.rememberer.worlds import Scripted, answer, begin, memory_on


class Valued(Scripted):
    """Knows what its actions are worth: the first one of `values` the first time, and so on; None: nobody knows."""

    def __init__(self, *values: float | None) -> None:
        super().__init__()
        self.values = list(values)

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        first, *others = super().propose(situation, retrieved, k).candidates
        known = Candidate(action=first.action, value=self.values.pop(0))
        return Proposal(candidates=(known, *others), policy=self.name)


def went(memory: Memory) -> Progress:
    return progress(memory.episodes(), memory.labels)


def foreseen(memory: Memory) -> Foreseen:
    known = Foreseen()
    known.apply(memory.store.events(memory.user))
    return known


def calibrated(memory: Memory) -> Calibration:
    return calibration(memory.episodes(), foreseen(memory))


def pairs(memory: Memory) -> list[tuple[float, float]]:
    """Value and return of each step that has both, smallest value first."""
    found = calibrated(memory)
    return sorted(zip(found.values.tolist(), found.returns.tolist(), strict=True))


def by_person(memory: Memory, steps: int, **options: Any) -> Session:
    session = begin(memory, **options)
    for _ in range(steps):
        answer(session, "approve")
    return session


def test_each_episode_is_told_in_order_of_time() -> None:
    memory = memory_on()
    solved = by_person(memory, 3)
    stopped = by_person(memory, 1)
    stopped.decide(Decision(step=2, kind="stop"))
    begin(memory).run(Auto())
    mixed = by_person(memory, 2)
    mixed.run(Auto())
    still_open = by_person(memory, 1)
    memory.label(solved.episode, 2, 1.0)
    memory.label(solved.episode, 0, 0.5)
    memory.label(still_open.episode, 1, -1.0)
    memory.write([Asked(step=1, why="not sure")], still_open.episode)
    told = went(memory)
    np.testing.assert_array_equal(told.score, [1, 0, 1, 1, np.nan])
    np.testing.assert_array_equal(told.solved, [1, 0, 1, 1, np.nan])
    np.testing.assert_array_equal(told.human, [1, 1, 0, 2 / 3, 1])
    assert told.questions.tolist() == [0, 0, 0, 0, 1]
    assert told.labels.tolist() == [2, 2, 2, 2, 3]
    assert told.episodes[1].outcome == "stopped"


def test_what_is_quarantined_counts_for_nothing_until_it_counts_again() -> None:
    memory = memory_on()
    first, second = by_person(memory, 3, policy=Valued(0.5, 0.5, 0.5)), by_person(memory, 1)
    memory.label(first.episode, 1, 1.0)
    memory.quarantine(episode=first.episode)
    assert [each.id for each in went(memory).episodes] == [second.episode]
    assert went(memory).labels.tolist() == [0]
    assert pairs(memory) == []
    memory.quarantine(episode=first.episode, on=False)
    assert went(memory).labels.tolist() == [1, 1]
    assert pairs(memory) == [(0.5, 1.0), (0.5, 1.0), (0.5, 2.0)]


def test_steps_of_a_fork_or_of_nobody_are_decided_by_no_one() -> None:
    memory = memory_on()
    places = [state("go on", observation=f"place {each}") for each in range(5)]
    started = EpisodeStarted(env="nowhere", task_id="t", task="walk", state=places[0])
    done = [Observed(step=step, action="go on", reward=0.0, state=places[step]) for step in range(1, 5)]
    by = [Decided(decision=Decision(step=step, kind="approve", action="go on", by="fork")) for step in (1, 2)]
    memory.write([started, by[0], done[0], by[1], done[1], done[2]], "e")
    np.testing.assert_array_equal(went(memory).human, [np.nan])
    memory.write([Decided(decision=Decision(step=4, kind="approve", action="go on", by="confidence")), done[3]], "e")
    np.testing.assert_array_equal(went(memory).human, [0])


def test_nothing_is_told_of_nothing() -> None:
    told = went(memory_on())
    assert [len(each) for each in (told.episodes, told.score, told.human, told.questions, told.labels)] == [0] * 5
    assert smoothed(told.score, 10).tolist() == []
    found = calibrated(memory_on())
    assert (len(found.values), found.without, len(found.count)) == (0, 0, 0)
    assert np.isnan(found.error)


def test_a_curve_is_the_mean_of_the_last_ones() -> None:
    np.testing.assert_array_equal(smoothed(np.array([1.0, 0, np.nan, 0, 4]), 2), [1, 0.5, 0, 0, 2])
    np.testing.assert_array_equal(smoothed(np.array([np.nan, np.nan, 2.0]), 2), [np.nan, np.nan, 2])


@given(st.lists(st.none() | st.floats(-1e9, 1e9), max_size=30), st.integers(1, 50))
def test_a_curve_is_what_a_plain_mean_says(column: list[float | None], window: int) -> None:
    known = [[it for it in column[max(0, at - window + 1) : at + 1] if it is not None] for at in range(len(column))]
    means = [sum(each) / len(each) if each else np.nan for each in known]
    np.testing.assert_allclose(smoothed(np.array(column, float), window), means, rtol=1e-9, atol=1e-3)


def test_values_stand_beside_the_discounted_rewards_that_were_learnt_from() -> None:
    memory = memory_on()
    learning = LearningSettings(gamma=0.5, step_penalty=0.25, beta=2.0)
    session = by_person(memory, 3, policy=Valued(0.1, None, 0.9), learning=learning)
    memory.label(session.episode, 2, 0.5)
    # r: -0.25, 2 * 0.5 - 0.25, 1 - 0.25
    assert pairs(memory) == [(0.1, -0.25 + 0.5 * (0.75 + 0.5 * 0.75)), (0.9, 0.75)]
    found = calibrated(memory)
    assert found.without == 1
    assert found.error == pytest.approx((0.2125 + 0.15) / 2)
    # With full returns the table itself holds them.
    turns = session.transcript.turns
    targets = [memory.explain(turns[at].state.key, "go on").targets[0].value for at in (0, 2)]
    assert pairs(memory) == list(zip((0.1, 0.9), targets, strict=True))


def test_only_what_stood_there_when_the_step_was_done_is_counted() -> None:
    memory = memory_on()
    session = begin(memory, policy=Valued(0.1, 0.2, 0.3, 0.4, 0.5))
    answer(session, "reject")  # proposed again, with 0.2 on the second action, which is the first one now
    answer(session, "override", "go on")  # nobody has said what that is worth
    answer(session, "approve")
    answer(session, "override", "say[hello]")
    assert calibrated(memory).without == 0, "the task is not over"
    memory.end_open()
    assert pairs(memory) == [(0.3, 0.0)]
    assert calibrated(memory).without == 2


def test_a_step_that_was_taken_back_has_no_value_and_its_proposal_stands_again() -> None:
    memory = memory_on()
    session = by_person(memory, 2, policy=Valued(0.1, 0.2, 0.3, 0.4, 0.5))
    seen = foreseen(memory)
    assert seen.of(session.episode) == {1: 0.1, 2: 0.2}
    session.take_back()
    session.take_back()
    fresh = memory.store.events(memory.user, after=seen.seq)
    seen.apply(fresh)
    assert seen.of(session.episode) == foreseen(memory).of(session.episode) == {}
    answer(session, "approve")
    answer(session, "approve")
    answer(session, "approve")
    assert [value for value, _ in pairs(memory)] == [0.1, 0.4, 0.5]
    seen.apply(memory.store.events(memory.user, after=seen.seq))
    assert seen.of(session.episode) == {1: 0.1, 2: 0.4, 3: 0.5}


def test_ranges_are_of_equal_width_and_hold_all_values() -> None:
    memory = memory_on()
    for values in ([0.0, 0.04, 0.5], [0.5, 0.95, 1.0]):
        by_person(memory, 3, policy=Valued(*values))
    found = calibrated(memory)
    assert found.edges == pytest.approx(np.linspace(0, 1, BINS + 1))
    assert found.count.tolist() == [2, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    assert found.mean_value[[0, 5, 9]] == pytest.approx([0.02, 0.5, 0.975])
    assert found.mean_return[[0, 5, 9]].tolist() == [1, 1, 1]
    assert np.isnan(found.mean_value[1])
    assert np.isnan(found.mean_return[1])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_no_value_is_lost_in_a_range(values: list[float]) -> None:
    memory = memory_on()
    places = [state("go on", observation=f"place {each}") for each in range(len(values) + 1)]
    memory.write([EpisodeStarted(env="nowhere", task_id="t", task="walk", state=places[0])], "e")
    for step, value in enumerate(values, 1):
        proposal = Proposal(candidates=(Candidate(action="go on", value=value),))
        body = Observed(step=step, action="go on", reward=0.0, state=places[step], terminated=step == len(values))
        memory.write([Proposed(step=step, proposal=proposal), body], "e")
    found = calibrated(memory)
    assert found.count.sum() == len(values)
    some = found.count > 0
    assert (found.mean_value * found.count)[some].sum() == pytest.approx(sum(values), abs=1e-3)
    assert found.error == pytest.approx(sum(map(abs, values)) / len(values))
