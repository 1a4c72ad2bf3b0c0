"""What our own shop sells, read from `goods.toml`: kinds of products in five departments, and invented brands."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

Texts = tuple[str, ...]


def with_article(text: str) -> str:
    """Return `text` after `a` or `an`, whichever one says."""
    vowel = text.startswith(("a", "e", "i", "o", "u", "8", "11", "18", "85", "spf", "x-"))
    return f"{'an' if vowel and not text.startswith(('us', 'uv', 'eu', 'one')) else 'a'} {text}"


@dataclass(frozen=True, slots=True)
class Name:
    """What people call something, and its article: `a`, `some` (that cannot be counted), or none (there are many)."""

    article: str
    text: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """What sets a product apart. `manner`: the product `is` that, `has` or `has a` such, is made `of` or good `for` it.

    `boasts` are what the shop has to say about it.
    """

    name: str
    manner: str
    boasts: Texts

    @property
    def noun(self) -> str:
        """The name, with an article where it needs one."""
        return with_article(self.name) if self.manner == "has a" else self.name


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of product. `forms`, `extras`, `lines` and `premium` (for dear ones) make titles, `about` describes it;
    `options` are groups of values; `price` is a range in dollars."""

    department: str
    shelf: str
    noun: str
    asked: tuple[Name, ...]
    forms: Texts
    extras: Texts
    lines: Texts
    premium: Texts
    about: Texts
    attributes: tuple[Attribute, ...]
    options: Mapping[str, Texts]
    price: tuple[int, int]
    brands: Texts


def kinds() -> list[Kind]:
    """Read all kinds, in the order of the file."""
    read = tomllib.loads((files("envs.webshop") / "goods.toml").read_text("utf-8"))
    attributes = {name: _attribute(name, text) for name, text in read["attributes"].items()}
    return [_kind(each, read, attributes) for each in read["kinds"]]


def _kind(entry: Mapping[str, Any], read: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Kind:
    department = entry["department"]
    shared = {f"${name}": values for name, values in read["lists"].items()}
    return Kind(
        department=department,
        shelf=entry["shelf"],
        noun=entry["noun"],
        asked=tuple(_name(text) for text in _split(entry["asked"])),
        forms=_split(entry["forms"]),
        extras=_split(entry["extras"]),
        lines=_split(read["lines"].get(department, "")),
        premium=_split(read["premium"][department]),
        about=_split(entry["about"]),
        attributes=tuple(attributes[name] for name in _split(entry["attributes"])),
        options={group: _split(shared.get(values, values)) for group, values in entry["options"].items()},
        price=(entry["price"][0], entry["price"][1]),
        brands=_split(read["brands"][department]),
    )


def _split(text: str) -> Texts:
    return tuple(part.strip() for part in text.split("|"))


def _name(text: str) -> Name:
    article, _, rest = text.partition(" ")
    if article in ("a", "an"):
        return Name("a", rest)
    return Name("some", rest) if article == "some" else Name("", text)


def _attribute(name: str, text: str) -> Attribute:
    manner, *boasts = _split(text)
    return Attribute(name, manner, tuple(boasts))
