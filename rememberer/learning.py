"""RLEM learning: the log folded into a table of values (arXiv 2306.07929, section 3; no weights are trained).

    target(t) = sum_{i<n} gamma^i r(t+1+i)  +  gamma^n V(s(t+n))            V(s) = max_a Q(s, a)
    Q(s, a)   = mean of its targets (alpha = 1/N), or their exponential average with constant alpha

Every executed step gives exactly one target. It is *settled* once its n rewards are known or its episode has ended,
and *provisional* before: then it uses the rewards so far and bootstraps at the frontier. Only settled targets are
bootstrapped from, and a settled one keeps the V of the moment at which it settled. `r` is the environment's reward and
the person's label, whenever that label was given: the table is always what it would be had the label been there from
the start. So a `Learner` is a pure function of the log, and applying events one by one gives the same table, to the
bit, as folding all of them at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from math import fsum, inf

from rememberer.records import (
    Change,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Experience,
    Forgotten,
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
        self._settled: list[tuple[EpisodeTrace, int] | None] = []
        """Moment -> the transition whose target settled then; None: an import came then."""
        self._bootstraps: dict[str, list[int]] = defaultdict(list)
        """Key -> the moments at which targets bootstrapped from its V."""
        self._before: dict[tuple[str, str], tuple[float | None, int]] = {}
        self._touched: dict[str, None] = {}
        self.apply(events)

    def apply(self, events: Iterable[Event]) -> list[Change]:
        """Fold further events of the log, in order. Returns the values that moved, in order of first touch."""
        self._before, self._touched = {}, {}
        fresh, labelled = list(events), dict[StepId, None]()
        # Labels first: whoever learns below then sees the label in force, whenever it was given.
        for event in fresh:
            match event.body:
                case Labelled(step=step, value=value):
                    self.labels[event.episode, step] = value
                    labelled[event.episode, step] = None
                case LabelWithdrawn(step=step):
                    self.labels.pop((event.episode, step), None)
                    labelled[event.episode, step] = None
        self._relearn(labelled)
        for event in fresh:
            self._fold(event)
        for episode in self.episodes.values():
            self._follow_frontier(episode)
        return self._changes()

    def touched(self) -> list[str]:
        """Keys of the records that the last `apply` wrote to, moved values or not; new ones oldest first."""
        return list(self._touched)

    def experiences(self, keys: Iterable[str] | None = None) -> Iterator[Experience]:
        """Experiences by key (all, oldest first, when None). Keys without anything known are left out."""
        for record in self._known(keys):
            yield record.experience(self.episodes)

    def states(self, keys: Iterable[str]) -> Iterator[tuple[State, int]]:
        """The states of these experiences, and how often their actions were executed. Quicker than `experiences`."""
        for record in self._known(keys):
            yield record.state, sum(cell.visits() for cell in record.cells.values())

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

    def _known(self, keys: Iterable[str] | None) -> Iterator[Entry]:
        for key in list(self._records) if keys is None else keys:
            record = self._records.get(key)
            if record and record.cells and not record.state.forgotten:
                yield record

    def _fold(self, event: Event) -> None:
        if not isinstance(event.body, Imported | Pinned | Forgotten):
            begun, begins = event.episode in self.episodes, isinstance(event.body, EpisodeStarted)
            if begun == begins:
                return  # an episode begins once, and nothing of it happens before; a file may say otherwise
        match event.body:
            case EpisodeStarted() as body:
                self.episodes[event.episode] = EpisodeTrace(
                    event.episode, body.env, body.task, body.learning, body.state
                )
            case Observed() as body:
                self._observe(self.episodes[event.episode], body, event.time)
            case EpisodeEnded():
                episode = self.episodes[event.episode]
                if not episode.ended:
                    episode.ended, episode.stopped = "truncated", True
                    self._settle(episode)
                    self._touched.update((each.state.key, None) for each in episode.transitions)
            case Decided(decision=decision) if decision.kind in ("reject", "override") and decision.proposed:
                state = self.episodes[event.episode].state
                cell = self._cell(state, decision.proposed, event.time)
                cell.rejections.append(decision.hint)
            case Imported() as body:
                record = self._record(body.state, event.time)
                record.imports.append((event.time, body))
                for each in body.actions:
                    self._cell(body.state, each.action, event.time).imports.append((len(self._settled), each))
                self._settled.append(None)
            case Pinned(key=key, pinned=pinned) if key in self._records:
                self._records[key].pinned = pinned
                self._touched[key] = None

    def _observe(self, episode: EpisodeTrace, body: Observed, time: datetime) -> None:
        if episode.ended:
            return  # another process was still executing when this one stopped the episode
        index, next_key = len(episode.transitions), body.state.key
        episode.transitions.append(
            Transition(body.step, episode.state, body.action, body.reward, next_key, body.nearest, body.reason, time)
        )
        episode.state = body.state
        episode.ended = "terminated" if body.terminated else "truncated" if body.truncated else ""
        self._arrive(episode, index)
        # The target is entered now, with the rewards known so far, so that targets stand in order of execution.
        self._set_target(episode, index)
        self._settle(episode)
        episode.frontier = None
        self._touched.update((each.state.key, None) for each in episode.transitions)

    def _settle(self, episode: EpisodeTrace) -> None:
        n, total = episode.learning.n, len(episode.transitions)
        due = total if episode.ended else total - n + 1 if n is not None else 0
        for index in range(len(episode.moments), due):
            moment = len(self._settled)
            self._settled.append((episode, index))
            episode.moments.append(moment)
            target = self._set_target(episode, index)
            if target.bootstrap_key:
                self._bootstraps[target.bootstrap_key].append(moment)

    def _follow_frontier(self, episode: EpisodeTrace) -> None:
        """Set the provisional targets of an open episode, where the table at its frontier has moved."""
        if len(episode.moments) == len(episode.transitions):
            episode.frontier = None
            return
        frontier = self._bootstrap(episode, len(episode.transitions) - 1, inf)
        if frontier != episode.frontier:
            episode.frontier = frontier
            for index in range(len(episode.moments), len(episode.transitions)):
                self._set_target(episode, index)

    def _relearn(self, labelled: Iterable[StepId]) -> None:
        """Set the targets anew that the labels of these steps count in, and those that bootstrapped from them.

        In the order in which they settled, and each sees of the table what had settled before it: so they become what
        they would be had the log been folded with these labels from the start.
        """
        due: set[int] = set()
        for name, step in labelled:
            episode = self.episodes.get(name)
            steps = [each.step for each in episode.transitions] if episode else []
            if episode is None or step not in steps:
                continue
            index, n = steps.index(step), episode.learning.n
            due.update(episode.moments[0 if n is None else max(index - n + 1, 0) : index + 1])
            for later in range(index + 1, len(steps)):
                self._arrive(episode, later)
            episode.frontier = None
        queue = sorted(due)
        while queue:
            moment = heappop(queue)
            settled = self._settled[moment]
            assert settled
            episode, index = settled
            transition = episode.transitions[index]
            key, action = transition.state.key, transition.action
            old = self._records[key].cells[action].targets[episode.id, transition.step].value
            if self._set_target(episode, index).value != old:
                for later in self._bootstraps[key]:
                    if later > moment and later not in due:
                        due.add(later)
                        heappush(queue, later)

    def _set_target(self, episode: EpisodeTrace, index: int) -> Target:
        """target(t), settled when its moment has come, provisional before."""
        settings, transition = episode.learning, episode.transitions[index]
        moment = episode.moments[index] if index < len(episode.moments) else None
        window = episode.transitions[index : None if settings.n is None else index + settings.n]
        rewards = tuple(self._reward(episode, each) for each in window)
        value = fsum(settings.gamma**i * reward for i, reward in enumerate(rewards))
        last, key, bootstrap = index + len(window) - 1, "", 0.0
        terminal = episode.ended == "terminated" and last == len(episode.transitions) - 1
        if not terminal and (settings.n is not None or moment is None):
            key, v = self._bootstrap(episode, last, inf if moment is None else moment)
            bootstrap = settings.gamma ** len(window) * v
        cell = self._cell(transition.state, transition.action, transition.time)
        step_id = (episode.id, transition.step)
        label = self.labels.get(step_id)
        target = Target(
            episode.id, transition.step, value + bootstrap, rewards, label, key, bootstrap, moment, settings.alpha
        )
        cell.targets[step_id] = target
        if transition.reason:
            cell.reasons[step_id] = transition.reason
        return target

    def _bootstrap(self, episode: EpisodeTrace, last: int, before: float) -> tuple[str, float]:
        """Key and V, as it stood before a moment, of the state after transition `last`; ("", 0) without a record."""
        transition = episode.transitions[last]
        keys = (
            [transition.next_key, transition.nearest]
            if episode.learning.bootstrap == "nearest"
            else [transition.next_key]
        )
        for key in keys:
            record = self._records.get(key)
            v = record.v(before) if record else None
            if v is not None:
                return key, v
        return "", 0.0

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

    def _record(self, state: State, time: datetime) -> Entry:
        self._touched[state.key] = None
        return self._records.setdefault(state.key, Entry(state, time))

    def _cell(self, state: State, action: str, time: datetime) -> Cell:
        cells = self._record(state, time).cells
        if action not in cells:
            cells[action] = Cell()
        self._touch(state.key, action)
        return cells[action]

    def _touch(self, key: str, action: str) -> None:
        self._touched[key] = None
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
