"""YAML files of unknown origin, read piece by piece: nothing is executed, and what is not expected is refused by line.

PyYAML only parses here; no object is ever constructed from a tag. A `Reader` gives texts, numbers, lists and fields
where a caller expects them.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rememberer.errors import StoreError
from storage.complaints import complain

if TYPE_CHECKING:
    from yaml import Node

_YAML = "tag:yaml.org,2002:"
_TUPLE = f"{_YAML}python/tuple"
_LISTS = {f"{_YAML}seq", _TUPLE}
_HARMLESS = _LISTS | {
    f"{_YAML}{name}" for name in ("map", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
}
UNFOLDS = 20
"""How many times its size a file may grow by its aliases. Those of real pools stay below 4."""


class Reader:
    """A file and its pieces. `wanted` says in an error what kind of file was expected.

    Raises `StoreError` with the file's name and the line of what is broken, everywhere.
    """

    def __init__(self, path: Path, wanted: str) -> None:
        self._path = path
        self._wanted = wanted
        self.root = self._parse()

    def refuse(self, node: "Node | int", got: str, expected: str) -> NoReturn:
        """Raise `StoreError` for a node, or a line counted from 0."""
        line = node if isinstance(node, int) else node.start_mark.line
        raise StoreError(
            f"{self._path.name}, line {line + 1}: {got}, but {expected} was expected. {self._wanted} "
            "Nothing was imported."
        )

    def fields(self, node: "Node", known: Mapping[str, bool], what: str) -> dict[str, "Node"]:
        """The fields of a mapping, by name. `known` says of each whether it has to be there."""
        found: dict[str, Node] = {}
        for key, value in self.pairs(node, what):
            name = self.text(key, "the name of a field")
            if name not in known or name in found:
                got = f"there is {'a second' if name in found else 'a'} field {name!r}"
                self.refuse(key, got, f"{what} with {', '.join(known)}")
            found[name] = value
        if missing := [name for name, needed in known.items() if needed and name not in found]:
            self.refuse(node, f"there is no field {missing[0]!r}", what)
        return found

    def pairs(self, node: "Node", what: str) -> list[tuple["Node", "Node"]]:
        """Keys and values of a mapping, in their order."""
        if node.tag != f"{_YAML}map":
            self.refuse(node, f"there is {_shown(node)}", what)
        self._unfold(node, len(node.value))
        return [(key, value) for key, value in node.value]

    def items(self, node: "Node", what: str) -> list["Node"]:
        """The items of a list or tuple."""
        if node.tag not in _LISTS:
            self.refuse(node, f"there is {_shown(node)}", what)
        self._unfold(node, len(node.value))
        return list(node.value)

    def is_null(self, node: "Node") -> bool:
        return bool(node.tag == f"{_YAML}null")

    def is_list(self, node: "Node") -> bool:
        return node.tag in _LISTS

    def text(self, node: "Node", what: str) -> str:
        """A text as it is written: what looks like a number or a date is a text, too."""
        if not isinstance(node.value, str):
            self.refuse(node, f"there is {_shown(node)}", what)
        self._unfold(node, len(node.value))
        return node.value

    def number(self, node: "Node", what: str, low: float, high: float) -> float:
        """A finite number, from `low` to `high`."""
        expected = f"{what} (a number from {low:g} to {high:g})"
        try:
            value = float(node.value) if isinstance(node.value, str) else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            self.refuse(node, f"there is {_shown(node)}", expected)
        return value

    def count(self, node: "Node", what: str, high: int) -> int:
        """A whole number from 1 to `high`."""
        value = self.number(node, what, 1, high)
        if value != int(value):
            self.refuse(node, f"there is {_shown(node)}", f"{what} (a whole number)")
        return int(value)

    def _unfold(self, node: "Node", size: int) -> None:
        """Count what was read. A piece that an alias repeats counts each time, so that small files stay small."""
        self._room -= size + 1
        if self._room < 0:
            self.refuse(node, f"its aliases make the file more than {UNFOLDS} times as large", "something smaller")

    def _parse(self) -> "Node":
        import yaml

        with complain(self._path.parent):
            raw = self._path.read_bytes()
        self._room = UNFOLDS * (len(raw) + 1000)
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            self.refuse(raw.count(b"\n", 0, problem.start), "there is no UTF-8 text", "UTF-8")
        try:
            root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.MarkedYAMLError as problem:
            mark = problem.problem_mark or problem.context_mark
            self.refuse(mark.line if mark else 0, f"it is no YAML: {problem.problem}", "YAML")
        except yaml.reader.ReaderError as problem:
            self.refuse(text.count("\n", 0, problem.position), f"it is no YAML: {problem.reason}", "YAML")
        except RecursionError:
            self.refuse(0, "it is nested too deeply", "something flatter")
        if root is None:
            self.refuse(0, "the file is empty", "a mapping")
        self._check_tags(root)
        return root

    def _check_tags(self, root: "Node") -> None:
        """Refuse every tag that could stand for something to be made, wherever it is."""
        waiting, seen = [root], set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.tag not in _HARMLESS:
                got = f"there is {node.tag.removeprefix(_YAML)!r}, of which nothing is made here"
                self.refuse(node, got, "plain text, numbers, lists and tuples (numbers of numpy or torch as float(x))")
            if isinstance(node.value, list):
                for each in node.value:
                    waiting.extend(each if isinstance(each, tuple) else (each,))


def _shown(node: "Node") -> str:
    """A node in an error: what it is, and a text at its beginning."""
    if not isinstance(node.value, str):
        return "a mapping" if node.tag == f"{_YAML}map" else "a list"
    if node.tag == f"{_YAML}null":
        return "nothing"
    return repr(node.value if len(node.value) <= 60 else node.value[:59] + "…")
