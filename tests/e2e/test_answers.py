"""Answers to a proposal: legal, illegal, twice, too late, none, and rewards that come late."""

import threading
from collections.abc import Callable, Sequence

import pytest
from playwright.sync_api import Page, expect

from rememberer.policy import Retrieved, Situation
from rememberer.records import Candidate, Proposal
from tests.e2e import acts
from tests.e2e.conftest import House

pytestmark = pytest.mark.e2e


def test_an_action_that_cannot_be_done_is_refused_and_stays_in_the_box(
    house: Callable[..., House], visit: Callable[..., Page]
) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    written = len(shop.memory().store.events("me"))
    acts.type_action(page, "click[buy the moon]")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("cannot be done now")
    expect(alert).to_contain_text("search[<keywords>]")
    expect(page.get_by_label("Another action")).to_have_value("click[buy the moon]")
    assert len(shop.memory().store.events("me")) == written
    acts.waiting(page, 1)
    acts.approve(page)
    acts.waiting(page, 2)
    expect(alert).to_have_count(0)


def test_a_double_click_steps_once(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    page.locator("#approve").dblclick()
    acts.waiting(page, 2)
    assert shop.events("decided") == 1
    assert shop.events("observed") == 1


def test_two_windows_step_once_and_the_second_is_told(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    one = visit(shop)
    acts.start_task(one)
    other = visit(shop)
    acts.waiting(other, 1)
    # Both answer the same card before either window has seen the other's answer.
    for page in (one, other):
        page.evaluate("setTimeout(() => document.querySelector('#approve').click(), 300)")
    acts.waiting(one, 2)
    acts.waiting(other, 2)
    told = [page for page in (one, other) if "answered already" in page.locator("#news").inner_text()]
    assert len(told) == 1
    assert shop.events("observed") == 1
    # A window that was only looking on keeps up by itself.
    acts.approve(one)
    acts.waiting(other, 3)


def test_none_of_these_brings_others(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    first = acts.candidates(page).first.locator(".what").inner_text()
    page.get_by_label("Hint").fill("fewer words")
    page.get_by_role("button", name="Propose others").click()
    expect(page.locator(".bubble.person").last).to_have_text("None of these: fewer words")
    expect(acts.candidates(page).first.locator(".what")).not_to_have_text(first)
    assert first not in acts.candidates(page).locator(".what").all_inner_texts()
    expect(page.get_by_label("Hint")).to_have_value("")
    assert shop.events("observed") == 0


def test_rewards_late_changed_and_taken_back(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    for step in (1, 2):
        acts.approve(page)
        acts.waiting(page, step + 1)
    acts.type_action(page, "click[buy now]")
    expect(page.locator("#status")).to_have_text("done")
    turns = shop.desks.of("me").view().transcript
    assert turns is not None
    keys = [turn.state.key for turn in turns.turns]
    won = turns.rewards[-1]

    # The task is over and the server was stopped since: a reward still counts, for what led there and nothing else.
    shop.restart()
    page.reload()
    expect(page.locator("#status")).to_have_text("done")
    acts.reward(page, "−1", step=2)
    expect(page.locator("#news")).to_contain_text("Reward -1 for step 2")
    expect(page.locator("#news .moved").first).to_contain_text("→")
    expect(page.locator("#news")).to_contain_text("1 other value moved")
    assert [shop.memory().experience(key).actions[0].q for key in keys[:3]] == [won - 1, won - 1, won]
    acts.reward(page, "+1", step=2)
    expect(page.locator("#news")).to_contain_text("Reward +1 for step 2")
    assert [shop.memory().experience(key).actions[0].q for key in keys[:3]] == [won + 1, won + 1, won]
    acts.reward(page, "none", step=2)
    expect(page.locator("#news")).to_contain_text("taken back")
    assert [shop.memory().experience(key).actions[0].q for key in keys[:3]] == [won, won, won]
    expect(page.locator("#reward label.selected")).to_have_count(0)


def test_another_candidate_is_picked_by_mouse_then_approved(
    house: Callable[..., House], visit: Callable[..., Page]
) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    acts.approve(page)
    acts.waiting(page, 2)
    acts.candidates(page).nth(1).click()
    second = acts.candidates(page).nth(1).locator(".what").inner_text().split("\n")[0]
    expect(page.locator("#approve")).to_contain_text(second[:20])
    acts.approve(page)
    acts.waiting(page, 3)
    expect(page.locator(".bubble.person").last).to_contain_text("Chose")


class Slow:
    """Takes until it is told to stop, and then answers all the same."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.stopped = threading.Event()

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        self.asked.set()
        situation.show("Let me think about this for a minute")
        while not situation.cancelled():
            self.stopped.wait(0.02)
        self.stopped.set()
        return Proposal(candidates=(Candidate(action=situation.state.actions[0].text),), policy=self.name)


def test_stop_ends_a_long_thought_and_nothing_comes_of_it_later(
    house: Callable[..., House], visit: Callable[..., Page]
) -> None:
    shop = house()
    slow = Slow()
    desk = shop.desks.of("me")
    assert len(desk.memory) == 0  # it is open now
    desk.policies = {**desk.policies, "slow": slow}
    page = visit(shop)
    acts.start_task(page)
    page.get_by_role("combobox", name="Who proposes").click()
    page.get_by_role("option", name="slow").click()
    expect(page.locator("#status")).to_have_text("thinking")
    expect(page.locator(".draft")).to_have_text("Let me think about this for a minute")
    written = shop.events("proposed")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#status")).to_have_text("waiting for you", timeout=2000)
    assert slow.stopped.wait(5)
    page.reload()
    expect(page.locator("#status")).to_have_text("waiting for you")
    assert shop.events("proposed") == written
    # The task is as it was: an action can be typed.
    acts.type_action(page, "search[floor lamp]")
    expect(page.locator("#step")).to_contain_text("step 2")


def test_it_runs_by_itself_to_the_end_when_told_not_to_ask(
    house: Callable[..., House], visit: Callable[..., Page]
) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    page.get_by_label("ask when unsure").uncheck()
    page.get_by_role("button", name="Auto-run").click()
    expect(page.locator("#status")).to_have_text("done")
    expect(page.locator(".bubble.person").first).to_contain_text("Ran by itself")


def test_it_asks_at_once_when_nothing_is_known(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    page.get_by_role("button", name="Auto-run").click()
    acts.waiting(page, 1)
    assert shop.events("observed") == 0
