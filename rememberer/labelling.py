"""What there is for people to label, the most uncertain first, and how far those who did agree.

A step is uncertain where its value is close to that of the best other action there (0 where none was tried): whoever
labels it decides what is done next time. Of equal ones the less tried is first, then the later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING

from rememberer.events import Compared
from rememberer.records import MACHINES
from rememberer.values import EpisodeTrace, Transition

if TYPE_CHECKING:
    from rememberer.learning import Learner


@dataclass(frozen=True, slots=True)
class Step:
    """A step that nobody watched."""

    episode: str
    step: int
    margin: float
    """How far its value is from that of the best other action there."""
    visits: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two actions of the state `key`, or two episodes of one task, of which one may be better."""

    first: str
    second: str
    key: str = ""
    margin: float = 0.0
    """How far their values are apart, or their returns."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The first of what is to be labelled, and how much of it one person has done."""

    items: tuple[Step | Pair, ...]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What several people said of a step (0: the whole episode), the widest apart first."""

    episode: str
    step: int
    said: tuple[tuple[str, float], ...]
    """Who gave which reward."""

    @property
    def spread(self) -> float:
        values = [value for _, value in self.said]
        return max(values) - min(values)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the people agree who labelled the same steps."""

    alpha: float | None
    """Krippendorff's alpha, rewards taken as an interval scale: 1 is agreement, 0 is chance. None: too little was said,
    or all said the same of everything."""
    steps: int
    """Steps that two or more people labelled."""
    people: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]


def steps(learner: "Learner", by: str, limit: int) -> Queue:
    """The steps that nobody watched, and that `by` has not labelled yet."""
    unwatched = [
        (episode, each, by in learner.labels.ratings(episode.id, each.step))
        for episode in _counting(learner)
        for each in episode.transitions
        if each.by in MACHINES
    ]
    left = [_step(learner, episode, each) for episode, each, is_done in unwatched if not is_done]
    first = nsmallest(limit, reversed(left), key=lambda each: (each.margin, each.visits))
    return Queue(tuple(first), len(unwatched) - len(left), len(unwatched))


def pairs_of_actions(learner: "Learner", by: str, limit: int) -> Queue:
    """In each state the two actions of the highest values, where `by` has not compared them yet."""
    rivals = [Pair(*two, key, margin) for key, two, margin in learner.rivals()]
    return _pairs(learner, rivals, by, limit)


def pairs_of_episodes(learner: "Learner", by: str, limit: int) -> Queue:
    """Of each task one episode and the next, where something else was done and `by` has not compared them yet."""
    of_task: dict[tuple[str, str], list[EpisodeTrace]] = {}
    for each in _counting(learner):
        if each.ended and each.transitions:
            of_task.setdefault((each.env, each.task), []).append(each)
    found = [
        Pair(one.id, other.id, margin=abs(one.environment_return - other.environment_return))
        for episodes in of_task.values()
        for one, other in pairwise(episodes)
        if [each.action for each in one.transitions] != [each.action for each in other.transitions]
    ]
    return _pairs(learner, found, by, limit)


def agreement(learner: "Learner") -> Agreement:
    """What people who labelled the same steps make of each other; what is quarantined is left out."""
    # Not in vain: most memories are one person's.
    units = {
        (episode.id, step): said
        for episode in _counting(learner)
        for step, said in learner.labels.rated(episode.id)
        if len(said) > 1
    }
    people = sorted({each for said in units.values() for each in said})
    apart = [Disagreement(*unit, tuple(sorted(said.items()))) for unit, said in units.items()]
    return Agreement(
        _alpha([[said.get(each, nan) for said in units.values()] for each in people]),
        len(units),
        tuple(people),
        tuple(sorted((each for each in apart if each.spread), key=lambda each: -each.spread)),
    )


def _alpha(ratings: list[list[float]]) -> float | None:
    """`ratings` are (people, steps), nan where somebody said nothing."""
    if len({value for row in ratings for value in row if value == value}) < 2:
        return None
    from krippendorff import alpha

    return float(alpha(reliability_data=ratings, level_of_measurement="interval"))


def _counting(learner: "Learner") -> Iterator[EpisodeTrace]:
    return (each for each in learner.episodes.values() if not each.void)


def _step(learner: "Learner", episode: EpisodeTrace, each: Transition) -> Step:
    margin, visits = learner.margin(each.state.key, each.action)
    return Step(episode.id, each.step, margin, visits)


def _pairs(learner: "Learner", found: list[Pair], by: str, limit: int) -> Queue:
    compared = {
        (each.body.key, frozenset((each.body.better, each.body.worse)))
        for each in learner.labels.said()
        if each.counts and isinstance(each.body, Compared) and each.body.by == by
    }
    left = [each for each in found if (each.key, frozenset((each.first, each.second))) not in compared]
    first = nsmallest(limit, reversed(left), key=lambda each: each.margin)
    return Queue(tuple(first), len(found) - len(left), len(found))
