"""The story of the first visit: work through a task, override once, reward once, see values move, stop, come back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import acts
from tests.e2e.conftest import OFFICIAL, House

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("data", [OFFICIAL, None], ids=["official files", "own catalogue"])
def test_a_first_visit(house: Callable[..., House], visit: Callable[..., Page], data: Path | None) -> None:
    shop = house(data)
    page = visit(shop)

    # Nothing is known yet, and nothing is invented.
    acts.start_task(page)
    expect(page.locator("#memories")).to_contain_text("No similar experience")
    expect(acts.candidates(page).first).to_contain_text("new")
    expect(page.locator("#approve")).to_contain_text("Approve: search[")
    acts.approve(page)
    acts.waiting(page, 2)
    expect(page.locator("#news")).to_contain_text("Step 1 done")

    # Override once: the typed action is done and credited, the proposal gets a rejection.
    desk = shop.desks.of("me")
    transcript = desk.view().transcript
    assert transcript is not None
    assert transcript.turn.waiting is not None
    proposed = transcript.turn.waiting.candidates[0].action
    typed = next(each.text for each in transcript.turn.state.actions if each.kind == "open" and each.text != proposed)
    results = transcript.turn.state.key
    acts.type_action(page, typed)
    acts.waiting(page, 3)
    expect(page.get_by_label("Another action")).to_have_value("")
    expect(page.locator(".bubble.person").last).to_contain_text("Did instead")
    rows = {row.action: row for row in shop.memory().experience(results).actions}
    assert rows[typed].visits == 1
    assert rows[proposed].visits == 0
    assert rows[proposed].rejections == ("",)

    # Buy, reward it, and see what moved.
    acts.type_action(page, "click[buy now]")
    expect(page.locator("#status")).to_have_text("done")
    bought = transcript.turns[2].state.key
    before = shop.memory().experience(bought).actions[0].q
    acts.reward(page, "+½")
    expect(page.locator("#news .moved").first).to_have_text(f"{_number(before)} → {_number(before + 0.5)}")
    expect(page.locator("#news")).to_contain_text("2 other values moved")
    assert shop.memory().experience(bought).actions[0].q == before + 0.5
    expect(page.locator(".bubble.person").last).to_contain_text("your reward +0.50")

    # The same task again: what was learnt stands there, with what was liked in front.
    acts.start_task(page)
    expect(page.locator("#memories .mem").first).to_contain_text("100%")
    expect(page.locator("#memories .mem").first).to_contain_text(_number(before + 0.5))
    acts.approve(page)
    acts.waiting(page, 2)
    expect(acts.candidates(page).first).to_contain_text(_number(before + 0.5))
    again = desk.view().transcript
    assert again is not None
    assert again.turn.waiting is not None
    assert again.turn.waiting.candidates[0].action == typed

    # Stop the server, start it again: the memory and the open task are as they were.
    card, said = acts.card(page), page.locator("#chat .chat").inner_text()
    known = shop.memory().experiences()
    shop.restart()
    page.reload()
    acts.waiting(page, 2)
    assert acts.card(page) == card
    expect(page.locator("#chat .chat")).to_have_text(said, use_inner_text=True)
    assert shop.memory().experiences() == known
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator("#count")).to_have_text(f"{len(known)} experiences")
    page.get_by_role("tab", name="Play").click()
    acts.approve(page)
    acts.waiting(page, 3)


def _number(value: float) -> str:
    return f"{value:+.2f}" if value else "0.00"
