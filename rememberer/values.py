"""The table that the log is folded into: episodes as they went, and for each state what its actions were worth.

    Q(s, a) = mean of its targets (alpha = 1/N), or their exponential average with constant alpha

With double Q-learning a target is of one of two tables, and what a person sees is the mean of the two; targets of
other episodes and imports are of both. What is void (its episode or its source is quarantined) stays where it is and
counts for nothing. How targets come about is in `rememberer.learning`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import fsum, inf

from rememberer.events import Imported, ImportedAction
from rememberer.records import ActionValue, Experience, LearningSettings, State

StepId = tuple[str, int]
"""(episode id, step number from 1)."""

ACTIONS = 20
"""Actions that an experience has at most, those that a person rejected apart."""


@dataclass(frozen=True, slots=True)
class Target:
    """One target of Q(s, a): what it is made of, so that a person can check it."""

    episode: str
    step: int
    value: float
    rewards: tuple[float, ...]
    """r(t+1) ... as used, labels and step penalty included; at most n."""
    labels: tuple[float | None, ...]
    """The label that people gave each of these steps, this very step first."""
    bootstrap_key: str
    """Key of the state whose V was added; empty when none was."""
    bootstrap: float
    """gamma^n V of that state; 0 when there was none."""
    moment: int | None
    """When it settled, in the order in which targets settle and imports come; None while it is provisional."""
    alpha: float | None
    table: int | None = None
    """With double Q-learning, the one of the two tables that it is of."""
    void: bool = False
    """Its episode is quarantined: it does not count."""
    words: tuple[str, ...] = ()
    """What people said with the label of this very step."""

    @property
    def settled(self) -> bool:
        """Only a label or a quarantine can still change it; a provisional target follows its open episode."""
        return self.moment is not None


PENDING = Target("", 0, 0.0, (), (), "", 0.0, None, None, void=True)
"""Keeps the place of a target that is not known yet."""


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
    by: str = ""
    """Who or what decided it."""


@dataclass(frozen=True, slots=True)
class Passed:
    """An action that a person passed over at a step, by a rejection or an override."""

    key: str
    action: str
    step: int
    kind: str


@dataclass(slots=True)
class EpisodeTrace:
    """What learning keeps of an episode."""

    id: str
    env: str
    task: str
    learning: LearningSettings
    state: State
    source: str = ""
    """The file that it was imported from; empty when it happened here."""
    table: int | None = None
    """With double Q-learning, the table that it writes to."""
    policy: str = ""
    time: datetime | None = None
    """When it began."""
    transitions: list[Transition] = field(default_factory=list)
    rejections: list[Passed] = field(default_factory=list)
    questions: int = 0
    """How often the agent, running by itself, asked the person."""
    deciding: str = ""
    """Who or what took the decision that is not executed yet."""
    ended: str = ""
    """Empty while open; `terminated` or `truncated` after."""
    stopped: bool = False
    void: bool = False
    """Quarantined: nothing of it counts."""
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


@dataclass(slots=True)
class Import:
    """An experience from a file, and when it came."""

    moment: int
    time: datetime
    body: Imported
    source: str
    void: bool = False
    """Quarantined: it does not count."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """That a person passed an action over."""

    episode: EpisodeTrace
    time: datetime
    words: str
    passed: Passed


def average(imported: list[tuple[float, int]], own: list[tuple[float, float | None]]) -> float | None:
    """Average of imported (value, visits) and own (value, alpha) in order of time. None without any.

    alpha None: the mean. Otherwise the exponential average, whose first value is taken whole.
    """
    count = sum(visits for _, visits in imported)
    if count + len(own) == 0:
        return None
    if len(imported) == 1 and not own:
        return imported[0][0]  # to the bit, which 3 * 0.1 / 3 is not
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
    """The targets of one (state, action), what was imported for it, and who passed it over."""

    imports: list[tuple[Import, ImportedAction]] = field(default_factory=list)
    targets: dict[StepId, Target] = field(default_factory=dict)
    reasons: dict[StepId, str] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)

    def visits(self, before: float | None = None) -> int:
        """How many targets and imported visits count: now, or settled before a moment."""
        own = sum(1 for each in self.targets.values() if not each.void and _counts(each.moment, before))
        return own + sum(row.visits for each, row in self.imports if not each.void and _counts(each.moment, before))

    def q(self, before: float | None = None, table: int | None = None) -> float | None:
        """Q(s, a) of now, provisional targets included, or as it stood before a moment, from settled targets alone.

        Of one table, or the mean of both; imports stand first. None without any.
        """
        imported = [(row.q, row.visits) for each, row in self.imports if not each.void and _counts(each.moment, before)]
        targets = [each for each in self.targets.values() if not each.void and _counts(each.moment, before)]
        if table is None and not any(each.table is not None for each in targets):
            return average(imported, [(each.value, each.alpha) for each in targets])
        tables = [0, 1] if table is None else [table]
        found = [
            average(imported, [(each.value, each.alpha) for each in targets if each.table in (None, one)])
            for one in tables
        ]
        known = [each for each in found if each is not None]
        return fsum(known) / len(known) if known else None

    def is_known(self) -> bool:
        """Whether anything counts here, a rejection too."""
        return (
            any(not each.void for each in self.targets.values())
            or any(not each.void for each, _ in self.imports)
            or any(not each.episode.void for each in self.rejections)
        )

    def explanation(self) -> "Explanation":
        """What Q is made of."""
        return Explanation(
            self.q(),
            tuple((came, row) for came, row in self.imports if not came.void),
            tuple(each for each in self.targets.values() if not each.void),
        )

    def row(self, action: str) -> ActionValue:
        """What a person and a policy see of it."""
        imports = [row for each, row in self.imports if not each.void]
        targets = {step: each for step, each in self.targets.items() if not each.void}
        reasons = [each.reason for each in imports if each.reason]
        reasons += [reason for step, reason in self.reasons.items() if step in targets]
        mean_reward = average(
            [(each.mean_reward, each.visits) for each in imports],
            [(each.rewards[0], each.alpha) for each in targets.values()],
        )
        return ActionValue(
            action=action,
            q=self.q() or 0.0,
            visits=self.visits(),
            mean_reward=mean_reward or 0.0,
            reason=reasons[-1] if reasons else "",
            rejections=tuple(each.words for each in self.rejections if not each.episode.void),
            labels=tuple(each.labels[0] for each in targets.values() if each.labels[0] is not None),
            comments=tuple(words for each in targets.values() for words in each.words),
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that makes up one Q, in order of time: `average` of it, table by table, is `q`."""

    q: float | None
    imports: tuple[tuple[Import, ImportedAction], ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a state was reached, each time that something was executed in it."""

    last_reward: float
    total_reward: float
    history: tuple[str, ...]
    alpha: float | None
    time: datetime
    episode: EpisodeTrace


@dataclass(slots=True)
class Entry:
    """A state and what is known of it."""

    state: State
    cells: dict[str, Cell] = field(default_factory=dict)
    arrivals: dict[StepId, Arrival] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    switches: list[tuple[int, EpisodeTrace | Import | None]] = field(default_factory=list)
    """The moments at which it left a full memory (None), and at which what met it again brought it back."""
    void: bool = False
    """Quarantined: it counts for nothing."""

    def is_out(self, before: float = inf) -> bool:
        """Whether it was no part of the memory at a moment."""
        out = False
        for moment, met_by in self.switches:
            if moment > before:
                break
            out = True if met_by is None else out and met_by.void
        return out or self.void

    def is_known(self) -> bool:
        """Whether there is an experience of it now."""
        return not self.is_out() and not self.state.forgotten and any(each.is_known() for each in self.cells.values())

    def v(self, before: float = inf, own: int | None = None, limit: int = ACTIONS) -> float | None:
        """V as it stood before a moment, settled targets only; None when nothing was settled.

        max_a Q(s, a); with double Q-learning, for an episode that writes to the table `own`, the other table's value
        of the action that is best in its own: Q_other(s, argmax_a Q_own(s, a)).
        """
        if self.is_out(before):
            return None
        known = [(-q, action) for action, cell in self.cells.items() if (q := cell.q(before, own)) is not None]
        if len(known) > limit:
            known = sorted(known, key=lambda each: (-self.cells[each[1]].visits(before), *each))[:limit]
        if not known:
            return None
        loss, best = min(known)
        return -loss if own is None else self.cells[best].q(before, 1 - own) or 0.0

    def experience(self, pinned: bool = False, limit: int = ACTIONS) -> Experience:
        """What a person and a policy see of it. The last episode that came through here tells the outcome."""
        arrivals = {step: each for step, each in self.arrivals.items() if not each.episode.void}
        imports = [each for each in self.imports if not each.void]
        rejections = [each for cell in self.cells.values() for each in cell.rejections if not each.episode.void]
        times = [*(each.time for each in imports), *(each.time for each in arrivals.values())]
        created = min([*times, *(each.time for each in rejections)])
        last = list(arrivals.values())[-1].episode if arrivals else None
        rows = sorted((cell.row(action) for action, cell in self.cells.items() if cell.is_known()), key=_best_first)
        tried = sum(row.visits > 0 for row in rows)
        if tried > limit:
            kept = sorted(rows[:tried], key=lambda row: (-row.visits, -row.q, row.action))[:limit]
            rows = [*sorted(kept, key=_best_first), *rows[tried:]]
        # The shortest way here; of several, the latest.
        ways = [*(each.body.history for each in imports), *(each.history for each in arrivals.values())]
        return Experience(
            state=self.state,
            actions=tuple(rows),
            unlisted=max(0, tried - limit),
            history=min(reversed(ways), key=len, default=()),
            mean_last_reward=_mean(imports, arrivals, lambda it: it.mean_last_reward, lambda it: it.last_reward),
            mean_total_reward=_mean(imports, arrivals, lambda it: it.mean_total_reward, lambda it: it.total_reward),
            visits=len(arrivals) + sum(each.body.visits for each in imports),
            created=created,
            updated=max([created, *times]),
            origin="episode" if arrivals or not imports else imports[0].body.source,
            pinned=pinned,
            episodes=tuple(dict.fromkeys(episode for episode, _ in arrivals)),
            outcome=last.outcome if last else "",
            outcome_return=last.environment_return if last else 0.0,
            outcome_steps=len(last.transitions) if last else 0,
        )


def _counts(moment: int | None, before: float | None) -> bool:
    return before is None or (moment is not None and moment < before)


def _mean(
    imports: list[Import],
    arrivals: Mapping[StepId, Arrival],
    imported: Callable[[Imported], float],
    own: Callable[[Arrival], float],
) -> float:
    return (
        average(
            [(imported(each.body), each.body.visits) for each in imports],
            [(own(each), each.alpha) for each in arrivals.values()],
        )
        or 0.0
    )


def _best_first(row: ActionValue) -> tuple[bool, float, int, str]:
    # The text last, so that the order does not tell what was tried first, perhaps in a quarantined episode.
    return (row.visits == 0, -row.q, -row.visits, row.action)
