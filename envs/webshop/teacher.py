"""A scripted teacher: it knows what a task of the shop is measured against, and says the right next action.

It stands in for a person in benchmarks. It never buys anything itself.
"""

import re

from envs.errors import EnvError
from envs.webshop.goals import Goal
from envs.webshop.pages import BACK, BUY, NEXT, PREVIOUS
from envs.webshop.search import terms
from envs.webshop.shop import WebShop
from envs.webshop.visit import PAGE_RESULTS, SEARCH_RESULTS, Visit

_UNREADABLE = re.compile(r"[][,;.!?]+(?=\s|$)|[][]")


class Teacher:
    """Advises a customer of `shop`, from whatever page they have come to, until the wish is met in full."""

    def __init__(self, shop: WebShop) -> None:
        self._shop = shop
        self._keywords: dict[str, str] = {}

    def advise(self) -> str:
        """Return the right next action. Raises `EnvError` without a task that has a goal, and after the purchase."""
        visit = self._shop.visit
        if visit is None or visit.goal is None or visit.place == "done":
            raise EnvError("The teacher knows only tasks of the catalogue that are under way: call reset with one.")
        if visit.place == "search":
            return f"search[{self._words(visit, visit.goal)}]"
        if visit.place == "results":
            return _click(self._way_to(visit, visit.goal))
        if visit.place == "detail" or visit.asin != visit.goal.asin:
            return _click(PREVIOUS)
        return _click(next((value for value in visit.goal.options if _is_missing(visit, value)), BUY))

    def _way_to(self, visit: Visit, goal: Goal) -> str:
        """What to click among the results."""
        hits = [product.asin for product in visit.hits]
        if goal.asin not in hits:
            return BACK
        place = hits.index(goal.asin)
        number = place // PAGE_RESULTS + 1
        if place % PAGE_RESULTS >= visit.shown:
            return BACK
        return goal.asin if number == visit.number else NEXT if number > visit.number else PREVIOUS

    def _words(self, visit: Visit, goal: Goal) -> str:
        """The words of the instruction that the shop has for the product; the title's where those do not find it.

        Words are dropped one by one until the product is among those shown first, as long as it moves up.
        """
        if goal.instruction not in self._keywords:
            shop_words = set(terms([visit.stock.products[goal.asin].contents])[0])
            own = " ".join(word for word in goal.instruction.split() if shop_words.intersection(terms([word])[0]))
            tried = [_shortened(visit, goal, text) for text in (own, goal.name)]
            self._keywords[goal.instruction] = min(tried, key=lambda words: _place(visit, goal, words) // visit.shown)
        return self._keywords[goal.instruction]


def _shortened(visit: Visit, goal: Goal, text: str) -> str:
    words = _UNREADABLE.sub(" ", text).split()
    place = _place(visit, goal, " ".join(words))
    while place >= visit.shown and len(words) > 1:
        shorter = [words[:number] + words[number + 1 :] for number in range(len(words))]
        places = [_place(visit, goal, " ".join(each)) for each in shorter]
        if min(places) >= place:
            break
        place = min(places)
        words = shorter[places.index(place)]
    return " ".join(words)


def _place(visit: Visit, goal: Goal, words: str) -> int:
    """The product's place among the hits for `words`, from 0."""
    products = list(visit.stock.products)
    hits = [products[row] for row, _ in visit.stock.index.search(words.lower(), SEARCH_RESULTS)]
    return hits.index(goal.asin) if goal.asin in hits else SEARCH_RESULTS


def _is_missing(visit: Visit, value: str) -> bool:
    """Whether a wanted option is still to be chosen, and can be without losing another."""
    groups = [group for group, values in visit.product.options.items() if value in values]
    wanted = visit.goal.options if visit.goal else ()
    return bool(groups) and value not in visit.options.values() and visit.options.get(groups[-1]) not in wanted


def _click(text: str) -> str:
    return f"click[{text.lower()}]"
