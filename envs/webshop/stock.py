"""What a shop has: products, prices, goals and the search index. Loaded once a process, shared by all runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, Literal

from envs.base import Split, Task
from envs.errors import BadData
from envs.webshop.goals import PRICE_SEED, Goal, draw_prices, human_goals, shuffled, synthetic_goals
from envs.webshop.products import Product, read_products
from envs.webshop.search import Index

Goals = Literal["human", "synthetic"]

OFFICIAL_TEST_GOALS = 500
"""The first goals of the official order are for testing (the paper of RLEM takes 100 of them), the others to train."""

_lock = Lock()


@dataclass(frozen=True, slots=True)
class Stock:
    """Everything about a shop that no purchase changes. `goals` are by task id, in the order of `tasks`."""

    products: Mapping[str, Product]
    prices: Mapping[str, float]
    goals: Mapping[str, Goal]
    tasks: tuple[Task, ...]
    index: Index


@dataclass(frozen=True, slots=True)
class Names:
    """What to call the three documents in an error."""

    items: str
    attributes: str
    instructions: str


def build(
    items: Any,
    attributes: Any,
    instructions: Any,
    goals: Goals,
    names: Names,
    train: frozenset[str] | None = None,
) -> Stock:
    """Build a stock from the three parsed documents in the official format.

    `train`: the asins whose goals are for training; None: the official split. Raises `BadData` that names the
    document, the product and the field.
    """
    products = list(read_products(items, attributes, names.items, names.attributes))
    random = Random(PRICE_SEED)
    prices = draw_prices(products, random)
    if goals == "human":
        wishes = human_goals(products, prices, instructions, names.instructions, random)
    else:
        wishes = synthetic_goals(products, prices, attributes, names.attributes, random)
    order = shuffled(list(wishes))
    if not order:
        source = names.instructions if goals == "human" else names.attributes
        raise BadData(
            f"{source}: none of its instructions is for one of the {len(products)} products of {names.items}."
        )

    def split(number: int, goal: Goal) -> Split:
        return "train" if (number >= OFFICIAL_TEST_GOALS if train is None else goal.asin in train) else "test"

    return Stock(
        products={product.asin: product for product in products},
        prices=prices,
        goals={str(number): goal for number, goal in enumerate(order)},
        tasks=tuple(Task(str(number), goal.instruction, split(number, goal)) for number, goal in enumerate(order)),
        index=Index([product.asin for product in products], [product.contents for product in products]),
    )


def _find(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadData(f"{folder}: there is no file {pattern}. WebShop needs the official files there.")
    raise BadData(f"{folder}: {' and '.join(file.name for file in found)} are both there. Leave one of them.")


def _parse(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except json.JSONDecodeError as error:
        raise BadData(f"{file}: this is no JSON (line {error.lineno}, column {error.colno}: {error.msg}).") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadData(f"{file}: this is no JSON ({error}).") from None
    except OSError as error:
        raise BadData(f"{file}: cannot be read ({error.strerror}).") from None


@lru_cache(maxsize=4)
def _from_files(files: tuple[Path, ...], stamps: tuple[int, ...], goals: Goals) -> Stock:
    items, attributes, *instructions = files
    parsed = _parse(instructions[0]) if instructions else {}
    names = Names(str(items), str(attributes), str(instructions[0]) if instructions else "")
    return build(_parse(items), _parse(attributes), parsed, goals, names)


def open_stock(data: Path | None, goals: Goals) -> Stock:
    """Return the stock of the folder `data` of official files, or of our own catalogue; the second time at once.

    Files that have changed since are read again. Raises `BadData` when one is missing or broken.
    """
    with _lock:
        if data is None:
            return _own(goals)
        patterns = ["items_shuffle*.json", "items_ins_v2*.json", "items_human_ins.json"]
        files = tuple(_find(data, pattern) for pattern in patterns[: 3 if goals == "human" else 2])
        return _from_files(files, tuple(file.stat().st_mtime_ns for file in files), goals)


@lru_cache(maxsize=2)
def _own(goals: Goals) -> Stock:
    from envs.webshop.catalogue import catalogue  # takes a while, and the official files do without

    files = catalogue()
    names = Names(*(f"our own catalogue, {part}" for part in ("items", "attributes", "instructions")))
    return build(files.items, files.attributes, files.human_instructions, goals, names, files.train)
