"""The pages as the official site shows them, and the three ways of writing a page as text.

A page is a list of parts. Titles, descriptions and options stand in it verbatim, whatever is in them.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envs.webshop.products import Product

Mode = Literal["text", "text_rich", "react"]

BACK, PREVIOUS, NEXT, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
DETAILS = ("Description", "Features", "Reviews")
ATTRIBUTES = "Attributes"
"""A detail page that no button leads to; an option of that name does."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text on a page. `chosen`: an option that is chosen, a product that was visited."""

    text: str
    kind: Literal["text", "button", "product", "option"] = "text"
    chosen: bool = False


def _buttons(*names: str) -> list[Part]:
    return [Part(name, "button") for name in names]


def _texts(*texts: str) -> list[Part]:
    return [Part(text) for text in texts]


def search_page(instruction: str) -> list[Part]:
    return [*_texts("WebShop", "Instruction: ", instruction), *_buttons("Search")]


def results_page(
    instruction: str, products: Sequence[Product], number: int, total: int, buttons: Sequence[str], seen: Container[str]
) -> list[Part]:
    """Page `number` of `total` results; `seen` are the asins that were visited."""
    page = [*_texts("Instruction:", instruction), *_buttons(BACK), Part(f"Page {number} (Total results: {total})")]
    page += _buttons(*buttons)
    for product in products:
        page.append(Part(product.asin, "product", chosen=product.asin in seen))
        page += _texts(product.title, product.price_tag)
    return page


def item_page(instruction: str, product: Product, chosen: Container[tuple[str, str]]) -> list[Part]:
    """A product with its options, of which those in `chosen` (group, value) are marked."""
    page = [*_texts("Instruction:", instruction), *_buttons(BACK, PREVIOUS)]
    for group, values in product.options.items():
        page.append(Part(group))
        page += [Part(value, "option", chosen=(group, value) in chosen) for value in values]
    page += _texts(product.title, f"Price: {product.price_tag}", "Rating: N.A.")
    return page + _buttons(*DETAILS, BUY)


def detail_page(instruction: str, product: Product, name: str) -> list[Part]:
    """One of `DETAILS` or `ATTRIBUTES`. There are no reviews in the official files."""
    details = {
        "Description": [product.description],
        "Features": [f" {bullet}" for bullet in product.bullets],
        ATTRIBUTES: [
            *(f" {each}" for each in product.attributes),
            product.category,
            product.query,
            product.product_category,
        ],
    }
    return [*_texts("Instruction:", instruction), *_buttons(BACK, PREVIOUS), *_texts(*details.get(name, []))]


def done_page(asin: str, options: Mapping[str, str], reward: float) -> list[Part]:
    """What stands there after the purchase; the site leaves most of it empty."""
    bought = json.dumps(options, sort_keys=True)
    for character in "<>&'":  # the site writes it into a script
        bought = bought.replace(character, f"\\u{ord(character):04x}")
    nothing = "None"
    page = ["Thank you for shopping with us!", "Your code: ", nothing, " (Paste it in your MTurk interface.)"]
    page += ["Purchased", "asin", asin, "options", bought]
    page += ["attrs", nothing, "category", nothing, "query", nothing, "product category", nothing]
    page += ["Target", "asin", "options", "attrs", "price upper", "instuction text", "category", "product category"]
    page += ["query", "Goal ", nothing, "Reward", "Your score (min 0.0, max 1.0)", str(reward)]
    page += ["Reward Details ", nothing]
    return _texts(*page)


def write(page: Sequence[Part], mode: Mode) -> str:
    """Write a page as text: officially flat (`text`) or with marked buttons (`text_rich`), or as the paper had it."""
    parts = [part for part in page if part.text not in ("", "\n")]
    if mode == "text":
        return " [SEP] ".join(part.text.strip() for part in parts)
    write_part = _react if mode == "react" else _rich
    chosen = [part.text for part in parts if part.chosen and part.kind == "option"]
    # The official engine puts each note in front of what it has so far.
    notes = [f"\nYou have clicked {text}." if mode == "react" else f"You have clicked {text}.\n" for text in chosen]
    return "".join([*reversed(notes), *(write_part(part) for part in parts)])


def _rich(part: Part) -> str:
    if part.kind == "text":
        return f"{part.text}\n"
    before = {"button": "", "option": "  ", "product": "\n"}[part.kind]
    name = "clicked button" if part.chosen else "button"
    return f"{before}[{name}] {part.text} [{name}_]\n"


def _react(part: Part) -> str:
    if part.kind == "text":
        return f"\n{part.text} "
    button = f"[[{part.text}]]" if part.chosen else f"[{part.text}]"
    return button if part.kind == "option" else f"\n{button}"
