"""What the official engine did with the same files, byte for byte."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from envs import Observation
from envs.webshop import Goal, Product, WebShop
from envs.webshop.goals import PRICE_SEED, draw_prices, human_goals, synthetic_goals
from envs.webshop.pages import Mode
from envs.webshop.products import read_products
from envs.webshop.reward import normalize_color, nouns, reward, token_set_ratio
from envs.webshop.search import Index
from envs.webshop.shop import parse_action
from envs.webshop.visit import Visit

Golden = Callable[[str], Any]


def _available(observation: Observation) -> dict[str, object]:
    """The available actions as the official engine reports them (its `search` button does nothing)."""
    search_bar = any(action.typed for action in observation.actions)
    clicks = ["search"] if search_bar else []
    clicks += [action.text.removeprefix("click[")[:-1] for action in observation.actions if not action.typed]
    return {"has_search_bar": search_bar, "clickables": clicks}


def _session(visit: Visit) -> dict[str, object]:
    return {
        "asin": visit.asin,
        "page": visit.number or None,
        "keywords": visit.keywords,
        "options": visit.options,
        "clicked_asins": sorted(visit.seen),
    }


@pytest.mark.parametrize(
    ("file", "form", "mode"),
    [
        ("steps_official_human", "text", "text"),
        ("steps_official_human", "text_rich", "text_rich"),
        ("steps_zdy_human", "text_rich", "react"),
    ],
)
def test_every_step_is_the_official_one(golden: Golden, official: Path, file: str, form: str, mode: Mode) -> None:
    world = WebShop(official, mode)
    ids = {f"Instruction: {task.text}": task.id for task in world.tasks()}
    crashes = []
    before: Observation | None = None
    for record in golden(file)["records"]:
        where = f"record {record['id']}, {record['action']}"
        if record["step"] == 0:
            observation, outcome = world.reset(ids[record["instruction"]]), (0.0, False)
        else:
            step = world.step(record["action"])
            observation, outcome = step.observation, (step.reward, step.terminated)
            if record["error"]:
                # Where the official engine crashes, the page stays and the reason is told.
                assert step.info["invalid"], where
                assert step.info["why"].startswith(record["error"].partition(":")[0]), where
                assert (outcome, observation) == ((0.0, False), before), where
                crashes.append(record["action"])
                continue
        assert world.visit is not None
        assert observation.text == record["observations"][form], where
        assert _available(observation) == record["available_actions"], where
        assert outcome == (record["reward"], record["done"]), where
        assert _session(world.visit) == record["session"], where
        before = observation
    assert crashes == ["search[<a> gold plated]", "search[<r>]"]


def test_goals_come_in_the_official_order_with_the_official_prices(golden: Golden, official: Path) -> None:
    shop = WebShop(official).stock
    expected = golden("steps_official_human")
    assert [_as_golden(goal) for goal in shop.goals.values()] == [_expected(goal) for goal in expected["goals"]]
    assert shop.prices == expected["prices"]


def _as_golden(goal: Goal) -> dict[str, Any]:
    return {
        "asin": goal.asin,
        "category": goal.category,
        "query": goal.query,
        "name": goal.name,
        "product_category": goal.product_category,
        "instruction_text": goal.instruction,
        "attributes": list(goal.attributes),
        "price_upper": goal.price_upper,
        "goal_options": list(goal.options),
    }


def _expected(goal: dict[str, Any]) -> dict[str, Any]:
    """A golden goal without its sampling weight, which nothing here uses, and with options as a list of values."""
    options = goal["goal_options"]
    values = list(options.values()) if isinstance(options, dict) else options
    return {key: value for key, value in goal.items() if key != "weight"} | {"goal_options": values}


def _products(golden: Golden) -> list[Product]:
    items = golden("official-format/items_shuffle_1000")
    return list(read_products(items, golden("official-format/items_ins_v2_1000"), "items", "attributes"))


@pytest.mark.parametrize("kind", ["human", "synthetic"])
def test_goals_before_the_shuffle(golden: Golden, kind: str) -> None:
    products, random = _products(golden), Random(PRICE_SEED)
    prices = draw_prices(products, random)
    if kind == "human":
        goals = human_goals(products, prices, golden("official-format/items_human_ins"), "file", random)
    else:
        goals = synthetic_goals(products, prices, golden("official-format/items_ins_v2_1000"), "file", random)
    expected = golden("goals")
    assert [_as_golden(goal) for goal in goals] == [_expected(goal) for goal in expected[kind]]
    assert prices == expected["synthetic_prices"]


def test_products_are_loaded_as_officially(golden: Golden) -> None:
    for product, record in zip(_products(golden), golden("products_loaded")["records"], strict=True):
        assert {
            "asin": product.asin,
            "name": product.title,
            "Title": product.title,
            "Description": product.description,
            "BulletPoints": list(product.bullets),
            "category": product.category,
            "query": product.query,
            "product_category": product.product_category,
            "pricing": list(product.prices),
            "Price": product.price_tag,
            "options": {group: list(values) for group, values in product.options.items()},
            "Attributes": list(product.attributes),
        }.items() <= record.items()


def test_the_index_sees_what_the_official_one_sees(golden: Golden) -> None:
    assert {product.asin: product.contents for product in _products(golden)} == golden("search")["contents"]


def test_search_ranks_like_lucene(golden: Golden) -> None:
    contents = golden("search")["contents"]
    ids = list(contents)
    index = Index(ids, list(contents.values()))
    for record in golden("search")["records"]:
        hits = [(ids[row], score) for row, score in index.search(record["query"])]
        assert [asin for asin, _ in hits] == [asin for asin, _ in record["hits"]], record["query"]
        assert [score for _, score in hits] == pytest.approx([score for _, score in record["hits"]], abs=5e-5)


def test_every_reward_is_the_official_one(golden: Golden) -> None:
    refused = []
    for record in golden("rewards")["records"]:
        bought, wish = record["product"], record["goal"]
        product = Product(
            asin=bought["asin"],
            title=bought["Title"],
            description=bought["Description"],
            bullets=tuple(bought["BulletPoints"]),
            category=bought["category"],
            query=bought["query"],
            product_category=bought["product_category"],
            prices=(),
            price_tag="",
            options={},
            attributes=tuple(bought["Attributes"]),
        )
        fields = _expected(wish)
        wanted = {
            "instruction": fields.pop("instruction_text"),
            "options": tuple(fields.pop("goal_options")),
            "attributes": tuple(fields.pop("attributes")),
        }
        if record["error"]:
            # The official engine fails at the purchase; here there can be no such goal.
            with pytest.raises(ValueError, match="at least one attribute and a price limit above 0"):
                Goal(**fields, **wanted)
            refused.append(record["label"])
            continue
        goal = Goal(**fields, **wanted)
        total, info = reward(product, goal, record["price"], record["options"])
        assert (total, info) == (record["reward"], record["info"]), record["label"]
        assert list(nouns(product.title)) == record["purchased_nouns"]
        assert list(nouns(goal.name)) == record["goal_nouns"]
    assert len(refused) == 3


def test_colours_are_normalized_as_officially(golden: Golden) -> None:
    for record in golden("normalize_color")["records"]:
        assert normalize_color(record["input"]) == record["output"]


def test_texts_are_compared_as_officially(golden: Golden) -> None:
    for record in golden("token_set_ratio")["records"]:
        assert token_set_ratio(record["a"], record["b"]) == record["token_set_ratio"], record


def test_actions_are_parsed_as_officially(golden: Golden) -> None:
    for record in golden("parse_action")["records"]:
        assert list(parse_action(record["input"])) == record["output"]
