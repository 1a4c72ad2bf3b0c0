"""What the tests of the worlds share: the golden files, the official-format shop, and shops made to order."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDENS = Path(__file__).parent.parent / "goldens" / "webshop"


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """Read a golden file by its name."""
    return lambda name: json.loads((GOLDENS / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder with twenty products in the official format."""
    return GOLDENS / "official-format"


def product(asin: str = "B000000001", **changes: Any) -> dict[str, Any]:
    """A product as in the official file of items."""
    return {
        "asin": asin,
        "name": "Red Cotton Scarf",
        "full_description": "A warm scarf.",
        "small_description": ["Soft cotton"],
        "category": "fashion",
        "query": "scarves",
        "product_category": "Clothing › Women › Scarves",
        "pricing": "$12.00",
        "customization_options": {"Size": [{"value": "Small"}, {"value": "Large"}]},
    } | changes


def wish(**changes: Any) -> dict[str, Any]:
    """An entry of the official file of human instructions."""
    return {
        "instruction": "i want a large cotton scarf.",
        "instruction_attributes": ["cotton"],
        "instruction_options": ["large"],
    } | changes


@pytest.fixture
def shop_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder of official files: items, attributes, instructions; without any, one scarf and a wish for it."""

    def write(items: Any = None, attributes: Any = None, instructions: Any = None) -> Path:
        items = [product()] if items is None else items
        attributes = {"B000000001": {"attributes": ["cotton"]}} if attributes is None else attributes
        instructions = {"B000000001": [wish()]} if instructions is None else instructions
        (tmp_path / "items_shuffle.json").write_text(json.dumps(items))
        (tmp_path / "items_ins_v2.json").write_text(json.dumps(attributes))
        (tmp_path / "items_human_ins.json").write_text(json.dumps(instructions))
        return tmp_path

    return write
