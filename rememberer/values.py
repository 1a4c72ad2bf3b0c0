"""The table that the log is folded into: episodes as they went, and for each state what its actions were worth.

    Q(s, a) = mean of its targets (alpha = 1/N), or their exponential average with constant alpha

How targets come about is in `rememberer.learning`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import fsum, inf

from rememberer.records import ActionValue, Experience, Imported, ImportedAction, LearningSettings, State

StepId = tuple[str, int]
"""(episode id, step number from 1)."""


@dataclass(frozen=True, slots=True)
class Target:
    """One target of Q(s, a): what it is made of, so that a person can check it."""

    episode: str
    step: int
    value: float
    rewards: tuple[float, ...]
    """r(t+1) ... as used, labels and step penalty included; at most n."""
    label: float | None
    """The person's label on this very step."""
    bootstrap_key: str
    """Key of the state whose V was added; empty when none was."""
    bootstrap: float
    """gamma^n V of that state; 0 when there was none."""
    moment: int | None
    """When it settled, in the order in which targets settle and imports come; None while it is provisional."""
    alpha: float | None

    @property
    def settled(self) -> bool:
        """Only a label can still change it; a provisional target follows its open episode."""
        return self.moment is not None


@dataclass(slots=True)
class Transition:
    """An executed step: in `state`, `action` gave `reward` and led to the state `next_key`."""

    step: int
    state: State
    action: str
    reward: float
    next_key: str
    nearest: str
    """Key of the record that stood for a next state without one; empty when none was looked for."""
    reason: str
    time: datetime


@dataclass(slots=True)
class EpisodeTrace:
    """What learning keeps of an episode."""

    id: str
    env: str
    task: str
    learning: LearningSettings
    state: State
    transitions: list[Transition] = field(default_factory=list)
    ended: str = ""
    """Empty while open; `terminated` or `truncated` after."""
    stopped: bool = False
    moments: list[int] = field(default_factory=list)
    """When the targets settled, of the transitions from the first on."""
    frontier: tuple[str, float] | None = None
    """Key and V that the provisional targets bootstrapped from; None when they are to be set anew."""

    @property
    def environment_return(self) -> float:
        """Sum of the environment's own rewards, labels left out."""
        return fsum(each.reward for each in self.transitions)

    @property
    def outcome(self) -> str:
        if not self.ended:
            return "open"
        if self.environment_return >= 1.0 and not self.stopped:
            return "solved"
        return "failed" if self.ended == "terminated" else "stopped"


def average(imported: list[tuple[float, int]], own: list[tuple[float, float | None]]) -> float | None:
    """Average of imported (value, visits) and own (value, alpha) in order of time. None without any.

    alpha None: the mean. Otherwise the exponential average, whose first value is taken whole.
    """
    count = sum(visits for _, visits in imported)
    if count + len(own) == 0:
        return None
    if all(alpha is None for _, alpha in own):
        # fsum is exact, so the order in which values came does not show in the last bit.
        values = [*(value * visits for value, visits in imported), *(value for value, _ in own)]
        return fsum(values) / (count + len(own))
    so_far = fsum(value * visits for value, visits in imported) / count if count else 0.0
    for value, alpha in own:
        count += 1
        so_far += (1.0 if count == 1 else 1 / count if alpha is None else alpha) * (value - so_far)
    return so_far


@dataclass(slots=True)
class Cell:
    """The targets of one (state, action), and what was imported for it, with the moment when it came."""

    imports: list[tuple[int, ImportedAction]] = field(default_factory=list)
    targets: dict[StepId, Target] = field(default_factory=dict)
    reasons: dict[StepId, str] = field(default_factory=dict)
    rejections: list[str] = field(default_factory=list)

    def visits(self) -> int:
        return len(self.targets) + sum(each.visits for _, each in self.imports)

    def q(self) -> float | None:
        """Q(s, a) of now, provisional targets included; imports stand first. None without any."""
        return average(
            [(each.q, each.visits) for _, each in self.imports],
            [(each.value, each.alpha) for each in self.targets.values()],
        )

    def settled_q(self, before: float) -> float | None:
        """Q(s, a) as it stood before a moment, settled targets only."""
        return average(
            [(each.q, each.visits) for moment, each in self.imports if moment < before],
            [
                (each.value, each.alpha)
                for each in self.targets.values()
                if each.moment is not None and each.moment < before
            ],
        )

    def row(self, action: str) -> ActionValue:
        """What a person and a policy see of it."""
        imports = [each for _, each in self.imports]
        reasons = [*(each.reason for each in imports if each.reason), *self.reasons.values()]
        mean_reward = average(
            [(each.mean_reward, each.visits) for each in imports],
            [(each.rewards[0], each.alpha) for each in self.targets.values()],
        )
        return ActionValue(
            action=action,
            q=self.q() or 0.0,
            visits=self.visits(),
            mean_reward=mean_reward or 0.0,
            reason=reasons[-1] if reasons else "",
            rejections=tuple(self.rejections),
            labels=tuple(target.label for target in self.targets.values() if target.label is not None),
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a state was reached, each time that something was executed in it."""

    last_reward: float
    total_reward: float
    history: tuple[str, ...]
    alpha: float | None
    time: datetime


@dataclass(slots=True)
class Entry:
    """A state and what is known of it."""

    state: State
    created: datetime
    cells: dict[str, Cell] = field(default_factory=dict)
    arrivals: dict[StepId, Arrival] = field(default_factory=dict)
    imports: list[tuple[datetime, Imported]] = field(default_factory=list)
    pinned: bool = False

    def v(self, before: float = inf) -> float | None:
        """max_a Q(s, a) as it stood before a moment, settled targets only; None when nothing was settled."""
        values = [q for cell in self.cells.values() if (q := cell.settled_q(before)) is not None]
        return max(values, default=None)

    def experience(self, episodes: Mapping[str, EpisodeTrace]) -> Experience:
        """What a person and a policy see of it. Of `episodes`, the last that came through here tells the outcome."""
        arrivals = list(self.arrivals.values())
        through = [episode for episode, _ in self.arrivals]
        last = episodes[through[-1]] if through else None
        # The shortest way here; of several, the latest.
        ways = [*(each.history for _, each in self.imports), *(each.history for each in arrivals)]
        return Experience(
            state=self.state,
            actions=tuple(sorted((cell.row(action) for action, cell in self.cells.items()), key=_best_first)),
            history=min(reversed(ways), key=len, default=()),
            mean_last_reward=self._mean(lambda each: each.last_reward, lambda each: each.mean_last_reward),
            mean_total_reward=self._mean(lambda each: each.total_reward, lambda each: each.mean_total_reward),
            visits=len(arrivals) + sum(each.visits for _, each in self.imports),
            created=self.created,
            updated=max([self.created, *(each.time for each in arrivals), *(time for time, _ in self.imports)]),
            origin="episode" if arrivals or not self.imports else self.imports[0][1].source,
            pinned=self.pinned,
            episodes=tuple(dict.fromkeys(through)),
            outcome=last.outcome if last else "",
            outcome_return=last.environment_return if last else 0.0,
            outcome_steps=len(last.transitions) if last else 0,
        )

    def _mean(self, of: Callable[[Arrival], float], imported: Callable[[Imported], float]) -> float:
        return (
            average(
                [(imported(each), each.visits) for _, each in self.imports],
                [(of(each), each.alpha) for each in self.arrivals.values()],
            )
            or 0.0
        )


def _best_first(row: ActionValue) -> tuple[bool, float, int]:
    return (row.visits == 0, -row.q, -row.visits)
