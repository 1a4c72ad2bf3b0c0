"""Teaching by words, by the whole task, by taking back; being asked; the keys."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import acts
from tests.e2e.conftest import House

pytestmark = pytest.mark.e2e


def test_a_reward_with_words_undone_and_given_again(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    acts.approve(page)
    acts.waiting(page, 2)
    expect(page.locator("#undo")).to_be_disabled()
    page.get_by_label("Why this reward").fill("too <b>vague</b>")
    acts.reward(page, "−½")
    expect(page.locator(".bubble.person").last).to_contain_text("your reward −0.50 too <b>vague</b>")
    expect(page.get_by_label("Why this reward")).to_have_value("")
    expect(page.locator("#news")).to_contain_text("Reward -0.5 for step 1")
    acts.focus_nothing(page)
    page.keyboard.press("u")
    expect(page.locator("#news")).to_contain_text("Reward of step 1 undone")
    expect(page.locator(".bubble.person").last).not_to_contain_text("vague")
    page.keyboard.press("r")
    expect(page.locator(".bubble.person").last).to_contain_text("vague")
    page.get_by_label("Another amount").fill("0,25")
    page.get_by_label("Another amount").press("Enter")
    expect(page.locator(".bubble.person").last).to_contain_text("your reward +0.25")
    page.get_by_label("Another amount").fill("2")
    page.get_by_label("Another amount").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("from -1 to 1")
    expect(page.get_by_label("Another amount")).to_have_value("2")
    assert {step: each.value for step, each in shop.memory().said(shop.memory().episodes()[-1].id).items()} == {1: 0.25}


def test_a_step_taken_back_has_never_been(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    expect(page.get_by_role("button", name="Take back")).to_be_disabled()
    acts.approve(page)
    acts.waiting(page, 2)
    page.get_by_role("button", name="Take back").click()
    acts.waiting(page, 1)
    expect(page.locator("#news")).to_contain_text("Step 1 taken back")
    expect(page.locator(".bubble.person")).to_have_count(0)
    assert shop.memory().trace(shop.memory().episodes()[-1].id).transitions == []
    acts.approve(page)
    acts.waiting(page, 2)


def test_running_by_itself_it_asks_and_says_why(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    page.get_by_role("button", name="Auto-run").click()
    expect(page.locator(".bubble.asks").last).to_contain_text("I ask you.")
    expect(page.locator(".bubble.asks").last).to_contain_text("The first candidate is new")
    acts.waiting(page, 1)
    acts.approve(page)
    acts.waiting(page, 2)
    expect(page.locator("#share")).to_have_text("you decided 1 of 1 · asked 1×")


def test_a_whole_task_is_rewarded(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    page.get_by_label("ask when unsure").uncheck()
    page.get_by_role("button", name="Auto-run").click()
    expect(page.locator("#end")).to_be_visible()
    page.get_by_role("combobox", name="Step to reward").click()
    page.get_by_role("option", name="Reward whole task", exact=True).click()
    acts.reward(page, "+1")
    expect(page.locator("#end")).to_contain_text("your reward +1.00")
    expect(page.locator("#news")).to_contain_text("Reward +1 for the whole task")
    page.reload()
    expect(page.locator("#end")).to_contain_text("your reward +1.00")


def test_the_keys_are_told(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    page = visit(house())
    acts.start_task(page)
    acts.focus_nothing(page)
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_contain_text("take the last step back")
    page.keyboard.press("u")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.keyboard.press("t")
    expect(page.get_by_label("Another action")).to_be_focused()
    expect(page.get_by_label("Another action")).to_have_value("")
    page.keyboard.type("what? u b")
    expect(page.get_by_label("Another action")).to_have_value("what? u b")
    page.get_by_role("button", name="Keys").click()
    expect(sheet).to_be_visible()
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_be_hidden()
