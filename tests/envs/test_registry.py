"""Worlds by name: ours, and those that other packages add."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envs import UnknownEnv, compared_by, kind_similarity, make, names, registry

CORRIDOR = """
class Corridor:
    kind_similarity = {("place", "place"): 1.0}

    def __init__(self, data=None):
        self.data = data
"""


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package on the path that registers a world by entry point."""
    (tmp_path / "corridor_world.py").write_text(CORRIDOR)
    metadata = tmp_path / "corridor-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: corridor\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{registry.ENTRY_POINT_GROUP}]\ncorridor = corridor_world:Corridor\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._known.cache_clear()
    yield
    registry._known.cache_clear()
    sys.modules.pop("corridor_world", None)


def test_our_worlds_are_there(official: Path) -> None:
    assert "webshop" in names()
    assert make("webshop", official).name == "webshop"
    table = kind_similarity("webshop")
    assert table is not None
    assert table["item", "other"] == 0.3


@pytest.mark.usefixtures("other_package")
def test_another_package_adds_a_world(tmp_path: Path) -> None:
    assert {"corridor", "webshop"} <= set(names())
    world = make("corridor", tmp_path)
    assert type(world).__name__ == "Corridor"
    assert kind_similarity("corridor") == {("place", "place"): 1.0}


def test_a_world_is_compared_by_elements_if_it_has_any_and_by_kinds_else(other_package: None) -> None:
    corridor = registry._load("corridor")
    assert compared_by("corridor") == kind_similarity("corridor") == corridor.kind_similarity
    corridor.elements = staticmethod(str.split)
    by = compared_by("corridor")
    assert callable(by)
    assert by("<p> <b>") == ["<p>", "<b>"]
    assert compared_by("webshopp") is None


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownEnv, match=r"There is no environment 'webshopp'\. There are: .*webshop"):
        make("webshopp")
    assert kind_similarity("webshopp") is None
