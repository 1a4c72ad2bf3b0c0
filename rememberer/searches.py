"""What to put into actions that take words, such as `search[<keywords>]`: from the task, and what worked before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rememberer.keywords import beginning, content, terms
from rememberer.looks import Look
from rememberer.records import ActionText

SAME_TASK = 0.95
"""Cosine of two tasks from which on the words that worked for the one are tried for the other as they are."""


@dataclass(frozen=True, slots=True)
class Worked:
    """For `task`, `typed` was typed and was worth `value`. `alike`: how alike that task is to the one at hand."""

    task: str
    typed: str
    value: float
    alike: float


def split(action: ActionText) -> tuple[str, str]:
    """Return what stands before and after the argument of a typed action."""
    head, _, rest = action.text.partition("<")
    return head, rest.partition(">")[2]


def argument(action: ActionText, text: str) -> str:
    """Return the argument that `text` fills the typed `action` with; empty when it is no instance of it."""
    head, tail = split(action)
    said = text.strip()
    is_one = said.casefold().startswith(head.casefold()) and said.casefold().endswith(tail.casefold())
    return said[len(head) : len(said) - len(tail)].strip() if is_one and len(said) > len(head + tail) else ""


def filled(look: Look, text: str) -> Look:
    """Return the look of a typed action with its argument."""
    head, tail = split(look.action)
    action = look.action.model_copy(update={"text": f"{head}{text}{tail}", "label": f"{look.action.label}: {text}"})
    return replace(look, action=action)


def telling(task: str, worked: Sequence[Worked]) -> list[str]:
    """Return the content of `task` without the terms that were mostly left out of what worked, by value."""
    said = content(task)
    used, left_out = dict.fromkeys(said, 1.0), dict.fromkeys(said, 0.0)
    for each in worked:
        kept = set(terms(each.typed))
        for term in set(content(each.task)).intersection(said):
            (used if term in kept else left_out)[term] += max(each.value, 0.0)
    return [term for term in said if used[term] >= left_out[term]]


def wording(task: str, worked: Sequence[Worked]) -> list[str]:
    """Return what to type for `task`, best first.

    What worked for the same task; then its telling terms, all its content, the beginning of it, either half of it.
    """
    same = [each for each in worked if each.alike >= SAME_TASK and each.value > 0]
    found = [each.typed for each in sorted(same, key=lambda each: -each.value)]
    said = content(task)
    halves = (said[: (len(said) + 1) // 2], said[len(said) // 2 :])
    found += [" ".join(each) for each in (telling(task, worked), said, beginning(task), *halves)]
    return [each for each in dict.fromkeys(found) if each] or [task]
