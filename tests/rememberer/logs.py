"""Logs for tests of learning: written by hand in a few words, or any that a user could have, for hypothesis."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from rememberer.events import (
    Body,
    Decided,
    Dropped,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Imported,
    ImportedAction,
    Labelled,
    LabelWithdrawn,
    Observed,
    Pinned,
    Quarantined,
)
from rememberer.learning import Learner
from rememberer.records import Change, Decision, Experience, LearningSettings, State

USER = "me"

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A machine that has other things to do is no failure."""


def page(name: str) -> State:
    """A state that its observation names."""
    return State(env="nowhere", task="buy a red shoe", observation=name, kind="page")


class Log:
    """A log as it grows. Every method returns the event that it appends."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._steps: dict[str, Iterable[int]] = {}

    def add(self, body: Body, episode: str = "", source: str = "") -> Event:
        number = len(self.events)
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        event = Event(id=str(number), user=USER, episode=episode, seq=number, time=time, source=source, body=body)
        self.events.append(event)
        return event

    def start(
        self, episode: str, where: str, *, source: str = "", table: Literal[0, 1] | None = None, **learning: Any
    ) -> Event:
        self._steps[episode] = count(1)
        task = "buy a red shoe"
        how = LearningSettings(**learning)
        started = EpisodeStarted(env="nowhere", task_id="t", task=task, learning=how, table=table, state=page(where))
        return self.add(started, episode, source)

    def step(self, episode: str, action: str, reward: float, to: str, **known: Any) -> Event:
        """`known`: `terminated`, `truncated`, `nearest` (a page's name), `reason`."""
        if "nearest" in known:
            known["nearest"] = known["nearest"] and page(known["nearest"]).key
        observed = Observed(
            step=next(iter(self._steps[episode])), action=action, reward=reward, state=page(to), **known
        )
        return self.add(observed, episode)

    def end(self, episode: str) -> Event:
        return self.add(EpisodeEnded(), episode)

    def label(self, episode: str, step: int, value: float) -> Event:
        return self.add(Labelled(step=step, value=value), episode)

    def withdraw(self, episode: str, step: int) -> Event:
        return self.add(LabelWithdrawn(step=step), episode)

    def decide(self, episode: str, kind: Any, proposed: str, action: str = "", hint: str = "") -> Event:
        return self.add(
            Decided(decision=Decision(step=1, kind=kind, proposed=proposed, action=action, hint=hint)), episode
        )

    def load(self, where: str, source: str = "a file", visits: int = 1, **actions: float) -> Event:
        """An import in which the page and each of these actions, given with its Q, were visited so often."""
        rows = tuple(ImportedAction(action=name, q=q, visits=visits, mean_reward=q / 2) for name, q in actions.items())
        return self.add(
            Imported(state=page(where), actions=rows, source=source, visits=visits, history=("from", "far"))
        )

    def pin(self, where: str, pinned: bool = True) -> Event:
        return self.add(Pinned(key=page(where).key, pinned=pinned))

    def drop(self, where: str, like: str = "elsewhere") -> Event:
        return self.add(Dropped(key=page(where).key, like=page(like).key, similarity=0.9))

    def quarantine(self, on: bool = True, **what: str) -> Event:
        """`what`: `episode`, `source` or `where` (a page's name)."""
        if where := what.pop("where", ""):
            what["key"] = page(where).key
        return self.add(Quarantined(on=on, **what))


Table = dict[tuple[str, str], tuple[float | None, int]]
"""(key, action) -> (Q, visits)."""


def table(experiences: Iterable[Experience]) -> Table:
    return {(each.key, row.action): (row.q, row.visits) for each in experiences for row in each.actions if row.visits}


def values(learner: Learner) -> dict[str, float]:
    """`page action` -> Q, of what was executed or imported."""
    return {
        f"{each.state.observation} {row.action}": row.q
        for each in learner.experiences()
        for row in each.actions
        if row.visits
    }


def moved(changes: Iterable[Change], pages: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """`page action` -> (old Q, new Q), of these pages."""
    names = {page(name).key: name for name in pages}
    return {f"{names[each.key]} {each.action}": (each.old, each.new) for each in changes}


# Few pages and actions, so that episodes meet and go in circles; numbers that binary fractions only approach.
_pages = st.sampled_from(["one", "two", "three"])
_actions = st.sampled_from(["a", "b"])
_rewards = st.sampled_from([0.0, 0.1, 0.7, 1.0, -0.3])
_learning = st.fixed_dictionaries(
    {
        "n": st.sampled_from([None, 1, 2, 3]),
        "gamma": st.sampled_from([1.0, 0.9, 0.0]),
        "alpha": st.sampled_from([None, 0.1, 1.0]),
        "step_penalty": st.sampled_from([0.0, 0.05]),
        "beta": st.sampled_from([1.0, 0.3]),
        "labels": st.sampled_from(["add", "replace"]),
        "bootstrap": st.sampled_from(["zero", "nearest"]),
    }
)
_episodes = st.integers(0, 3)
_numbers = st.integers(1, 5)
_kinds = ["step"] * 8 + ["start"] * 3 + ["label"] * 4 + ["withdraw", "end", "reject", "override", "load", "pin", "late"]
_kinds += ["drop", "quarantine"]
_sources = st.sampled_from(["", "", "a file", "another file"])


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Any log: interleaved episodes of all settings, revisits, circles; labels given, changed and taken back at any
    time (before the step, in the middle, after the end); rejections, overrides, imports, pins; what left a full memory
    or was quarantined, for good or for a while; a step of another process after the end."""
    log = Log()
    open_episodes: list[str] = []
    ended: list[str] = []
    names = count()
    for kind in draw(st.lists(st.sampled_from(_kinds), min_size=15, max_size=50)):
        if kind == "start" or not open_episodes:
            open_episodes.append(f"e{next(names)}")
            how = {"source": draw(_sources), "table": draw(st.sampled_from([None, None, 0, 1]))}
            log.start(open_episodes[-1], draw(_pages), **how, **draw(_learning))
            continue
        episode = draw(st.sampled_from(open_episodes))
        if kind == "step":
            how = draw(st.sampled_from([{}, {}, {}, {}, {"terminated": True}, {"truncated": True}]))
            near = {"nearest": draw(st.just("") | _pages)}
            log.step(episode, draw(_actions), draw(_rewards), draw(_pages), reason=draw(_actions), **how, **near)
            if how:
                open_episodes.remove(episode)
                ended.append(episode)
        elif kind == "end":
            log.end(episode)
            open_episodes.remove(episode)
            ended.append(episode)
        elif kind == "late" and ended:
            log.step(draw(st.sampled_from(ended)), draw(_actions), draw(_rewards), draw(_pages))
        elif kind == "label":
            log.label(f"e{draw(_episodes)}", draw(_numbers), draw(st.sampled_from([1.0, -1.0, 0.3])))
        elif kind == "withdraw":
            log.withdraw(f"e{draw(_episodes)}", draw(_numbers))
        elif kind in ("reject", "override"):
            log.decide(episode, kind, draw(_actions), draw(_actions), draw(st.sampled_from(["", "too dear"])))
        elif kind == "load":
            rows = draw(st.dictionaries(_actions, _rewards, min_size=1))
            log.load(draw(_pages), draw(_sources), draw(st.integers(1, 3)), **rows)
        elif kind == "drop":
            log.drop(draw(_pages))
        elif kind == "quarantine":
            what = draw(
                st.fixed_dictionaries({"episode": _episodes.map("e{}".format)})
                | st.fixed_dictionaries({"source": _sources.filter(bool)})
                | st.fixed_dictionaries({"where": _pages})
            )
            log.quarantine(draw(st.booleans()), **what)
        else:
            log.pin(draw(_pages), draw(st.booleans()))
    return log.events
