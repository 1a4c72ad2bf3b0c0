"""Who says yes: approvers answer a proposal, ask, or leave it to the next. Where nobody answers, nothing is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rememberer.records import Decision, Proposal


@dataclass(frozen=True, slots=True)
class Question:
    """That somebody who could have answered asks the person, and why, in a sentence."""

    why: str


class Approver(Protocol):
    """Answers the proposal of a step, asks, or returns None to leave it to somebody else."""

    def review(self, step: int, proposal: Proposal) -> Decision | Question | None:
        """Return a decision for `step`, a question, or None. Asked once a proposal; changes nothing itself."""
        ...


class Human:
    """Leaves every decision to the person in front of the screen."""

    def review(self, step: int, proposal: Proposal) -> Decision | None:
        return None


class Auto:
    """Approves the first candidate, whatever it is."""

    def review(self, step: int, proposal: Proposal) -> Decision | None:
        return _approve(step, proposal, "auto") if proposal.candidates else None


@dataclass(frozen=True, slots=True)
class Confidence:
    """Approves what memory knows well enough, and leaves the rest to the person.

    The first candidate must have been tried `visits` times, in a state at least `similarity` alike, with a value that
    is above 0 and `margin` above every other's (one that nobody tried counts 0).
    """

    similarity: float = 0.9
    visits: int = 1
    margin: float = 0.05

    def review(self, step: int, proposal: Proposal) -> Decision | Question:
        doubt = self.doubt(proposal)
        return Question(doubt) if doubt else _approve(step, proposal, "confidence")

    def doubt(self, proposal: Proposal) -> str:
        """Why the person should decide, in a sentence; empty when memory knows well enough."""
        if not proposal.candidates:
            return "Nothing is proposed."
        first, *others = proposal.candidates
        near = {each.key: each.similarity for each in proposal.recalled if each.used}
        likest = max((near[each.key] for each in first.evidence if each.key in near), default=None)
        rival = max((each.value or 0.0 for each in others), default=0.0)
        if first.value is None or first.visits < self.visits:
            tried = f"was tried {_times(first.visits)}, and {self.visits} is asked for" if first.visits else "is new"
            return f"The first candidate {tried}."
        if likest is None:
            return "What its value rests on is not among the nearest memories."
        if likest < self.similarity:
            return f"The nearest memory that it rests on is {likest:.0%} alike, and {self.similarity:.0%} is asked for."
        if first.value <= 0:
            return f"The first candidate is worth {first.value:+.2f}: nothing good is known here."
        if first.value - rival < self.margin:
            ahead = f"only {first.value - rival:.2f}" if first.value > rival else "not at all"
            return f"The first candidate is {ahead} ahead of another, and {self.margin:.2f} is asked for."
        return ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Asks one approver after the other; the first decision counts, or else the first question."""

    approvers: Sequence[Approver]

    def review(self, step: int, proposal: Proposal) -> Decision | Question | None:
        question: Question | None = None
        for each in self.approvers:
            answer = each.review(step, proposal)
            if isinstance(answer, Decision):
                return answer
            question = question or answer
        return question


def _times(visits: int) -> str:
    return "once" if visits == 1 else f"{visits} times"


def _approve(step: int, proposal: Proposal, by: str) -> Decision:
    return Decision(step=step, kind="approve", action=proposal.candidates[0].action, by=by)
