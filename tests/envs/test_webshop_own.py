"""WebShop without files: our own catalogue, in the same format."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from envs import check
from envs.webshop import WebShop, stock
from envs.webshop.pages import Mode
from tests.envs.conftest import product, wish


@dataclass(frozen=True)
class Files:
    items: list[dict[str, Any]]
    attributes: dict[str, Any]
    human_instructions: dict[str, Any]
    train: frozenset[str]


def test_the_catalogue_says_which_goals_are_for_training(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("envs.webshop.catalogue")
    asins = ["B000000001", "B000000002"]
    module.catalogue = lambda: Files(
        items=[product(asin) for asin in asins],
        attributes={},
        human_instructions={asin: [wish(), wish()] for asin in asins},
        train=frozenset({"B000000002"}),
    )
    monkeypatch.setitem(sys.modules, "envs.webshop.catalogue", module)
    stock._own.cache_clear()
    try:
        world = WebShop()
    finally:
        stock._own.cache_clear()
    splits = {(world.stock.goals[task.id].asin, task.split) for task in world.tasks()}
    assert splits == {("B000000001", "test"), ("B000000002", "train")}


@pytest.mark.parametrize("quirks", [True, False])
@pytest.mark.parametrize("mode", ["text", "text_rich", "react"])
def test_it_keeps_the_contract(mode: Mode, quirks: bool) -> None:
    check(WebShop(mode=mode, quirks=quirks), episodes=5)


def test_the_second_shop_opens_at_once() -> None:
    assert WebShop().stock is WebShop(mode="text").stock
