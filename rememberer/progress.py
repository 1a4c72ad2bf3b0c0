"""What the episodes tell of learning: how one went after the other, and whether the values that were shown came true.

What is quarantined counts for nothing. All is computed anew from episodes and log; nothing is written.
"""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rememberer.events import Decided, Event, Observed, Proposed, TakenBack
from rememberer.labels import Labels
from rememberer.records import FORK, MACHINES
from rememberer.targets import reward_of
from rememberer.values import EpisodeTrace

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

NOBODY = ("", FORK)
"""Who decided a step that nobody decided: it was imported without saying, or came with a fork."""
BINS = 10
"""Ranges of values that a calibration has."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Columns with a row for each episode that counts, in order of time; nan where there is nothing to tell."""

    episodes: tuple[EpisodeTrace, ...]
    score: Numbers
    """Sum of the environment's rewards; nan while the episode is open, like the next."""
    solved: Numbers
    human: Numbers
    """Share of the steps that a person decided; nan where nobody decided any."""
    questions: Counts
    labels: Counts
    """Labels in force on this episode and all before it."""


def progress(episodes: Iterable[EpisodeTrace], labels: Callable[[str], Sized]) -> Progress:
    """How episodes went. `labels` returns the labels in force on one."""
    rows = sorted((each for each in episodes if not each.void), key=_began)
    ended = [bool(each.ended) for each in rows]
    return Progress(
        tuple(rows),
        np.where(ended, [each.environment_return for each in rows], np.nan),
        np.where(ended, [each.outcome == "solved" for each in rows], np.nan),
        np.array([_human(each) for each in rows], float),
        np.array([each.questions for each in rows], np.int64),
        np.cumsum([len(labels(each.id)) for each in rows], dtype=np.int64),
    )


def smoothed(column: Numbers | Counts, window: int) -> Numbers:
    """The mean of the last `window` rows, at each row, nan left out; nan where all of them are."""
    padded = np.concatenate([np.full(window, np.nan), column])
    rows = np.lib.stride_tricks.sliding_window_view(padded, window)[1:]
    known = ~np.isnan(rows)
    count = known.sum(axis=1)
    means: Numbers = np.full(len(column), np.nan)
    np.divide(np.sum(rows, axis=1, where=known), count, out=means, where=count > 0)
    return means


@dataclass(slots=True)
class _Screen:
    """What stood on screen in an episode, by step: values by action; and the value of what was done then."""

    proposed: dict[int, dict[str, float]] = field(default_factory=dict)
    decided: set[int] = field(default_factory=set)
    done: dict[int, float] = field(default_factory=dict)


class Foreseen:
    """The value that stood on screen for each action when it was done, and all labels. Feed it the log in order.

    Where something was forgotten the log is another one, and a new one of these is needed.
    """

    def __init__(self) -> None:
        self.labels = Labels()
        self.seq = -1
        """Place in the log of the last event that was taken."""
        self._screens: dict[str, _Screen] = {}

    def apply(self, events: Iterable[Event]) -> None:
        """Take further events."""
        for event in events:
            self.seq = event.seq
            self.labels.apply(event)
            screen = self._screens.get(event.episode) or self._screens.setdefault(event.episode, _Screen())
            match event.body:
                case Proposed(step=step, proposal=proposal) if step not in screen.decided:
                    known = [(each.action, each.value) for each in reversed(proposal.candidates)]
                    screen.proposed[step] = {action: value for action, value in known if value is not None}
                case Decided(decision=decision) if decision.kind == "reject":
                    screen.proposed.pop(decision.step, None)
                case Decided(decision=decision) if decision.kind != "stop":
                    screen.decided.add(decision.step)
                case Observed(step=step, action=action) if action in screen.proposed.get(step, ()):
                    screen.done[step] = screen.proposed[step][action]
                case TakenBack(step=first):
                    # Its proposal stands there again.
                    screen.proposed = {step: it for step, it in screen.proposed.items() if step <= first}
                    screen.decided = {step for step in screen.decided if step < first}
                    screen.done = {step: it for step, it in screen.done.items() if step < first}

    def of(self, episode: str) -> dict[int, float]:
        """The values by step, of the steps that had one."""
        screen = self._screens.get(episode)
        return screen.done if screen else {}


@dataclass(frozen=True, slots=True)
class Calibration:
    """The values of executed steps beside the returns that followed, and the same by ranges of equal width."""

    values: Numbers
    returns: Numbers
    without: int
    """Steps of the same episodes that had no value on screen."""
    edges: Numbers
    """Where the ranges begin and end, `BINS` + 1 of them; none without values, like the next."""
    count: Counts
    mean_value: Numbers
    """By range; nan in an empty one, like the next."""
    mean_return: Numbers

    @property
    def error(self) -> float:
        """The mean absolute difference of value and return, over all steps; nan without any."""
        return float(np.abs(self.values - self.returns).mean()) if len(self.values) else float("nan")


def calibration(episodes: Iterable[EpisodeTrace], foreseen: Foreseen) -> Calibration:
    """Compare values with returns, in episodes that have ended.

    The return of a step is what was learnt from: the discounted rewards to the end, labels included.
    """
    values: list[float] = []
    returns: list[float] = []
    without = 0
    for episode in episodes:
        if episode.void or not episode.ended:
            continue
        shown, to_go, gamma = foreseen.of(episode.id), 0.0, episode.learning.gamma
        for transition in reversed(episode.transitions):
            to_go = reward_of(episode, transition, foreseen.labels) + gamma * to_go
            value = shown.get(transition.step)
            if value is None:
                without += 1
            else:
                values.append(value)
                returns.append(to_go)
    return _binned(np.array(values, float), np.array(returns, float), without)


def _binned(values: Numbers, returns: Numbers, without: int) -> Calibration:
    if not len(values):
        none = np.empty(0)
        return Calibration(values, returns, without, none, np.empty(0, np.int64), none, none)
    edges = np.histogram_bin_edges(values, BINS)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    means = [
        np.divide(np.bincount(place, each, BINS), count, out=np.full(BINS, np.nan), where=count > 0)
        for each in (values, returns)
    ]
    return Calibration(values, returns, without, edges, count, *means)


def _began(episode: EpisodeTrace) -> float:
    return episode.time.timestamp() if episode.time else 0.0


def _human(episode: EpisodeTrace) -> float:
    decided = [each.by not in MACHINES for each in episode.transitions if each.by not in NOBODY]
    return sum(decided) / len(decided) if decided else float("nan")
