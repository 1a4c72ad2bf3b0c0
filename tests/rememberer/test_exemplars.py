import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememberer.exemplars import advise, exemplars
from tests.rememberer.fakes import experience, retrieved, row, state

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens/rlem/exemplars.json").read_text())["cases"]
OURS = {
    # A click cannot be both what to do and what not to do; only the released code said so.
    "one_good_norandom": (["click[a] -> 1.0 ra"], []),
    # Nothing of Q <= 0 is encouraged: without guesses there is nothing to encourage here.
    "all_zero_norandom": ([], ["click[b] -> 0.0 rb", "click[a] -> 0.0 ra"]),
}


def known(case):
    rows = [row(action, q, reason=reason) for (action, reason), q in case["actions"]]
    return experience(state("back to search", "buy now"), *rows)


@pytest.mark.parametrize("case", GOLDENS, ids=lambda case: case["name"])
def test_goldens(case):
    sides = advise(known(case), seed=1, guess=not case["norandom"])
    expected = OURS.get(case["name"], (case["expected_encouraged"], case["expected_discouraged"]))
    for side, lines in zip(sides, expected, strict=True):
        if lines and lines[0].startswith("RANDOM"):
            # What is drawn is free; that it is drawn, from what, and marked as such is not.
            assert [(advice.action in ("back to search", "buy now"), advice.guess) for advice in side] == [(True, True)]
            # A discouraged guess is worth 0, as in the paper; an encouraged one is not given a value it does not have.
            value = "0.0" if lines == case["expected_discouraged"] else "unknown"
            assert side[0].line == f"{side[0].action} -> {value} (a guess, nobody tried it)"
        else:
            assert [advice.line for advice in side] == [line.rstrip() for line in lines]


def test_all_of_equal_best_value_are_encouraged():
    here = experience(state(), row("a", 1.0), row("b", 1.0), row("c", 0.5), row("d", -1.0))
    encouraged, discouraged = advise(here, seed=1)
    assert {each.action for each in encouraged} == {"a", "b"}
    assert [each.action for each in discouraged] == ["d"]


def test_three_of_the_poor_at_most_and_all_that_people_rejected_in_their_words():
    rows = [row(str(q), q) for q in (-4.0, -3.0, -2.0, -1.0)]
    said = row("no", visits=0, rejections=("too  expensive\n", "", "too big"))
    mute = row("never", visits=0, rejections=("",))
    _, discouraged = advise(experience(state(), *rows, said, mute, row("yes", 1.0)), seed=1)
    assert [each.line for each in discouraged] == [
        "-4.0 -> -4.0",
        "-3.0 -> -3.0",
        "-2.0 -> -2.0",
        "no -> unknown (a person rejected it: too expensive; too big)",
        "never -> unknown (a person rejected it)",
    ]


def test_rejected_more_often_than_executed_is_not_encouraged():
    often = experience(state(), row("a", 1.0, rejections=("no", "no")), row("b", 0.5))
    encouraged, discouraged = advise(often, seed=1)
    assert [each.action for each in encouraged] == ["b"]
    assert [each.action for each in discouraged] == ["a"]


def test_executed_with_success_after_one_rejection_is_encouraged_and_says_so():
    once = experience(state(), row("a", 1.0, rejections=("hm",)))
    encouraged, _ = advise(once, seed=1)
    assert encouraged[0].line == "a -> 1.0 (a person rejected it: hm)"


def test_a_rejected_or_a_typed_action_is_never_drawn():
    here = experience(state("a", "search[<keywords>]"), row("A", visits=0, rejections=("no",)))
    encouraged, discouraged = advise(here, seed=1)
    assert encouraged == ()
    assert [each.action for each in discouraged] == ["A"]


def test_the_same_episode_draws_the_same_and_episodes_differ():
    here = experience(state(*"abcdefgh"), row("z", 1.0))
    drawn = [advise(here, seed=seed)[1][0].action for seed in (1, 1, *range(2, 40))]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_the_same_episode_draws_the_same_in_every_process():
    """After a restart the prompt is the same, whatever Python hashes texts to."""
    code = (
        "from tests.rememberer.fakes import experience, row, state; from rememberer.exemplars import advise;"
        "here = experience(state(*'abcdefgh'), row('z', 0.0));"
        "print([advise(here, seed=seed)[0][0].action for seed in range(20)])"
    )
    here = experience(state(*"abcdefgh"), row("z", 0.0))
    mine = str([advise(here, seed=seed)[0][0].action for seed in range(20)])
    for hashes in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env=os.environ | {"PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == mine


def test_without_anything_good_one_is_guessed_that_nobody_found_poor_or_rejected_and_only_if_that_is_wanted():
    rows = [row("a", 0.0), row("B ", -1.0), row("c", visits=0, rejections=("no",))]
    here = experience(state("a", "b", "c", "d"), *rows)
    assert {advise(here, seed=seed)[0][0].action for seed in range(20)} == {"d"}
    assert advise(here, seed=1)[0][0].guess
    assert advise(here, seed=1, guess=False)[0] == ()
    assert advise(experience(state("a", "b", "c"), *rows), seed=1)[0] == ()


def test_the_two_guesses_of_an_exemplar_are_never_the_same():
    # Rejected as often as executed, and of no value: neither side knows anything but this.
    here = experience(state("a", "b"), row("z", 0.5, rejections=("no", "no")))
    for seed in range(20):
        encouraged, discouraged = advise(here, seed=seed)
        assert encouraged[0].guess
        assert {each.action for each in (*encouraged, *discouraged)} >= {encouraged[0].action, "z"}
        assert encouraged[0].action not in {each.action for each in discouraged}


def test_what_was_not_used_and_what_advises_nothing_is_no_exemplar():
    good = experience(state("a"), row("a", 1.0))
    empty = experience(state("b"))
    shown = exemplars([retrieved(good, 0.9), retrieved(empty, 0.8), retrieved(good, 0.1, used=False)], seed=1)
    assert [each.retrieved.similarity for each in shown] == [0.9]


rows_ = st.lists(
    st.builds(
        row,
        st.sampled_from("abcdef"),
        st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]),
        st.integers(0, 3),
        rejections=st.lists(st.sampled_from(["", "no"]), max_size=3).map(tuple),
    ),
    unique_by=lambda each: each.action,
)


@given(rows_, st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(), st.booleans())
def test_never_the_same_action_on_both_sides_and_values_are_never_invented(rows, available, seed, guess):
    here = experience(state(*available), *rows)
    encouraged, discouraged = advise(here, seed=seed, guess=guess)
    assert not {each.action for each in encouraged} & {each.action for each in discouraged}
    values = {each.action: each.q for each in rows if each.visits}
    for each in (*encouraged, *discouraged):
        assert each.value == values.get(each.action) or (each.guess and guess and each.action in available)
    assert all(each.value is None or each.value > 0 for each in encouraged)
    assert not {each.action for each in (*encouraged, *discouraged) if each.guess} & {each.action for each in rows}
    rejected = {each.action for each in rows if each.rejections}
    poor = sorted(each.q for each in rows if each.visits and each.q <= 0)[:3]
    told = [each for each in discouraged if not each.guess]
    assert [each.value for each in told[: len(poor)]] == poor
    assert {each.action for each in told[len(poor) :]} <= rejected <= {each.action for each in (*told, *encouraged)}
