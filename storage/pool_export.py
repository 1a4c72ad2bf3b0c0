"""A memory as a pool of the paper's released code (YAML), for that code to go on from, or `storage.pools` to read back.

A pool holds situations of WebShop and of wikiHow, and of each action its value, mean reward, count and reason. It does
not hold: other worlds; labels, comments, rejections, and actions that were only ever rejected; where an experience came
from, when, how its episodes ended, whether it is pinned, and what left out actions it has. Texts that YAML has no way
to write (half of a surrogate pair) are left out with what they belong to, as are actions and experiences that would
come back as others: with blanks around them, or values beyond a billion.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rememberer.records import Experience, State
from storage.complaints import complain
from storage.durability import write_durably
from storage.pools import MOST, TASK, UNREADABLE, spelled, state_of
from storage.schema import plain

_INSTRUCTIONS = {
    "search": "",
    "article": "Access the article",
    "author": "Check the author page",
    "category": "Access the page of category",
    "reference": "Check the reference list",
    "about": "Access the about page",
}
"""Of wikiHow's instruction a memory knows the kind alone."""

Situation = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PoolExport:
    """What an export wrote. `left_out`: experiences that a pool cannot hold, or without an action that was tried."""

    experiences: int
    actions: int
    left_out: int


def export_pool(experiences: Iterable[Experience], path: Path) -> PoolExport:
    """Write experiences, oldest first, as a pool that `import_pool` makes equal states, actions and values of.

    The file is replaced as a whole, in UTF-8. Raises `StoreError` when it cannot be written; then it is as it was.
    """
    known = list(experiences)
    records = {at: record for each in known if (at := _situation(each.state)) and (record := _record(each))}
    entries = (_entry({at: {**record, "id": age}}) for age, (at, record) in enumerate(records.items()))
    with complain(path.parent):
        write_durably(path, entries if records else ["{}\n"])
    actions = sum(len(record["action_dict"]) for record in records.values())
    return PoolExport(len(records), actions, len(known) - len(records))


def _situation(state: State) -> Situation | None:
    """The key of a state in a pool; None where it would be read as another state."""
    if state.env == "webshop":
        # The search bar is a button, too.
        names = ["search" if each.typed else each.text.removeprefix("click[")[:-1] for each in state.actions]
        at = (state.observation, f"{TASK}{state.task}", "\n".join(names))
    else:
        at = (state.observation, state.task, _INSTRUCTIONS.get(state.kind, "unknown"))
    read = state_of(*at)
    same = read and (read.env, read.key, read.kind) == (state.env, state.key, state.kind)
    return at if same and all(map(_is_text, at)) else None


def _record(known: Experience) -> dict[str, Any] | None:
    """What a pool says of an experience; None without an action that it can hold."""
    rows = {
        (row.action, row.reason): {"qvalue": row.q, "reward": row.mean_reward, "number": row.visits}
        for row in known.actions
        if row.visits
        and row.action not in ("", UNREADABLE)
        and row.action == spelled(row.action.strip(), known.state)
        and _is_text(row.action + row.reason)
        and max(abs(row.q), abs(row.mean_reward)) <= MOST
    }
    if not rows or max(abs(known.mean_last_reward), abs(known.mean_total_reward)) > MOST:
        return None
    info = {
        "action_history": [(action, "") for action in known.history if _is_text(action)],
        "last_reward": known.mean_last_reward,
        "total_reward": known.mean_total_reward,
        "number": known.visits,
    }
    return {"action_dict": rows, "other_info": info}


def _entry(record: dict[Situation, dict[str, Any]]) -> str:
    import yaml

    def dumped(as_it_is: bool) -> str:
        # The safe dumper has no tuples, by which the released code looks things up.
        dumper = getattr(yaml, "CDumper", yaml.Dumper)
        return str(yaml.dump(record, Dumper=dumper, allow_unicode=as_it_is, sort_keys=False))

    text = dumped(True)
    # PyYAML takes these for line breaks wherever they are read, unless they are escaped.
    return dumped(False) if any(each in text for each in "\x85\u2028\u2029") else text


def _is_text(text: str) -> bool:
    return plain(text) == text
