"""The Learning tab: what was done under Play stands there as figures, in words, in numbers, and to take along."""

import csv
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from rememberer.approval import Auto
from rememberer.session import Session
from tests.e2e import acts
from tests.e2e.conftest import House
from tests.rememberer.worlds import Corridor, Scripted

pytestmark = pytest.mark.e2e


def learning(page: Page) -> None:
    page.get_by_role("tab", name="Learning").click()


def picture(page: Page, key: str) -> Locator:
    """A figure that is there and was drawn."""
    found = page.locator(f"#plot-{key} img")
    expect(found).to_be_visible()
    assert found.evaluate("image => image.decode().then(() => image.naturalWidth)") > 400
    return found


def download(page: Page, name: str) -> Download:
    with page.expect_download() as started:
        page.get_by_role("button", name=name, exact=True).or_(page.get_by_role("link", name=name, exact=True)).click()
    return started.value


def rows(file: Download) -> list[dict[str, str]]:
    return list(csv.DictReader(file.path().read_text("utf-8").splitlines()))


def buy(page: Page) -> None:
    """Finish a task that was just begun: search, open something, buy it."""
    acts.approve(page)
    acts.waiting(page, 2)
    acts.approve(page)
    acts.waiting(page, 3)
    acts.type_action(page, "click[buy now]")
    expect(page.locator("#status")).to_have_text("done")


def test_learning_is_shown_told_and_taken_along(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    learning(page)
    expect(page.locator("#plot-score")).to_contain_text("Nothing to show yet: finish a task under Play.")
    expect(page.locator("#plot-people")).to_contain_text("decide a step under Play")
    expect(page.locator("#plot-rewards")).to_contain_text("No reward was given yet")
    expect(page.get_by_role("button", name="Score, CSV")).to_be_hidden()

    page.get_by_role("tab", name="Play").click()
    buy(page)
    acts.reward(page, "+½")
    expect(page.locator("#news")).to_contain_text("Reward +0.5")
    session = Session.start(shop.memory(), Corridor(), "through", Scripted())
    session.run(Auto())
    learning(page)
    bought, _ = shop.memory().episodes()
    score = bought.environment_return
    expect(picture(page, "score")).to_have_attribute(
        "alt",
        f"Score and share of tasks solved, 2 episodes. Mean of the last 2: score {(score + 1) / 2:.2f}, "
        f"{(1 + (score == 1)) / 2:.0%} solved.",
    )
    expect(picture(page, "people")).to_have_attribute("alt", _contains("50% of the steps, 0.00 questions."))
    expect(picture(page, "rewards")).to_have_attribute("alt", _contains("2 episodes: 1 reward in all."))

    # What is taken along is what is shown.
    assert download(page, "Score, PNG").path().read_bytes().startswith(b"\x89PNG")
    first, second = rows(download(page, "Score, CSV"))
    assert (first["environment"], first["policy"], float(first["score"])) == ("webshop", "memory", score)
    assert (second["environment"], second["outcome"], float(second["score"])) == ("corridor", "solved", 1)
    assert float(second["score, mean"]) == (score + 1) / 2
    assert [float(row["share decided by people"]) for row in rows(download(page, "People, CSV"))] == [1, 0]
    page.locator("#plot-score summary").click()
    expect(page.locator("#plot-score tbody tr")).to_have_count(2)
    expect(page.locator("#plot-score tbody tr").last).to_contain_text("corridor")

    # One environment, one policy; and all again.
    before = picture(page, "score").get_attribute("src")
    choose(page, "Environment", "corridor")
    expect(picture(page, "score")).to_have_attribute("alt", _contains("1 episode. Mean of the last 1: score 1.00"))
    assert picture(page, "score").get_attribute("src") != before
    assert [row["environment"] for row in rows(download(page, "Score, CSV"))] == ["corridor"]
    expect(page.locator("#plot-rewards")).to_contain_text("No reward was given yet")
    choose(page, "Environment", "all")
    choose(page, "Who proposed", "memory")
    expect(picture(page, "score")).to_have_attribute(
        "alt", _contains(f"1 episode. Mean of the last 1: score {score:.2f}")
    )
    choose(page, "Who proposed", "all")
    page.get_by_role("spinbutton").fill("1")
    page.get_by_role("spinbutton").press("Enter")
    expect(picture(page, "score")).to_have_attribute("alt", _contains("Mean of the last 1: score 1.00, 100% solved"))

    # It is there for another visit, and for nobody else.
    page.reload()
    learning(page)
    picture(page, "score")
    other = visit(shop, "ben")
    expect(other.get_by_role("tab", name="New task")).to_have_attribute("aria-selected", "true")
    learning(other)
    expect(other.locator("#plot-score")).to_contain_text("Nothing to show yet")


def test_values_are_held_against_what_came(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    buy(page)
    learning(page)
    page.get_by_role("button", name="Do the values come true?").click()
    expect(page.locator("#plot-values")).to_contain_text("So far 3 steps had no value on screen.")
    page.get_by_role("tab", name="New task").click()
    acts.start_task(page)
    buy(page)
    first, _ = shop.memory().episodes()
    learning(page)  # it is still unfolded
    expect(picture(page, "values")).to_have_attribute(
        "alt", _contains("3 steps had no value on screen and are left out.")
    )
    expect(picture(page, "values")).to_have_attribute("alt", _contains("On average value and return are 0.00 apart."))
    (only,) = [row for row in rows(download(page, "Values, CSV")) if row["steps"] != "0"]
    assert (only["steps"], float(only["mean value"]), float(only["mean return"])) == (
        "3",
        first.environment_return,
        first.environment_return,
    )
    assert download(page, "Values, PNG").path().read_bytes().startswith(b"\x89PNG")


def test_files_are_for_whoever_has_their_name(house: Callable[..., House], visit: Callable[..., Page]) -> None:
    shop = house()
    page = visit(shop)
    acts.start_task(page)
    buy(page)
    learning(page)
    picture(page, "score")
    address = download(page, "Score, CSV").url
    folder = address.rpartition("/")[0]
    assert len(folder.rpartition("-")[2]) == 32, "as many as nobody guesses"
    ben = visit(shop, "ben")
    refused = [folder, folder.rpartition("/")[0], address.replace("score.csv", quote("../score.csv"))]
    refused.append(folder[:-1] + ("0" if folder[-1] != "0" else "1") + "/score.csv")
    for each in refused:
        assert ben.request.get(each).status in (403, 404), each


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()


def _contains(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))
