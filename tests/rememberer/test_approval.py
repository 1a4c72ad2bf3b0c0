"""Who says yes."""

import pytest

from rememberer.approval import Approver, Auto, Chain, Confidence, Human, Question
from rememberer.events import Decided
from rememberer.policy import Policy
from rememberer.records import Candidate, Decision, Proposal, Recalled
from rememberer.session import Session
from tests.rememberer.worlds import Corridor, Scripted, answer, begin, memory_on, resting_on


def proposal(*values: tuple[float | None, int], similarity: float = 1.0, used: bool = True) -> Proposal:
    """Candidates a, b ... with value and visits, the first one resting on one experience."""
    candidates = [
        Candidate(action=name, value=value, visits=visits, evidence=(resting_on("k"),) if name == "a" else ())
        for name, (value, visits) in zip("abc", values, strict=False)
    ]
    return Proposal(candidates=tuple(candidates), recalled=(Recalled(key="k", similarity=similarity, used=used),))


def test_nobody_answers_where_nobody_is_asked() -> None:
    assert Human().review(1, proposal((1.0, 9))) is None
    assert Chain([]).review(1, proposal((1.0, 9))) is None
    assert Auto().review(1, Proposal(candidates=())) is None
    assert Confidence().review(1, Proposal(candidates=())) == Question("Nothing is proposed.")


def test_auto_approves_what_stands_first() -> None:
    answer = Auto().review(3, proposal((None, 0), (0.5, 1)))
    assert answer == Decision(step=3, kind="approve", action="a", by="auto")


@pytest.mark.parametrize(
    ("given", "doubt"),
    [
        (proposal((0.5, 1)), ""),
        (proposal((0.5, 1), (0.25, 1)), ""),
        (proposal((0.5, 1), (0.26, 1)), "The first candidate is only 0.24 ahead of another, and 0.25 is asked for."),
        (proposal((0.5, 1), (0.5, 1)), "The first candidate is not at all ahead of another, and 0.25 is asked for."),
        (proposal((0.5, 1), (None, 0)), ""),
        (proposal((0.24, 1), (None, 0)), "The first candidate is only 0.24 ahead of another, and 0.25 is asked for."),
        (proposal((0.0, 1)), "The first candidate is worth +0.00: nothing good is known here."),
        (proposal((-0.5, 1), (-0.9, 1)), "The first candidate is worth -0.50: nothing good is known here."),
        (proposal((None, 0)), "The first candidate is new."),
        (proposal((0.5, 0)), "The first candidate is new."),
        (proposal((0.5, 1), similarity=0.9), ""),
        (
            proposal((0.5, 1), similarity=0.89),
            "The nearest memory that it rests on is 89% alike, and 90% is asked for.",
        ),
        (proposal((0.5, 1), used=False), "What its value rests on is not among the nearest memories."),
    ],
)
def test_confidence_knows_its_limits_and_says_why_it_asks(given: Proposal, doubt: str) -> None:
    answer = Confidence(similarity=0.9, visits=1, margin=0.25).review(1, given)
    assert answer == (Question(doubt) if doubt else Decision(step=1, kind="approve", action="a", by="confidence"))


def test_the_first_who_answers_counts() -> None:
    unsure, sure = proposal((None, 0)), proposal((0.5, 1))
    chain = Chain([Confidence(), Auto()])
    answers = [chain.review(1, each) for each in (sure, unsure)]
    assert [each.by for each in answers if isinstance(each, Decision)] == ["confidence", "auto"]
    assert Chain([Confidence(), Human()]).review(1, unsure) == Question("The first candidate is new.")


class Remembering:
    """Proposes to go on, with the value that memory has of it in this very state."""

    name = "remembering"

    def propose(self, situation, retrieved, k):  # type: ignore[no-untyped-def]
        known = [each.experience for each in retrieved if each.experience.key == situation.state.key]
        rows = [row for each in known for row in each.actions if row.action == "go on" and row.visits]
        value = rows[0].q if rows else None
        keys = tuple(resting_on(each.key) for each in known)
        first = Candidate(action="go on", value=value, visits=len(rows), evidence=keys)
        return Proposal(candidates=(first, Candidate(action="go back")))


def test_a_known_task_is_asked_about_less() -> None:
    memory = memory_on()
    policy: Policy = Remembering()
    approver: Approver = Chain([Confidence(), Human()])

    def questions() -> int:
        session, asked = Session.start(memory, Corridor(), "through", policy), 0
        session.run(approver)
        while not session.ended:
            asked += 1
            assert memory.trace(session.episode).questions == session.transcript.questions == asked
            session.decide(Decision(step=session.turn.step, kind="approve"))
            session.run(approver)
        return asked

    assert [questions(), questions()] == [3, 0]


def test_what_is_asked_for_is_asked_for_exactly() -> None:
    asking = Confidence(similarity=0.8, visits=3, margin=0.0)
    assert not asking.doubt(proposal((0.5, 3), similarity=0.8))
    assert asking.doubt(proposal((0.5, 2), similarity=0.8)) == (
        "The first candidate was tried 2 times, and 3 is asked for."
    )
    assert not asking.doubt(proposal((0.5, 3), (0.5, 9), similarity=0.8))
    # Another experience may be as like as can be; it is not what the value rests on.
    other = proposal((0.5, 3), similarity=0.79)
    more = (*other.recalled, Recalled(key="other", similarity=1.0, used=True))
    assert "79%" in asking.doubt(other.model_copy(update={"recalled": more}))


def test_the_log_says_who_said_yes() -> None:
    memory = memory_on()
    session = Session.start(memory, Corridor(), "through", Remembering())
    session.propose()
    session.decide(Decision(step=1, kind="approve"))
    session.run(Chain([Human(), Auto()]))
    assert session.ended == "terminated"
    said = [event.body.decision.by for event in memory.store.events("me") if isinstance(event.body, Decided)]
    assert said == ["person", "auto", "auto"]


def test_a_run_ends_where_nothing_is_proposed() -> None:
    memory, world = memory_on(), Corridor()
    session = begin(memory, world, Scripted("go on"))
    answer(session, "reject")
    session.run(Auto())
    assert world.executed == []
    assert session.ended == ""
