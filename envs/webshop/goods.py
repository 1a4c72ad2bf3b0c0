"""What our own shop sells, read from `goods.toml`: kinds of products in five departments, and invented brands."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of product. `asked` is what people call it; `forms` and `extras` make titles; `options` are groups of
    values; `price` is a range in dollars."""

    department: str
    shelf: str
    noun: str
    asked: Names
    forms: Names
    extras: Names
    attributes: Names
    options: Mapping[str, Names]
    price: tuple[int, int]
    brands: Names


def kinds() -> list[Kind]:
    """Read all kinds, in the order of the file."""
    read = tomllib.loads((files("envs.webshop") / "goods.toml").read_text("utf-8"))
    shared = {f"${name}": values for name, values in read["lists"].items()}
    return [
        Kind(
            department=each["department"],
            shelf=each["shelf"],
            noun=each["noun"],
            asked=_split(each["asked"]),
            forms=_split(each["forms"]),
            extras=_split(each["extras"]),
            attributes=_split(each["attributes"]),
            options={group: _split(shared.get(values, values)) for group, values in each["options"].items()},
            price=(each["price"][0], each["price"][1]),
            brands=_split(read["brands"][each["department"]]),
        )
        for each in read["kinds"]
    ]


def _split(text: str) -> Names:
    return tuple(part.strip() for part in text.split("|"))
