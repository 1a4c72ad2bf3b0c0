"""Broken official files are refused with the file, the product and the field; what the engine bears with is borne."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from envs import BadData
from envs.webshop import WebShop
from tests.envs.conftest import product, wish

ShopFolder = Callable[..., Path]
ITEMS, ATTRIBUTES, INSTRUCTIONS = "items_shuffle.json", "items_ins_v2.json", "items_human_ins.json"


def without(entry: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != field}


def refusal(folder: Path, goals: Literal["human", "synthetic"] = "human") -> str:
    with pytest.raises(BadData) as refused:
        WebShop(folder, goals=goals)
    return str(refused.value)


@pytest.mark.parametrize("file", [ITEMS, ATTRIBUTES, INSTRUCTIONS])
def test_a_missing_file(shop_folder: ShopFolder, file: str) -> None:
    folder = shop_folder()
    (folder / file).unlink()
    assert refusal(folder).startswith(f"{folder}: there is no file {file.removesuffix('.json')}")


def test_a_missing_folder(tmp_path: Path) -> None:
    assert "there is no file items_shuffle*.json" in refusal(tmp_path / "nowhere")


def test_two_files_for_one(shop_folder: ShopFolder) -> None:
    folder = shop_folder()
    (folder / "items_shuffle_1000.json").write_text("[]")
    assert "items_shuffle.json and items_shuffle_1000.json are both there. Leave one of them." in refusal(folder)


@pytest.mark.parametrize("file", [ITEMS, ATTRIBUTES, INSTRUCTIONS])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is no JSON (line 1, column 1"),
        (b'{\n "B0": [\n', "this is no JSON (line 3, column 1"),
        (b"\xff\xfe\xfa", "this is no JSON"),
        (b"[" * 100_000, "this is no JSON"),
        (b'"text"', "but it is str"),
        (b"null", "but it is NoneType"),
    ],
)
def test_a_file_that_is_something_else(shop_folder: ShopFolder, file: str, content: bytes, message: str) -> None:
    folder = shop_folder()
    (folder / file).write_bytes(content)
    told = refusal(folder)
    assert told.startswith(str(folder / file))
    assert message in told


def test_a_folder_in_place_of_a_file(shop_folder: ShopFolder) -> None:
    folder = shop_folder()
    (folder / ITEMS).unlink()
    (folder / ITEMS).mkdir()
    assert "items_shuffle.json: cannot be read (Is a directory)" in refusal(folder)


FIELDS = ("name", "full_description", "small_description", "category", "query", "product_category")


@pytest.mark.parametrize("field", [*FIELDS, "customization_options"])
def test_a_product_without_a_field(shop_folder: ShopFolder, field: str) -> None:
    folder = shop_folder([product(), without(product("B000000002"), field)])
    assert refusal(folder) == f"{folder / ITEMS}, product B000000002: the field {field!r} is missing."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({field: 5}, f"the field {field!r} is wrong") for field in FIELDS if field != "small_description"),
        ({"name": None}, "the field 'name' is wrong: input should be a valid string, but it is None"),
        ({"small_description": None}, "the field 'small_description"),
        ({"small_description": ["a", 5]}, "the field 'small_description.list[str].1' is wrong"),
        ({"pricing": 9.99}, "the field 'pricing' is wrong: input should be a valid string, but it is 9.99"),
        ({"pricing": "9.99"}, "expected one price ($9.99) or two ($9.99$19.99), but it is '9.99'"),
        ({"pricing": "$"}, "expected one price"),
        ({"pricing": "$1.2.3"}, "expected one price"),
        ({"pricing": "$1$free"}, "expected one price"),
        ({"customization_options": ["Size"]}, "the field 'customization_options' is wrong"),
        ({"customization_options": {"Size": "Small"}}, "the field 'customization_options.Size' is wrong"),
        ({"customization_options": {"Size": [{}]}}, "the field 'customization_options.Size.0.value' is missing"),
        (
            {"customization_options": {"Size": [{"value": 9}]}},
            "the field 'customization_options.Size.0.value' is wrong",
        ),
    ],
)
def test_a_product_with_a_wrong_field(shop_folder: ShopFolder, changes: dict[str, Any], message: str) -> None:
    folder = shop_folder([product(), product("B000000002", **changes)])
    told = refusal(folder)
    assert told.startswith(f"{folder / ITEMS}, product B000000002: ")
    assert message in told
    assert len(told) < 400 + len(str(folder))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (without(product(), "asin"), "number 1 has the asin None"),
        (product() | {"asin": 12}, "number 1 has the asin 12"),
        ("B000000001", "number 1 is no object"),
        (None, "number 1 is no object"),
    ],
)
def test_a_product_without_asin(shop_folder: ShopFolder, item: Any, message: str) -> None:
    assert message in refusal(shop_folder([product(), item]))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([], "is wrong"),
        ({"attributes": "cotton"}, "the field 'attributes' is wrong"),
        ({"attributes": [1]}, "the field 'attributes.0' is wrong"),
    ],
)
def test_wrong_attributes(shop_folder: ShopFolder, entry: Any, message: str) -> None:
    folder = shop_folder(attributes={"B000000001": entry})
    told = refusal(folder)
    assert told.startswith(f"{folder / ATTRIBUTES}, product B000000001: ")
    assert message in told


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "expected a list, but it is dict"),
        (["i want"], "instruction 0: is wrong"),
        ([wish(), without(wish(), "instruction")], "instruction 1: the field 'instruction' is missing"),
        ([without(wish(), "instruction_attributes")], "instruction 0: the field 'instruction_attributes' is missing"),
        ([without(wish(), "instruction_options")], "instruction 0: the field 'instruction_options' is missing"),
        ([wish(instruction=3)], "instruction 0: the field 'instruction' is wrong"),
        ([wish(instruction_options="large")], "instruction 0: the field 'instruction_options' is wrong"),
        ([wish(instruction_attributes=[None])], "instruction 0: the field 'instruction_attributes.0' is wrong"),
    ],
)
def test_wrong_instructions(shop_folder: ShopFolder, entry: Any, message: str) -> None:
    folder = shop_folder(instructions={"B000000001": entry})
    told = refusal(folder)
    assert told.startswith(f"{folder / INSTRUCTIONS}, product B000000001")
    assert message in told


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "there is no entry; synthetic goals need one for every product ({} will do)"),
        ({"B000000001": {"instruction": 5}}, "the field 'instruction' is wrong"),
        ({"B000000001": {"instruction": "find me"}}, "needs at least one text in the field 'instruction_attributes'"),
        (
            {"B000000001": {"instruction": "find me", "instruction_attributes": []}},
            "needs at least one text in the field 'instruction_attributes'",
        ),
    ],
)
def test_wrong_synthetic_instructions(shop_folder: ShopFolder, attributes: Any, message: str) -> None:
    folder = shop_folder(attributes=attributes)
    told = refusal(folder, "synthetic")
    assert told.startswith(f"{folder / ATTRIBUTES}, product B000000001: ")
    assert message in told


@pytest.mark.parametrize("instructions", [{}, {"B999999999": [wish()]}, {"B000000001": []}])
def test_no_goal_at_all(shop_folder: ShopFolder, instructions: Any) -> None:
    told = refusal(shop_folder(instructions=instructions))
    assert f"{INSTRUCTIONS}: none of its instructions is for one of the 1 products of" in told


def test_no_product_at_all(shop_folder: ShopFolder) -> None:
    assert "none of its instructions is for one of the 0 products" in refusal(shop_folder(items=[]))


def test_what_the_official_engine_bears_with(shop_folder: ShopFolder) -> None:
    items = [
        product(images=[], product_information=5, rating="five"),
        product(name="Second of the same number"),
        {"asin": "nan"},
        {"asin": "B0000000001"},
        product("B000000002", pricing=None, customization_options=None, small_description="One line"),
        product("B000000003", pricing="", customization_options={"Size": None, "Color": []}),
        product("B000000004", pricing="$1,049.50$2,000.00$3.00", customization_options=[]),
        without(product("B000000005"), "pricing"),
    ]
    instructions = {
        "B000000001": [wish(), {"instruction_attributes": []}],
        "B999999999": "whatever",
    }
    stock = WebShop(shop_folder(items, {"B000000001": {}}, instructions)).stock
    assert [goal.instruction.partition(",")[0] for goal in stock.goals.values()] == ["i want a large cotton scarf"]
    shown = {asin: (each.title, each.price_tag, dict(each.options)) for asin, each in stock.products.items()}
    assert shown == {
        "B000000001": ("Red Cotton Scarf", "$12.0", {"size": ("small", "large")}),
        "B000000002": ("Red Cotton Scarf", "$100.0", {}),
        "B000000003": ("Red Cotton Scarf", "$100.0", {"color": ()}),
        "B000000004": ("Red Cotton Scarf", "$1049.5 to $2000.0", {}),
        "B000000005": ("Red Cotton Scarf", "$100.0", {"size": ("small", "large")}),
    }
    assert stock.products["B000000001"].attributes == ("DUMMY_ATTR",)


def test_synthetic_goals_need_no_human_instructions(shop_folder: ShopFolder) -> None:
    entry = {"attributes": ["cotton"], "instruction": "Find me scarves", "instruction_attributes": ["cotton"]}
    folder = shop_folder(attributes={"B000000001": entry})
    (folder / INSTRUCTIONS).unlink()
    wishes = {task.text.partition(", and price")[0] for task in WebShop(folder, goals="synthetic").tasks()}
    assert wishes == {"Find me scarves with size: small", "Find me scarves with size: large"}
