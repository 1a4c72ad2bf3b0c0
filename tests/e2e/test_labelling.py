"""The labelling desk: one step after the other, a key each, by several people; and which of two is better."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import acts
from tests.e2e.conftest import House

pytestmark = pytest.mark.e2e


def _by_itself(page: Page, task: str) -> None:
    acts.start_task(page, own=task)
    page.get_by_label("ask when unsure").uncheck()
    page.get_by_role("button", name="Auto-run").click()
    expect(page.locator("#end")).to_be_visible()


def test_steps_are_labelled_by_keys_by_two_people(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    expect(page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    page.get_by_role("tab", name="Label").click()
    expect(page.get_by_text("Nothing to label")).to_be_visible()
    _by_itself(page, "a red scarf")
    (episode,) = shop.memory().episodes()
    steps = len(episode.transitions)
    page.get_by_role("tab", name="Label").click()
    expect(page.locator("#label-progress")).to_contain_text(f"You have done 0 of {steps}")
    expect(page.locator("#label-item h2")).to_contain_text(f"step {steps} of {steps}")
    acts.focus_nothing(page)
    page.keyboard.press("5")
    expect(page.locator("#label-progress")).to_contain_text(f"You have done 1 of {steps}")
    expect(page.locator("#label-news .moved").first).to_have_text("0.00 → +1.00")
    expect(page.locator("#label-item h2")).to_contain_text(f"step {steps - 1} of {steps}")
    page.keyboard.press("s")
    expect(page.locator("#label-item h2")).to_contain_text(f"step {steps - 2} of {steps}")
    acts.focus_nothing(page)
    page.keyboard.press("u")
    expect(page.locator("#label-progress")).to_contain_text(f"You have done 0 of {steps}")
    page.get_by_role("textbox", name="Why", exact=True).fill("<i>wrong</i> colour")
    page.get_by_role("button", name="−½ (2)").click()
    expect(page.locator("#label-progress")).to_contain_text(f"You have done 1 of {steps}")

    # Somebody else comes to another end.
    page.get_by_label("Who labels").fill("anna")
    expect(page.locator("#label-progress")).to_contain_text(f"anna has done 0 of {steps}")
    for done in range(1, steps + 1):
        page.get_by_role("button", name="+½ (4)").click()
        expect(page.locator("#label-progress")).to_contain_text(f"anna has done {done} of {steps}")
    expect(page.get_by_text("Nothing to label")).to_be_visible()
    expect(page.locator("#agreement")).to_contain_text("Agreement of 2 people on 1 step")
    page.locator("#agreement summary").click()
    expect(page.locator("#agreement td")).to_have_text("anna +0.50, person −0.50")
    assert set(shop.memory().labels(episode.id, "anna").values()) == {0.5}
    assert [each.comment for each in shop.memory().said(episode.id, "person").values()] == ["<i>wrong</i> colour"]


def test_which_of_two_is_better(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    _by_itself(page, "a red scarf")
    acts.start_task(page, own="a red scarf")
    acts.type_action(page, "search[something else]")
    acts.waiting(page, 2)
    acts.start_task(page, own="a hat")  # which ends the other
    page.get_by_role("tab", name="Label").click()
    page.get_by_label("pairs of actions").check()
    expect(page.locator("#label-item .side")).to_have_count(2)
    left = page.locator("#label-item .side code").first.inner_text()
    acts.focus_nothing(page)
    page.keyboard.press("1")
    expect(page.locator("#label-progress")).to_contain_text("You have done 1 of 1")
    expect(page.locator("#label-news")).to_contain_text("Compared:")
    memory = shop.memory()
    (compared,) = [each.body for each in memory.store.events("me") if each.body.type == "compared"]
    assert compared.better == left
    page.get_by_label("pairs of tasks").check()
    expect(page.locator("#label-item .side").first).to_contain_text("return 0.00")
    page.get_by_role("button", name="Equally good (2)").click()
    expect(page.get_by_text("Nothing to compare")).to_be_visible()
