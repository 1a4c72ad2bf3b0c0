"""Which state a full memory needs least: of the two most alike the less visited one."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememberer import capacity, similarity
from rememberer.records import ActionText, State
from rememberer.similarity import Index, Similarity
from tests.rememberer.encoders import OverlapEncoder, WordEncoder
from tests.rememberer.logs import patient

GOLDENS = Path(__file__).parents[1] / "goldens" / "rlem"


def state(task: str, observation: str) -> State:
    return State(env="nowhere", task=task, observation=observation, kind="x")


@pytest.mark.parametrize("case", ["g044_item_cap_2", "g046_item_cap_dup_refused", "g047_item_cap_unreached"])
def test_golden_of_what_stays_in_a_full_memory(case: str) -> None:
    golden = json.loads((GOLDENS / f"{case}.json").read_text())
    texts = dict.fromkeys(text for call in golden["calls"] for text in call["step"][:2])
    index = Index(Similarity(OverlapEncoder(list(texts))))
    visits: dict[str, int] = {}
    here, known = None, {}
    for call in golden["calls"]:
        if call["action"] is not None:
            # What was done in the state before makes an experience of it.
            assert here is not None
            known[here.key] = here
            if here.key not in index:
                index.add([here])
            visits[here.key] = visits.get(here.key, 0) + 1
            index.set_visits(here.key, visits[here.key])
            if golden["settings"]["item_capacity"] and len(index) > golden["settings"]["item_capacity"]:
                found = index.least_needed()
                assert found is not None
                index.remove([found[0]])
        here = state(call["step"][1], call["step"][0])
    wanted = {(each["key"][1], each["key"][0]) for each in golden["expected_result"]}
    assert {(each.task, each.observation) for key, each in known.items() if key in index} == wanted


def test_of_equally_visited_ones_the_newest_goes_else_the_older() -> None:
    index = Index(Similarity(WordEncoder()))
    old, alike, other = (state("buy", text) for text in ("one two three", "one two four", "far away"))
    index.add([old, alike, other])
    found = index.least_needed()
    assert found is not None
    assert found[:2] == (old.key, alike.key)
    index.set_visits(old.key, 2)
    found = index.least_needed()
    assert found is not None
    assert found[:2] == (alike.key, old.key)
    twin = alike.model_copy(update={"actions": (ActionText(text="buy", label="Buy", kind="buy"),)})
    index.add([twin])
    found = index.least_needed()
    assert found is not None
    assert found[:2] == (twin.key, alike.key)
    assert found[2] == pytest.approx(1, abs=1e-5)


def test_where_all_are_pinned_or_alone_nobody_goes() -> None:
    index = Index(Similarity(WordEncoder()))
    assert index.least_needed() is None
    one, other = state("buy", "one"), state("buy", "other")
    index.add([one])
    assert index.least_needed() is None
    index.add([other])
    assert index.least_needed([one.key, other.key, "of another world"]) is None
    found = index.least_needed([other.key])
    assert found is not None
    assert found[:2] == (one.key, other.key)
    index.remove([one.key, other.key])
    assert index.least_needed() is None


pool = [
    state(task, seen) for task in ("", "buy a hat", "buy a red cap") for seen in ("", "hat", "cap", "red hat", "far")
]
moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from(pool), max_size=5)),
        st.tuples(st.just("remove"), st.lists(st.sampled_from(pool), max_size=3)),
        st.tuples(st.just("visit"), st.lists(st.sampled_from(pool), max_size=3)),
        st.tuples(st.just("ask"), st.lists(st.sampled_from(pool), max_size=3)),
    ),
    max_size=20,
)


@patient
@given(
    moves,
    st.sampled_from([None, str.split, {("x", "y"): 0.5}]),
    st.sampled_from([1, 8_000_000]),
    st.sampled_from([1, 2, 9]),
)
def test_it_is_one_of_a_pair_that_is_the_most_alike_whatever_came_and_left(
    done: list[tuple[str, list[State]]], compare: object, at_once: int, together: int
) -> None:
    index, there, visits = Index(Similarity(WordEncoder(), compare)), dict[str, State](), dict[str, int]()  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "_AT_ONCE", at_once)
        patch.setattr(similarity, "_TOGETHER", together)
        for move, some in [*done, ("ask", [])]:
            if move == "add":
                new = {each.key: each for each in some if each.key not in there}
                index.add(list(new.values()))
                there |= new
                visits |= dict.fromkeys(new, 0)
            elif move == "remove":
                index.remove([each.key for each in some])
                for each in some:
                    there.pop(each.key, None)
            elif move == "visit":
                for each in some:
                    visits[each.key] = visits.get(each.key, 0) + 1
                    index.set_visits(each.key, visits[each.key])
            else:
                check(index, there, visits, {each.key for each in some})


def check(index: Index, there: dict[str, State], visits: dict[str, int], pinned: set[str]) -> None:
    f = {
        (one, other): alike
        for one, now in there.items()
        for other, alike, *_ in index.nearest(now, len(there))
        if one != other and (one not in pinned or other not in pinned)
    }
    found = index.least_needed(pinned)
    if not f:
        assert found is None
        return
    assert found is not None
    key, like, alike = found
    best = max(f.values())
    assert alike == pytest.approx(best, abs=1e-4)
    assert f[key, like] == pytest.approx(best, abs=1e-4)
    assert key not in pinned
    newest, order = list(there)[-1], list(there)
    if newest not in pinned and any(newest in pair and value > best - 1e-6 for pair, value in f.items()):
        assert newest in (key, like)
    if like not in pinned:
        assert visits[key] <= visits[like]
        if visits[key] == visits[like]:
            assert key == newest or (like != newest and order.index(key) < order.index(like))
