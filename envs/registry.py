"""Which worlds there are: ours by name, other people's by the entry-point group `rememberer.envs`."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from envs.base import TextEnv
from envs.errors import UnknownEnv

_OURS = {"webshop": "envs.webshop:WebShop"}
_ONLY_KINDS = {"wikihow": "envs.wikihow:KIND_SIMILARITY"}
"""Where one has been, according to imported memories, but cannot go."""
ENTRY_POINT_GROUP = "rememberer.envs"


@cache
def _known() -> dict[str, str]:
    theirs = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return theirs | _OURS


def names() -> list[str]:
    """Names that `make` takes, sorted."""
    return sorted(_known())


def _load(name: str) -> Any:
    target = _known().get(name)
    if target is None:
        raise UnknownEnv(f"There is no environment {name!r}. There are: {', '.join(names())}.")
    return _import(target)


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def kind_similarity(name: str) -> Mapping[tuple[str, str], float] | None:
    """The table of observation kinds of the world `name` (`TextEnv.kind_similarity`); None for an unknown world."""
    table = None
    if name in _known():
        table = _load(name).kind_similarity
    elif name in _ONLY_KINDS:
        table = _import(_ONLY_KINDS[name])
    return cast(Mapping[tuple[str, str], float] | None, table)


def compared_by(name: str) -> Mapping[tuple[str, str], float] | Callable[[str], Sequence[str]] | None:
    """By what the observations of a world are compared: its `elements` when it has them, else `kind_similarity`."""
    elements = getattr(_load(name), "elements", None) if name in _known() else None
    return cast(Callable[[str], Sequence[str]], elements) if elements else kind_similarity(name)


def make(name: str, data: Path | None = None) -> TextEnv:
    """Make a fresh run of the world `name`; `data` is a folder of its own files for worlds that read some.

    Raises `UnknownEnv` for a name nobody registered, `BadData` when the files are broken.
    """
    factory: Callable[..., TextEnv] = _load(name)
    return factory(data=data) if data else factory()
