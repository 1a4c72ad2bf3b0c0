"""Logs for tests of learning: written by hand in a few words, or any that a user could have, for hypothesis."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from rememberer.events import (
    Body,
    Compared,
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
    TakenBack,
    Undone,
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
        self.next: dict[str, int] = {}
        """The next step of each episode."""

    def add(self, body: Body, episode: str = "", source: str = "") -> Event:
        number = len(self.events)
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
        event = Event(id=str(number), user=USER, episode=episode, seq=number, time=time, source=source, body=body)
        self.events.append(event)
        return event

    def start(
        self, episode: str, where: str, *, source: str = "", table: Literal[0, 1] | None = None, **learning: Any
    ) -> Event:
        self.next[episode] = 1
        task = "buy a red shoe"
        how = LearningSettings(**learning)
        started = EpisodeStarted(env="nowhere", task_id="t", task=task, learning=how, table=table, state=page(where))
        return self.add(started, episode, source)

    def step(self, episode: str, action: str, reward: float, to: str, **known: Any) -> Event:
        """`known`: `terminated`, `truncated`, `nearest` (a page's name), `reason`."""
        if "nearest" in known:
            known["nearest"] = known["nearest"] and page(known["nearest"]).key
        observed = Observed(step=self.next[episode], action=action, reward=reward, state=page(to), **known)
        self.next[episode] += 1
        return self.add(observed, episode)

    def end(self, episode: str) -> Event:
        return self.add(EpisodeEnded(), episode)

    def label(self, episode: str, step: int, value: float, by: str = "person", comment: str = "") -> Event:
        return self.add(Labelled(step=step, value=value, by=by, comment=comment), episode)

    def withdraw(self, episode: str, step: int, by: str = "person") -> Event:
        return self.add(LabelWithdrawn(step=step, by=by), episode)

    def compare(self, better: str, worse: str, where: str = "", equal: bool = False, by: str = "person") -> Event:
        """Of two actions on a page; or of two episodes."""
        key = where and page(where).key
        return self.add(Compared(better=better, worse=worse, key=key, equal=equal, by=by))

    def undo(self, said: Event, on: bool = True) -> Event:
        return self.add(Undone(label=said.id, on=on), said.episode)

    def take_back(self, episode: str, step: int) -> Event:
        self.next[episode] = step
        return self.add(TakenBack(step=step), episode)

    def decide(self, episode: str, kind: Any, proposed: str, action: str = "", hint: str = "") -> Event:
        step = self.next.get(episode, 1)
        return self.add(
            Decided(decision=Decision(step=step, kind=kind, proposed=proposed, action=action, hint=hint)), episode
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
_kinds += ["drop", "quarantine", "compare", "undo", "redo", "take back"]
_sources = st.sampled_from(["", "", "a file", "another file"])


_people = st.sampled_from(["person", "person", "another"])


@st.composite
def logs(draw: st.DrawFn, *, without: tuple[str, ...] = ()) -> list[Event]:
    """Any log: interleaved episodes of all settings, revisits, circles; labels given, changed, taken back, undone and
    redone at any time (before the step, in the middle, after the end), by several people, of whole episodes and of two
    that were compared; rejections, overrides, imports, pins; what left a full memory or was quarantined, for good or
    for a while; steps and ends that were taken back; a step of another process after the end."""
    log = Log()
    open_episodes: list[str] = []
    ended: list[str] = []
    names = count()
    kinds = [each for each in _kinds if each not in without]
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=15, max_size=50)):
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
            value, comment = draw(st.sampled_from([1.0, -1.0, 0.3])), draw(st.sampled_from(["", "well done"]))
            log.label(f"e{draw(_episodes)}", draw(st.integers(0, 5)), value, draw(_people), comment)
        elif kind == "withdraw":
            log.withdraw(f"e{draw(_episodes)}", draw(st.integers(0, 5)), draw(_people))
        elif kind == "compare":
            if where := draw(st.just("") | _pages):
                log.compare("a", "b", where, draw(st.booleans()), draw(_people))
            else:
                better, worse = draw(st.permutations(["e0", "e1", "e2"]))[:2]
                log.compare(better, worse, equal=draw(st.booleans()), by=draw(_people))
        elif kind in ("undo", "redo"):
            said = [each for each in log.events if isinstance(each.body, Labelled | LabelWithdrawn | Compared)]
            if said:
                log.undo(draw(st.sampled_from(said)), on=kind == "undo")
        elif kind == "take back":
            back = draw(st.sampled_from([*open_episodes, *ended]))
            # Of what the world has ended at least the last step.
            log.take_back(back, draw(st.integers(1, max(log.next[back] - (back in ended), 1))))
            if back in ended:
                ended.remove(back)
                open_episodes.append(back)
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
