"""What a person does on the page, in words."""

from playwright.sync_api import Locator, Page, expect


def start_task(page: Page, own: str = "") -> None:
    """Begin the first goal of the list, or a task in own words, and wait for the first card."""
    page.get_by_role("tab", name="New task").click()
    if own:
        page.get_by_label("Or in your own words").fill(own)
        page.get_by_role("button", name="Start with my words").click()
    else:
        expect(page.get_by_role("combobox", name="Goal")).not_to_have_value("")
        page.get_by_role("button", name="Start", exact=True).click()
    waiting(page, 1)


def waiting(page: Page, step: int) -> None:
    """Wait for the card of `step`."""
    expect(page.locator("#cards h2")).to_contain_text(f"step {step} ")
    expect(page.locator("#status")).to_have_text("waiting for you")
    expect(candidates(page).first).to_be_visible()


def candidates(page: Page) -> Locator:
    return page.locator("#cards .cand")


def approve(page: Page) -> None:
    page.locator("#approve").click()


def type_action(page: Page, action: str) -> None:
    page.get_by_label("Another action").fill(action)
    page.get_by_label("Another action").press("Enter")


def reward(page: Page, name: str, step: int | None = None) -> None:
    """Give a reward by its name on the page, for `step` or for the step that is picked."""
    if step is not None:
        page.get_by_role("combobox", name="Step to reward").click()
        page.get_by_role("option", name=f"Reward step {step}", exact=True).click()
        expect(page.get_by_role("combobox", name="Step to reward")).to_have_value(f"Reward step {step}")
    page.locator("#reward label", has_text=name).get_by_text(name, exact=True).click()


def card(page: Page) -> str:
    """All that the two cards say."""
    return page.locator("#cards .card").inner_text() + page.locator("#memories .card").inner_text()


def focus_nothing(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
