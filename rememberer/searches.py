"""What to put into actions that take words, such as `search[<keywords>]`: from the task, and what worked before."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rememberer.keywords import content_words, first_words, words
from rememberer.looks import Look
from rememberer.records import ActionText

SAME_TASK = 0.95
"""Cosine of two tasks from which on the words that worked for the one are tried for the other as they are."""

Worked = tuple[str, str, float]
"""A task, the words that were typed for it, and what that was worth."""


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


def filled(look: Look, words: str) -> Look:
    """Return the look of a typed action with its argument."""
    head, tail = split(look.action)
    action = look.action.model_copy(update={"text": f"{head}{words}{tail}", "label": f"{look.action.label}: {words}"})
    return replace(look, action=action)


def wording(task: str, worked: Sequence[Worked]) -> list[str]:
    """Return what to type for `task`, best first: the words that say what is wanted.

    A word that was mostly left out of what worked (by value) in other tasks that had it, too, is left out. Then all
    words, and the first few.
    """
    said = content_words(task)
    used, left_out = dict.fromkeys(said, 1.0), dict.fromkeys(said, 0.0)
    for other, typed, value in worked:
        had, kept = set(content_words(other)), set(words(typed))
        for word in had.intersection(said):
            (used if word in kept else left_out)[word] += max(value, 0.0)
    telling = [word for word in said if used[word] >= left_out[word]]
    return _distinct([telling, said, first_words(task)]) or [task]


def _distinct(found: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(" ".join(each) for each in found if each))
