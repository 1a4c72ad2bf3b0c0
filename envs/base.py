"""The one contract between a world and everything above it.

A world is text in, text out, one action at a time. It knows nothing of agents, memory or people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

Split = Literal["train", "test"]

OWN_TASK = "own:"
"""Before an instruction in a person's own words it makes a task id, in worlds with `own_task = True`."""


@dataclass(frozen=True, slots=True)
class Task:
    """Something to be done. `id` is what `reset` takes; `text` is the instruction as a person reads it."""

    id: str
    text: str
    split: Split = "test"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done now.

    `text` is what `step` takes (`click[b0...]`); `label` is what a person reads (a product's title, an option, a
    button); `kind` groups alike actions (`search`, `open`, `buy` ...). A `typed` action takes an argument that
    stands where its text has `<...>`: `search[<keywords>]` is executed as `search[red shoe]`.
    """

    text: str
    label: str
    kind: str
    typed: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """What the world shows: `text`, the `kind` of page or screen (environments define theirs), what can be done."""

    text: str
    kind: str
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What came of one action. `reward` is for that action. `terminated`: the task is over; `truncated`: cut short.

    `info["invalid"]` is True when the world did not know the action (the page stays as it was).
    """

    observation: Observation
    reward: float
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class TextEnv(Protocol):
    """A world. One object is one run of it; it is not shared between threads.

    `replayable`: the same task, seed and actions always give the same steps.
    `step_limit`: how many steps an episode may take before the session truncates it.
    `grammar`: for the prompt, in a few lines: what actions look like and how this world is done well.
    `kind_similarity`: how alike two kinds of observation are, as a symmetric positive semi-definite table
    `{(kind, kind): 0..1}` (a kind with itself is 1; what is not named is 0). None: compare observation texts.

    A world may also have `own_task: bool`. Where it is True, `reset(OWN_TASK + instruction)` starts an episode with a
    person's own instruction, which has no goal to be measured against: what it is worth, the person says.

    And it may have `elements(text: str) -> Sequence[str]`, a static method that takes an observation's text apart. Then
    observations are compared by the longest common subsequence of their elements, not by `kind_similarity`.
    """

    name: ClassVar[str]
    replayable: ClassVar[bool]
    step_limit: ClassVar[int]
    grammar: ClassVar[str]
    kind_similarity: ClassVar[Mapping[tuple[str, str], float] | None]

    def tasks(self) -> Sequence[Task]:
        """All tasks, in a fixed order."""
        ...

    def reset(self, task_id: str, seed: int = 0) -> Observation:
        """Start the task over. Raises `UnknownTask` for an id that `tasks()` does not have."""
        ...

    def step(self, action: str) -> Step:
        """Do one action. Anything is accepted; what the world does not know leaves the page and is marked invalid."""
        ...

    def close(self) -> None:
        """Let go of what the world holds. May be called twice."""
        ...


def matches(available: Sequence[Action], action: str) -> Action | None:
    """Return the available action that `action` is an instance of, or None.

    Compared trimmed and without regard to case; a typed action needs a non-empty argument.
    """
    wanted = action.strip().casefold()
    for each in available:
        if not each.typed:
            if each.text.casefold() == wanted:
                return each
            continue
        head, _, rest = each.text.partition("<")
        tail = rest.partition(">")[2]
        head, tail = head.casefold(), tail.casefold()
        middle = wanted[len(head) : len(wanted) - len(tail)]
        if wanted.startswith(head) and wanted.endswith(tail) and middle.strip() and len(wanted) > len(head + tail):
            return each
    return None
