"""A product, and how the official file of items becomes products."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from envs.errors import BadData


@dataclass(frozen=True, slots=True)
class Product:
    """One article. `prices` are in dollars: one, or the two ends of a range, of which `price_tag` tells.

    `options` are groups (`size`) of values (`large`), all in lower case. `attributes` are hidden from the pages and
    count for the reward.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    category: str
    query: str
    product_category: str
    prices: tuple[float, ...]
    price_tag: str
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]

    @property
    def contents(self) -> str:
        """What the search index knows of it: title, description, first bullet and options."""
        options = ", and ".join(f"{group}: {', '.join(values)}" for group, values in self.options.items())
        return " ".join((self.title, self.description, *self.bullets[:1], options)).lower()


class Checked(BaseModel):
    """Base of what is read from the official files: types are not bent, fields that nobody reads are let be."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Option(Checked):
    value: str


def _nothing_is_empty(value: object) -> object:
    return value or {}


class _Item(Checked):
    name: str
    full_description: str
    small_description: list[str] | str
    category: str
    query: str
    product_category: str
    pricing: Annotated[str | None, BeforeValidator(lambda value: value or None)] = None
    customization_options: Annotated[dict[str, list[_Option] | None], BeforeValidator(_nothing_is_empty)]


class _Attributes(Checked):
    attributes: list[str] | None = None


Model = TypeVar("Model", bound=Checked)


def checked(model: type[Model], value: object, where: str) -> Model:
    """Return `value` as a `model`. Raises `BadData` that names `where` and the first field that is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise BadData(f"{where}: the field {field!r} is missing.") from None
        name = f"the field {field!r} is wrong" if field else "is wrong"
        got = re.sub(r"(?s)(.{60}).+", r"\1 ...", repr(first["input"]))
        raise BadData(f"{where}: {name}: {first['msg'].lower()}, but it is {got}.") from None


def _prices(pricing: str | None, where: str) -> tuple[tuple[float, ...], str]:
    if pricing is None:
        return (100.0,), "$100.0"
    try:
        prices = [float(re.sub(r"[^\d.]", "", part)) for part in pricing.split("$")[1:]]
        tag = f"${prices[0]}" if len(prices) == 1 else f"${prices[0]} to ${prices[1]}"
    except (ValueError, IndexError):
        raise BadData(
            f"{where}: the field 'pricing' is wrong: expected one price ($9.99) or two ($9.99$19.99), "
            f"but it is {pricing!r}."
        ) from None
    return tuple(prices[:2]), tag


def read_products(items: Any, attributes: Any, items_file: str, attributes_file: str) -> Iterator[Product]:
    """Yield the products of the parsed official files, in their order.

    As in the official engine, items called `nan`, with more than ten characters, or seen before are passed over, and
    who has no attributes gets `DUMMY_ATTR`. Raises `BadData` that names the file, the product and the field.
    """
    if not isinstance(items, list):
        raise BadData(f"{items_file}: expected a list of products, but it is {type(items).__name__}.")
    if not isinstance(attributes, dict):
        raise BadData(f"{attributes_file}: expected an object by product, but it is {type(attributes).__name__}.")
    seen = set()
    for number, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("asin"), str):
            got = "is no object" if not isinstance(item, dict) else f"has the asin {item.get('asin')!r}"
            raise BadData(f"{items_file}: every product needs a field 'asin' with text, but number {number} {got}.")
        asin = item["asin"]
        if asin == "nan" or len(asin) > 10 or asin in seen:
            continue
        seen.add(asin)
        where = f"{items_file}, product {asin}"
        read = checked(_Item, item, where)
        prices, tag = _prices(read.pricing, where)
        known = checked(_Attributes, attributes.get(asin, {}), f"{attributes_file}, product {asin}")
        bullets = read.small_description
        yield Product(
            asin=asin,
            title=read.name,
            description=read.full_description,
            bullets=tuple(bullets) if isinstance(bullets, list) else (bullets,),
            category=read.category,
            query=read.query.lower().strip(),
            product_category=read.product_category,
            prices=prices,
            price_tag=tag,
            options={
                group.lower(): tuple(option.value.strip().replace("/", " | ").lower() for option in options)
                for group, options in read.customization_options.items()
                if options is not None
            },
            attributes=("DUMMY_ATTR",) if known.attributes is None else tuple(known.attributes),
        )
