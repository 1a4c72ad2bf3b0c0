"""Earlier tasks: looked at step by step, gone on with, branched off from, left out of account, rewarded days later."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import acts
from tests.e2e.conftest import House

pytestmark = pytest.mark.e2e


def _to_the_end(page: Page) -> None:
    page.get_by_label("ask when unsure").uncheck()
    page.get_by_role("button", name="Auto-run").click()
    expect(page.locator("#end")).to_be_visible()


def _open_first(page: Page, task: str) -> None:
    page.get_by_role("tab", name="Episodes").click()
    page.locator("#episodes [role=gridcell]", has_text=task).first.click()
    expect(page.locator("#episode h2")).to_contain_text(task)


def test_an_earlier_task_is_replayed_and_rewarded(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    expect(page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    page.get_by_role("tab", name="Episodes").click()
    expect(page.get_by_text("No task yet. Start one under New task.")).to_be_visible()
    acts.start_task(page, own="a red scarf")
    _to_the_end(page)
    acts.start_task(page, own="a blue hat")
    _open_first(page, "a red scarf")
    steps = len(shop.memory().episodes()[0].transitions)
    expect(page.locator("#replay")).to_contain_text("Ran by itself search[")
    expect(page.locator("#replay .values")).to_contain_text("search[")
    page.get_by_role("slider", name="Step").press("End")
    expect(page.locator("#replay #end")).to_contain_text(f"after {steps} step")
    page.get_by_role("textbox", name="Search").fill("hat")
    expect(page.locator("#episodes")).not_to_contain_text("a red scarf")

    page.get_by_role("button", name="Open under Play").click()
    expect(page.locator("#status")).to_have_text("done")
    expect(page.locator(".top .task")).to_contain_text("a red scarf")
    acts.reward(page, "+½", step=1)
    expect(page.locator("#news")).to_contain_text("Reward +0.5 for step 1")
    assert shop.memory().labels(shop.memory().episodes()[0].id) == {1: 0.5}

    # The open one can be gone on with.
    page.get_by_role("tab", name="Episodes").click()
    page.locator("#episodes [role=gridcell]", has_text="a blue hat").first.click()
    page.get_by_role("button", name="Go on under Play").click()
    acts.waiting(page, 1)
    expect(page.locator(".top .task")).to_contain_text("a blue hat")


def test_a_task_is_begun_again_from_a_step(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page, own="a red scarf")
    _to_the_end(page)
    _open_first(page, "a red scarf")
    page.get_by_role("slider", name="Step").press("ArrowRight")
    page.get_by_role("button", name="Begin again from step 2").click()
    acts.waiting(page, 2)
    expect(page.locator(".bubble.person").first).to_contain_text("Done again search[")
    first, second = shop.memory().episodes()
    assert [each.action for each in second.transitions] == [first.transitions[0].action]
    _open_first(page, "a red scarf")
    expect(page.locator("#episode h2")).to_contain_text(f"begun again from step 2 of {first.id[:8]}")


def test_a_task_is_left_out_of_account(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page, own="a red scarf")
    _to_the_end(page)
    known = shop.memory().experiences()
    _open_first(page, "a red scarf")
    page.get_by_role("button", name="Have it count for nothing").click()
    expect(page.get_by_text("It counts for nothing:")).to_be_visible()
    expect(page.locator("#episodes")).to_contain_text("counts for nothing")
    assert shop.memory().experiences() == []
    page.get_by_role("button", name="Have it count again").click()
    expect(page.get_by_text("It counts again:")).to_be_visible()
    assert shop.memory().experiences() == known
