"""Goals: what somebody wants to buy, and what the reward is measured against.

Everything that the official engine draws (the price within a range, the limit that a goal names) is drawn here from
one generator in the official order, and the official shuffle follows, so that goal numbers mean the same there and
here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from random import Random
from typing import Any

from envs.errors import BadData
from envs.webshop.products import Checked, Product, checked

PRICE_SEED = 7
SHUFFLE_SEED = 233
NO_LIMIT = 1_000_000.0
_LIMITS = [10.0 * step for step in range(1, 100)]


@dataclass(frozen=True, slots=True)
class Goal:
    """A wish for the product `asin`: `attributes` it must have, `options` to choose, a price limit in dollars."""

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction: str
    attributes: tuple[str, ...]
    price_upper: float
    options: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what the reward cannot be worked out for (the official engine fails at the purchase)."""
        if not self.attributes or self.price_upper <= 0:
            raise ValueError(
                f"A goal needs at least one attribute and a price limit above 0, but {self.asin} has the attributes "
                f"{list(self.attributes)} and the limit {self.price_upper}."
            )


class _Human(Checked):
    instruction: str
    instruction_attributes: list[str]
    instruction_options: list[str]


class _WithoutAttributes(Checked):
    instruction_attributes: list[str]


class _Synthetic(Checked):
    instruction: str | None = None
    instruction_attributes: list[str] | None = None


def draw_prices(products: Sequence[Product], random: Random) -> dict[str, float]:
    """Return the price of each product that counts for the reward, in dollars; within a range it is drawn."""
    return {each.asin: each.prices[0] if len(each.prices) == 1 else random.uniform(*each.prices) for each in products}


def _draw_limit(price: float, random: Random) -> tuple[float, str]:
    """Draw a price limit above `price`, and how the instruction says it; from 980 dollars on there is none."""
    above = [limit for limit in _LIMITS if limit > price][:4]
    if len(above) < 2:
        return NO_LIMIT, ""
    limit = max(random.sample(above, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def _goal(product: Product, instruction: str, attributes: list[str], limit: float, options: Sequence[str]) -> Goal:
    return Goal(
        asin=product.asin,
        category=product.category,
        query=product.query,
        name=product.title,
        product_category=product.product_category,
        instruction=instruction,
        attributes=tuple(attributes),
        price_upper=limit,
        options=tuple(options),
    )


def human_goals(
    products: Sequence[Product], prices: Mapping[str, float], instructions: Any, file: str, random: Random
) -> Iterator[Goal]:
    """Yield the goals of the parsed file of human instructions, in the order of the products.

    Instructions for products that are not there, and those without attributes, are passed over as in the official
    engine. Raises `BadData` that names the file, the product and the field.
    """
    if not isinstance(instructions, dict):
        raise BadData(f"{file}: expected an object by product, but it is {type(instructions).__name__}.")
    for product in products:
        entries = instructions.get(product.asin, [])
        if not isinstance(entries, list):
            raise BadData(f"{file}, product {product.asin}: expected a list, but it is {type(entries).__name__}.")
        for number, entry in enumerate(entries):
            where = f"{file}, product {product.asin}, instruction {number}"
            if not checked(_WithoutAttributes, entry, where).instruction_attributes:
                continue
            read = checked(_Human, entry, where)
            limit, text = _draw_limit(prices[product.asin], random)
            yield _goal(
                product,
                read.instruction.strip(".") + text,
                read.instruction_attributes,
                limit,
                read.instruction_options,
            )


def synthetic_goals(
    products: Sequence[Product], prices: Mapping[str, float], attributes: Any, file: str, random: Random
) -> Iterator[Goal]:
    """Yield one goal for every combination of options of every product that has an instruction in `attributes`.

    Raises `BadData` that names the file, the product and the field.
    """
    for product in products:
        where = f"{file}, product {product.asin}"
        if product.asin not in attributes:
            raise BadData(f"{where}: there is no entry; synthetic goals need one for every product ({{}} will do).")
        read = checked(_Synthetic, attributes[product.asin], where)
        if read.instruction is None:
            continue
        if not read.instruction_attributes:
            raise BadData(f"{where}: an instruction needs at least one text in the field 'instruction_attributes'.")
        limit, text = _draw_limit(prices[product.asin], random)
        groups = sorted(product.options)
        for values in combinations(*(product.options[group] for group in groups)):
            chosen = ", and ".join(f"{group}: {value}" for group, value in zip(groups, values, strict=True))
            instruction = read.instruction + (f" with {chosen}" if chosen else "") + text
            yield _goal(product, instruction, read.instruction_attributes, limit, values)


def shuffled(goals: Sequence[Goal]) -> list[Goal]:
    """Return the goals in the official order: a goal's number is its place in here."""
    order = list(goals)
    Random(SHUFFLE_SEED).shuffle(order)
    return order
