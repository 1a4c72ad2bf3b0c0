"""Several people log in, each in a browser of their own."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.users import Users
from tests.e2e import acts
from tests.e2e.conftest import House

pytestmark = pytest.mark.e2e
PASSWORD = "correct horse"


def _log_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.locator(".chip.user")).to_have_text(name)


def test_two_people_log_in_and_each_has_their_own(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    users = Users(shop.home)
    users.add("anna", PASSWORD)
    users.add("ben", PASSWORD)
    anna, ben = visit(shop), visit(shop)
    _log_in(anna, "anna")
    _log_in(ben, "ben")
    acts.start_task(anna, own="a red scarf for anna")
    acts.start_task(ben, own="a blue lamp for ben")
    acts.approve(anna)
    acts.waiting(anna, 2)
    acts.waiting(ben, 1)
    acts.type_action(ben, "search[lamp of ben]")
    acts.waiting(ben, 2)
    acts.reward(anna, "+1")
    expect(anna.locator("#news")).to_contain_text("Reward +1")
    before = acts.card(anna), anna.locator("#chat .chat").inner_text()
    for page, other in ((anna, "ben"), (ben, "anna")):
        assert other not in page.locator("body").inner_text()
        page.get_by_role("tab", name="Memory").click()
        expect(page.locator("#count")).to_have_text("1 experience")
        page.get_by_role("tab", name="Play").click()
    anna.get_by_role("button", name="Log out").click()
    expect(anna).to_have_url(f"{shop.url}login")
    anna.go_back()
    expect(anna.get_by_label("Password")).to_be_visible()
    _log_in(anna, "anna")
    acts.waiting(anna, 2)
    assert (acts.card(anna), anna.locator("#chat .chat").inner_text()) == before
    assert [len(shop.memory(name).experiences()) for name in ("anna", "ben", "me")] == [1, 1, 0]


def test_who_is_removed_sees_no_more(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    users = Users(shop.home)
    users.add("anna", PASSWORD)
    page = visit(shop)
    _log_in(page, "anna")
    page.goto("about:blank")
    users.remove("anna")
    page.goto(shop.url)
    expect(page).to_have_url(f"{shop.url}login")


def test_a_guest_looks_and_is_told_so(
    house: Callable[..., House], visit: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMEMBERER_GUESTS", "true")
    shop = house()
    # Whoever is asked for is taught by somebody without a login, as on the command line.
    teacher = visit(shop, "shared")
    acts.start_task(teacher, own="a red scarf to share")
    acts.approve(teacher)
    acts.waiting(teacher, 2)
    teacher.close()
    Users(shop.home).add("anna", PASSWORD)
    events = len(shop.memory("shared").store.events("shared"))
    guest = visit(shop)
    guest.get_by_role("button", name="Look around as a guest").click()
    acts.waiting(guest, 2)
    expect(guest.locator("#chat")).to_contain_text("a red scarf to share")
    acts.approve(guest)
    expect(guest.get_by_role("alert")).to_have_text("Guests can look, not change. Log in to teach.")
    guest.get_by_role("tab", name="Memory").click()
    guest.locator("#experiences [role=gridcell]").first.click()
    guest.get_by_role("button", name="Delete", exact=True).click()
    guest.get_by_role("button", name="Delete for good").click()
    expect(guest.locator("#experience")).to_contain_text("Guests can look")
    guest.get_by_role("button", name="Log in").click()
    _log_in(guest, "anna")
    assert len(shop.memory("shared").store.events("shared")) == events
    assert len(shop.memory("shared")) == 1


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_login_page_fits_the_screen(
    house: Callable[..., House], visit: Callable[..., Page], width: int, scheme: str
) -> None:
    shop = house()
    Users(shop.home).add("anna", PASSWORD)
    page = visit(shop, viewport={"width": width, "height": 844}, color_scheme=scheme)
    expect(page.get_by_label("Name")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.get_by_role("button", name="Log in").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(15, 23, 42)") == (scheme == "dark")
