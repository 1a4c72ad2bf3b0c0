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
from collections.abc import Iterable
from datetime import datetime
from heapq import heappop, heappush
from math import fsum, inf
from random import Random
from typing import Literal

from rememberer.events import (
    Asked,
    Compared,
    Decided,
    Dropped,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Forgotten,
    Imported,
    Observed,
    Pinned,
    Quarantined,
    TakenBack,
    Undone,
)
from rememberer.labels import WHOLE, Labels, Thing
from rememberer.records import Change, Decision, LearningSettings, State
from rememberer.table import Table
from rememberer.targets import bootstrap, led_to, reward_of, target_of
from rememberer.values import (
    ACTIONS,
    PENDING,
    Arrival,
    EpisodeTrace,
    Import,
    Passed,
    Rejection,
    Target,
    Transition,
)


class Learner(Table):
    """The table of one user. Feed it the log in order; ask it for values at any time."""

    def __init__(self, events: Iterable[Event] = (), *, limit: int = ACTIONS) -> None:
        super().__init__(limit)
        self.episodes: dict[str, EpisodeTrace] = {}
        self.labels = Labels()
        self._imports: dict[str, list[Import]] = defaultdict(list)
        """Source -> what came from it."""
        self._open: dict[str, EpisodeTrace] = {}
        self._settled: list[tuple[EpisodeTrace, int] | None] = []
        """Moment -> the transition whose target settled then; None: an import came then, or it was taken back."""
        self._bootstraps: dict[str, list[int]] = defaultdict(list)
        """Key -> the moments of the targets that its V counts in, if it has one."""
        self._apply(events)

    def apply(self, events: Iterable[Event]) -> list[Change]:
        """Fold further events of the log, in order. Returns the values that moved, in order of first touch."""
        self._begin()
        self._apply(events)
        return self._moved()

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

    def unproven(self, key: str, episode: str) -> bool:
        """Whether all that is known of `key` comes from `episode` alone and no person has judged it there."""
        record = self._records[key]
        others = any(step_id[0] != episode and not each.episode.void for step_id, each in record.arrivals.items())
        if others or any(not each.void for each in record.imports):
            return False
        return not any(
            cell.rejections or self.labels.judged((key, action)) or any(map(self.labels.judged, cell.targets))
            for action, cell in record.cells.items()
        )

    def _apply(self, events: Iterable[Event]) -> None:
        fresh = list(events)
        # Labels first: whoever learns below then sees the label in force, whenever it was given.
        things = dict.fromkeys(thing for event in fresh for thing in self.labels.apply(event))
        self._relearn({moment for thing in things for moment in self._relabel(thing)})
        for event in fresh:
            self._fold(event)
        for episode in self._open.values():
            self._follow_frontier(episode)
        self._drop_made()

    def _fold(self, event: Event) -> None:
        if not isinstance(event.body, Imported | Pinned | Dropped | Quarantined | Forgotten | Compared | Undone):
            begun, begins = event.episode in self.episodes, isinstance(event.body, EpisodeStarted)
            if begun == begins:
                return  # an episode begins once, and nothing of it happens before; a file may say otherwise
        match event.body:
            case EpisodeStarted() as body:
                self.episodes[event.episode] = self._open[event.episode] = EpisodeTrace(
                    event.episode,
                    body.env,
                    body.task,
                    body.learning,
                    body.state,
                    event.source,
                    body.table,
                    body.policy,
                    event.time,
                )
            case Observed() as body:
                self._observe(self.episodes[event.episode], body, event.time)
            case EpisodeEnded():
                episode = self.episodes[event.episode]
                if not episode.ended:
                    episode.ended, episode.stopped = "truncated", True
                    self._settle(episode)
                    self._touched.update((each.state.key, None) for each in episode.transitions)
                    if self.labels.judged((episode.id, WHOLE)) or self.labels.judged(("", episode.id)):
                        self._relearn({*self._relabel((episode.id, WHOLE))})  # it counts from now on
            case Decided(decision=decision):
                self._decide(self.episodes[event.episode], decision, event.time)
            case TakenBack(step=step):
                self._take_back(self.episodes[event.episode], step)
            case Asked():
                self.episodes[event.episode].questions += 1
            case Imported() as body:
                self._import(body, event)
            case Pinned(key=key, pinned=pinned):
                (self._pinned.add if pinned else self._pinned.discard)(key)
                self._touched[key] = None
            case Dropped(key=key) if key in self._records and key not in self._pinned:
                self._switch(key, len(self._settled), None)
            case Quarantined() as body:
                self._quarantine(body)

    def _decide(self, episode: EpisodeTrace, decision: Decision, time: datetime) -> None:
        if decision.kind != "reject":
            episode.deciding = decision.by
        if decision.kind in ("reject", "override") and decision.proposed:
            self._meet(episode.state, episode)
            passed = Passed(episode.state.key, decision.proposed, decision.step, decision.kind)
            cell = self._cell(episode.state, decision.proposed)
            cell.rejections.append(Rejection(episode, time, decision.hint, passed))
            episode.rejections.append(passed)

    def _observe(self, episode: EpisodeTrace, body: Observed, time: datetime) -> None:
        if episode.ended:
            return  # another process was still executing when this one stopped the episode
        index, next_key = len(episode.transitions), body.state.key
        episode.transitions.append(
            Transition(
                body.step,
                episode.state,
                body.action,
                body.reward,
                next_key,
                body.nearest,
                body.reason,
                time,
                episode.deciding,
            )
        )
        episode.deciding = ""
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

    def _relabel(self, thing: Thing) -> list[int]:
        """The moments of the targets that the label of a thing counts in."""
        name, which = thing
        if isinstance(which, str) and name:
            record = self._records.get(name)
            steps = record.cells[which].targets if record and which in record.cells else ()
            return [moment for step_id in steps for moment in self._relabel(step_id)]
        episode = self.episodes.get(name or str(which))
        if episode is None or not episode.transitions:
            return []
        if isinstance(which, str) or which == WHOLE:
            return self._reached(episode, len(episode.transitions) - 1)
        found = [index for index, each in enumerate(episode.transitions) if each.step == which]
        return self._reached(episode, found[0]) if found else []

    def _reached(self, episode: EpisodeTrace, index: int) -> list[int]:
        """The moments of the targets that the reward of a transition counts in."""
        for later in range(index + 1, len(episode.transitions)):
            self._arrive(episode, later)
        episode.frontier = None
        n = episode.learning.n
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
            if settled is None:
                continue
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
                met += [each.state.key for each in episode.transitions] + [each.key for each in episode.rejections]
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

    def _take_back(self, episode: EpisodeTrace, step: int) -> None:
        """Have the steps from `step` on, and the end of the episode, never have been."""
        n, transitions = episode.learning.n, episode.transitions
        left = sum(each.step < step for each in transitions)
        gone, settled = transitions[left:], 0 if n is None else max(left - n + 1, 0)
        unsettled, episode.moments = episode.moments[settled:], episode.moments[:settled]
        for moment in unsettled:
            self._settled[moment] = None
        for each in gone:
            self._touch_all([each.state.key])
            record, step_id = self._records[each.state.key], (episode.id, each.step)
            record.arrivals.pop(step_id, None)
            record.cells[each.action].targets.pop(step_id, None)
            record.cells[each.action].reasons.pop(step_id, None)
        for passed in [each for each in episode.rejections if each.step >= step + (each.kind == "reject")]:
            self._touch(passed.key, passed.action)
            cell = self._records[passed.key].cells[passed.action]
            cell.rejections = [each for each in cell.rejections if each.episode is not episode or each.passed != passed]
            episode.rejections.remove(passed)
        moved = [each.state.key for each in transitions[settled:]]
        del transitions[left:]
        episode.state = gone[0].state if gone else episode.state
        episode.ended, episode.stopped, episode.deciding, episode.frontier = "", False, "", None
        self._open[episode.id] = episode
        for index in range(settled, left):
            self._set_target(episode, index)
        due = {moment for key in moved for moment in self._bootstraps[key]}
        self._relearn(due | {*(self._reached(episode, left - 1) if left else ())})

    def _meet(self, state: State, by: EpisodeTrace | Import) -> None:
        """What left a full memory comes back when it is met again."""
        record = self._records.get(state.key)
        if record and record.switches:
            self._switch(state.key, len(self._settled), by)

    def _set_target(self, episode: EpisodeTrace, index: int) -> Target:
        """target(t), settled when its moment has come, provisional before."""
        transition = episode.transitions[index]
        target = target_of(episode, index, self.labels, self._v)
        self._cell(transition.state, transition.action).targets[episode.id, transition.step] = target
        return target

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
