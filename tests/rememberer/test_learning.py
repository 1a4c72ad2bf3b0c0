"""The rules of learning, each with numbers that a person can check; the goldens cover returns, averages and loops."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from rememberer.learning import Learner
from rememberer.records import Experience
from tests.rememberer.logs import Log, moved, page, values


def learnt(log: Log) -> dict[str, float]:
    return values(Learner(log.events))


def experience(learner: Learner, name: str) -> Experience:
    (found,) = learner.experiences([page(name).key])
    return found


def finished(**learning: object) -> Log:
    """Five steps through five pages, rewards 0, 0, 0, 0, 1."""
    log = Log()
    log.start("e", "p1", **learning)
    for step in range(1, 6):
        log.step("e", "go", float(step == 5), f"p{step + 1}", terminated=step == 5)
    return log


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, 0.25 + 0.5),
        ({"beta": 0.5}, 0.25 + 0.25),
        ({"labels": "replace"}, 0.5),
        ({"labels": "replace", "beta": 0.5}, 0.5),
        ({"step_penalty": 0.125}, 0.25 + 0.5 - 0.125),
        ({"labels": "replace", "step_penalty": 0.125}, 0.5 - 0.125),
    ],
)
def test_a_label_is_added_to_the_reward_or_stands_instead_of_it(settings: dict[str, object], wanted: float) -> None:
    log = Log()
    log.start("e", "here", **settings)
    log.step("e", "buy", 0.25, "end", terminated=True)
    log.label("e", 1, 0.5)
    assert learnt(log) == {"here buy": wanted}


def test_the_last_label_of_a_step_counts() -> None:
    log = finished()
    log.label("e", 5, -1.0)
    log.label("e", 5, 1.0)
    assert learnt(log)["p5 go"] == 2.0


def test_a_label_taken_back_leaves_the_values_as_they_were() -> None:
    log = finished()
    learner = Learner(log.events)
    before = list(learner.experiences())
    learner.apply([log.label("e", 3, -1.0)])
    assert values(learner)["p1 go"] == 0.0
    changes = learner.apply([log.withdraw("e", 3)])
    assert list(learner.experiences()) == before
    assert moved(changes, ["p1", "p2", "p3"]) == {"p1 go": (0.0, 1.0), "p2 go": (0.0, 1.0), "p3 go": (0.0, 1.0)}


def test_a_label_moves_the_steps_up_to_it_with_full_returns() -> None:
    log = finished()
    learner = Learner(log.events)
    changes = learner.apply([log.label("e", 2, -0.5)])
    assert moved(changes, ["p1", "p2"]) == {"p1 go": (1.0, 0.5), "p2 go": (1.0, 0.5)}
    assert values(learner) == {"p1 go": 0.5, "p2 go": 0.5, "p3 go": 1.0, "p4 go": 1.0, "p5 go": 1.0}


def test_a_label_moves_the_steps_within_n_of_it_and_no_others() -> None:
    """n = 1, one pass: nothing was known of the next page when a step settled, so nothing else depends on it."""
    log = finished(n=1)
    learner = Learner(log.events)
    assert moved(learner.apply([log.label("e", 2, -0.5)]), ["p2"]) == {"p2 go": (0.0, -0.5)}
    log = finished(n=2, gamma=0.5)
    learner = Learner(log.events)
    changes = learner.apply([log.label("e", 2, -0.5)])
    assert moved(changes, ["p1", "p2"]) == {"p1 go": (0.0, -0.25), "p2 go": (0.0, -0.5)}


def test_a_label_moves_what_bootstrapped_from_its_step_in_other_episodes_too() -> None:
    log = Log()
    for episode in ("first", "second", "third"):
        log.start(episode, "a", n=1, gamma=0.5)
        log.step(episode, "go", 0.0, "b")
        log.step(episode, "buy", 1.0, "end", terminated=True)
    learner = Learner(log.events)
    # Of "a go": nothing, then half of V(b) = 1, twice.
    assert values(learner) == {"a go": pytest.approx(1 / 3), "b buy": 1.0}
    changes = learner.apply([log.label("first", 2, -1.0)])
    # V(b) was 0 after the first pass and (0 + 1) / 2 after the second.
    assert [target.value for target in learner.explain(page("a").key, "go").targets] == [0.0, 0.0, 0.25]
    assert moved(changes, "ab") == {
        "b buy": (1.0, pytest.approx(2 / 3)),
        "a go": (pytest.approx(1 / 3), pytest.approx(0.25 / 3)),
    }


def test_a_label_before_its_step_was_learnt_counts_as_well() -> None:
    log = Log()
    log.start("e", "here")
    late = log.step("e", "buy", 0.25, "end", terminated=True)
    label = log.label("e", 1, 0.5)
    learner = Learner([log.events[0], label])
    learner.apply([late])
    assert values(learner) == {"here buy": 0.75}


def test_an_override_credits_what_was_executed_and_notes_what_was_rejected() -> None:
    log = Log()
    log.start("e", "here")
    log.decide("e", "override", "click[dear]", "click[cheap]", hint="too dear")
    log.step("e", "click[cheap]", 1.0, "end", terminated=True)
    rows = experience(Learner(log.events), "here").actions
    assert [(row.action, row.q, row.visits, row.rejections) for row in rows] == [
        ("click[cheap]", 1.0, 1, ()),
        ("click[dear]", 0.0, 0, ("too dear",)),
    ]


def test_a_rejection_moves_no_value_even_of_an_action_that_has_one() -> None:
    log = Log()
    log.start("e", "here")
    log.step("e", "look", 0.5, "here")
    log.decide("e", "reject", "look", hint="again?")
    learner = Learner(log.events)
    changes = learner.apply([log.decide("e", "reject", "look")])
    assert changes == []
    (row,) = experience(learner, "here").actions
    assert (row.visits, row.rejections) == (1, ("again?", ""))


def test_an_approved_proposal_is_no_rejection() -> None:
    log = Log()
    log.start("e", "here")
    log.decide("e", "approve", "buy", "buy")
    log.decide("e", "choose", "buy", "look")
    assert learnt(log) == {}
    assert list(Learner(log.events).experiences()) == []


@pytest.mark.parametrize(("n", "wanted"), [(1, 0.25 + 0.5 * 0.75), (3, 0.25 + 0.5 * 0.75), (None, 0.25)])
@pytest.mark.parametrize("cut", ["by the step limit", "by the person"])
def test_a_cut_bootstraps_with_finite_n_and_takes_the_return_so_far_without(
    n: int | None, wanted: float, cut: str
) -> None:
    log = Log()
    log.load("next", buy=0.75)
    log.start("e", "here", n=n, gamma=0.5)
    log.step("e", "go", 0.25, "next", truncated=cut == "by the step limit")
    if cut == "by the person":
        log.end("e")
    assert learnt(log)["here go"] == wanted


@pytest.mark.parametrize("n", [1, 3, None])
def test_the_end_of_a_task_is_worth_nothing_more(n: int | None) -> None:
    log = Log()
    log.load("next", buy=0.75)
    log.start("e", "here", n=n)
    log.step("e", "go", 0.25, "next", terminated=True)
    assert learnt(log)["here go"] == 0.25


def test_every_step_costs_the_penalty() -> None:
    log = Log()
    log.start("e", "a", step_penalty=0.125)
    log.step("e", "go", 0.0, "b")
    log.step("e", "go", 0.0, "c")
    log.step("e", "buy", 1.0, "end", terminated=True)
    assert learnt(log) == {"a go": 0.625, "b go": 0.75, "c buy": 0.875}
    assert experience(Learner(log.events), "c").mean_total_reward == -0.25
    assert experience(Learner(log.events), "c").outcome_return == 1.0


def test_values_move_at_once_while_the_episode_is_open_and_settle_at_its_end() -> None:
    log = Log()
    learner = Learner()
    learner.apply([log.load("b", buy=0.5), log.start("e", "a", gamma=0.5), log.step("e", "go", 0.25, "b")])
    assert values(learner)["a go"] == 0.25 + 0.5 * 0.5  # bootstraps at the frontier
    assert learner.v(page("a").key) is None  # and is no ground for others meanwhile
    # The frontier's value moves, and the open episode follows.
    learner.apply([log.start("other", "b"), log.step("other", "buy", 1.0, "end", terminated=True)])
    assert values(learner)["a go"] == 0.25 + 0.5 * 0.75
    learner.apply([log.step("e", "buy", 0.0, "end")])
    assert values(learner)["a go"] == 0.25
    learner.apply([log.label("e", 2, 1.0)])
    assert values(learner)["a go"] == 0.75
    learner.apply([log.end("e")])
    assert values(learner)["a go"] == learner.v(page("a").key) == 0.75
    assert all(target.settled for target in learner.explain(page("a").key, "go").targets)


def test_with_n_steps_a_target_settles_as_soon_as_its_rewards_are_known() -> None:
    log = Log()
    learner = Learner([log.start("e", "a", n=2), log.step("e", "go", 1.0, "b")])
    assert learner.v(page("a").key) is None
    learner.apply([log.step("e", "go", 1.0, "c")])
    assert learner.v(page("a").key) == 2.0
    assert learner.v(page("b").key) is None


@pytest.mark.parametrize(("bootstrap", "wanted"), [("zero", 0.0), ("nearest", 0.5)])
def test_an_unknown_page_is_worth_nothing_or_what_the_most_similar_one_is(bootstrap: str, wanted: float) -> None:
    log = Log()
    log.load("alike", buy=0.5)
    log.start("e", "a", n=1, bootstrap=bootstrap)
    log.step("e", "go", 0.0, "new", nearest="alike", terminated=False)
    learner = Learner(log.events)
    assert values(learner)["a go"] == wanted
    (target,) = learner.explain(page("a").key, "go").targets
    assert (target.bootstrap_key, target.bootstrap) == (page("alike").key if wanted else "", wanted)


def test_a_known_page_stands_for_itself() -> None:
    log = Log()
    log.load("alike", buy=0.5)
    log.load("known", buy=-1.0)
    log.start("e", "a", n=1, bootstrap="nearest")
    log.step("e", "go", 0.0, "known", nearest="alike")
    assert learnt(log)["a go"] == -1.0


def test_a_target_tells_what_it_is_made_of() -> None:
    log = Log()
    log.load("c", buy=0.5)
    log.start("e", "a", n=2, gamma=0.5, alpha=0.25)
    log.step("e", "go", 0.25, "b")
    log.step("e", "go", 0.5, "c")
    log.label("e", 2, 1.0)
    (target,) = Learner(log.events).explain(page("a").key, "go").targets
    assert (target.episode, target.step, target.alpha) == ("e", 1, 0.25)
    assert target.rewards == (0.25, 1.5)
    assert target.labels == (None, 1.0)
    assert (target.bootstrap_key, target.bootstrap) == (page("c").key, 0.125)
    assert target.value == 0.25 + 0.75 + 0.125


def test_imported_values_count_as_many_targets_as_visits() -> None:
    log = Log()
    log.load("here", visits=3, buy=1.0)
    log.start("e", "here")
    log.step("e", "buy", 0.0, "end", terminated=True)
    found = experience(Learner(log.events), "here")
    assert (found.actions[0].q, found.actions[0].visits) == (0.75, 4)
    assert (found.visits, found.origin) == (4, "episode")


def test_an_imported_value_stays_to_the_bit_while_nothing_else_is_known() -> None:
    log = Log()
    log.load("a", visits=3, go=0.1)
    assert values(Learner(log.events)) == {"a go": 0.1}


def test_an_experience_tells_how_it_went_on() -> None:
    log = finished()
    log.pin("p2")
    found = experience(Learner(log.events), "p2")
    assert (found.outcome, found.outcome_return, found.outcome_steps) == ("solved", 1.0, 5)
    assert (found.history, found.episodes, found.visits, found.pinned) == (("go",), ("e",), 1, True)
    assert found.created == found.updated == datetime(2026, 1, 1, 0, 2, tzinfo=UTC)
    log.start("again", "p2")
    log.step("again", "go", 0.0, "p3")
    assert experience(Learner(log.events), "p2").outcome == "open"
    log.end("again")
    found = experience(Learner(log.events), "p2")
    assert (found.outcome, found.episodes, found.history) == ("stopped", ("e", "again"), ())


@pytest.mark.parametrize(
    ("reward", "end", "outcome"),
    [
        (1.0, {"terminated": True}, "solved"),
        (0.5, {"terminated": True}, "failed"),
        (1.0, {"truncated": True}, "solved"),
        (0.5, {"truncated": True}, "stopped"),
        (1.0, {}, "stopped"),
    ],
)
def test_an_episode_is_solved_by_the_worlds_reward_alone(reward: float, end: dict[str, bool], outcome: str) -> None:
    log = Log()
    log.start("e", "a")
    log.step("e", "go", reward, "b", **end)
    log.label("e", 1, 1.0)
    log.end("e")  # a person stops; counts where the world had not ended it
    learner = Learner(log.events)
    assert learner.episodes["e"].outcome == experience(learner, "a").outcome == outcome


def test_actions_stand_best_first_then_more_visited_and_what_was_only_rejected_last() -> None:
    log = Log()
    log.start("e", "a")
    log.decide("e", "reject", "never")
    for number, (action, reward) in enumerate([("poor", -1.0), ("once", 0.5), ("twice", 0.5), ("twice", 0.5)]):
        log.start(f"e{number}", "a")
        log.step(f"e{number}", action, reward, "end", terminated=True)
    log.load("a", best=9.0)
    rows = experience(Learner(log.events), "a").actions
    assert [row.action for row in rows] == ["best", "twice", "once", "poor", "never"]


def test_what_happens_after_the_end_of_an_episode_is_not_learnt() -> None:
    """Another process may have been executing while this one stopped the episode."""
    log = Log()
    log.start("e", "a")
    log.step("e", "go", 0.25, "b")
    log.end("e")
    log.step("e", "go", 1.0, "c")
    learner = Learner(log.events)
    assert values(learner) == {"a go": 0.25}
    assert learner.episodes["e"].outcome == "stopped"


def test_an_episode_begins_once_and_nothing_of_it_is_learnt_before() -> None:
    log = Log()
    log.start("e", "a")
    start = log.events.pop()
    log.step("e", "go", 1.0, "b", terminated=True)
    log.decide("e", "reject", "go")
    log.end("e")
    assert learnt(log) == {}
    log = Log()
    log.events.append(start)
    log.start("e", "z")
    log.step("e", "go", 1.0, "b", terminated=True)
    assert learnt(log) == {"a go": 1.0}


@pytest.mark.parametrize("amount", [1e10, -1e10, float("inf"), float("nan")])
def test_amounts_that_no_memory_could_add_up_are_refused_at_the_door(amount: float) -> None:
    log = Log()
    with pytest.raises(ValidationError):
        log.load("a", buy=amount)
    with pytest.raises(ValidationError):
        log.start("e", "a", beta=amount)
    log.start("e", "a")
    with pytest.raises(ValidationError):
        log.step("e", "go", amount, "b")


def test_the_largest_amounts_can_be_added_up() -> None:
    log = Log()
    log.load("a", visits=10**9, buy=1e9)
    log.load("a", visits=10**9, buy=1e9)
    log.start("e", "a", beta=1e9, step_penalty=-1e9)
    log.step("e", "buy", 1e9, "end", terminated=True)
    log.label("e", 1, 1.0)
    assert learnt(log) == {"a buy": pytest.approx(1e9)}


def test_what_only_one_episode_has_seen_is_unproven_until_somebody_judges_it() -> None:
    log = Log()
    log.start("e", "a")
    log.step("e", "go", 0.0, "b")
    log.step("e", "go", 0.0, "c")
    a, b = page("a").key, page("b").key
    learner = Learner(log.events)
    assert learner.unproven(a, "e")
    assert not learner.unproven(a, "another")
    learner.apply([log.label("e", 1, 1.0)])
    assert not learner.unproven(a, "e")
    assert learner.unproven(b, "e")
    learner.apply([log.start("other", "b"), log.step("other", "go", 0.0, "c")])
    assert not learner.unproven(b, "e")


def test_an_import_or_a_rejection_is_a_judgement() -> None:
    log = Log()
    log.start("e", "a")
    log.step("e", "go", 0.0, "a")
    learner = Learner(log.events)
    learner.apply([log.load("a", go=0.5)])
    assert not learner.unproven(page("a").key, "e")
    learner = Learner(log.events[:2])
    learner.apply([log.decide("e", "reject", "go")])
    assert not learner.unproven(page("a").key, "e")
