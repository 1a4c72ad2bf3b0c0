"""What is written down: states, proposals, decisions, experiences. What happens to them is in `rememberer.events`.

Everything here is immutable. pydantic checks what comes from disk, a model or a file.
"""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

import envs

Amount = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
"""A reward or a value from outside. Bounded, so that no sum of them overflows."""


class Record(BaseModel):
    """Base of all records: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ActionText(Record):
    """An available action as the environment reported it (`envs.Action`)."""

    text: str
    label: str
    kind: str
    typed: bool = False

    @classmethod
    def of(cls, action: envs.Action) -> Self:
        return cls(text=action.text, label=action.label, kind=action.kind, typed=action.typed)


class State(Record):
    """Where a decision is made: (task, observation, available actions), paper section 3.

    `key` identifies it within a user's memory: the same environment, task, observation and action texts are the same
    state, whatever the labels say.
    """

    env: str
    task: str
    observation: str
    kind: str
    actions: tuple[ActionText, ...] = ()
    forgotten: str = ""  # the stand-in key of a state whose texts were forgotten

    @cached_property
    def key(self) -> str:
        if self.forgotten:
            return self.forgotten
        parts = (self.env, self.task, self.observation, *(each.text for each in self.actions))
        digest = hashlib.sha256()
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()[:32]

    @classmethod
    def of(cls, env: str, task: str, observation: envs.Observation) -> Self:
        return cls(
            env=env,
            task=task,
            observation=observation.text,
            kind=observation.kind,
            actions=tuple(ActionText.of(action) for action in observation.actions),
        )


class LearningSettings(Record):
    """How an episode is learnt from (paper, section 3). Fixed per episode and logged with it."""

    n: int | None = Field(default=None, ge=1)
    """Steps before bootstrapping; None: the full return of the episode (the paper's published runs)."""
    gamma: float = Field(default=1.0, ge=0, le=1)
    """Discount per step."""
    alpha: float | None = Field(default=None, gt=0, le=1)
    """Constant learning rate; None: the mean of all targets (alpha = 1/N)."""
    step_penalty: Amount = 0.0
    """Subtracted from every step's reward."""
    beta: Amount = 1.0
    """Weight of a human label that is added to the environment's reward."""
    labels: Literal["add", "replace"] = "add"
    """Whether a human label is added to the environment's reward or stands instead of it."""
    bootstrap: Literal["zero", "nearest"] = "zero"
    """V of a state without a record: 0, or that of the most similar record (what the released code does)."""
    double: Literal["off", "turn", "random"] = "off"
    """Double Q-learning: which of two tables an episode writes to, in turn or drawn by its seed."""


class Evidence(Record):
    """A row of an experience that a value rests on: its Q and visits then, and what they weighed."""

    key: str
    action: str
    q: FiniteFloat
    visits: int
    weight: FiniteFloat


class Candidate(Record):
    """An action that a policy proposes.

    `value` is its estimated Q; None when nobody has evidence for it. `visits` counts the executed steps that the value
    rests on. `evidence` are the weightiest rows behind it, heaviest first.
    """

    action: str
    label: str = ""
    value: FiniteFloat | None = None
    visits: int = 0
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()


class Recalled(Record):
    """That an experience was retrieved for a proposal; `used` when its similarity was above the threshold."""

    key: str
    similarity: float
    used: bool
    task: float | None = None
    """How alike the tasks are; None where nobody said."""
    observation: float | None = None
    """How alike what was seen is."""


class Proposal(Record):
    """What was shown before a decision: candidates, best first, and what they rest on."""

    candidates: tuple[Candidate, ...]
    recalled: tuple[Recalled, ...] = ()
    policy: str = ""
    reasoning: str = ""
    note: str = ""
    """One plain sentence for the person when something went not as it should (an unreadable reply ...)."""
    prompt: str = ""
    reply: str = ""
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0


DecisionKind = Literal["approve", "choose", "override", "reject", "stop"]


FORK = "fork"
"""Who decided a step that was done again because an episode was forked."""
MACHINES = ("auto", "confidence")
"""Who decides where no person does."""


class Decision(Record):
    """An answer to the proposal of `step`. `by` says who or what took it (`person`, `auto` ...)."""

    step: int
    kind: DecisionKind
    action: str = ""
    by: str = "person"
    proposed: str = ""
    """The first candidate, which was passed over unless the kind is `approve`."""
    hint: str = ""
    """With `reject` and `override`: the person's words."""


class ActionValue(Record):
    """A row of an experience's table: what is known of one action in one state."""

    action: str
    q: FiniteFloat
    visits: int
    mean_reward: FiniteFloat = 0.0
    """Mean one-step reward, labels included."""
    reason: str = ""
    rejections: tuple[str, ...] = ()
    """One entry a rejection: the person's words, may be empty."""
    labels: tuple[FiniteFloat, ...] = ()
    """The human labels in force on its executed steps."""
    comments: tuple[str, ...] = ()
    """What people said with them."""


class Experience(Record):
    """A state of a user's memory with the values of the actions tried (or rejected) there. Derived from the log."""

    state: State
    actions: tuple[ActionValue, ...]
    """Highest Q first; rows without visits (only rejected) last."""
    unlisted: int = 0
    """How many more were executed here than an experience may have; the log keeps them."""
    history: tuple[str, ...] = ()
    """The shortest list of actions that led here."""
    mean_last_reward: FiniteFloat = 0.0
    mean_total_reward: FiniteFloat = 0.0
    visits: int = 0
    created: datetime
    updated: datetime
    origin: str = ""
    """`episode`, or the source of an import."""
    pinned: bool = False
    episodes: tuple[str, ...] = ()
    outcome: str = ""
    """How the last episode through here ended: `solved`, `failed`, `stopped`, `open`; empty for imports."""
    outcome_return: FiniteFloat = 0.0
    outcome_steps: int = 0

    @property
    def key(self) -> str:
        return self.state.key


class Change(Record):
    """That learning moved a value. `old` is None when the action had no value before, `new` when it has none now."""

    key: str
    action: str
    old: float | None
    new: float | None
    visits: int
