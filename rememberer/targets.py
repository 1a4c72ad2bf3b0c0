"""The targets of Q-learning (arXiv 2306.07929, section 3), each from its episode and what the table knew by then.

    target(t) = sum_{i<n} gamma^i r(t+1+i)  +  gamma^n V(s(t+n))            V(s) = max_a Q(s, a)

With double Q-learning (van Hasselt 2010) an episode writes to one of two tables, and V(s) = Q_other(s, argmax_a
Q_own(s, a)). What an episode's end means, and what `r` is, stands here too.
"""

from collections.abc import Callable
from math import fsum, inf

from rememberer.labels import Labels
from rememberer.values import EpisodeTrace, Target, Transition

V = Callable[[str, float, int | None], float | None]
"""V of a key as it stood before a moment, for an episode that writes to a table; None without a record."""


def target_of(episode: EpisodeTrace, index: int, labels: Labels, v: V) -> Target:
    """target(t) of a transition: settled when its moment has come, else provisional, with the rewards so far.

    A terminal end is worth nothing more. A truncated one is bootstrapped from with finite n; with full returns the
    return so far counts. A provisional target bootstraps at the frontier.
    """
    settings, transition = episode.learning, episode.transitions[index]
    moment = episode.moments[index] if index < len(episode.moments) else None
    window = episode.transitions[index : None if settings.n is None else index + settings.n]
    rewards = tuple(reward_of(episode, each, labels) for each in window)
    value = fsum(settings.gamma**i * reward for i, reward in enumerate(rewards))
    last, key, onwards = index + len(window) - 1, "", 0.0
    terminal = episode.ended == "terminated" and last == len(episode.transitions) - 1
    if not terminal and (settings.n is not None or moment is None):
        key, known = bootstrap(episode, last, inf if moment is None else moment, v)
        onwards = settings.gamma ** len(window) * known
    return Target(
        episode.id,
        transition.step,
        value + onwards,
        rewards,
        tuple(labels.value(episode, each) for each in window),
        key,
        onwards,
        moment,
        settings.alpha,
        episode.table,
        episode.void,
        labels.words(episode, transition),
    )


def bootstrap(episode: EpisodeTrace, last: int, before: float, v: V) -> tuple[str, float]:
    """Key and V, as it stood before a moment, of the state after transition `last`; ("", 0) without a record."""
    for key in _after(episode, episode.transitions[last]):
        known = v(key, before, episode.table)
        if known is not None:
            return key, known
    return "", 0.0


def led_to(episode: EpisodeTrace, index: int) -> list[str]:
    """Keys of the records whose V may count in a settled target, if there are any."""
    if episode.learning.n is None:
        return []
    last = min(index + episode.learning.n, len(episode.transitions)) - 1
    return _after(episode, episode.transitions[last])


def reward_of(episode: EpisodeTrace, transition: Transition, labels: Labels) -> float:
    """r as it is learnt from: the environment's reward and the people's label, less what a step costs."""
    settings, label, reward = episode.learning, labels.value(episode, transition), transition.reward
    if label is not None:
        reward = label if settings.labels == "replace" else reward + settings.beta * label
    return reward - settings.step_penalty


def _after(episode: EpisodeTrace, transition: Transition) -> list[str]:
    """The next state's key, and that of the record that stands for it where it has none."""
    nearest = transition.nearest if episode.learning.bootstrap == "nearest" else ""
    return [key for key in dict.fromkeys((transition.next_key, nearest)) if key]
