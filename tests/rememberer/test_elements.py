"""Screens that are compared by the longest common subsequence of their elements."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import wikihow
from rememberer.records import State
from rememberer.rows import SequenceRows, written
from rememberer.similarity import Index, Similarity
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.logs import patient

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "rlem" / "matchers.json").read_text())
SCREENS = [case for case in GOLDENS if case["matcher"] == "LCSNodeMatcher"]
"""The cases about screens. They give the tags alone; where they come from an element is its tag alone."""


def state(screen: str, task: str = "find it") -> State:
    return State(env="nowhere", task=task, observation=screen, kind="screen")


def alike(one: str, other: str) -> float:
    index = Index(Similarity(WordEncoder(), str.split))
    index.add([state(one)])
    return index.nearest(state(other), 1)[0][3]


def test_the_goldens_of_screens_are_there() -> None:
    assert len(SCREENS) == 37


@pytest.mark.parametrize("case", SCREENS)
def test_screens_are_as_alike_as_the_golden_says(case: dict[str, Any]) -> None:
    query, key = (" ".join(case.get(f"{side}_tags", [])) for side in ("query", "key"))
    assert alike(key, query) == pytest.approx(case["expected"], abs=1e-6)


def test_an_element_is_more_than_its_tag() -> None:
    index = Index(Similarity(WordEncoder(), wikihow.elements))
    index.add([state('<img alt="logo"><p id="1">a</p><p id="2">b</p><img alt="photo" id="3">')])
    assert index.nearest(state('<img alt="logo" id="9"><p>c</p>'), 1)[0][3] == 0.5
    assert index.nearest(state('<img alt="face"><p>c</p>'), 1)[0][3] == 0.25


def test_nothing_is_one_with_nothing_and_nothing_else() -> None:
    assert (alike("", ""), alike("a", ""), alike("", "a"), alike("a", "b")) == (1, 0, 0, 0)


def test_no_screen_is_encoded() -> None:
    encoder = WordEncoder()
    index = Index(Similarity(encoder, str.split))
    index.add([state("a b c")])
    index.nearest(state("a c"), 1)
    assert encoder.asked == ["find it"]


def test_more_elements_than_characters_of_any_alphabet() -> None:
    """Each is another element, half surrogates or not."""
    rows = SequenceRows()
    screens = [written([str(each) for each in range(start, start + 1000)]) for start in range(0, 70_000, 1000)]
    rows.enter(screens)
    assert (rows.products(screens).argmax(axis=1) == range(70)).all()
    assert rows.products([screens[-1]])[0, :-1].max() == 0


screens = st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join)
tasks = st.sampled_from(["", "buy a hat", "buy a red hat", "find it"])


@patient
@given(
    st.lists(st.builds(state, screens, tasks), unique_by=lambda each: each.key, min_size=1, max_size=20),
    st.builds(state, screens, tasks),
    st.data(),
)
def test_the_nearest_are_those_of_comparing_all(found: list[State], now: State, data: st.DataObject) -> None:
    """However few of them are compared before it is known how alike the best are, and however many elements are taken
    for one in ruling the others out."""

    def f(each: State) -> float:
        task, other = WordEncoder().encode([each.task, now.task])
        one, two = each.observation.split(), now.observation.split()
        return float(task @ other) / 2 + common(one, two) / max(len(one), len(two), 1) / 2 + (not one and not two) / 2

    limit = data.draw(st.integers(1, len(found)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rememberer.similarity._LIKELIEST", data.draw(st.integers(1, 5)))
        patch.setattr("rememberer.rows._PILES", data.draw(st.integers(1, 5)))
        index = Index(Similarity(WordEncoder(), str.split))
        index.add(found)
        gone = data.draw(st.lists(st.sampled_from(found), max_size=3, unique_by=lambda each: each.key))
        index.remove([each.key for each in gone])
        left = [each for each in found if each not in gone]
        nearest = index.nearest(now, limit)
    wanted = sorted(left, key=lambda each: -f(each))[:limit]
    assert [alike for _, alike, *_ in nearest] == pytest.approx([f(each) for each in wanted], abs=1e-5)
    known = {each.key: each for each in left}
    assert [alike for _, alike, *_ in nearest] == pytest.approx([f(known[key]) for key, *_ in nearest], abs=1e-5)
    assert len({key for key, *_ in nearest}) == min(limit, len(left))


def common(one: list[str], other: list[str]) -> int:
    """Length of the longest common subsequence, as the textbook has it."""
    before = [0] * (len(other) + 1)
    for each in one:
        now = [0]
        for place, it in enumerate(other):
            now.append(before[place] + 1 if it == each else max(now[place], before[place + 1]))
        before = now
    return before[-1]
