"""One visit to the shop: where the customer is, what can be clicked there, and what that does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random

from envs.base import Action
from envs.webshop import pages
from envs.webshop.goals import Goal
from envs.webshop.pages import Part
from envs.webshop.products import Product
from envs.webshop.reward import reward
from envs.webshop.stock import Stock

SEARCH_RESULTS = 50
PAGE_RESULTS = 10

Purchase = tuple[float, Mapping[str, float]]
"""The reward and what it is made of."""


class NotPossible(Exception):
    """Raised for what cannot be done here, or what the official engine dies of. Nothing has changed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to click. `do` returns the purchase when it was one."""

    action: Action
    do: Callable[[], Purchase | None]


@dataclass
class Visit:
    """A customer with a wish (`goal`; None: only an `instruction`), and where they are.

    `shown`: how many of a page's ten results are to be seen. `quirks`: see `WebShop`. `keywords` and `number` are those
    of the last page of results, `hits` what was found.
    """

    stock: Stock
    instruction: str
    goal: Goal | None
    seed: int
    shown: int
    quirks: bool
    place: str = "search"
    keywords: list[str] | None = None
    number: int = 0
    hits: list[Product] = field(default_factory=list)
    asin: str | None = None
    detail: str = ""
    options: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    score: float = 0.0

    @property
    def product(self) -> Product:
        assert self.asin is not None
        return self.stock.products[self.asin]

    @property
    def results(self) -> list[Product]:
        """The products to be seen on the current page of results."""
        first = (self.number - 1) * PAGE_RESULTS
        return self.hits[first : first + min(self.shown, PAGE_RESULTS)]

    @property
    def chosen(self) -> set[tuple[str, str]]:
        """The options (group, value) that the page marks as chosen.

        The official engine marks what stands in quotes in the page's address, which has the keywords, too, and the
        options with their special characters escaped.
        """
        if not self.quirks:
            return set(self.options.items())
        address = f"{'+'.join(self.keywords or [])}/{self.number}/{json.dumps(self.options)}"
        groups = self.product.options.items()
        return {(group, value) for group, values in groups for value in values if f'"{value}"' in address}

    def page(self) -> list[Part]:
        """The page as it stands now."""
        if self.place == "search":
            return pages.search_page(self.instruction)
        if self.place == "results":
            paging = [choice.action.label for choice in self.choices().values() if choice.action.kind == "page"]
            total = len(self.hits)
            return pages.results_page(self.instruction, self.results, self.number, total, paging, self.seen)
        if self.place == "item":
            return pages.item_page(self.instruction, self.product, self.chosen)
        if self.place == "detail":
            return pages.detail_page(self.instruction, self.product, self.detail)
        return pages.done_page(self.product.asin, self.options, self.score)

    def choices(self) -> dict[str, Choice]:
        """What can be clicked, by its text in lower case, in the official order."""
        found: dict[str, Choice] = {}

        def offer(text: str, kind: str, do: Callable[[], Purchase | None], label: str = "") -> None:
            key = text.lower()
            found[key] = Choice(Action(f"click[{key}]", label or text, kind), do)

        if self.place in ("results", "item", "detail"):
            offer(pages.BACK, "back", self._start_over)
        if self.place == "results":
            number = self.number
            if number > 1:
                offer(pages.PREVIOUS, "page", partial(self._turn_to, number - 1))
            if self.quirks or number * PAGE_RESULTS < len(self.hits):
                offer(pages.NEXT, "page", partial(self._turn_to, number + 1))
            for product in self.results:
                label = f"{product.title} · {product.price_tag}"
                offer(product.asin, "open", partial(self._open, product), label)
        elif self.place == "item":
            offer(pages.PREVIOUS, "back", partial(self._turn_to, self.number))
            for name in pages.DETAILS:
                offer(name, "detail", partial(self._read, name))
            offer(pages.BUY, "buy", self._buy)
            found |= self._option_choices(found)
        elif self.place == "detail":
            offer(pages.PREVIOUS, "back", self._return_to_item)
        return found

    def _option_choices(self, buttons: Mapping[str, Choice]) -> dict[str, Choice]:
        found: dict[str, Choice] = {}
        for value in dict.fromkeys(value for values in self.product.options.values() for value in values):
            groups = [group for group, values in self.product.options.items() if value in values]
            # Officially the last group of two with the same value takes the click.
            open_groups = [group for group in groups if self.options.get(group) != value] or groups[-1:]
            group = groups[-1] if self.quirks else open_groups[0]
            chosen = self.options.get(group) == value
            if value in buttons and (self.quirks or chosen):
                continue
            if self.quirks and value == pages.ATTRIBUTES.lower():
                action = Action(f"click[{value}]", pages.ATTRIBUTES, "detail")
                found[value] = Choice(action, partial(self._read, pages.ATTRIBUTES))
            elif not (self.quirks and value == "search"):
                label = f"{group}: {value}" + (" (chosen)" if chosen else "")
                found[value] = Choice(Action(f"click[{value}]", label, "option"), partial(self._choose, group, value))
        return found

    def search(self, keywords: list[str]) -> None:
        """Go to the results for `keywords`. Raises `NotPossible` where the official engine does (with `quirks`)."""
        self.hits = self._find(keywords)
        self.keywords = keywords
        self._turn_to(1)

    def _find(self, keywords: list[str]) -> list[Product]:
        products = list(self.stock.products.values())
        command, words = keywords[0], " ".join(keywords[1:]).strip()
        if command == "<r>":
            if self.quirks and len(products) < SEARCH_RESULTS:
                raise NotPossible("ValueError: the official engine cannot draw 50 products when there are fewer.")
            return Random(self.seed).sample(products, min(SEARCH_RESULTS, len(products)))
        if command == "<a>":
            if self.quirks:
                raise NotPossible("TypeError: the official engine has lost the list that a search by attribute needs.")
            return [product for product in products if words in product.attributes]
        if command == "<c>":
            if self.quirks and len(keywords) == 1:
                raise NotPossible("IndexError: the official engine needs a category after <c>.")
            category = keywords[1].strip() if self.quirks else words
            return [product for product in products if product.category == category]
        if command == "<q>":
            return [product for product in products if product.query == words]
        return [products[row] for row, _ in self.stock.index.search(" ".join(keywords), SEARCH_RESULTS)]

    def _start_over(self) -> None:
        self.place, self.keywords, self.number, self.asin = "search", None, 0, None
        self.options, self.seen = {}, set()

    def _turn_to(self, number: int) -> None:
        self.place, self.number, self.asin, self.options = "results", number, None, {}

    def _open(self, product: Product) -> None:
        self.place, self.asin = "item", product.asin
        self.seen.add(product.asin)

    def _read(self, name: str) -> None:
        self.place, self.detail = "detail", name

    def _return_to_item(self) -> None:
        self.place = "item"

    def _choose(self, group: str, value: str) -> None:
        self.options = {**self.options, group: value}

    def _buy(self) -> Purchase:
        parts: Mapping[str, float] = {}
        if self.goal:
            price = self.stock.prices[self.product.asin]
            self.score, parts = reward(self.product, self.goal, price, self.options, strict=not self.quirks)
        self.place = "done"
        return self.score, parts
