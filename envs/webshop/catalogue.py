"""Our own catalogue, made by a seeded generator in the official file format.

Every kind of product comes in families. A family is one product that somebody wants, and relatives that lack just one
thing: an attribute, an option, or a bearable price. So to choose well is to look closely.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from envs.webshop.goods import Kind, kinds
from envs.webshop.reward import ENOUGH, normalize_color, token_set_ratio
from envs.webshop.wishes import wish

FAMILIES = 5
"""Families of each kind; the first ones are for testing, the others for training."""
TEST_FAMILIES = 3

_LETTERS = "0123456789ABCDEFGHJKLMNPQRSTVWXYZ"
_BULLETS = {
    "free": ("left out on purpose", "what it does not need is not in it", "as the label says"),
    "easy": ("done in a minute, no manual needed", "even on a busy morning", "we tried it with our own hands"),
    "resistant": ("made for more than good weather", "it takes a lot", "still looks new next year"),
}
_ANY_BULLET = (
    "the first thing that people tell us about it", "you notice it from the first day", "checked before it leaves us",
    "what we would want at home", "not as an extra, but always", "made that way from the start",
)  # fmt: skip
_ABOUT = (
    "A {noun} made by people who use one themselves.", "We changed little over the years, because nobody asked us to.",
    "Arrives in a plain box with a short note.", "From a small workshop with a long memory.",
    "Designed to be used, not to be looked at, though it does look good.", "One of the things you stop thinking about.",
    "Goes well with what you have.", "If it does not suit you, send it back within thirty days.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Files:
    """The three official documents, parsed, and the asins whose goals are for training."""

    items: list[dict[str, Any]]
    attributes: dict[str, dict[str, Any]]
    human_instructions: dict[str, list[dict[str, Any]]]
    train: frozenset[str]


@dataclass(slots=True)
class _Article:
    kind: Kind
    attributes: list[str]
    options: dict[str, list[str]]
    price: float
    top_price: float | None = None
    wished: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)
    """What people want of it: attributes and options, one entry a goal."""


def catalogue(seed: int = 0) -> Files:
    """Make the catalogue. The same seed gives the same catalogue, on every machine."""
    random = Random(seed)
    files = Files([], {}, {}, frozenset())
    train: list[str] = []
    taken: dict[str, None] = {}
    for kind in kinds():
        for family in range(FAMILIES):
            for article in _family(random, kind):
                asin = _asin(random, files.attributes)
                title = _title(random, kind, taken)
                files.items.append(_item(random, article, asin, title))
                files.attributes[asin] = {"attributes": article.attributes}
                if article.wished:
                    files.human_instructions[asin] = [
                        _instruction(random, article, asin, taken, *each) for each in article.wished
                    ]
                    if family >= TEST_FAMILIES:
                        train.append(asin)
    # The order of the file is the order of equally good hits: families must not stand together.
    random.shuffle(files.items)
    return Files(files.items, files.attributes, files.human_instructions, frozenset(train))


def _family(random: Random, kind: Kind) -> Iterator[_Article]:
    """One that is wanted twice, relatives that lack one thing each, and one more that is wanted once."""
    attributes = random.sample(kind.attributes, random.choice((2, 3, 3)))
    options = _options(random, kind)
    price = _price(random, kind)
    first = _want(random, attributes, options)
    yield _Article(kind, attributes, options, price, _top(random, price), [first, _want(random, attributes, options)])

    lacking = first[0][0]
    yield _Article(kind, [each for each in attributes if each != lacking], _options(random, kind, options), price)
    lack = {group: _without(random, kind.options[group], value) for group, value in first[1].items()}
    group = random.choice([group for group, values in lack.items() if values])
    others = {**options, group: lack[group]}
    yield _Article(kind, list(attributes), others, round(price * random.uniform(0.8, 1.0), 2))

    dear = round(price * random.uniform(1.3, 1.7) + 50, 2)
    wanted = _want(random, attributes, options)
    yield _Article(kind, list(attributes), dict(options), dear, None, [wanted])


def _want(random: Random, attributes: list[str], options: dict[str, list[str]]) -> tuple[list[str], dict[str, str]]:
    groups = list(options) if random.random() < 0.75 else [random.choice(list(options))]
    return random.sample(attributes, random.choice((1, 2, 2))), {
        group: random.choice(options[group]) for group in groups
    }


def _options(random: Random, kind: Kind, like: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Some of the values of each group, in their order; all of `like` among them."""
    options = {}
    for group, values in kind.options.items():
        chosen = random.sample(values, random.randint(min(3, len(values)), min(6, len(values))))
        chosen += like[group] if like else []
        options[group] = [value for value in values if value in chosen]
    return options


def _without(random: Random, values: tuple[str, ...], value: str) -> list[str]:
    """Values that do not pass for `value` in the reward, which takes "royal blue" for "midnight blue"."""
    wanted = normalize_color(value)
    other = [each for each in values if token_set_ratio(normalize_color(each), wanted) <= ENOUGH]
    chosen = random.sample(other, min(len(other), random.randint(3, 5)))
    return [each for each in values if each in chosen]


def _price(random: Random, kind: Kind) -> float:
    low, high = kind.price
    return random.randint(low, (low + high) // 2) + random.choice((0.49, 0.95, 0.99, 0.0, 0.5))


def _top(random: Random, price: float) -> float | None:
    """The upper end where the price is a range, as it is for one in eight."""
    return round(price * random.uniform(1.05, 1.2), 2) if random.random() < 0.125 else None


def _asin(random: Random, taken: dict[str, dict[str, Any]]) -> str:
    while True:
        asin = "B0" + "".join(random.choices(_LETTERS, k=8))
        if asin not in taken:
            return asin


def _title(random: Random, kind: Kind, taken: dict[str, None]) -> str:
    while True:
        brand, form, extra = (random.choice(each) for each in (kind.brands, kind.forms, kind.extras))
        patterns = (
            f"{brand} {form} {kind.noun} {extra}",
            f"{form} {kind.noun} {extra} by {brand}",
            f"{brand} {form} {kind.noun}, {extra}",
        )
        title = random.choice(patterns)
        # Neither the same title twice, nor the same words in another order.
        key = " ".join([brand, form, kind.noun, extra])
        if key not in taken:
            taken[key] = None
            return title


def _item(random: Random, article: _Article, asin: str, title: str) -> dict[str, Any]:
    kind = article.kind
    bullets = [f"{name.capitalize()}: {_bullet(random, name)}." for name in article.attributes]
    random.shuffle(bullets)
    about = [
        *random.sample(_ABOUT, 2),
        f"In short: {', '.join(random.sample(article.attributes, len(article.attributes)))}.",
    ]
    return {
        "asin": asin,
        "name": title,
        "full_description": " ".join(about).format(noun=kind.noun.lower()),
        "small_description": bullets,
        "category": kind.department,
        "query": kind.asked[0],
        "product_category": kind.shelf,
        "pricing": f"${article.price:.2f}" + (f"${article.top_price:.2f}" if article.top_price else ""),
        "customization_options": {
            group: [{"value": value} for value in values] for group, values in article.options.items()
        },
    }


def _bullet(random: Random, name: str) -> str:
    words = name.split()
    return random.choice(next((_BULLETS[word] for word in words if word in _BULLETS), _ANY_BULLET))


def _instruction(
    random: Random, article: _Article, asin: str, taken: dict[str, None], attributes: list[str], options: dict[str, str]
) -> dict[str, Any]:
    said = wish(random, article.kind.asked, attributes, options)
    while said.lower() in taken:
        said = wish(random, article.kind.asked, attributes, options)
    taken[said.lower()] = None
    return {
        "asin": asin,
        "instruction": said,
        "instruction_attributes": attributes,
        "instruction_options": list(options.values()),
        "options": list(options.values()),
        "attributes": article.attributes,
    }
