"""The log, event by event. It is the truth, append only; the values are what `rememberer.learning` folds it into."""

import uuid
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from rememberer.records import Amount, Decision, LearningSettings, Proposal, Record, State


class EpisodeStarted(Record):
    type: Literal["started"] = "started"
    env: str
    task_id: str
    task: str
    seed: int = 0
    data: str = ""
    """The folder given with `--data`, when the environment read one."""
    policy: str = ""
    step_limit: int = 0
    learning: LearningSettings = LearningSettings()
    table: Literal[0, 1] | None = None
    """The table that the episode writes to with double Q-learning."""
    forked: tuple[str, int] | None = None
    """The episode whose first steps were done again to begin with, and the step before which it left that one."""
    state: State


class Proposed(Record):
    type: Literal["proposed"] = "proposed"
    step: int
    proposal: Proposal


class Decided(Record):
    type: Literal["decided"] = "decided"
    decision: Decision


class Observed(Record):
    """The outcome of step `step` (from 1): `action` in the state before gave `reward` and led to `state`."""

    type: Literal["observed"] = "observed"
    step: int
    action: str
    reward: Amount
    state: State
    terminated: bool = False
    truncated: bool = False
    invalid: bool = False
    reason: str = ""
    """Why the policy proposed the executed action, in its words."""
    nearest: str = ""
    """With `bootstrap="nearest"`: key of the record that stood for `state`, so that learning can be repeated."""
    outcome_unknown: bool = False
    """The server died between decision and outcome, in an environment that cannot be replayed."""


class EpisodeEnded(Record):
    """The episode was left before the environment ended it: a truncation."""

    type: Literal["ended"] = "ended"
    reason: str = "stopped"


class Labelled(Record):
    """A person's reward for an executed step, or for the whole episode (`step` 0). The last one of a person counts."""

    type: Literal["labelled"] = "labelled"
    step: int = Field(ge=0)
    value: FiniteFloat = Field(ge=-1, le=1)
    by: str = "person"
    comment: str = ""


class LabelWithdrawn(Record):
    type: Literal["withdrawn"] = "withdrawn"
    step: int = Field(ge=0)
    by: str = "person"


class Compared(Record):
    """Which of two a person holds for better: of two actions in the state `key`, or of two episodes without one."""

    type: Literal["compared"] = "compared"
    better: str
    worse: str
    key: str = ""
    equal: bool = False
    """Neither is better."""
    by: str = "person"


class Undone(Record):
    """That a label, a withdrawal or a comparison counts for nothing, as if it had never been; or counts again."""

    type: Literal["undone"] = "undone"
    label: str
    """Id of its event."""
    on: bool = True


class TakenBack(Record):
    """That step `step` and all after it have not been, nor the end of the episode. What was said of them is void."""

    type: Literal["taken back"] = "taken back"
    step: int


class Guided(Record):
    """What a person told the agent for the rest of the episode, from step `step` on."""

    type: Literal["guided"] = "guided"
    step: int
    text: str


class Asked(Record):
    """That the agent, running by itself, left step `step` to the person, and why."""

    type: Literal["asked"] = "asked"
    step: int
    why: str = ""


class ImportedAction(Record):
    action: str
    q: Amount
    visits: int = Field(default=1, ge=1, le=10**9)
    mean_reward: Amount = 0.0
    reason: str = ""


class Imported(Record):
    """An experience from a file: its values count like `visits` targets of value `q`."""

    type: Literal["imported"] = "imported"
    state: State
    actions: tuple[ImportedAction, ...]
    history: tuple[str, ...] = ()
    mean_last_reward: Amount = 0.0
    mean_total_reward: Amount = 0.0
    visits: int = Field(default=1, ge=1, le=10**9)
    source: str = ""


class Pinned(Record):
    type: Literal["pinned"] = "pinned"
    key: str
    pinned: bool = True


class Dropped(Record):
    """That the memory was full, so an experience left it until it is met again. The log keeps all that was learnt."""

    type: Literal["dropped"] = "dropped"
    key: str
    like: str
    """Key of the most similar one, which stayed."""
    similarity: FiniteFloat


class Quarantined(Record):
    """That an episode, all that came from a source, or an experience counts for nothing (any more, or again)."""

    type: Literal["quarantined"] = "quarantined"
    episode: str = ""
    source: str = ""
    key: str = ""
    on: bool = True
    reason: str = ""


class Forgotten(Record):
    """That experiences were forgotten, by their stand-in keys. The texts are gone from the log."""

    type: Literal["forgotten"] = "forgotten"
    stand_ins: tuple[str, ...]


Body = Annotated[
    EpisodeStarted
    | Proposed
    | Decided
    | Observed
    | EpisodeEnded
    | Labelled
    | LabelWithdrawn
    | Compared
    | Undone
    | TakenBack
    | Guided
    | Asked
    | Imported
    | Pinned
    | Dropped
    | Quarantined
    | Forgotten,
    Field(discriminator="type"),
]

SCHEMA_VERSION = 1


def new_id() -> str:
    """A fresh id for an event or an episode."""
    return uuid.uuid4().hex


class Event(Record):
    """One line of the log. `id` is the idempotency key; `seq` is the user's own count, given by the store."""

    id: str = Field(default_factory=new_id)
    user: str
    episode: str = ""
    seq: int = -1
    time: datetime = Field(default_factory=lambda: datetime.now(UTC))
    source: str = ""
    """The file that it was imported from; empty when it happened here."""
    version: int = SCHEMA_VERSION
    body: Body
