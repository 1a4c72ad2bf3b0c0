"""A page that was written down elsewhere, as this shop reports it: so that it is recognised when it is met here."""

import re
from collections.abc import Collection, Iterator, Sequence

from envs.base import Action, Observation
from envs.webshop import pages
from envs.webshop.shop import SEARCH, parse_action

_DETAILS = (*pages.DETAILS, pages.ATTRIBUTES)
_SPELLED = {name.lower(): name for name in (pages.BACK, pages.PREVIOUS, pages.NEXT, pages.BUY, *_DETAILS)}
_KINDS = {
    pages.BACK.lower(): "back",
    pages.PREVIOUS.lower(): "back",
    pages.NEXT.lower(): "page",
    pages.BUY.lower(): "buy",
    **{name.lower(): "detail" for name in _DETAILS},
}
_RESULTS = re.compile(r"^Page \d+ \(Total results: \d+\) *$", re.MULTILINE)
_EDITED = re.compile(r"^Instruction:$", re.MULTILINE)
_OPTIONS = re.compile(r"(?P<group>.*?) (?P<values>\[.+\])")
_OPTION = re.compile(r"\[(?:\[(?P<chosen>.+?)\]|(?P<free>.+?))\](?!\])")


def read_page(text: str, clickables: Sequence[str]) -> Observation:
    """Return what `WebShop` reports of a page in the mode `react`; `clickables` can be clicked there, in lower case.

    The blanks that the shop leaves at the ends of lines are put back where an editor has dropped them. Labels are read
    off the page; what is not found there is called by its name.
    """
    place = _place(text, clickables)
    if _EDITED.search(text):
        text = "\n".join(["", *_with_blanks(text.strip("\n").split("\n"), place, clickables)])
    lines = text.split("\n")
    read = {"results": _products, "item": _options}.get(place)
    labels = (read(lines, clickables) if read else {}) | _SPELLED
    actions = [
        Action(f"click[{name}]", labels.get(name, name), _kind(name, place))
        for name in clickables
        # The official engine cannot read a click on a name with a bracket, nor does its `search` button do anything.
        if parse_action(f"click[{name}]")[1] == name and not (place == "search" and name == "search")
    ]
    if place == "search":
        actions.append(SEARCH)
    return Observation(text, place, tuple(actions))


def _place(text: str, clickables: Collection[str]) -> str:
    """Told by the buttons that only one kind of page has, as ids of products can look like anything."""
    if pages.BUY.lower() in clickables:
        return "item"
    if pages.NEXT.lower() in clickables or _RESULTS.search(text):
        return "results"
    return "search" if "search" in clickables and pages.BACK.lower() not in clickables else "other"


def _kind(name: str, place: str) -> str:
    if place == "results":
        return "page" if name == pages.PREVIOUS.lower() else _KINDS.get(name, "open")
    return _KINDS.get(name, "option")


def _with_blanks(lines: Sequence[str], place: str, clickables: Collection[str]) -> Iterator[str]:
    note = True  # that an option was clicked stands on top
    for line in (each.rstrip(" ") for each in lines):
        note = note and line.startswith("You have clicked ")
        options = place == "item" and _options([line], clickables)
        if note or options or _button(line, clickables):
            yield line
        else:
            yield line + ("  " if line == "Instruction:" and place == "search" else " ")


def _button(line: str, clickables: Collection[str]) -> str | None:
    """The name of the button that a line is, in lower case; a product that was visited has two brackets."""
    for mark, end in (("[", "]"), ("[[", "]]")):
        name = line.removeprefix(mark).removesuffix(end).lower()
        if f"{mark}{name}{end}" == line.lower() and name in clickables:
            return name
    return None


def _options(lines: Sequence[str], clickables: Collection[str]) -> dict[str, str]:
    """Labels of options by their names. The same name in two groups is the last one's, as the click is."""
    labels = {}
    for found in filter(None, map(_OPTIONS.fullmatch, lines)):
        marks = {each["chosen"] or each["free"]: bool(each["chosen"]) for each in _OPTION.finditer(found["values"])}
        if all(value in clickables for value in marks):
            for value, chosen in marks.items():
                labels[value] = f"{found['group']}: {value}" + (" (chosen)" if chosen else "")
    return labels


def _products(lines: Sequence[str], clickables: Collection[str]) -> dict[str, str]:
    """Labels of products by their ids: the title and the price, which stand below."""
    labels = {}
    below: list[str] = []
    for line in reversed(lines):
        name = _button(line, clickables)
        if name is None:
            below.insert(0, line.removesuffix(" "))
        elif below:
            labels[name] = "\n".join(below[:-1]) + f" · {below[-1]}"
            below = []
    return labels
