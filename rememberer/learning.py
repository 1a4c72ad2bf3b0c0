"""RLEM learning: the log folded into a table of values (arXiv 2306.07929, section 3; no weights are trained).

    target(t) = sum_{i<n} gamma^i r(t+1+i)  +  gamma^n V(s(t+n))            V(s) = max_a Q(s, a)
    Q(s, a)   = mean of its targets (alpha = 1/N), or their exponential average with constant alpha

Every executed step gives exactly one target. It is *settled* once its n rewards are known or its episode has ended,
and *provisional* before: then it uses the rewards so far and bootstraps at the frontier. Only settled targets are
bootstrapped from, and a settled one keeps the V of the moment at which it settled. `r` is the environment's reward and
the person's label, whenever that label was given: the table is always what it would be had the label been there from
the start. The same holds for a quarantine, whose episode, source or experience counts for nothing from the start. So a
`Learner` is a pure function of the log, and applying events one by one gives the same table, to the bit, as folding all
of them at once.

With double Q-learning (van Hasselt 2010) an episode writes to one of two tables, and V(s) = Q_other(s, argmax_a
Q_own(s, a)).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from math import fsum, inf
from random import Random
from typing import Literal

from rememberer.events import (
    Decided,
    Dropped,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Forgotten,
    Imported,
    Labelled,
    LabelWithdrawn,
    Observed,
    Pinned,
    Quarantined,
)
from rememberer.records import Change, Experience, LearningSettings, State
from rememberer.targets import bootstrap, led_to, reward_of, target_of
from rememberer.values import (
    ACTIONS,
    PENDING,
    Arrival,
    Cell,
    Entry,
    EpisodeTrace,
    Explanation,
    Import,
    Rejection,
    StepId,
    Target,
    Transition,
)

_MADE = 10_000
"""Experiences that are kept ready at most."""


class Learner:
    """The table of one user. Feed it the log in order; ask it for values at any time.

    `limit` is how many actions an experience has at most: of more, the least visited with the lowest Q are left out.
    """

    def __init__(self, events: Iterable[Event] = (), *, limit: int = ACTIONS) -> None:
        self.episodes: dict[str, EpisodeTrace] = {}
        self.labels: dict[StepId, float] = {}
        self._limit = limit
        self._records: dict[str, Entry] = {}
        self._imports: dict[str, list[Import]] = defaultdict(list)
        """Source -> what came from it."""
        self._pinned: set[str] = set()
        self._open: dict[str, EpisodeTrace] = {}
        self._settled: list[tuple[EpisodeTrace, int] | None] = []
        """Moment -> the transition whose target settled then; None: an import came then."""
        self._bootstraps: dict[str, list[int]] = defaultdict(list)
        """Key -> the moments of the targets that its V counts in, if it has one."""
        self._before: dict[tuple[str, str], tuple[float | None, int]] | None = None
        """What the values were that are moving; None: nobody wants to know."""
        self._touched: dict[str, None] = {}
        self._made: dict[str, Experience] = {}
        """What was asked for by key, until it is touched."""
        self._apply(events)

    def apply(self, events: Iterable[Event]) -> list[Change]:
        """Fold further events of the log, in order. Returns the values that moved, in order of first touch."""
        self._before, self._touched = {}, {}
        self._apply(events)
        changes = []
        for (key, action), (old, old_visits) in self._before.items():
            new, visits = self._shown(key, action)
            if (new, visits) != (old, old_visits):
                changes.append(Change(key=key, action=action, old=old, new=new, visits=visits))
        return changes

    def touched(self) -> list[str]:
        """Keys of the records that the last `apply` wrote to, moved values or not; new ones oldest first."""
        return list(self._touched)

    def experiences(self, keys: Iterable[str] | None = None) -> Iterator[Experience]:
        """Experiences by key (all, oldest first, when None). Keys without anything known are left out."""
        for key, record in self._known(keys):
            made = self._made.get(key) or record.experience(key in self._pinned, self._limit)
            if keys is not None:
                self._made[key] = made
            yield made

    def counts(self, keys: Iterable[str] | None = None) -> Iterator[tuple[State, int]]:
        """The states of these experiences, and how often their actions were executed. Quicker than `experiences`."""
        for _, record in self._known(keys):
            yield record.state, sum(cell.visits() for cell in record.cells.values())

    def states(self, *, out: bool = False) -> list[State]:
        """The states of all experiences; with `out` those too that left a full memory or are quarantined."""
        if out:
            return [record.state for record in self._records.values() if record.cells and not record.state.forgotten]
        return [record.state for _, record in self._known(None)]

    def explain(self, key: str, action: str) -> Explanation:
        """What makes up Q(key, action); empty when nothing is known of it."""
        record = self._records.get(key)
        return ((record.cells.get(action) if record else None) or Cell()).explanation()

    def sources(self) -> list[str]:
        """The files that something was imported from, sorted."""
        episodes = {each.source for each in self.episodes.values()}
        return sorted((episodes | {source for source, came in self._imports.items() if came}) - {""})

    def next_table(self, learning: LearningSettings, seed: int) -> Literal[0, 1] | None:
        """The table that an episode which begins now writes to: in turn, or drawn; None without double Q-learning."""
        if learning.double == "off":
            return None
        count = sum(each.table is not None for each in self.episodes.values())
        return 1 if (count if learning.double == "turn" else Random(f"{seed} {count}").getrandbits(1)) % 2 else 0

    def is_out(self, key: str) -> bool:
        """Whether a record left a full memory and was not met again, or is quarantined."""
        return key in self._records and self._records[key].is_out()

    def quarantined(self) -> list[str]:
        """Keys of the experiences that count for nothing."""
        return [key for key, record in self._records.items() if record.void]

    def pinned(self) -> set[str]:
        """Keys of what stays however full the memory is."""
        return set(self._pinned)

    def v(self, key: str) -> float | None:
        """V of a recorded state, from settled targets; None for a state without any."""
        record = self._records.get(key)
        return record.v(limit=self._limit) if record else None

    def unproven(self, key: str, episode: str) -> bool:
        """Whether all that is known of `key` comes from `episode` alone and no person has judged it there."""
        record = self._records[key]
        others = any(step_id[0] != episode and not each.episode.void for step_id, each in record.arrivals.items())
        if others or any(not each.void for each in record.imports):
            return False
        cells = record.cells.values()
        return not any(cell.rejections or any(step in self.labels for step in cell.targets) for cell in cells)

    def _apply(self, events: Iterable[Event]) -> None:
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
        self._relearn({moment for name, step in labelled for moment in self._relabel(name, step)})
        for event in fresh:
            self._fold(event)
        for episode in self._open.values():
            self._follow_frontier(episode)
        for key in self._touched if len(self._made) < _MADE else list(self._made):
            self._made.pop(key, None)

    def _known(self, keys: Iterable[str] | None) -> Iterator[tuple[str, Entry]]:
        for key in list(self._records) if keys is None else keys:
            record = self._records.get(key)
            if record and record.is_known():
                yield key, record

    def _fold(self, event: Event) -> None:
        if not isinstance(event.body, Imported | Pinned | Dropped | Quarantined | Forgotten):
            begun, begins = event.episode in self.episodes, isinstance(event.body, EpisodeStarted)
            if begun == begins:
                return  # an episode begins once, and nothing of it happens before; a file may say otherwise
        match event.body:
            case EpisodeStarted() as body:
                self.episodes[event.episode] = self._open[event.episode] = EpisodeTrace(
                    event.episode, body.env, body.task, body.learning, body.state, event.source, body.table
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
                episode = self.episodes[event.episode]
                self._meet(episode.state, episode)
                cell = self._cell(episode.state, decision.proposed)
                cell.rejections.append(Rejection(episode, event.time, decision.hint))
                episode.rejections.append((episode.state.key, decision.proposed))
            case Imported() as body:
                self._import(body, event)
            case Pinned(key=key, pinned=pinned):
                (self._pinned.add if pinned else self._pinned.discard)(key)
                self._touched[key] = None
            case Dropped(key=key) if key in self._records and key not in self._pinned:
                self._switch(key, None)
            case Quarantined() as body:
                self._quarantine(body)

    def _observe(self, episode: EpisodeTrace, body: Observed, time: datetime) -> None:
        if episode.ended:
            return  # another process was still executing when this one stopped the episode
        index, next_key = len(episode.transitions), body.state.key
        episode.transitions.append(
            Transition(body.step, episode.state, body.action, body.reward, next_key, body.nearest, body.reason, time)
        )
        self._meet(episode.state, episode)
        # It takes its place now, so that targets stand in order of execution.
        step_id, cell = (episode.id, body.step), self._cell(episode.state, body.action)
        cell.targets[step_id] = PENDING
        if body.reason:
            cell.reasons[step_id] = body.reason
        self._arrive(episode, index)
        episode.state = body.state
        episode.ended = "terminated" if body.terminated else "truncated" if body.truncated else ""
        self._settle(episode)
        episode.frontier = None
        self._touched.update((each.state.key, None) for each in episode.transitions)

    def _import(self, body: Imported, event: Event) -> None:
        came = Import(len(self._settled), event.time, body, event.source or body.source)
        self._meet(body.state, came)
        self._settled.append(None)
        self._record(body.state).imports.append(came)
        for source in {event.source, body.source}:
            self._imports[source].append(came)
        for each in body.actions:
            self._cell(body.state, each.action).imports.append((came, each))

    def _settle(self, episode: EpisodeTrace) -> None:
        n, total = episode.learning.n, len(episode.transitions)
        due = total if episode.ended else total - n + 1 if n is not None else 0
        for index in range(len(episode.moments), due):
            moment = len(self._settled)
            self._settled.append((episode, index))
            episode.moments.append(moment)
            self._set_target(episode, index)
            for key in led_to(episode, index):
                self._bootstraps[key].append(moment)
        if episode.ended:
            self._open.pop(episode.id, None)
            episode.frontier = None

    def _follow_frontier(self, episode: EpisodeTrace) -> None:
        """Set the provisional targets of an open episode, where the table at its frontier has moved."""
        if len(episode.moments) == len(episode.transitions):
            episode.frontier = None
            return
        frontier = bootstrap(episode, len(episode.transitions) - 1, inf, self._v)
        if frontier != episode.frontier:
            episode.frontier = frontier
            for index in range(len(episode.moments), len(episode.transitions)):
                self._set_target(episode, index)

    def _relabel(self, name: str, step: int) -> list[int]:
        """The moments of the targets that the label of a step counts in."""
        episode = self.episodes.get(name)
        steps = [each.step for each in episode.transitions] if episode else []
        if episode is None or step not in steps:
            return []
        index, n = steps.index(step), episode.learning.n
        for later in range(index + 1, len(steps)):
            self._arrive(episode, later)
        episode.frontier = None
        return episode.moments[0 if n is None else max(index - n + 1, 0) : index + 1]

    def _relearn(self, due: set[int]) -> None:
        """Set the targets of these moments anew, and those that bootstrapped from them.

        In the order in which they settled, and each sees of the table what had settled before it: so they become what
        they would be had the log been folded like this from the start.
        """
        queue = sorted(due)
        while queue:
            moment = heappop(queue)
            settled = self._settled[moment]
            assert settled
            episode, index = settled
            transition = episode.transitions[index]
            key, step_id = transition.state.key, (episode.id, transition.step)
            old = self._records[key].cells[transition.action].targets[step_id]
            new = self._set_target(episode, index)
            if (new.value, new.void) != (old.value, old.void):
                for later in self._bootstraps[key]:
                    if later > moment and later not in due:
                        due.add(later)
                        heappush(queue, later)

    def _quarantine(self, body: Quarantined) -> None:
        """Have an episode, what came from a source, or an experience count for nothing, or again."""
        met: list[str] = []
        own: list[int] = []
        for episode in self.episodes.values():
            of_it = body.episode == episode.id or (body.source and body.source == episode.source)
            if of_it and episode.void != body.on:
                met += [each.state.key for each in episode.transitions] + [key for key, _ in episode.rejections]
                own += episode.moments
                self._touch_all(met)
                episode.void, episode.frontier = body.on, None
        for came in self._imports[body.source] if body.source else ():
            met.append(came.body.state.key)
            self._touch_all(met[-1:])
            came.void = body.on
        if body.key in self._records:
            met.append(body.key)
            self._touch_all(met[-1:])
            self._records[body.key].void = body.on
        self._relearn({*own, *(moment for key in met for moment in self._bootstraps[key])})

    def _switch(self, key: str, met_by: EpisodeTrace | Import | None) -> None:
        """Have a record leave the memory, or come back because of what met it."""
        self._touch_all([key])
        self._records[key].switches.append((len(self._settled), met_by))

    def _meet(self, state: State, by: EpisodeTrace | Import) -> None:
        """What left a full memory comes back when it is met again."""
        record = self._records.get(state.key)
        if record and record.switches:
            self._switch(state.key, by)

    def _set_target(self, episode: EpisodeTrace, index: int) -> Target:
        """target(t), settled when its moment has come, provisional before."""
        transition = episode.transitions[index]
        target = target_of(episode, index, self.labels, self._v)
        self._cell(transition.state, transition.action).targets[episode.id, transition.step] = target
        return target

    def _v(self, key: str, before: float, table: int | None) -> float | None:
        record = self._records.get(key)
        return record.v(before, table, self._limit) if record else None

    def _arrive(self, episode: EpisodeTrace, index: int) -> None:
        """Record how the state of transition `index` was reached."""
        earlier, transition = episode.transitions[:index], episode.transitions[index]
        rewards = [reward_of(episode, each, self.labels) for each in earlier]
        self._record(transition.state).arrivals[episode.id, transition.step] = Arrival(
            rewards[-1] if rewards else 0.0,
            fsum(rewards),
            tuple(each.action for each in earlier),
            episode.learning.alpha,
            transition.time,
            episode,
        )

    def _record(self, state: State) -> Entry:
        self._touched[state.key] = None
        record = self._records.get(state.key)
        if record is None:
            record = self._records[state.key] = Entry(state)
        return record

    def _cell(self, state: State, action: str) -> Cell:
        cells = self._record(state).cells
        if action not in cells:
            cells[action] = Cell()
        self._touch(state.key, action)
        return cells[action]

    def _touch(self, key: str, action: str) -> None:
        self._touched[key] = None
        if self._before is not None and (key, action) not in self._before:
            self._before[key, action] = self._shown(key, action)

    def _touch_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            for action in self._records[key].cells:
                self._touch(key, action)

    def _shown(self, key: str, action: str) -> tuple[float | None, int]:
        """Q and visits of an action as a person sees them."""
        record = self._records[key]
        return (None, 0) if record.is_out() else (record.cells[action].q(), record.cells[action].visits())
