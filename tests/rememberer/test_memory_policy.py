"""The policy without a model: values are the kernel estimate, the order is sensible, and corrections change it."""

from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop import WebShop
from envs.webshop.teacher import Teacher
from rememberer.embedding import Matrix, SentenceEncoder
from rememberer.events import EpisodeStarted, Labelled, Observed
from rememberer.memory import Memory
from rememberer.memory_policy import EXACT, MemoryPolicy
from rememberer.policy import Retrieved, Situation
from rememberer.records import ActionText, ActionValue, Candidate, Decision, Proposal, State
from rememberer.session import Session
from rememberer.store import InMemoryStore
from tests.rememberer.fakes import experience, retrieved, row

TASK = "i want a red cotton scarf in large, and price lower than 20.00 dollars"


class CosineEncoder:
    """Gives labels the cosine to any task that a table says, 0.1 without an entry."""

    name = "cosine"

    def __init__(self, cosines: Mapping[str, float] | None = None) -> None:
        self._cosines = cosines or {}

    def encode(self, texts: Sequence[str]) -> Matrix:
        cosines = [1.0 if text.startswith("i want") else self._cosines.get(text, 0.1) for text in texts]
        return np.array([(cosine, (1 - cosine**2) ** 0.5) for cosine in cosines], dtype=np.float32)


def act(text: str, kind: str, label: str = "") -> ActionText:
    return ActionText(text=text, label=label or text, kind=kind, typed=text.endswith("<keywords>]"))


def page(*actions: ActionText, task: str = TASK, observation: str = "", kind: str = "page") -> State:
    shown = observation or " ".join(each.label for each in actions)
    return State(env="shop", task=task, observation=shown, kind=kind, actions=actions)


SEARCH = page(act("search[<keywords>]", "search", "Search"))
RESULTS = page(
    act("click[back]", "back", "Back to Search"),
    act("click[next]", "page", "Next >"),
    act("click[b1]", "open", "Blue cotton socks · $9.00"),
    act("click[b2]", "open", "Red cotton scarf · $12.00"),
    act("click[b3]", "open", "Green scarf · $12.00"),
)
BUY = act("click[buy now]", "buy", "Buy Now")
BACK = act("click[< prev]", "back", "< Prev")


def item(*options: str, task: str = TASK, title: str = "red cotton scarf") -> State:
    chosen = [act(f"click[{each.removesuffix(' (chosen)').split(': ')[-1]}]", "option", each) for each in options]
    return page(BACK, act("click[features]", "detail", "Features"), BUY, *chosen, task=task, observation=title)


def propose(
    state: State,
    *known: Retrieved,
    cosines: Mapping[str, float] | None = None,
    last: Sequence[str] = (),
    refused: Sequence[str] = (),
    hint: str = "",
    k: int = 20,
) -> Proposal:
    situation = Situation(state=state, last_actions=tuple(last), refused=tuple(refused), hint=hint)
    return MemoryPolicy(CosineEncoder(cosines)).propose(situation, known, k)


def order(proposal: Proposal) -> list[str]:
    return [each.action for each in proposal.candidates]


def of(proposal: Proposal, action: str) -> Candidate:
    return next(each for each in proposal.candidates if each.action == action)


def learnt(state: State, *rows: ActionValue, similarity: float = 0.9, history: Sequence[str] = ()) -> Retrieved:
    return retrieved(experience(state, *rows, history=tuple(history)), similarity)


# ---- values


def test_a_value_is_the_kernel_estimate() -> None:
    here = page(act("go", "move", "here"))
    near = page(act("went", "move", "near"), task="i want another")
    far = page(act("walked", "move", "far"), task="i want something else")
    proposal = propose(
        here,
        learnt(near, row("went", q=1.0, visits=2), similarity=0.8),
        learnt(far, row("walked", q=-0.5, visits=1), similarity=0.9),
        cosines={"here": 0.5, "near": 0.5, "far": 0.6},
    )
    one, other = 0.8**2, 0.9**2 * exp(-(0.1**2) / 0.2**2)
    (found,) = proposal.candidates
    assert found.value == pytest.approx((2 * one * 1.0 + other * -0.5) / (2 * one + other), abs=1e-6)
    assert found.visits == 3
    assert [each.key for each in found.evidence] == [near.key, far.key]  # what weighs most, first


def test_in_the_very_same_state_the_own_row_counts_most() -> None:
    here, other = page(act("go", "move")), page(act("went", "move"), task="i want another")
    (found,) = propose(
        here, learnt(here, row("go", q=1.0), similarity=1.0), learnt(other, row("went", q=0.0), similarity=1.0)
    ).candidates
    assert found.value == pytest.approx(EXACT / (EXACT + 1), abs=1e-6)


def test_only_the_same_kind_is_evidence() -> None:
    there = page(act("went", "walk"), task="i want another")
    (found,) = propose(page(act("go", "move")), learnt(there, row("went", q=1.0))).candidates
    assert found.value is None


def test_an_action_that_was_offered_there_too_is_not_judged_by_what_was_done_instead() -> None:
    both = act("north", "move"), act("south", "move")
    there = page(*both, task="i want another")
    proposal = propose(page(*both), learnt(there, row("north", q=1.0), similarity=1.0))
    assert of(proposal, "north").value == 1.0
    assert of(proposal, "south").value is None


def test_what_memory_shows_greyed_does_not_count() -> None:
    known = retrieved(experience(RESULTS, row("click[b1]", q=1.0)), 0.5, used=False)
    assert propose(RESULTS, known) == propose(RESULTS)


def test_without_evidence_there_is_no_value() -> None:
    for state in (SEARCH, RESULTS, item("size: large")):
        for each in propose(state).candidates:
            assert (each.value, each.visits, each.evidence) == (None, 0, ())
            assert each.reason


def test_the_reason_names_what_it_rests_on() -> None:
    there = item("size: small", task="i want a small blue scarf", title="blue scarf")
    proposal = propose(item("size: large"), learnt(there, row("click[small]", q=0.75), similarity=0.87))
    reason = of(proposal, "click[large]").reason
    for part in ("size: small", "i want a small blue scarf", "0.87", "0.75"):
        assert part in reason


# ---- the order where nothing is known


def test_of_results_the_one_that_fits_comes_first_and_going_back_last() -> None:
    found = order(propose(RESULTS))
    assert found[0] == "click[b2]"
    assert found[-1] == "click[back]"


def test_wanted_options_are_chosen_then_it_is_bought() -> None:
    assert order(propose(item("size: small", "size: large", "color: red", "color: blue")))[:2] in (
        ["click[large]", "click[red]"],
        ["click[red]", "click[large]"],
    )
    rest = order(propose(item("size: small", "size: large (chosen)", "color: red", "color: blue")))
    assert rest[0] == "click[red]"
    assert order(propose(item("size: small", "size: large (chosen)", "color: red (chosen)")))[0] == "click[buy now]"


def test_a_choice_that_the_page_does_not_mark_is_known_from_what_was_done() -> None:
    state = item("size: small", "size: large")
    assert order(propose(state, last=["search[scarf]", "click[b2]", "click[large]"]))[0] == "click[buy now]"


def test_of_a_large_and_an_x_large_the_one_that_was_said_is_taken() -> None:
    state = item("size: x-large", "size: large", "size: medium")
    assert order(propose(state, cosines={"large": 0.4, "x-large": 0.4}))[0] == "click[large]"


def test_a_product_that_has_little_of_what_was_wanted_is_left() -> None:
    state = item("size: 9", "size: 10", title="a wooden chair")
    assert order(propose(state))[0] == "click[< prev]"


def test_what_costs_too_much_comes_after_what_does_not() -> None:
    state = page(
        act("click[b1]", "open", "Red cotton scarf large · $25.00"), act("click[b2]", "open", "Green scarf · $12.00")
    )
    proposal = propose(state)
    assert order(proposal) == ["click[b2]", "click[b1]"]
    assert "costs more" in of(proposal, "click[b1]").reason


def test_what_was_opened_already_comes_after_what_was_not() -> None:
    last = ["search[scarf]", "click[b2]", "click[< prev]"]
    found = order(propose(RESULTS, last=last))
    assert found.index("click[b2]") > found.index("click[b3]")


def test_unknown_kinds_are_ranked_by_their_fit() -> None:
    state = page(
        act("dance", "art"), act("wear the red scarf", "deed"), act("sleep", "rest"), task="i want a red scarf"
    )
    assert order(propose(state))[0] == "wear the red scarf"


def test_doing_the_same_thing_in_vain_gives_way_to_something_else() -> None:
    state = page(act("open the door", "deed"), act("open a window", "deed"), task="i want the door open")
    first = order(propose(state))[0]
    assert order(propose(state, last=[first, first]))[0] != first


def test_nothing_to_do_is_no_candidate() -> None:
    assert propose(page()).candidates == ()


# ---- what people say


def test_what_was_refused_is_not_proposed_again() -> None:
    first = order(propose(RESULTS))[0]
    rest = propose(RESULTS, refused=[f" {first.upper()} "])
    assert first not in order(rest)
    assert len(rest.candidates) == len(RESULTS.actions) - 1
    nothing = propose(RESULTS, refused=[each.text for each in RESULTS.actions])
    assert nothing.candidates == ()
    assert nothing.note


def test_a_rejection_in_a_like_state_lowers_the_rank_and_invents_no_value() -> None:
    state = item("size: large")
    assert order(propose(state))[0] == "click[large]"
    there = item("size: small", task="i want a red cotton scarf in small")
    proposal = propose(state, learnt(there, row("click[small]", visits=0, rejections=("no", "no", "no"))))
    assert order(proposal)[0] != "click[large]"
    assert of(proposal, "click[large]").value is None
    assert "rejected" in of(proposal, "click[large]").reason


def test_a_hint_brings_forward_what_it_names() -> None:
    assert order(propose(RESULTS, hint="try the next page"))[0] == "click[next]"
    assert order(propose(RESULTS, hint="the green one please"))[0] == "click[b3]"


# ---- learning


def test_three_bad_rewards_in_a_state_change_what_is_done_there() -> None:
    state = item("size: large", title="a red cotton scarf")
    memory = Memory(InMemoryStore(), encoder=CosineEncoder(), tables=lambda env: {("page", "page"): 1.0})
    policy = MemoryPolicy(memory.encoder)
    first = policy.propose(Situation(state=state), memory.retrieve(state, 50), 1).candidates[0].action
    for episode in ("one", "two", "three"):
        memory.write([EpisodeStarted(env="shop", task_id="1", task=TASK, state=state)], episode)
        memory.write([Observed(step=1, action=first, reward=0.0, state=state, terminated=True)], episode)
        memory.write([Labelled(step=1, value=-1.0)], episode)
    proposal = policy.propose(Situation(state=state), memory.retrieve(state, 50), 20)
    assert order(proposal)[0] != first
    assert (of(proposal, first).value, of(proposal, first).visits) == (-1.0, 3)


def test_what_worked_in_the_very_same_state_is_done_again() -> None:
    assert order(propose(RESULTS, learnt(RESULTS, row("click[b1]", q=1.0), similarity=1.0)))[0] == "click[b1]"
    assert order(propose(SEARCH, learnt(SEARCH, row("search[wool shawl]", q=1.0), similarity=1.0)))[0] == (
        "search[wool shawl]"
    )


def test_buying_too_early_once_teaches_to_choose_first() -> None:
    """The words of the option are not the task's, so that by itself the policy would buy at once."""
    cosines = {"relaxed": 0.7, "handmade": 0.7}
    state = item("cut: relaxed", "cut: slim", task="i want a scarf", title="scarf")
    assert order(propose(state, cosines=cosines))[0] == "click[buy now]"
    before = item("make: handmade", "make: woven", task="i want a hat", title="hat")
    after = item("make: handmade (chosen)", "make: woven", task="i want a hat", title="hat")
    known = (
        learnt(before, row("click[handmade]", q=1.0), row("click[buy now]", q=0.2), similarity=0.8),
        learnt(after, row("click[buy now]", q=1.0), similarity=0.8),
    )
    proposal = propose(state, *known, cosines=cosines)
    assert order(proposal)[0] == "click[relaxed]"
    assert of(proposal, "click[relaxed]").value == 1.0
    assert of(proposal, "click[buy now]").value == pytest.approx(0.2, abs=0.1)
    chosen = item("cut: relaxed (chosen)", "cut: slim", task="i want a scarf", title="scarf")
    assert order(propose(chosen, *known, cosines=cosines))[0] == "click[buy now]"


def test_what_was_passed_over_for_something_good_comes_later() -> None:
    state = page(act("a red thing", "thing"), act("a scarf", "place"), task="i want a red scarf")
    cosines = {"a red thing": 0.2, "a blue thing": 0.2}
    assert order(propose(state, cosines=cosines))[0] == "a red thing"

    def where(worth: float) -> list[Retrieved]:
        offered = act("a blue thing", "thing"), act("a fine day", "weather")
        there = [page(*offered, task="i want a blue hat", observation=str(number)) for number in range(3)]
        return [learnt(each, row("a fine day", q=worth)) for each in there]

    proposal = propose(state, *where(1.0), cosines=cosines)
    assert order(proposal)[0] == "a scarf"
    assert of(proposal, "a red thing").value is None
    assert order(propose(state, *where(-1.0), cosines=cosines))[0] == "a red thing"


def test_choosing_again_what_was_chosen_says_nothing_of_choosing_it() -> None:
    there = item("size: small (chosen)", task="i want a red cotton scarf in small")
    known = learnt(there, row("click[small]", q=0.0))
    assert of(propose(item("size: large"), known), "click[large]").value is None
    assert of(propose(item("size: large (chosen)"), known), "click[large]").value == 0.0


# ---- typed actions


def test_the_search_is_for_what_the_task_wants() -> None:
    searches = ["red cotton scarf large", "red cotton scarf", "red cotton", "scarf large"]
    assert order(propose(SEARCH)) == [f"search[{each}]" for each in searches]


def test_a_search_that_was_made_gives_way_to_another() -> None:
    first, second, *_ = order(propose(SEARCH))
    assert order(propose(SEARCH, last=[first, "click[back]"]))[0] == second


def test_words_that_were_left_out_before_are_left_out() -> None:
    state = page(*SEARCH.actions, task="i want a red scarf asap cheers")
    known = [
        learnt(page(*SEARCH.actions, task=f"i want {thing} asap cheers"), row(f"search[{thing} cheers]", q=1.0))
        for thing in ("blue hats", "green socks")
    ]
    assert order(propose(state))[0] == "search[red scarf asap cheers]"
    assert order(propose(state, *known))[0] == "search[red scarf cheers]"
    poor = [
        learnt(each.experience.state, row(each.experience.actions[0].action, q=0.0), similarity=0.9) for each in known
    ]
    assert order(propose(state, *poor))[0] == "search[red scarf asap cheers]"


def test_a_task_of_stop_words_is_searched_for_as_it_is() -> None:
    assert order(propose(page(*SEARCH.actions, task="i want it")))[0] == "search[i want it]"


# ---- any world, any order


@given(st.permutations(range(len(RESULTS.actions))), st.booleans())
def test_the_order_of_the_available_actions_does_not_matter(shuffle: list[int], taught: bool) -> None:
    other = page(*RESULTS.actions, task="i want a green scarf", observation="other")
    known = [learnt(other, row("click[b3]", q=1.0), row("click[next]", q=0.2, rejections=("no",)))] if taught else []
    text = RESULTS.observation
    straight = page(*RESULTS.actions, observation=text)
    shuffled = page(*(RESULTS.actions[n] for n in shuffle), observation=text)
    assert propose(shuffled, *known) == propose(straight, *known)


actions = st.builds(
    act,
    st.text(min_size=1),
    st.sampled_from(["open", "option", "buy", "page", "back", "detail", "search", "", "☃"]),
    st.text(),
)


@given(st.lists(actions, max_size=8, unique_by=lambda each: each.text), st.text(), st.text(), st.integers(0, 4))
def test_whatever_a_world_offers_is_ranked_once_each(
    offered: list[ActionText], task: str, observation: str, k: int
) -> None:
    state = page(*offered, task=task, observation=observation)
    rows = [row(each.text, q=0.5, rejections=("no",)) for each in offered]
    proposal = propose(state, learnt(state, *rows), last=[each.text for each in offered], hint=task, k=k)
    assert len(proposal.candidates) == min(k, len(order(propose(state, learnt(state, *rows), k=100))))
    assert len(set(order(proposal))) == len(proposal.candidates)


# ---- the real encoder in the real shop


@pytest.fixture(scope="module")
def official() -> Path:
    return Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"


@pytest.fixture(scope="module")
def encoder(exported: Path) -> SentenceEncoder:
    return SentenceEncoder(exported=exported)


def _alone(memory: Memory, shop: WebShop, task: str) -> tuple[float, bool]:
    policy, total = MemoryPolicy(memory.encoder), 0.0
    observation, trail = shop.reset(task), list[str]()
    text = next(each.text for each in shop.tasks() if each.id == task)
    while len(trail) < shop.step_limit:
        state = State.of(shop.name, text, observation)
        proposal = policy.propose(Situation(state=state, last_actions=tuple(trail)), memory.retrieve(state, 50), 1)
        trail.append(proposal.candidates[0].action)
        step = shop.step(trail[-1])
        observation, total = step.observation, total + step.reward
        if step.terminated:
            return total, True
    return total, False


def test_with_an_empty_memory_it_buys_something_sensible(official: Path, encoder: SentenceEncoder) -> None:
    shop = WebShop(official)
    ends = [_alone(Memory(InMemoryStore(), encoder=encoder), shop, task.id) for task in shop.tasks()]
    assert all(bought for _, bought in ends)
    assert sum(reward for reward, _ in ends) / len(ends) > 0.8


def test_a_task_that_was_corrected_is_done_right_the_next_time(official: Path, encoder: SentenceEncoder) -> None:
    shop = WebShop(official)
    memory = Memory(InMemoryStore(), encoder=encoder)
    # Two that it does not get right by itself.
    poor = [task.id for task in shop.tasks() if _alone(memory, shop, task.id)[0] < 1][:2]
    assert poor
    teacher = Teacher(shop)
    best = {}
    for task in poor:
        session = Session.start(memory, shop, task, MemoryPolicy(memory.encoder))
        while not session.ended:
            session.propose()
            session.decide(Decision(step=session.turn.step, kind="override", action=teacher.advise()))
        best[task] = sum(session.transcript.rewards)
    assert {task: _alone(memory, shop, task)[0] for task in poor} == best
