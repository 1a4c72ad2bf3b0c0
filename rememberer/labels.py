"""What people said of steps, of whole episodes, and of which of two is better; and what of it counts.

Of each person the last word on a thing counts, and several people's words are averaged. A word on a whole episode
counts with its last step, once it has ended. Of two actions in a state that were compared, each execution of the better
one gets `RANK`, of the worse one -`RANK`, of equal ones 0; of two episodes likewise their last step (the mean over all
comparisons). All that a step gets is added up: that is its label. What was undone counts for nothing until it is
redone; what was said of a step that was taken back, for nothing at all.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

from rememberer.events import Compared, Event, Labelled, LabelWithdrawn, Quarantined, TakenBack, Undone
from rememberer.values import EpisodeTrace, Transition

WHOLE = 0
"""The step that stands for a whole episode."""
RANK = 0.5
"""What being the better one of two is worth."""

Thing = tuple[str, int] | tuple[str, str]
"""What can be judged: (episode, step), or (key of a state, action) in comparisons; ("", episode) for episodes there."""


@dataclass(slots=True)
class Said:
    """A label, a withdrawal or a comparison, as the log has it."""

    event: Event
    undone: bool = False
    void: bool = False
    """It was imported from a source that is quarantined."""

    @property
    def counts(self) -> bool:
        return not (self.undone or self.void)

    @property
    def body(self) -> Labelled | LabelWithdrawn | Compared:
        body = self.event.body
        assert isinstance(body, Labelled | LabelWithdrawn | Compared)
        return body

    @property
    def about(self) -> list[Thing]:
        """The things that it judges."""
        body = self.body
        if isinstance(body, Compared):
            return [(body.key, body.better), (body.key, body.worse)]
        return [(self.event.episode, body.step)]


class Labels:
    """Folded from the log, event by event, in order."""

    def __init__(self) -> None:
        self._said: dict[str, Said] = {}
        """By event id, in order."""
        self._of: dict[Thing, list[Said]] = {}
        self._steps: dict[str, set[int]] = {}
        """The steps of an episode of which something was said."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self._in_force() == other._in_force()

    __hash__ = None  # type: ignore[assignment]

    def apply(self, event: Event) -> list[Thing]:
        """Take the next event. Returns the things whose label may be another one now."""
        match event.body:
            case Labelled() | LabelWithdrawn() | Compared():
                said = self._said[event.id] = Said(event)
                for thing in said.about:
                    self._of.setdefault(thing, []).append(said)
                    if isinstance(thing[1], int):
                        self._steps.setdefault(thing[0], set()).add(thing[1])
                return said.about
            case Undone(label=label, on=on) if label in self._said:
                self._said[label].undone = on
                return self._said[label].about
            case TakenBack(step=first):
                gone = [(event.episode, step) for step in self._steps.get(event.episode, ()) if step >= first]
                for thing in gone:
                    for said in self._of.pop(thing):
                        del self._said[said.event.id]
                    self._steps[event.episode].remove(thing[1])
                return list(gone)
            case Quarantined(source=source, on=on) if source:
                came = [each for each in self._said.values() if each.event.source == source]
                for said in came:
                    said.void = on
                return [thing for said in came for thing in said.about]
        return []

    def value(self, episode: EpisodeTrace, transition: Transition) -> float | None:
        """The label of an executed step; None when nobody has said anything of it."""
        return self._sum(_things(episode, transition))

    def words(self, episode: EpisodeTrace, transition: Transition) -> tuple[str, ...]:
        """What people said with the labels of an executed step, in order of time."""
        said = [each for thing in _things(episode, transition) for each in self._last(thing)]
        return tuple(each.comment for each in said if isinstance(each, Labelled) and each.comment.strip())

    def judged(self, thing: Thing) -> bool:
        """Whether anything counts that was said of it."""
        return self._one(thing) is not None

    def of_episode(self, episode: str, by: str = "") -> dict[int, Labelled]:
        """The labels in force on an episode, by step: of one person; of several, the last one of any."""
        found = {}
        for step in sorted(self._steps.get(episode, ())):
            labelled = [each for each in self._last((episode, step)) if isinstance(each, Labelled)]
            if mine := [each for each in labelled if by in ("", each.by)]:
                found[step] = mine[-1]
        return found

    def ratings(self, episode: str, step: int) -> dict[str, float]:
        """The reward in force of each person on a step."""
        if step not in self._steps.get(episode, ()):
            return {}
        return {each.by: each.value for each in self._last((episode, step)) if isinstance(each, Labelled)}

    def rated(self, episode: str) -> list[tuple[int, dict[str, float]]]:
        """The steps of an episode of which something was said, each with its `ratings`."""
        return [(step, self.ratings(episode, step)) for step in sorted(self._steps.get(episode, ()))]

    def history(self, episode: str, step: int) -> list[Said]:
        """All that was ever said of a step, in order, undone or not."""
        return list(self._of.get((episode, step), ()))

    def find(self, event: str) -> Said | None:
        """What was said with an event."""
        return self._said.get(event)

    def undoable(self, by: str) -> Said | None:
        """What a person said last, and has not undone."""
        return next((each for each in reversed(self._said.values()) if each.body.by == by and not each.undone), None)

    def redoable(self, by: str) -> Said | None:
        """What a person would say again by a redo: the first that they undid after what they said last."""
        found = None
        for each in reversed(self._said.values()):
            if each.body.by == by:
                if not each.undone:
                    break
                found = each
        return found

    def said(self) -> list[Said]:
        """All labels, withdrawals and comparisons of which something may count, in order."""
        return list(self._said.values())

    def _sum(self, things: Iterable[Thing]) -> float | None:
        parts = [part for thing in things if (part := self._one(thing)) is not None]
        return fsum(parts) if parts else None

    def _one(self, thing: Thing) -> float | None:
        """The mean of what counts of what was said of a thing."""
        if thing not in self._of:
            return None
        values = []
        for each in self._last(thing):
            if isinstance(each, Labelled):
                values.append(each.value)
            elif isinstance(each, Compared):
                values.append(0.0 if each.equal else RANK if each.better == thing[1] else -RANK)
        return fsum(values) / len(values) if values else None

    def _last(self, thing: Thing) -> list[Labelled | LabelWithdrawn | Compared]:
        """The last word of each person; in comparisons, on each pair."""
        last: dict[object, Labelled | LabelWithdrawn | Compared] = {}
        for each in self._of.get(thing, ()):
            if each.counts:
                body = each.body
                about = (body.by, frozenset((body.better, body.worse))) if isinstance(body, Compared) else body.by
                last.pop(about, None)
                last[about] = body
        return list(last.values())

    def _in_force(self) -> dict[Thing, float]:
        return {thing: value for thing in self._of if (value := self._one(thing)) is not None}


def _things(episode: EpisodeTrace, transition: Transition) -> list[Thing]:
    """All that counts for the label of an executed step."""
    things: list[Thing] = [(episode.id, transition.step), (transition.state.key, transition.action)]
    if episode.ended and transition is episode.transitions[-1]:
        things += [(episode.id, WHOLE), ("", episode.id)]
    return things
