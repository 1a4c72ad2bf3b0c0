"""What proposes actions: one protocol, and what it is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rememberer.records import Experience, Proposal, Recalled, State

RECALLED = 8
"""How many of the retrieved experiences are named in the proposal, and shown. A prompt quotes no others. Of the rows
that a value rests on, the heaviest so many are told."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """An experience that memory holds similar: `similarity` in [-1, 1] is the weighted sum of `task` and `observation`.

    `used` is False below the threshold: it is shown greyed, and does not enter prompts or values.
    """

    experience: Experience
    similarity: float
    task: float
    observation: float
    used: bool


def recalled(retrieved: Sequence[Retrieved]) -> tuple[Recalled, ...]:
    """What a proposal names of what was retrieved."""
    return tuple(
        Recalled(
            key=each.experience.key,
            similarity=each.similarity,
            used=each.used,
            task=each.task,
            observation=each.observation,
        )
        for each in retrieved[:RECALLED]
    )


@dataclass(frozen=True, slots=True)
class Situation:
    """What a policy is told besides what memory retrieved."""

    state: State
    grammar: str = ""
    """The environment's action grammar and principles, for the prompt."""
    last_actions: tuple[str, ...] = ()
    """All actions executed in this episode so far, oldest first."""
    last_reward: float = 0.0
    total_reward: float = 0.0
    refused: tuple[str, ...] = ()
    """Actions that the person rejected at this very step."""
    hint: str = ""
    """What the person has told the agent in this episode, and with the last rejection, a line each."""
    seed: int = 0
    cancelled: Callable[[], bool] = field(default=lambda: False)
    """Asked often by slow policies; True: raise `Cancelled`."""
    show: Callable[[str], None] = field(default=lambda text: None)
    """Given the reasoning text so far, while a model streams it."""


class Policy(Protocol):
    """Something that proposes up to `k` actions for a situation, best first, with value and reason."""

    name: str

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        """Return a proposal with 0 to `k` candidates, all of them available in `situation.state`.

        `recalled` and `seconds` are filled in by the session. Raises `ModelError` when a model does not answer
        usefully, `Cancelled` when stopped.
        """
        ...
