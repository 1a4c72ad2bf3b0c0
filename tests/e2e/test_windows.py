"""Windows come and go, and several people come at once: nothing is lost, nothing crosses, nothing leaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import acts
from tests.e2e.conftest import House
from tests.envs.conftest import product, shop_folder, wish

__all__ = ["shop_folder"]
pytestmark = pytest.mark.e2e


def test_two_people_at_once_see_nothing_of_each_other(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    anna, ben = visit(shop, "anna"), visit(shop, "ben")
    acts.start_task(anna, own="a red scarf for anna")
    acts.start_task(ben, own="a blue lamp for ben")
    acts.approve(anna)
    acts.type_action(ben, "search[lamp of ben]")
    acts.waiting(anna, 2)
    acts.waiting(ben, 2)
    acts.reward(anna, "+1")
    expect(anna.locator("#news")).to_contain_text("Reward +1")
    acts.reward(ben, "−1")
    expect(ben.locator("#news")).to_contain_text("Reward -1")
    for page, other in ((anna, "ben"), (ben, "anna")):
        page.reload()
        acts.waiting(page, 2)
        assert other not in page.locator("body").inner_text()
        page.get_by_role("tab", name="Memory").click()
        expect(page.locator("#count")).to_have_text("1 experience")
    for user, q in (("anna", 1.0), ("ben", -1.0)):
        (known,) = shop.memory(user).experiences()
        assert known.state.task.endswith(user)
        assert [row.q for row in known.actions if row.visits] == [q]


def test_a_reload_brings_the_same_card_back(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    acts.approve(page)
    acts.waiting(page, 2)
    before = acts.card(page), page.locator("#chat .chat").inner_text()
    proposed = shop.events("proposed")
    page.reload()
    acts.waiting(page, 2)
    assert (acts.card(page), page.locator("#chat .chat").inner_text()) == before
    assert shop.events("proposed") == proposed


def test_what_a_page_of_the_world_says_is_shown_and_never_run(
    house: Callable[..., House], visit: Callable[..., Page], shop_folder: Callable[..., Path]
) -> None:
    evil = (
        "Scarf <script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
        "</pre></details><form action=//evil.example> ${window.pwned = 3} {{window.pwned}} [x](javascript:alert(1))"
    )
    asked = "a warm scarf <script>window.pwned = 4</script> <img src=//evil.example/x.png onerror=window.pwned=5>"
    items: list[dict[str, Any]] = [product(name=evil)]
    shop = house(shop_folder(items, None, {"B000000001": [wish(instruction=asked)]}))
    page = visit(shop)
    acts.start_task(page)
    acts.approve(page)
    acts.waiting(page, 2)
    expect(page.locator("#chat")).to_contain_text("<script>window.pwned = 1</script>")
    acts.type_action(page, "click[b000000001]")
    acts.waiting(page, 3)
    acts.type_action(page, "click[<script>window.pwned = 6</script>]")
    expect(page.get_by_role("alert")).to_contain_text("<script>window.pwned = 6</script>")
    acts.type_action(page, "click[buy now]")
    expect(page.locator("#status")).to_have_text("done")
    page.get_by_role("tab", name="Memory").click()
    page.locator("#experiences [role=gridcell]").first.click()
    expect(page.locator("#experience h2")).to_contain_text("<script>window.pwned = 4</script>")
    page.get_by_role("tab", name="New task").click()
    page.get_by_role("combobox", name="Goal").click()
    expect(page.get_by_role("option").first).to_contain_text("<script>")
    assert page.evaluate("window.pwned") is None
    assert page.locator("form[action*=evil], img[src*=evil], img[src=x]").count() == 0


def test_broken_files_are_named_and_the_page_stands(
    house: Callable[..., House], visit: Callable[..., Page], shop_folder: Callable[..., Path]
) -> None:
    shop = house(shop_folder([product(name=7)]))
    page = visit(shop)
    expect(page.locator("#goal")).to_contain_text("items_shuffle.json, product B000000001: the field 'name' is wrong")
    page.get_by_label("Or in your own words").fill("a scarf")
    page.get_by_role("button", name="Start with my words").click()
    expect(page.locator("#news")).to_contain_text("the field 'name' is wrong")
    expect(page.locator("#status")).to_have_text("no task")


def test_an_experience_is_found_opened_and_forgotten(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page, own="a secret red scarf")
    acts.approve(page)
    acts.waiting(page, 2)
    acts.type_action(page, "click[back to search]")
    acts.waiting(page, 3)
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator("#count")).to_have_text("2 experiences")
    page.get_by_role("textbox", name="Search").fill("no such words")
    expect(page.locator("#count")).to_have_text("0 of 2 experiences")
    page.get_by_role("textbox", name="Search").fill("back to search results")
    expect(page.locator("#count")).to_have_text("1 of 2 experiences")
    page.locator("#experiences [role=gridcell]").first.click()
    expect(page.locator("#experience")).to_contain_text("a secret red scarf")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#experience")).to_contain_text("still open")
    acts.start_task(page, own="something else")
    page.get_by_role("tab", name="Memory").click()
    page.get_by_role("textbox", name="Search").fill("back to search results")
    page.locator("#experiences [role=gridcell]").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#experience")).to_contain_text("Forgotten")
    page.get_by_role("textbox", name="Search").fill("")
    expect(page.locator("#count")).to_have_text("1 experience")


def test_keys_do_everything(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    acts.focus_nothing(page)
    page.keyboard.press("Enter")
    acts.waiting(page, 2)
    page.keyboard.press("2")
    expect(acts.candidates(page).nth(1).locator("input")).to_be_checked()
    page.keyboard.press("Enter")
    acts.waiting(page, 3)
    expect(page.locator(".bubble.person").last).to_contain_text("Chose")
    acts.focus_nothing(page)
    page.keyboard.press("-")
    expect(page.locator("#news")).to_contain_text("Reward -1 for step 2")
    page.keyboard.press("+")
    expect(page.locator("#news")).to_contain_text("Reward +1 for step 2")
    # While somebody types, keys are letters.
    page.get_by_label("Another action").fill("")
    page.get_by_label("Another action").press_sequentially("1+")
    expect(page.get_by_label("Another action")).to_have_value("1+")
    acts.waiting(page, 3)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen(house: Callable[..., House], visit: Callable[..., Page], width: int, scheme: str) -> None:
    shop = house()
    page = visit(shop, viewport={"width": width, "height": 844}, color_scheme=scheme)
    acts.start_task(page, own="a red cotton scarf that goes with everything that i have")
    acts.approve(page)
    acts.waiting(page, 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")
    for part in ("#approve", "#override", "#rstep", "#reward label:last-child", "#ask", "#auto"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 844
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme != "dark")
    page.reload()
    acts.waiting(page, 2)
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme != "dark")
