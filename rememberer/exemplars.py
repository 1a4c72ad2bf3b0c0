"""From retrieved experiences to exemplars: what was good there, what was not (paper section 3.3).

An exemplar is a state together with encouraged and discouraged actions. An action is never on both sides.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rememberer.policy import Retrieved
from rememberer.records import ActionValue, Experience

WORST = 3
"""How many actions with Q <= 0 are shown at most."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One encouraged or discouraged action. `value` is its Q, None when there is none; `guess`: nobody tried it."""

    action: str
    value: float | None
    words: str = ""
    guess: bool = False

    @property
    def line(self) -> str:
        """The advice as a prompt shows it, `action -> value words`, on one line."""
        # Adding 0.0 turns -0.0 into 0.0.
        value = "unknown" if self.value is None else str(round(self.value, 2) + 0.0)
        words = " ".join(self.words.split())
        guess = "(a guess, nobody tried it)" if self.guess else ""
        return " ".join(part for part in (f"{self.action} -> {value}", words, guess) if part)


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A retrieved experience and what it advises; one of the two sides may be empty."""

    retrieved: Retrieved
    encouraged: tuple[Advice, ...]
    discouraged: tuple[Advice, ...]

    @property
    def experience(self) -> Experience:
        return self.retrieved.experience


def exemplars(retrieved: Iterable[Retrieved], *, seed: int, guess: bool = True) -> Iterator[Exemplar]:
    """Yield an exemplar for each used experience that has any advice, in the order given.

    `seed` is the episode's: within it, the same experience is always given the same guesses.
    """
    for each in retrieved:
        if not each.used:
            continue
        encouraged, discouraged = advise(each.experience, seed=seed, guess=guess)
        if encouraged or discouraged:
            yield Exemplar(each, encouraged, discouraged)


def advise(experience: Experience, *, seed: int, guess: bool = True) -> tuple[tuple[Advice, ...], tuple[Advice, ...]]:
    """Return the encouraged and the discouraged actions of an experience.

    Encouraged: all actions of the highest Q, if that is above 0; otherwise, with `guess`, a random available one that
    was neither found poor nor rejected. Discouraged: those with Q <= 0, lowest first, `WORST` at most, then those
    that people rejected; otherwise, with `guess`, a random available one that nobody tried.
    """
    rows = experience.actions
    if not rows:
        return (), ()
    # Seeded by text, which Python hashes alike in every process, and by experience: the others' draws do not matter.
    draw = random.Random(f"{seed} {experience.key}")
    tried = [row for row in rows if row.visits]
    # Rejected more often than executed: the person's word stands against the value.
    accepted = [row for row in tried if len(row.rejections) <= row.visits]
    top = max((row.q for row in accepted), default=0.0)
    best = [row for row in accepted if row.q == top and top > 0]
    # Reversed, so that of equal values the one that the experience lists last comes first.
    poor = sorted((row for row in reversed(tried) if row.q <= 0), key=lambda row: row.q)[:WORST]
    rejected = [row for row in rows if row.rejections and row not in best and row not in poor]

    encouraged = tuple(_advice(row) for row in best)
    discouraged = tuple(_advice(row) for row in (*poor, *rejected))
    if guess and not encouraged:
        encouraged = _guess(experience, rows, None, draw)
    if guess and not discouraged:
        discouraged = _guess(experience, rows, 0.0, draw, *encouraged)
    return encouraged, discouraged


def _advice(row: ActionValue) -> Advice:
    said = [" ".join(words.split()) for words in row.rejections if words.strip()]
    rejection = "(a person rejected it" + (": " + "; ".join(said) if said else "") + ")" if row.rejections else ""
    words = " ".join(f"(a person said: {' '.join(each.split())})" for each in dict.fromkeys(row.comments))
    told = " ".join(part for part in (row.reason, words, rejection) if part)
    return Advice(row.action, row.q if row.visits else None, told)


def _guess(
    experience: Experience, rows: Sequence[ActionValue], value: float | None, draw: random.Random, *taken: Advice
) -> tuple[Advice, ...]:
    """Draw an available action that has no row and is not taken. A typed one cannot be drawn: it lacks an argument."""
    known = {row.action.strip().casefold() for row in rows} | {each.action.casefold() for each in taken}
    free = [each.text for each in experience.state.actions if not each.typed and each.text.casefold() not in known]
    return (Advice(draw.choice(free), value, guess=True),) if free else ()
