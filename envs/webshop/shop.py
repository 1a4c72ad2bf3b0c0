"""WebShop as a world: somebody wants a product; search it, choose its options, buy it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from envs.base import OWN_TASK, Action, Observation, Step, Task
from envs.errors import EnvError, UnknownTask
from envs.webshop.pages import Mode, write
from envs.webshop.stock import Goals, Stock, open_stock
from envs.webshop.visit import PAGE_RESULTS, NotPossible, Visit

REACT_RESULTS = 3

SEARCH = Action("search[<keywords>]", "Search", "search", typed=True)
"""Typed into the search bar."""


def parse_action(action: str) -> tuple[str, str | None]:
    """Split `name[argument]` as the official engine does; without an argument the whole text is the name."""
    found = re.match(r"(.+)\[(.+)\]", action)
    return (found[1], found[2]) if found else (action, None)


def _parse_leniently(action: str) -> tuple[str, str | None]:
    found = re.fullmatch(r"(?s)\s*(\w+)\s*\[\s*(.+?)\s*\]\s*", action)
    return (found[1].lower(), found[2]) if found else (action, None)


class WebShop:
    """The shop of Yao et al. (arXiv 2207.01206) as a text world, step for step like its released engine.

    Tasks are numbered in the official order (after its shuffle): "0" to "499" are the official test goals, the others
    are for training; the paper of RLEM tests on 0 to 99 and trains on 500 to 509 (S0) and 510 to 519 (S1). In our own
    catalogue the split is the catalogue's. The task "own:<instruction>" is one in a person's own words: it has no goal,
    and buying ends it with reward 0.

    Kinds of observation are `search`, `results`, `item` and `other` (details of an item, and the page after the
    purchase). After the purchase `info` holds what the reward is made of (see `reward.reward`); `info["why"]` says why
    an action was invalid, be it that the official engine crashes on it.

    With `quirks` everything is as in the official engine, because that decides which results can be compared. Without
    them these are mended:
    - an option passes for the wanted one only if its words are the same (officially "x-large" passes for "large")
    - the same value in two groups of options: the next click sets the other group (officially only ever the last)
    - options with quotes or accents show as chosen, and none does that was merely searched for
    - an option called like a button can be chosen: the first click chooses, the next is the button's
    - `Next >` ends with the last page of results
    - searches by attribute (`<a>`), category (`<c>`) or at random (`<r>`) never fail
    - capitals and spaces around an action do not matter, brackets within an option neither
    - nothing can be done after the purchase, and `search[...]` only where there is a search bar
    """

    name: ClassVar[str] = "webshop"
    replayable: ClassVar[bool] = True
    step_limit: ClassVar[int] = 15
    own_task: ClassVar[bool] = True
    grammar: ClassVar[str] = (
        "Actions are search[keywords] on the search page, and elsewhere click[...] with the text of a button, a "
        "product's number or an option.\n"
        "Search with the few words that name the product. Open the product that fits the instruction and its price "
        "best, click each option that was asked for, then click[buy now]. If nothing fits, go back and search with "
        "other words.\n"
        "Buying ends the task. The reward is the share of the wishes (kind, attributes, options, price) that were met."
    )
    kind_similarity: ClassVar[Mapping[tuple[str, str], float] | None] = {
        **{(kind, kind): 1.0 for kind in ("search", "results", "item", "other")},
        ("item", "other"): 0.3,
        ("other", "item"): 0.3,
    }

    def __init__(
        self, data: Path | None = None, mode: Mode = "react", quirks: bool = True, goals: Goals = "human"
    ) -> None:
        """Open the shop of the folder `data` (official files), or our own catalogue.

        `mode`: how pages read: officially (`text`, `text_rich`), or as the paper of RLEM had them (`react`: three
        products a page, buttons in brackets). `goals`: what people asked for, or `synthetic` ones: every combination
        of options. Raises `BadData` when a file is missing or broken, `ValueError` for another mode or kind of goals.
        """
        if mode not in ("text", "text_rich", "react") or goals not in ("human", "synthetic"):
            raise ValueError(
                f"The mode is text, text_rich or react, and goals are human or synthetic; got {mode!r} and {goals!r}."
            )
        self.stock: Stock = open_stock(data, goals)
        self.visit: Visit | None = None
        self._mode: Mode = mode
        self._quirks = quirks

    def tasks(self) -> Sequence[Task]:
        """All goals in the official order."""
        return self.stock.tasks

    def reset(self, task_id: str, seed: int = 0) -> Observation:
        """Go to the search page of a task, or of `own:<instruction>`. `seed` is for searches at random (`<r>`).

        Raises `UnknownTask`.
        """
        goal = self.stock.goals.get(task_id)
        instruction = goal.instruction if goal else task_id.removeprefix(OWN_TASK).strip()
        if not goal and (not instruction or not task_id.startswith(OWN_TASK)):
            raise UnknownTask(
                f"WebShop has no task {task_id!r}. Take one from '0' to '{len(self.stock.goals) - 1}', "
                f"or '{OWN_TASK}' followed by an instruction."
            )
        shown = REACT_RESULTS if self._mode == "react" else PAGE_RESULTS
        self.visit = Visit(self.stock, instruction, goal, seed, shown, self._quirks)
        return self._observe(self.visit)

    def step(self, action: str) -> Step:
        """Search or click. What is not possible is told in `info["why"]`. Raises `EnvError` before `reset`."""
        visit = self.visit
        if visit is None:
            raise EnvError("WebShop was not told which task: call reset first.")
        name, argument = self._parse(action)
        choice = visit.choices().get(argument.lower()) if name == "click" and argument else None
        bought = None
        try:
            if choice:
                bought = choice.do()
            elif name == "search" and argument and (self._quirks or visit.place == "search"):
                visit.search(argument.lower().split(" "))
            else:
                raise NotPossible(f"There is no {action!r} on this page.")
        except NotPossible as reason:
            return Step(self._observe(visit), 0.0, info={"invalid": True, "why": str(reason)})
        score, parts = bought or (0.0, {})
        return Step(self._observe(visit), score, terminated=bought is not None, info={"invalid": False, **parts})

    def close(self) -> None:
        """Leave the shop. The catalogue stays in memory for the next customer."""
        self.visit = None

    def _parse(self, action: str) -> tuple[str, str | None]:
        return parse_action(action) if self._quirks else _parse_leniently(action)

    def _observe(self, visit: Visit) -> Observation:
        kind = visit.place if visit.place in ("search", "results", "item") else "other"
        actions = [choice.action for choice in visit.choices().values()]
        # An option with a bracket is on the page, but the official engine cannot read a click on it.
        actions = [each for each in actions if self._parse(each.text)[1] == each.text[len("click[") : -1]]
        if visit.place == "search":
            actions.append(SEARCH)
        return Observation(write(visit.page(), self._mode), kind, tuple(actions))
