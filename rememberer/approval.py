"""Who says yes: approvers answer a proposal, or leave it to the next. Where nobody answers, nothing is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rememberer.records import Decision, Proposal


class Approver(Protocol):
    """Answers the proposal of a step, or returns None to leave it to somebody else."""

    def review(self, step: int, proposal: Proposal) -> Decision | None:
        """Return a decision for `step`, or None. Asked once a proposal; changes nothing itself."""
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

    def review(self, step: int, proposal: Proposal) -> Decision | None:
        if not proposal.candidates:
            return None
        first, *others = proposal.candidates
        near = {each.key: each.similarity for each in proposal.recalled if each.used}
        likest = max((near.get(key, -1.0) for key in first.evidence), default=-1.0)
        ahead = (first.value or 0.0) - max((each.value or 0.0 for each in others), default=0.0)
        sure = likest >= self.similarity and first.visits >= self.visits and (first.value or 0.0) > 0
        return _approve(step, proposal, "confidence") if sure and ahead >= self.margin else None


@dataclass(frozen=True, slots=True)
class Chain:
    """Asks one approver after the other; the first answer counts."""

    approvers: Sequence[Approver]

    def review(self, step: int, proposal: Proposal) -> Decision | None:
        answers = (each.review(step, proposal) for each in self.approvers)
        return next((answer for answer in answers if answer is not None), None)


def _approve(step: int, proposal: Proposal, by: str) -> Decision:
    return Decision(step=step, kind="approve", action=proposal.candidates[0].action, by=by)
