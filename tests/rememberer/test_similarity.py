"""How alike states are, and which are the most alike."""

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envs
from envs import wikihow
from rememberer.records import ActionText, State
from rememberer.similarity import Index, KindTable, Similarity
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.logs import patient

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "rlem" / "matchers.json").read_text())
PAGES = [case for case in GOLDENS if case["matcher"] == "PagePatMatcher"]
"""The cases about kinds of page, 20 of 93."""
INSTRUCTIONS = [case for case in GOLDENS if case["matcher"] == "InsPatMatcher"]
"""The cases about WikiHow's instructions, 36 of 93. The others are about its screens."""
KINDS = ["search", "results", "item", "other", "never heard of"]


def state(task: str = "", observation: str = "", kind: str = "") -> State:
    return State(env="nowhere", task=task, observation=observation, kind=kind)


def kind_of(buttons: str) -> str:
    """What WebShop reports for the pages that the goldens describe by their buttons."""
    if buttons == "search":
        return "search"
    if "buy now" in buttons:
        return "item"
    return "other" if buttons == "back to search\n< prev" else "results"


def parts(one: State, other: State, kinds: KindTable | None) -> tuple[float, float, float]:
    """(f, f_task, f_observation) of two states."""
    index = Index(Similarity(WordEncoder(), kinds))
    index.add([one])
    ((_, *found),) = index.nearest(other, 1)
    return found[0], found[1], found[2]


def page_kinds(env: str = "webshop") -> KindTable:
    kinds = envs.kind_similarity(env)
    assert kinds is not None
    return kinds


def test_the_goldens_of_kinds_are_there() -> None:
    assert (len(PAGES), len(INSTRUCTIONS)) == (20, 36)


@pytest.mark.parametrize("case", PAGES)
def test_kinds_of_page_are_as_alike_as_the_golden_says(case: dict[str, list[str]]) -> None:
    query, key = (kind_of(case[side][2]) for side in ("query", "key"))
    assert parts(state(kind=key), state(kind=query), page_kinds())[2] == pytest.approx(case["expected"], abs=1e-6)


@pytest.mark.parametrize("case", INSTRUCTIONS)
def test_kinds_of_instruction_are_as_alike_as_the_golden_says(case: dict[str, list[str]]) -> None:
    query, key = (state(kind=wikihow.kind_of(case[side][2])) for side in ("query", "key"))
    assert parts(key, query, page_kinds("wikihow"))[2] == pytest.approx(case["expected"], abs=1e-6)


@pytest.mark.parametrize(("one", "other"), list(product(KINDS, repeat=2)))
def test_a_kind_is_one_with_itself_and_unnamed_pairs_are_nothing(one: str, other: str) -> None:
    wanted = 1.0 if one == other else page_kinds().get((one, other), 0.0)
    assert parts(state(kind=one), state(kind=other), page_kinds())[2] == pytest.approx(wanted, abs=1e-6)


def test_a_table_may_name_a_pair_in_one_order_only() -> None:
    kinds = {("a", "b"): 0.5}
    assert parts(state(kind="a"), state(kind="b"), kinds)[2] == pytest.approx(0.5, abs=1e-6)
    assert parts(state(kind="b"), state(kind="a"), kinds)[2] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("kinds", [None, {("a", "b"): 0.3, ("b", "c"): 0.8}])
def test_half_is_the_task_and_half_the_observation(kinds: KindTable | None) -> None:
    encoder = WordEncoder()
    one, other = state("buy a red shoe", "two shoes", "a"), state("buy a hat", "no shoes", "b")
    cosine = encoder.encode([one.task]) @ encoder.encode([other.task]).T
    seen = encoder.encode([one.observation]) @ encoder.encode([other.observation]).T
    f_seen = float(seen[0, 0]) if kinds is None else 0.3
    f = 0.5 * float(cosine[0, 0]) + 0.5 * f_seen
    assert parts(one, other, kinds) == pytest.approx((f, cosine[0, 0], f_seen), abs=1e-6)


def test_where_kinds_are_compared_no_observation_is_encoded() -> None:
    encoder = WordEncoder()
    Similarity(encoder, page_kinds()).encode([state("buy a hat", "a long page", "item")])
    assert encoder.asked == ["buy a hat"]


def test_of_equally_similar_states_the_more_visited_comes_first_then_the_older() -> None:
    alike = [state("buy a red shoe", f"page {number}", "item") for number in range(5)]
    other = state("buy a red shoe", "page", "results")
    index = Index(Similarity(WordEncoder(), page_kinds()))
    index.add([other, *alike])
    index.set_visits(other.key, 9)
    index.set_visits(alike[3].key, 2)
    ranked = [alike[number].key for number in (3, 0, 1, 2, 4)]
    now = state("buy a red shoe", "now", "item")
    assert [key for key, *_ in index.nearest(now, 10)] == [*ranked, other.key]
    assert [key for key, *_ in index.nearest(now, 2)] == ranked[:2]


def test_an_empty_index_and_a_limit_of_none_find_nothing() -> None:
    index = Index(Similarity(WordEncoder()))
    assert index.nearest(state("buy a hat"), 3) == []
    index.add([state("buy a hat")])
    assert index.nearest(state("buy a hat"), 0) == []


words = st.lists(st.sampled_from(["red", "blue", "shoe", "hat"]), max_size=3).map(" ".join)
states = st.lists(
    st.builds(state, words, words, st.sampled_from(KINDS)), unique_by=lambda each: each.key, min_size=1, max_size=20
)


@patient
@given(states, st.data(), st.booleans())
def test_the_nearest_are_those_of_sorting_all(found: list[State], data: st.DataObject, with_kinds: bool) -> None:
    """However many were added at a time."""
    similarity = Similarity(WordEncoder(), page_kinds() if with_kinds else None)
    index, left = Index(similarity), found
    while left:
        size = data.draw(st.integers(1, len(left)))
        index.add(left[:size])
        left = left[size:]
    visits = {each.key: data.draw(st.integers(0, 2)) for each in found}
    for key, count in visits.items():
        index.set_visits(key, count)
    now = data.draw(st.builds(state, words, words, st.sampled_from(KINDS)))

    def f(each: State) -> float:
        task, other_task, seen, other_seen = WordEncoder().encode(
            [each.task, now.task, each.observation, now.observation]
        )
        kinds = 1.0 if each.kind == now.kind else page_kinds().get((each.kind, now.kind), 0.0)
        return float(task @ other_task + (kinds if with_kinds else seen @ other_seen)) / 2

    assert len(index) == len(found)
    everything = index.nearest(now, len(found))
    assert {key: value for key, value, *_ in everything} == pytest.approx(
        {each.key: f(each) for each in found}, abs=1e-6
    )
    exact = {key: value for key, value, *_ in everything}
    ranked = sorted(range(len(found)), key=lambda i: (-exact[found[i].key], -visits[found[i].key], i))
    limit = data.draw(st.integers(1, len(found)))
    assert index.nearest(now, limit) == [everything[i] for i in range(limit)]
    assert [key for key, *_ in everything] == [found[i].key for i in ranked]


@patient
@given(st.integers(1, 40), st.integers(0, 39))
def test_equal_texts_are_equally_similar_wherever_they_stand(count: int, place: int) -> None:
    """To the last bit: or that bit would decide instead of visits and age."""
    twin = state("buy a red shoe in size nine", "a page")
    other_twin = twin.model_copy(update={"actions": (ActionText(text="buy", label="Buy", kind="buy"),)})
    found = [state(f"filler {number}", f"{number} of them") for number in range(count)]
    found.insert(place % count, twin)
    found.append(other_twin)
    index = Index(Similarity(WordEncoder()))
    index.add(found)
    f = {key: value for key, value, *_ in index.nearest(state("buy a shoe", "some page"), len(found))}
    assert f[twin.key] == f[other_twin.key]
    assert len(f) == len(found)
