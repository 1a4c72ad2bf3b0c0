"""A page that was written down is read back as the shop reported it, whatever page it was."""

from dataclasses import replace
from random import Random

import pytest

from envs import Observation
from envs.webshop import WebShop
from envs.webshop.reading import read_page


def clickables(seen: Observation) -> list[str]:
    """As the official engine reports them."""
    if seen.kind == "search":
        return ["search"]
    return [action.text.removeprefix("click[")[:-1] for action in seen.actions]


def walk(shop: WebShop, seed: int, steps: int) -> list[Observation]:
    """The pages of a customer who clicks at random, looks at further pages of results and finds nothing at times."""
    draw = Random(seed)
    task = draw.choice(shop.tasks())
    pages = [shop.reset(task.id)]
    for _ in range(steps):
        here = pages[-1]
        clicks = [each.text for each in here.actions if not each.typed]
        if here.kind == "search" or draw.random() < 0.1:
            words = " ".join(draw.sample(task.text.split(), 2))
            action = f"search[{draw.choice([words, words, 'qqqq'])}]"
        elif not clicks:
            break
        else:
            action = draw.choice(clicks)
        pages.append(shop.step(action).observation)
    return pages


@pytest.fixture(scope="module", params=["official", "own"])
def pages(request: pytest.FixtureRequest) -> list[Observation]:
    shop = WebShop(request.getfixturevalue("official") if request.param == "official" else None)
    found = [page for seed in range(60) for page in walk(shop, seed, 25)]
    assert {page.kind for page in found} == {"search", "results", "item", "other"}
    assert any("Page 2 " in page.text for page in found)
    assert any("results: 0)" in page.text for page in found)
    assert any(" (chosen)" in action.label for page in found for action in page.actions)
    return found


def as_told(seen: Observation) -> Observation:
    """Without what a page does not tell: that an option with a quote in its name is chosen."""
    actions = [
        replace(each, label=each.label.removesuffix(" (chosen)") if '"' in each.text else each.label)
        for each in seen.actions
    ]
    return replace(seen, actions=tuple(actions))


def test_a_page_is_read_back_as_the_shop_reported_it(pages: list[Observation]) -> None:
    for page in pages:
        assert as_told(read_page(page.text, clickables(page))) == as_told(page)


def test_blanks_that_an_editor_dropped_are_put_back(pages: list[Observation]) -> None:
    for page in pages:
        if "Instruction:" in page.text:
            edited = "\n".join(line.rstrip() for line in page.text.split("\n")) + "\n"
            assert as_told(read_page(edited, clickables(page))) == as_told(page)


@pytest.mark.parametrize(
    ("names", "text", "kind"),
    [
        (["search"], "", "search"),
        (["back to search", "next >"], "", "results"),
        (["back to search", "< prev", "next >"], "", "results"),
        (["back to search", "next >", "1234567890"], "", "results"),
        (["back to search", "< prev"], "\nPage 2 (Total results: 11) ", "results"),
        (["back to search", "< prev", "description", "features", "reviews", "buy now", "b07 blue"], "", "item"),
        (["back to search", "< prev"], "\nSee Page 2 (Total results: 11) of it", "other"),
        ([], "", "other"),
    ],
)
def test_the_kind_is_that_of_the_page_whatever_ids_look_like(names: list[str], text: str, kind: str) -> None:
    assert read_page(text, names).kind == kind


def test_a_name_with_a_bracket_cannot_be_clicked_here() -> None:
    read = read_page(
        "\nInstruction: \nx \n[Back to Search]\nsize [a[b]]\n[Buy Now]", ["back to search", "a[b]", "buy now"]
    )
    assert [each.text for each in read.actions] == ["click[back to search]", "click[buy now]"]


def test_what_is_not_on_the_page_is_called_by_its_name() -> None:
    read = read_page("", ["back to search", "buy now", "red"])
    assert [(each.label, each.kind) for each in read.actions] == [
        ("Back to Search", "back"),
        ("Buy Now", "buy"),
        ("red", "option"),
    ]
