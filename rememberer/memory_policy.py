"""The policy that acts from memory alone, without a model.

What an action a is worth is a kernel estimate over the actions b that were done in the retrieved experiences e:

    value(a) = sum w n q / sum w n              w = f(e)^p [same kind] exp(-|look(a) - look(b)|^2 / h^2) (1 - twin)

f is the similarity of the states, n and q are visits and Q of b, and `look` is how an action looks from its own task
(`rememberer.looks`): the size that was asked for is like the size that was asked for then, whatever sizes they were.
`twin` is how alike a looks to a itself, where e offered it too: there it is judged by its own row, not by others'. In
the very same state, its own row weighs `EXACT`.

Candidates are ranked by that, drawn to a prior where evidence is thin, and down by what speaks against them:

    score(a) = (prior(a) + sum w n q - against) / (1 + sum w n + against + passed)

`prior`: by fit to the task, and kinds in their natural order. `against`: rejections, by w, and how often it was done in
this episode already. `passed`: that it was left alone where something else was worth doing, by w. They move the
ranking only: a value is never anything but experience. A person's hint adds how well it fits the hint.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp

from rememberer.embedding import Encoder
from rememberer.keywords import content, overlap, words
from rememberer.looks import BACK, OPTION, Look, looks
from rememberer.policy import RECALLED, Retrieved, Situation
from rememberer.records import ActionValue, Candidate, Evidence, Proposal, State
from rememberer.searches import Worked, argument, filled, telling, wording

SHARPNESS = 2
"""p: how fast evidence fades with the similarity of states."""
WIDTH = 0.2
"""h: how alike two actions must look."""
EXACT = 10.0
"""What an action's own row in the very same state weighs."""
ENOUGH = 0.05
"""Weight below which a row is no evidence worth showing, and gives no value."""
PASSED = 0.3
"""What a passed-over action weighs, against one that was done."""
REPEATED = 0.25
"""What having been done in this episode weighs, against a rejection in the very same state."""

# The prior of a kind: of an action that fits the task in nothing, and of one that fits it in everything.
_PRIORS = {
    "search": (0.6, 0.6),
    "option": (0.0, 1.0),
    "open": (0.25, 0.95),
    "buy": (0.5, 0.5),
    "page": (0.3, 0.3),
    BACK: (0.9, 0.0),
    "detail": (0.1, 0.1),
}
_UNKNOWN = (0.3, 0.7)
_HARDLY = 0.1


@dataclass(frozen=True, slots=True)
class _Known:
    """A retrieved experience: how its actions looked, and what is known of each."""

    retrieved: Retrieved
    rows: Sequence[tuple[Look, ActionValue | None]]
    best: float
    """The highest Q there, at least 0."""


@dataclass(frozen=True, slots=True)
class _Row:
    """An action that was done, as evidence for another: its weight, where it was, how it looked, what it was worth."""

    weight: float
    retrieved: Retrieved
    look: Look
    value: ActionValue


@dataclass(slots=True)
class _Evidence:
    """The sums of the equations for one action, and the rows that give it its value."""

    worth: float = 0.0
    weight: float = 0.0
    against: float = 0.0
    passed: float = 0.0
    rows: list[_Row] = field(default_factory=list)


class MemoryPolicy:
    """Proposes what did well in similar states, and what fits the task where nothing is known; see the module.

    It knows kinds, labels and texts of actions, and no environment. `encoder` should be the memory's own: it encodes
    each label once.
    """

    def __init__(self, encoder: Encoder, name: str = "memory") -> None:
        self.name = name
        self._encoder = encoder

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        """See `Policy.propose`. Refused actions are left out; the order of the available actions does not matter."""
        state, trail = situation.state, situation.last_actions
        used = [each for each in retrieved if each.used]
        worked = [each for one in used for each in _worked(one)]
        known = [self._known(each, worked) for each in used]
        said_no = {text.strip().casefold() for text in situation.refused}
        hint = words(" ".join(content(situation.hint)))
        ranked = []
        for look, prior in self._available(state, trail, worked):
            if look.action.text.casefold() not in said_no:
                found = _evidence(look, state, known)
                against = found.against + REPEATED * _repeats(look, state, trail)
                score = (prior + found.worth - against) / (1 + found.weight + against + found.passed)
                score += overlap(hint, words(look.action.label))
                ranked.append((-round(score, 9), look.action.text, _candidate(look, found)))
        ranked.sort(key=lambda each: each[:2])
        return Proposal(
            candidates=tuple(candidate for *_, candidate in ranked[:k]),
            policy=self.name,
            note="" if ranked else "Every action was rejected. Choose or type one.",
        )

    def _available(self, state: State, trail: Sequence[str], worked: Sequence[Worked]) -> Iterator[tuple[Look, float]]:
        """What can be done, with its prior; a typed action once for each wording."""
        for look in looks(state, telling(state.task, worked), trail, self._encoder):
            if look.action.typed:
                for place, text in enumerate(wording(state.task, worked)):
                    yield filled(look, text), _prior(look) - 0.05 * place
            else:
                yield look, _prior(look)

    def _known(self, retrieved: Retrieved, worked: Sequence[Worked]) -> _Known:
        experience = retrieved.experience
        state = experience.state
        values = {row.action.casefold(): row for row in experience.actions}
        rows: list[tuple[Look, ActionValue | None]] = []
        for look in looks(state, telling(state.task, worked), experience.history, self._encoder):
            if look.action.typed:
                typed = [(argument(look.action, row.action), row) for row in experience.actions]
                rows += [(filled(look, text), row) for text, row in typed if text]
            else:
                rows.append((look, values.get(look.action.text.casefold())))
        return _Known(retrieved, rows, max([0.0, *(row.q for row in experience.actions if row.visits)]))


def _worked(retrieved: Retrieved) -> Iterator[Worked]:
    """What was typed in an experience."""
    experience = retrieved.experience
    for action in experience.state.actions:
        for row in experience.actions if action.typed else ():
            if row.visits and (text := argument(action, row.action)):
                yield Worked(experience.state.task, text, row.q, retrieved.task)


def _evidence(look: Look, state: State, known: Sequence[_Known]) -> _Evidence:
    found = _Evidence()
    for each in known:
        closeness = max(each.retrieved.similarity, 0.0) ** SHARPNESS
        own = [_alike(look, other) for other, _ in each.rows if other.action.text == look.action.text]
        twin = max(own, default=0.0)
        for other, row in each.rows:
            if other.action.kind != look.action.kind:
                continue
            is_same = other.action.text == look.action.text
            weight = closeness * _alike(look, other) * (1.0 if is_same else 1.0 - twin)
            if is_same and each.retrieved.experience.key == state.key:
                weight = EXACT
            if row is None:
                found.passed += PASSED * weight * each.best
                continue
            found.worth += weight * row.visits * row.q
            found.weight += weight * row.visits
            found.against += weight * len(row.rejections)
            if row.visits and weight >= ENOUGH:
                found.rows.append(_Row(weight, each.retrieved, other, row))
    return found


def _alike(one: Look, other: Look) -> float:
    """How alike two actions of one kind look, 0 to 1. Of typed ones, what was typed counts in `wording`."""
    if one.action.typed:
        return 1.0
    if one.spent != other.spent or one.dear != other.dear:
        return 0.0
    apart = (one.words - other.words, one.meaning - other.meaning, one.edge - other.edge, one.lead - other.lead)
    return exp(-sum(each**2 for each in apart) / WIDTH**2)


def _prior(look: Look) -> float:
    misfit, fit = _PRIORS.get(look.action.kind, _UNKNOWN)
    value = misfit + (fit - misfit) * look.fit
    return _HARDLY * value if look.spent or look.dear else value


def _repeats(look: Look, state: State, trail: Sequence[str]) -> int:
    """How often it was done in this episode. An option may be chosen for each product; every way back is the same."""
    if look.action.kind == OPTION:
        return 0
    texts = {each.text for each in state.actions if each.kind == BACK == look.action.kind} | {look.action.text}
    return sum(text in texts for text in trail)


def _candidate(look: Look, found: _Evidence) -> Candidate:
    rows = sorted(found.rows, key=lambda row: -row.weight)
    weight = sum(row.weight * row.value.visits for row in rows)
    return Candidate(
        action=look.action.text,
        label=look.action.label,
        value=sum(row.weight * row.value.visits * row.value.q for row in rows) / weight if rows else None,
        visits=sum(row.value.visits for row in rows),
        reason=_reason(look, rows, rejected=found.against >= ENOUGH),
        evidence=tuple(
            Evidence(
                key=row.retrieved.experience.key,
                action=row.value.action,
                q=row.value.q,
                visits=row.value.visits,
                weight=row.weight,
            )
            for row in rows[:RECALLED]
        ),
    )


def _reason(look: Look, rows: Sequence[_Row], rejected: bool) -> str:
    """What it rests on, in a sentence or two."""
    if rows:
        first, others = rows[0], len(rows) - 1
        task = first.retrieved.experience.state.task
        said = (
            f"Rests on “{first.look.action.label}” in “{task if len(task) <= 60 else task[:57] + '...'}” "
            f"({first.retrieved.similarity:.2f} alike, worth {first.value.q:.2f})"
            f"{f' and {others} more like it' if others else ''}."
        )
    elif look.spent:
        said = "It was chosen already."
    elif look.dear:
        said = "It costs more than the task allows."
    elif look.action.typed:
        said = "Nothing like it is remembered; these are words of the task."
    else:
        said = f"Nothing like it is remembered; it fits the task to {look.fit:.0%}."
    return f"{said} It, or the like of it, was rejected before." if rejected else said
