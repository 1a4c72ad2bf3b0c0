"""Our own catalogue, made by a seeded generator in the official file format.

Every kind of product comes in families. A family is one product that somebody wants, and relatives that lack just one
thing: an attribute, an option, or a bearable price. So to choose well is to look closely.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from envs.webshop.goods import Attribute, Kind, kinds
from envs.webshop.reward import ENOUGH, normalize_color, token_set_ratio
from envs.webshop.wishes import wish

FAMILIES = 5
"""Families of each kind; the first ones are for testing, the others for training."""
TEST_FAMILIES = 3
OUT_OF_REACH = 41
"""Dollars: a limit on the price is never further above the price of what is wanted."""

_LETTERS = "0123456789ABCDEFGHJKLMNPQRSTVWXYZ"
_CAPITALS = re.compile(r"\b(usda|usb|gmo|bpa|uv)\b", re.IGNORECASE)
_MANNERS = ("is", "of", "has", "has a", "for")
_CLOSING = (
    "Arrives in a plain box with a short note.", "From a small workshop with a long memory.",
    "If it does not suit you, send it back within thirty days.", "Questions? We answer the phone ourselves.",
    "We changed little over the years, because nobody asked us to.", "Our customers come back for it.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Files:
    """The three official documents, parsed, and the asins whose goals are for training."""

    items: list[dict[str, Any]]
    attributes: dict[str, dict[str, Any]]
    human_instructions: dict[str, list[dict[str, Any]]]
    train: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Want:
    attributes: list[Attribute]
    options: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Article:
    attributes: list[Attribute]
    options: dict[str, list[str]]
    price: float
    wanted: tuple[_Want, ...] = ()
    top_price: float | None = None
    dear: bool = False


def catalogue(seed: int = 0) -> Files:
    """Make the catalogue. The same seed gives the same catalogue, on every machine."""
    random = Random(seed)
    files = Files([], {}, {}, frozenset())
    train: list[str] = []
    taken: set[str] = set()
    for kind in kinds():
        traits: list[list[Attribute]] = []
        for family in range(FAMILIES):
            traits.append(_unlike(random, kind, traits))
            for article in _family(random, kind, traits[-1]):
                asin = _asin(random, files.attributes)
                form = random.choice(kind.forms)
                title = _title(random, kind, article, form, taken)
                files.items.append(_item(random, kind, article, asin, title))
                files.attributes[asin] = _attributes(kind, article)
                if family >= TEST_FAMILIES:
                    train.append(asin)
                if article.wanted:
                    files.human_instructions[asin] = [
                        _instruction(random, kind, article, asin, form, want, taken) for want in article.wanted
                    ]
    # The order of the file is the order of equally good hits: families must not stand together.
    random.shuffle(files.items)
    return Files(files.items, files.attributes, files.human_instructions, frozenset(train))


def _unlike(random: Random, kind: Kind, others: Sequence[Sequence[Attribute]]) -> list[Attribute]:
    """Three attributes of which other families have as few together as can be."""
    drawn = [random.sample(kind.attributes, 3) for _ in range(20)]
    return min(drawn, key=lambda each: max((len({*each} & {*other}) for other in others), default=0))


def _family(random: Random, kind: Kind, attributes: list[Attribute]) -> Iterator[_Article]:
    """One that is wanted twice; one with another attribute, wanted for that; one without an option; a dear one."""
    options = _options(random, kind)
    price = _price(random, kind)
    top = round(price * random.uniform(1.05, 1.2), 2) if random.random() < 0.125 else None
    first, second = (_want(random, attributes, options) for _ in range(2))
    yield _Article(attributes, options, price, (first, second), top)

    instead = random.choice([each for each in kind.attributes if each not in attributes])
    others = [instead, *(each for each in attributes if each is not first.attributes[0])]
    widened = _options(random, kind, options)
    yield _Article(others, widened, _price(random, kind), (_want(random, others, widened, instead),))

    lack = {
        group: _without(random, kind.options[group], value, second.options.get(group, value))
        for group, value in first.options.items()
    }
    group = random.choice([group for group, values in lack.items() if values])
    yield _Article(attributes, {**options, group: lack[group]}, _ending(random, price * random.uniform(0.8, 1.0)))

    above = (top or price) + OUT_OF_REACH + random.uniform(0, 20)
    yield _Article(attributes, options, _ending(random, above + 1), dear=True)


def _want(
    random: Random, attributes: list[Attribute], options: dict[str, list[str]], above_all: Attribute | None = None
) -> _Want:
    """What somebody wants of an article; `above_all` is among it."""
    groups = list(options) if random.random() < 0.75 else [random.choice(list(options))]
    number = random.choice((1, 2, 2, 2))
    wanted = random.sample([each for each in attributes if each is not above_all], number)
    if above_all:
        wanted[0] = above_all
    return _Want(wanted, {group: random.choice(options[group]) for group in groups})


def _options(random: Random, kind: Kind, like: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Some of the values of each group, in their order; all of `like` among them."""
    options = {}
    for group, values in kind.options.items():
        chosen = random.sample(values, random.randint(min(3, len(values)), min(6, len(values))))
        chosen += like[group] if like else []
        options[group] = [value for value in values if value in chosen]
    return options


def _without(random: Random, values: Sequence[str], first: str, second: str) -> list[str]:
    """Some of the values that pass for neither wanted one, or at least not for the `first`, where there are others."""
    other = [each for each in values if not _passes(each, first)]
    other = [each for each in other if not _passes(each, second)] or other
    chosen = random.sample(other, min(len(other), random.randint(3, 5)))
    return [each for each in values if each in chosen]


def _passes(value: str, wanted: str) -> bool:
    """Whether the reward takes one for the other, as "royal blue" for "midnight blue"."""
    return token_set_ratio(normalize_color(value), normalize_color(wanted)) > ENOUGH


def _price(random: Random, kind: Kind) -> float:
    low, high = kind.price
    return _ending(random, random.uniform(low + 1, (low + high) / 2))


def _ending(random: Random, price: float) -> float:
    """A price of about that much, ending as prices do."""
    return int(price) - 1 + random.choice((0.49, 0.95, 0.95, 0.99, 0.99, 0.99, 1.0))


def _asin(random: Random, taken: dict[str, dict[str, Any]]) -> str:
    while True:
        asin = "B0" + "".join(random.choices(_LETTERS, k=8))
        if asin not in taken:
            return asin


def _title(random: Random, kind: Kind, article: _Article, form: str, taken: set[str]) -> str:
    while True:
        brand, line = random.choice(kind.brands), random.choice(kind.lines)
        extra = random.choice(kind.premium if article.dear else kind.extras)
        # Neither the same title twice, nor the same words in another order.
        key = " ".join([brand, line, form, kind.noun, extra])
        if key not in taken:
            taken.add(key)
            break
    first, *others = random.sample(article.attributes, 2)
    told = [_headline(each) for each in (first, *others)][: random.choice((0, 1, 1, 2))]
    words = [brand, line, form, kind.noun]
    pattern = random.random()
    if pattern < 0.25 and told and first.manner in ("is", "of"):
        words, told = [told[0], form, kind.noun], [*told[1:], f"by {brand} {line}".strip()]
    elif pattern < 0.4:
        words, told = [brand, line, kind.noun], [form, *told]
    name = " ".join(word for word in words if word)
    joined = f"{name} {extra}" if extra.split()[0] in ("for", "with", "in") else f"{name}, {extra}"
    if told and told[-1].startswith("by "):
        return " ".join([", ".join([joined, *told[:-1]]), told[-1]])
    return random.choice((", ", ", ", " - ")).join([joined, *told[:1]]) + "".join(f", {each}" for each in told[1:])


def _headline(attribute: Attribute) -> str:
    name = _with_capitals(attribute.name.title())
    return f"for {name}" if attribute.manner == "for" else name.replace(" To ", " to ")


def _item(random: Random, kind: Kind, article: _Article, asin: str, title: str) -> dict[str, Any]:
    described = [*random.sample(kind.about, random.choice((1, 2))), _summary(random, kind, article.attributes)]
    random.shuffle(described)
    if random.random() < 0.4:
        described.append(random.choice(_CLOSING))
    return {
        "asin": asin,
        "name": title,
        "full_description": " ".join(described),
        "small_description": [
            f"{_with_capitals(each.name.capitalize())}: {random.choice(each.boasts)}."
            for each in random.sample(article.attributes, len(article.attributes))
        ],
        "category": kind.department,
        "query": kind.asked[0].text,
        "product_category": kind.shelf,
        "pricing": f"${article.price:.2f}" + (f"${article.top_price:.2f}" if article.top_price else ""),
        "customization_options": {
            group: [{"value": value} for value in values] for group, values in article.options.items()
        },
    }


def _summary(random: Random, kind: Kind, attributes: Sequence[Attribute]) -> str:
    """A sentence that names all attributes."""
    it, be, have = ("They", "are", "have") if kind.asked[0].article == "" else ("It", "is", "has")
    being = {"is": "{}", "of": "made of {}", "for": "good for {}"}
    adjectives = [being[manner].format(each.name) for manner in being for each in attributes if each.manner == manner]
    things = [each.noun for each in attributes if each.manner not in being]
    clauses = [f"{be} {_listed(adjectives)}"] if adjectives else []
    clauses += [f"{have} {_listed(things)}"] if things else []
    random.shuffle(clauses)
    return _with_capitals(f"{it} {' and '.join(clauses)}.")


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([*([", ".join(texts[:-1])] if len(texts) > 1 else []), texts[-1]])


def _with_capitals(text: str) -> str:
    return _CAPITALS.sub(lambda found: found[0].upper(), text)


def _attributes(kind: Kind, article: _Article) -> dict[str, Any]:
    """The attributes, and how a machine would ask for all of them."""
    said = {manner: [each.noun for each in article.attributes if each.manner == manner] for manner in _MANNERS}
    before, after = ", ".join(said["is"] + said["of"]), ", ".join(said["has"] + said["has a"])
    names = [each.name for each in article.attributes]
    parts = ["Find me", before, kind.asked[0].text, f"with {after}" if after else ""]
    parts.append(f"for {' and '.join(said['for'])}" if said["for"] else "")
    return {
        "attributes": names,
        "instruction": " ".join(part for part in parts if part),
        "instruction_attributes": names,
    }


def _instruction(
    random: Random, kind: Kind, article: _Article, asin: str, form: str, want: _Want, taken: set[str]
) -> dict[str, Any]:
    said = wish(random, kind, form, want.attributes, want.options)
    while said.lower() in taken:
        said = wish(random, kind, form, want.attributes, want.options)
    taken.add(said.lower())
    return {
        "asin": asin,
        "instruction": said,
        "instruction_attributes": [each.name for each in want.attributes],
        "instruction_options": list(want.options.values()),
        "options": list(want.options.values()),
        "attributes": [each.name for each in article.attributes],
    }
