"""RLEM learning: the log folded into a table of values (arXiv 2306.07929, section 3; no weights are trained).

    target(t) = sum_{i<n} gamma^i r(t+1+i)  +  gamma^n V(s(t+n))            V(s) = max_a Q(s, a)
    Q(s, a)   = mean of its targets (alpha = 1/N), or their exponential average with constant alpha

Every executed step gives exactly one target. It is *settled* once its n rewards are known or its episode has ended,
and *provisional* before: then it uses the rewards so far and bootstraps at the frontier. Only settled targets are
bootstrapped from. `r` is the environment's reward and the person's label, whenever that label was given: the table is
always what it would be had the label been there from the start. So a `Learner` is a pure function of the log, and
applying events one by one gives the same table, to the bit, as folding all of them at once.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from math import fsum

from rememberer.records import (
    Change,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Experience,
    Imported,
    Labelled,
    LabelWithdrawn,
    Observed,
    Pinned,
    State,
)
from rememberer.values import Arrival, Cell, Entry, EpisodeTrace, StepId, Target, Transition


class Learner:
    """The table of one user. Feed it the log in order; ask it for values at any time."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.episodes: dict[str, EpisodeTrace] = {}
        self.labels: dict[StepId, float] = {}
        self._records: dict[str, Entry] = {}
        self._log: list[Event] = []
        self._before: dict[tuple[str, str], tuple[float | None, int]] = {}
        self._touched: set[str] = set()
        self._bootstraps = False
        self.apply(events)

    def apply(self, events: Iterable[Event]) -> list[Change]:
        """Fold further events of the log, in order. Returns the values that moved, in order of first touch."""
        self._before, self._touched = {}, set()
        relearn: dict[str, None] = {}
        fresh = list(events)
        # Labels first: whoever learns below then sees the label in force, whenever it was given.
        for event in fresh:
            match event.body:
                case Labelled(step=step, value=value):
                    self.labels[event.episode, step] = value
                    relearn[event.episode] = None
                case LabelWithdrawn(step=step):
                    self.labels.pop((event.episode, step), None)
                    relearn[event.episode] = None
        known = [episode for episode in relearn if episode in self.episodes]
        if known and self._bootstraps:
            # A label may move a value that later episodes bootstrapped from: repeat the whole log.
            self._repeat()
        else:
            for episode in known:
                self._relearn(self.episodes[episode])
        for event in fresh:
            if not isinstance(event.body, Labelled | LabelWithdrawn):
                self._log.append(event)
                self._fold(event)
        self._refresh_provisional()
        return self._changes()

    def touched(self) -> set[str]:
        """Keys of the records that the last `apply` wrote to, moved values or not."""
        return self._touched

    def experiences(self, keys: Iterable[str] | None = None) -> Iterator[Experience]:
        """Experiences by key (all, oldest first, when None). Keys without anything known are left out."""
        for key in list(self._records) if keys is None else keys:
            record = self._records.get(key)
            if record and record.cells and not record.state.forgotten:
                through = record.episodes()
                yield record.experience(self.episodes[through[-1]] if through else None)

    def targets(self, key: str, action: str) -> list[Target]:
        """The targets behind Q(key, action), in order of time."""
        record = self._records.get(key)
        cell = record.cells.get(action) if record else None
        return list(cell.targets.values()) if cell else []

    def v(self, key: str) -> float | None:
        """V of a recorded state, from settled targets; None for a state without any."""
        record = self._records.get(key)
        return record.v() if record else None

    def unproven(self, key: str, episode: str) -> bool:
        """Whether all that is known of `key` comes from `episode` alone and no person has judged it there."""
        record = self._records[key]
        if record.imports or any(step_id[0] != episode for step_id in record.arrivals):
            return False
        cells = record.cells.values()
        return not any(cell.rejections or any(step in self.labels for step in cell.targets) for cell in cells)

    def _fold(self, event: Event) -> None:
        match event.body:
            case EpisodeStarted() as body:
                self.episodes[event.episode] = EpisodeTrace(
                    event.episode, body.env, body.task, body.learning, body.state
                )
                self._bootstraps |= body.learning.n is not None
            case Observed() as body:
                self._observe(self.episodes[event.episode], body, event.time)
            case EpisodeEnded():
                episode = self.episodes[event.episode]
                if not episode.ended:
                    episode.ended, episode.stopped = "truncated", True
                    self._settle(episode)
            case Decided(decision=decision) if decision.kind in ("reject", "override") and decision.proposed:
                state = self.episodes[event.episode].state
                cell = self._cell(state, decision.proposed, event.time)
                cell.rejections.append(decision.hint)
            case Imported() as body:
                record = self._record(body.state, event.time)
                record.imports.append((event.time, body))
                for each in body.actions:
                    self._cell(body.state, each.action, event.time).imports.append(each)
            case Pinned(key=key, pinned=pinned) if key in self._records:
                self._records[key].pinned = pinned
                self._touched.add(key)

    def _observe(self, episode: EpisodeTrace, body: Observed, time: datetime) -> None:
        before = episode.state
        transition = Transition(
            body.step, before, body.action, body.reward, body.state.key, body.nearest, body.reason, time
        )
        episode.transitions.append(transition)
        episode.state = body.state
        episode.ended = "terminated" if body.terminated else "truncated" if body.truncated else ""
        self._arrive(episode, len(episode.transitions) - 1)
        # The cell is entered now, with the rewards known so far, so that targets stand in order of execution.
        self._set_target(episode, len(episode.transitions) - 1, settled=False)
        self._settle(episode)
        self._provisional(episode)

    def _settle(self, episode: EpisodeTrace) -> None:
        n, total = episode.learning.n, len(episode.transitions)
        due = total if episode.ended else max(total - n + 1, 0) if n is not None else 0
        for index in range(episode.settled, due):
            self._set_target(episode, index, settled=True)
        episode.settled = max(episode.settled, due)

    def _provisional(self, episode: EpisodeTrace) -> None:
        episode.frontier = self._bootstrap_value(episode, len(episode.transitions) - 1) if episode.transitions else 0.0
        for index in range(episode.settled, len(episode.transitions)):
            self._set_target(episode, index, settled=False)

    def _refresh_provisional(self) -> None:
        """Open episodes bootstrap at their frontier: follow it where the table there has moved."""
        for episode in self.episodes.values():
            if episode.ended or episode.settled == len(episode.transitions):
                continue
            if self._bootstrap_value(episode, len(episode.transitions) - 1) != episode.frontier:
                self._provisional(episode)

    def _set_target(self, episode: EpisodeTrace, index: int, settled: bool) -> None:
        settings, transition = episode.learning, episode.transitions[index]
        n = settings.n if settings.n is not None else len(episode.transitions)
        window = episode.transitions[index : index + n]
        rewards = tuple(self._reward(episode, each) for each in window)
        value = fsum(settings.gamma**i * reward for i, reward in enumerate(rewards))
        last, key, bootstrap = index + len(window) - 1, "", 0.0
        at_end = last == len(episode.transitions) - 1
        terminal = at_end and episode.ended == "terminated"
        if not terminal and (settings.n is not None or not settled):
            key = self._bootstrap_key(episode, last)
            bootstrap = settings.gamma ** len(window) * (self.v(key) or 0.0)
        cell = self._cell(transition.state, transition.action, transition.time)
        step_id = (episode.id, transition.step)
        cell.targets[step_id] = Target(
            episode.id,
            transition.step,
            value + bootstrap,
            rewards,
            self.labels.get(step_id),
            key if bootstrap else "",
            bootstrap,
            settled,
            settings.alpha,
        )
        if transition.reason:
            cell.reasons[step_id] = transition.reason

    def _bootstrap_key(self, episode: EpisodeTrace, last: int) -> str:
        transition = episode.transitions[last]
        if self.v(transition.next_key) is not None or episode.learning.bootstrap == "zero":
            return transition.next_key
        return transition.nearest

    def _bootstrap_value(self, episode: EpisodeTrace, last: int) -> float:
        return self.v(self._bootstrap_key(episode, last)) or 0.0

    def _reward(self, episode: EpisodeTrace, transition: Transition) -> float:
        settings = episode.learning
        label = self.labels.get((episode.id, transition.step))
        reward = transition.reward
        if label is not None:
            reward = label if settings.labels == "replace" else reward + settings.beta * label
        return reward - settings.step_penalty

    def _arrive(self, episode: EpisodeTrace, index: int) -> None:
        """Record how the state of transition `index` was reached."""
        earlier, transition = episode.transitions[:index], episode.transitions[index]
        rewards = [self._reward(episode, each) for each in earlier]
        record = self._record(transition.state, transition.time)
        record.arrivals[episode.id, transition.step] = Arrival(
            rewards[-1] if rewards else 0.0,
            fsum(rewards),
            tuple(each.action for each in earlier),
            episode.learning.alpha,
            transition.time,
        )

    def _relearn(self, episode: EpisodeTrace) -> None:
        """Learn an episode of full returns again: its targets rest on nothing but its own rewards."""
        for index in range(len(episode.transitions)):
            self._arrive(episode, index)
            self._set_target(episode, index, settled=index < episode.settled)
        self._provisional(episode)

    def _repeat(self) -> None:
        for key, record in self._records.items():
            for action in record.cells:
                self._touch(key, action)
        log, self._log = self._log, []
        self.episodes, self._records = {}, {}
        for event in log:
            self._log.append(event)
            self._fold(event)

    def _record(self, state: State, time: datetime) -> Entry:
        self._touched.add(state.key)
        return self._records.setdefault(state.key, Entry(state, time))

    def _cell(self, state: State, action: str, time: datetime) -> Cell:
        cells = self._record(state, time).cells
        if action not in cells:
            cells[action] = Cell()
        self._touch(state.key, action)
        return cells[action]

    def _touch(self, key: str, action: str) -> None:
        self._touched.add(key)
        if (key, action) not in self._before:
            cell = self._records[key].cells[action]
            self._before[key, action] = (cell.q(), cell.visits())

    def _changes(self) -> list[Change]:
        changes = []
        for (key, action), (old, old_visits) in self._before.items():
            record = self._records.get(key)
            cell = record.cells.get(action) if record else None
            new, visits = (cell.q(), cell.visits()) if cell else (None, 0)
            if (new, visits) != (old, old_visits):
                changes.append(Change(key=key, action=action, old=old, new=new, visits=visits))
        return changes
