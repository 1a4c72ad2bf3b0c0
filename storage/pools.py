"""The memories of the paper's released code (YAML pools), read into events of a log.

A pool is one table: (observation, task, available actions or instruction) -> the values of actions there. Whoever ran
double Q-learning with it has two pools, which are imported one after the other. An action's identity is its text
alone, so rows that differ in their reasons only become one.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import fsum, inf
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import envs
from envs.webshop.reading import read_page
from envs.wikihow import kind_of
from rememberer.collector import no_collector
from rememberer.events import Event, Imported, ImportedAction
from rememberer.records import State
from rememberer.store import Store
from storage.safe_yaml import Reader
from storage.schema import to_json

if TYPE_CHECKING:
    from yaml import Node

TASK = "Instruction:"
"""Stands before every task of WebShop in a pool."""
UNREADABLE = "NOTHINGG"
"""What the released code does when it cannot read a reply."""
MOST = 1e9
"""Bound of values and counts, as of `records.Amount`."""
_WANTED = "A pool of the paper's code or a file that `rememberer memory export` wrote can be imported."


@dataclass(frozen=True, slots=True)
class PoolImport:
    """What an import did. `known`: experiences that the log had already, value for value."""

    experiences: int = 0
    actions: int = 0
    merged: int = 0
    """Rows that went into another of the same action."""
    left_out: int = 0
    """Rows of replies that could not be read, which are no actions, and experiences without any action."""
    known: int = 0


def import_pool(store: Store, user: str, path: Path) -> PoolImport:
    """Append the experiences of a pool to the log of `user`, in one commit; `source` is the name of the file.

    Experiences that the log has already, value for value, are left out, so importing twice changes nothing. Raises
    `StoreError` with the number of the first line that is broken; then nothing was imported.
    """
    with no_collector():
        pool = _Pool(path)
        events = {event.id: event for event in [_event(user, body) for body in pool.experiences()]}
    known = events.keys() & {event.id for event in store.events(user)}
    fresh = [event for id, event in events.items() if id not in known]
    store.append(fresh)
    bodies = [event.body for event in fresh if isinstance(event.body, Imported)]
    return replace(
        pool.told, experiences=len(bodies), actions=sum(len(body.actions) for body in bodies), known=len(known)
    )


def state_of(observation: str, task: str, last: str) -> State | None:
    """The state that a situation of a pool is; None for what is neither a page of WebShop nor a screen of wikiHow."""
    if task.startswith(TASK):
        clickables = [name.strip().lower() for name in last.split("\n") if name.strip()]
        return State.of("webshop", task.removeprefix(TASK).strip(), read_page(observation, clickables))
    if observation.strip() and not observation.lstrip().startswith("<"):
        return None
    return State.of("wikihow", task.strip(), envs.Observation(observation, kind_of(last)))


def spelled(action: str, state: State) -> str:
    """An action of a pool as the world spells it, where the world lists it."""
    available = [envs.Action(each.text, each.label, each.kind, each.typed) for each in state.actions]
    meant = envs.matches(available, action)
    return meant.text if meant and not meant.typed else action


def _event(user: str, body: Imported) -> Event:
    """With an id that says what was imported, whatever the file is called."""
    content = hashlib.sha256(to_json(body.model_copy(update={"source": ""})).encode())
    content.update(user.encode("utf-8", "surrogatepass"))
    return Event(id=f"pool-{content.hexdigest()[:32]}", user=user, source=body.source, body=body)


class _Pool:
    """A pool in a file. `told` counts what was merged and left out so far."""

    def __init__(self, path: Path) -> None:
        self.told = PoolImport()
        self._source = path.name
        self._read = Reader(path, _WANTED)

    def experiences(self) -> list[Imported]:
        """The experiences, oldest first: the released code numbers them, and sorts them by their texts in the file."""
        read = self._read
        found: list[tuple[float, Imported]] = []
        for key, value in read.pairs(read.root, "a pool (a mapping of situations)"):
            record = read.fields(value, {"action_dict": True, "other_info": False, "id": False}, "an experience")
            age = read.number(record["id"], "id", 0, 1e15) if "id" in record else inf
            state = self._state(key)
            actions = self._actions(record["action_dict"], state)
            known = dict.fromkeys(("action_history", "last_reward", "total_reward", "number"), False)
            info = read.fields(record["other_info"], known, "other_info") if "other_info" in record else {}
            body = Imported(
                state=state,
                actions=tuple(actions),
                history=tuple(self._history(info["action_history"])) if "action_history" in info else (),
                mean_last_reward=self._number(info, "last_reward"),
                mean_total_reward=self._number(info, "total_reward"),
                visits=self._count(info),
                source=self._source,
            )
            if actions:
                found.append((age, body))
            else:
                self.told = replace(self.told, left_out=self.told.left_out + 1)
        return [body for _, body in sorted(found, key=itemgetter(0))]

    def _state(self, key: "Node") -> State:
        what = "a situation (observation, task, and available actions or instruction)"
        parts = [self._read.text(each, what) for each in self._read.items(key, what)]
        if len(parts) != 3:
            self._read.refuse(key, f"there are {len(parts)} parts", what)
        observation, task, last = parts
        state = state_of(observation, task, last)
        if state is None:
            begins = repr(observation.strip()[:60])
            self._read.refuse(key, f"there is {begins}", "a page of WebShop or a screen of wikiHow")
        return state

    def _actions(self, node: "Node", state: State) -> list[ImportedAction]:
        """One row an action, spelled as the world does where the world lists it."""
        found: dict[str, ImportedAction] = {}
        for key, value in self._read.pairs(node, "a table of actions"):
            known = {"qvalue": True, "reward": False, "number": False}
            row = self._read.fields(value, known, "the values of an action")
            text, reason = self._action(key)
            text = spelled(text, state)
            new = ImportedAction(
                action=text,
                q=self._number(row, "qvalue"),
                visits=self._count(row),
                mean_reward=self._number(row, "reward"),
                reason=reason,
            )
            if not text:
                self.told = replace(self.told, left_out=self.told.left_out + 1)
            elif text in found:
                self.told = replace(self.told, merged=self.told.merged + 1)
                found[text] = _merged(found[text], new)
            else:
                found[text] = new
        return list(found.values())

    def _action(self, node: "Node") -> tuple[str, str]:
        """Text and reason; the text is empty for what is no action."""
        what = "an action (text, reason)"
        parts = self._read.items(node, what) if self._read.is_list(node) else [node]
        if not 1 <= len(parts) <= 2:
            self._read.refuse(node, f"there are {len(parts)} parts", what)
        texts = ["" if self._read.is_null(each) else self._read.text(each, what).strip() for each in parts]
        text, reason = (*texts, "")[:2]
        return ("" if text == UNREADABLE else text), reason

    def _history(self, node: "Node") -> Iterator[str]:
        for each in self._read.items(node, "a list of actions"):
            text, _ = self._action(each)
            if text:
                yield text

    def _number(self, fields: dict[str, "Node"], name: str) -> float:
        return self._read.number(fields[name], name, -MOST, MOST) if name in fields else 0.0

    def _count(self, fields: dict[str, "Node"]) -> int:
        return self._read.count(fields["number"], "number", int(MOST)) if "number" in fields else 1


def _merged(one: ImportedAction, other: ImportedAction) -> ImportedAction:
    visits = one.visits + other.visits

    def mean(a: float, b: float) -> float:
        return fsum([a * one.visits, b * other.visits]) / visits

    return ImportedAction(
        action=one.action,
        q=mean(one.q, other.q),
        visits=min(visits, int(MOST)),
        mean_reward=mean(one.mean_reward, other.mean_reward),
        reason=other.reason or one.reason,
    )
