"""What a window shows of a desk, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass

from rememberer.events import Labelled
from rememberer.records import ActionValue, Change, Experience, Recalled
from rememberer.transcript import Transcript

Card = tuple[str, int, int]
"""What lies on the table to be answered: (episode, step, proposals made in that step)."""
NO_CARD: Card = ("", 0, 0)


@dataclass(frozen=True, slots=True)
class News:
    """What the last decision or reward did: the value it is about first, then the others that moved."""

    text: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was retrieved for the waiting proposal, and what memory knows of it now."""

    recalled: Recalled
    known: Experience | None
    """None: forgotten since."""
    made_of: tuple[tuple[ActionValue, list[str]], ...] = ()
    """What each value is the average of."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a window shows, at one moment."""

    version: int
    user: str
    status: str
    """`reading` (the memory is being opened), `shut` (it could not be), `empty` (no task), `opening` (a task),
    `thinking`, `running` (by itself), `waiting` (for the person), `done`."""
    transcript: Transcript | None
    labels: Mapping[int, Labelled]
    """The rewards in force, by step; 0: of the whole task."""
    undoable: tuple[bool, bool]
    """Whether there is a reward to undo, and one to redo."""
    recalled: tuple[Recollection, ...]
    memories: int
    policy: str
    policies: tuple[str, ...]
    prices: tuple[float, float] | None
    """Dollars for a million tokens of prompt and of reply, where they were told."""
    news: News | None
    error: str
    draft: str
    """The model's reasoning so far, while it writes."""
    leave: str = ""
    """What the button says that logs somebody out; there is none where nobody logs in."""

    @property
    def busy(self) -> bool:
        return self.status in ("reading", "opening", "thinking", "running")

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.transcript.actions) if self.transcript else 0

    @property
    def has_ended(self) -> bool:
        return bool(self.transcript and self.transcript.ended)

    @property
    def stopped(self) -> bool:
        """Whether a person has ended the task, so that it can go on."""
        return bool(self.transcript and self.transcript.ended == "stopped")

    @property
    def card(self) -> Card:
        """Which card is on the table."""
        return card_of(self.transcript) if self.transcript else NO_CARD


def card_of(transcript: Transcript) -> Card:
    """The card that lies on the table at the end of a transcript."""
    return (transcript.episode, transcript.turn.step, len(transcript.turn.proposals))
