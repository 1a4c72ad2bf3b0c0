"""The policy that acts from memory alone, without a model.

What an action a is worth is a kernel estimate over the actions b that memory holds from similar states e:

    value(a) = sum w n q / sum w n                w(a; e, b) = f(e)^p [same kind] exp(-|look(a) - look(b)|^2 / h^2)

f is the similarity of the states (`rememberer.similarity`), n and q are visits and Q of b, `look` is how an action
looks from its own task (`rememberer.looks`): so "the size that was asked for" is compared with the size that was asked
for then. Where e offered a itself too, it speaks for a by its own row, and its other actions only as far as they look
different. In the very same state, a's own row counts `EXACT` times.

Candidates are ranked by that, drawn to a prior where there is little evidence, and down by what speaks against:

    score(a) = (prior(a) + sum w n q - against) / (1 + sum w n + against + passed)

`prior`: by fit to the task, and kinds in their natural order. `against`: rejections, and what was done before in this
episode. `passed`: actions that were left alone in a state where another was worth something. These two move the ranking
only; a value is never anything but experience.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp

from rememberer.embedding import Encoder
from rememberer.looks import OPTION, Look, looks
from rememberer.policy import Retrieved, Situation
from rememberer.records import ActionValue, Candidate, Proposal, State
from rememberer.searches import Worked, argument, filled, wording

SHARPNESS = 4
"""p: how fast evidence fades with the similarity of states."""
WIDTH = 0.2
"""h: how alike two actions must look."""
EXACT = 10.0
PASSED = 0.3
REPEATED = 0.5
ENOUGH = 0.05
"""Weight below which an experience is no evidence for an action."""

# Prior value of each kind: of one that does not fit the task at all, and of one that fits it in every word.
_KINDS = {
    "search": (0.6, 0.6),
    "option": (0.0, 0.9),
    "open": (0.25, 0.95),
    "buy": (0.5, 0.5),
    "page": (0.3, 0.3),
    "back": (0.9, 0.0),
    "detail": (0.1, 0.1),
}
_UNKNOWN = (0.3, 0.7)
_SPENT = 0.1


@dataclass(frozen=True, slots=True)
class _Known:
    """A retrieved experience, with the looks of its actions and what is known of each."""

    retrieved: Retrieved
    rows: Sequence[tuple[Look, ActionValue | None]]

    @property
    def best(self) -> float:
        return max((row.q for _, row in self.rows if row and row.visits), default=0.0)


@dataclass(frozen=True, slots=True)
class _Row:
    """An executed action that counts as evidence: its weight, where it was done, how it looked, what it was worth."""

    weight: float
    retrieved: Retrieved
    look: Look
    value: ActionValue


@dataclass(slots=True)
class _Evidence:
    """What memory says of one action: the sums of the equations, and the rows that count ."""

    good: float = 0.0
    weight: float = 0.0
    against: float = 0.0
    passed: float = 0.0
    rows: list[_Row] = field(default_factory=list)


class MemoryPolicy:
    """Proposes what did well in similar states, and what fits the task where nothing is known. See the module.

    It knows kinds, labels and texts of actions, and no environment. `encoder` should be the memory's own, which
    encodes each label once.
    """

    def __init__(self, encoder: Encoder, name: str = "memory") -> None:
        self.name = name
        self._encoder = encoder

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        """See `Policy.propose`. Refused actions are left out; the order of the available actions does not matter."""
        state, trail = situation.state, situation.last_actions
        known = [self._known(each) for each in retrieved if each.used]
        said_no = {text.strip().casefold() for text in situation.refused}
        ranked = []
        for look, prior in self._available(state, trail, known):
            if look.action.text.casefold() in said_no:
                continue
            found = _evidence(look, state, known)
            against = found.against + REPEATED * (look.action.kind != OPTION) * trail.count(look.action.text)
            score = (prior + found.good - against) / (1 + found.weight + against + found.passed)
            ranked.append((-round(score, 9), look.action.text, look, found))
        ranked.sort(key=lambda each: each[:2])
        return Proposal(
            candidates=tuple(_candidate(look, found) for *_, look, found in ranked[:k]),
            policy=self.name,
            note="" if ranked else "Every action was rejected. Choose or type one.",
        )

    def _available(self, state: State, trail: Sequence[str], known: Sequence[_Known]) -> Iterator[tuple[Look, float]]:
        """What can be done, each with its prior."""
        worked: list[Worked] = []
        for each in known:
            for look, row in each.rows:
                if look.action.typed and row and row.visits:
                    worked.append((each.retrieved.experience.state.task, look.action.text, row.q))
        for look in looks(state, trail, self._encoder):
            if look.action.typed:
                for n, words in enumerate(wording(state.task, worked)):
                    yield filled(look, words), _prior(look) - 0.05 * n
            else:
                yield look, _prior(look)

    def _known(self, retrieved: Retrieved) -> _Known:
        experience = retrieved.experience
        left = {row.action.casefold(): row for row in experience.actions}
        rows: list[tuple[Look, ActionValue | None]] = []
        for look in looks(experience.state, experience.history, self._encoder):
            if look.action.typed:
                for text, row in left.items():
                    if words := argument(look.action, text):
                        rows.append((filled(look, words), row))
            else:
                rows.append((look, left.get(look.action.text.casefold())))
        return _Known(retrieved, rows)


def _evidence(look: Look, state: State, known: Sequence[_Known]) -> _Evidence:
    found = _Evidence()
    for each in known:
        closeness = max(each.retrieved.similarity, 0.0) ** SHARPNESS
        same_state = each.retrieved.experience.key == state.key
        twin = max(
            (_alike(look, other) for other, _ in each.rows if other.action.text == look.action.text), default=0.0
        )
        best = max(each.best, 0)
        for other, row in each.rows:
            if other.action.kind != look.action.kind:
                continue
            same = other.action.text == look.action.text
            weight = closeness * _alike(look, other) * (1.0 if same else 1.0 - twin)
            if same and same_state:
                weight = EXACT
            if row is None or (not row.visits and not row.rejections):
                found.passed += PASSED * weight * best
                continue
            found.against += weight * len(row.rejections)
            found.good += weight * row.visits * row.q
            found.weight += weight * row.visits
            if row.visits and weight >= ENOUGH:
                found.rows.append(_Row(weight, each.retrieved, other, row))
    return found


def _alike(one: Look, other: Look) -> float:
    """How alike two actions of one kind look, 0 to 1."""
    if one.action.typed:
        return 1.0
    if one.spent != other.spent or one.dear != other.dear:
        return 0.0
    apart = (one.words - other.words, one.meaning - other.meaning, one.edge - other.edge)
    return exp(-sum(each**2 for each in apart) / WIDTH**2)


def _prior(look: Look) -> float:
    poor, good = _KINDS.get(look.action.kind, _UNKNOWN)
    value = poor + (good - poor) * look.fit
    return value * _SPENT if look.spent or look.dear else value


def _candidate(look: Look, found: _Evidence) -> Candidate:
    rows = sorted(found.rows, key=lambda row: -row.weight)
    weight = sum(row.weight * row.value.visits for row in rows)
    return Candidate(
        action=look.action.text,
        label=look.action.label,
        value=sum(row.weight * row.value.visits * row.value.q for row in rows) / weight if rows else None,
        visits=sum(row.value.visits for row in rows),
        reason=_reason(look, rows),
        evidence=tuple(dict.fromkeys(row.retrieved.experience.key for row in rows)),
    )


def _reason(look: Look, rows: Sequence[_Row]) -> str:
    if not rows:
        return "Nothing like it is remembered; " + (
            "it costs more than the task allows." if look.dear else "it comes next by its kind and its fit to the task."
        )
    first, others = rows[0], len(rows) - 1
    more = f", and {others} more like it" if others else ""
    task = first.retrieved.experience.state.task
    return (
        f"Rests on “{first.look.action.label}” for “{_short(task)}” "
        f"({first.retrieved.similarity:.2f} alike, worth {first.value.q:.2f}){more}."
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57].rstrip() + "..."
