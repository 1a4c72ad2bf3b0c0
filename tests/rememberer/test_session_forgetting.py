"""Somebody forgets while a session, in this process or another, still has the forgotten words in hand."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rememberer.errors import SessionError
from rememberer.policy import Retrieved, Situation
from rememberer.records import Candidate, Decision, Proposal
from rememberer.session import Session
from tests.rememberer.conftest import open_store
from tests.rememberer.worlds import Corridor, Scripted, answer, memory_on, resting_on

SECRET = "slippers"


class Quotes(Scripted):
    """Proposes with the words of what it was reminded of."""

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        super().propose(situation, retrieved, k)
        words = "; ".join(f"{each.experience.state.task} {each.experience.actions[0].reason}" for each in retrieved)
        evidence = tuple(resting_on(each.experience.key) for each in retrieved)
        row = Candidate(action="go on", reason=f"as in {words}", evidence=evidence)
        return Proposal(candidates=(row,), prompt=words, reply=words)


def on_disk(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("when", ["while it is thought about", "while it waits", "while it is executed"])
def test_nothing_forgotten_is_written_again_by_who_still_has_it_in_hand(tmp_path: Path, when: str) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store, closing(open_store(folder)) as other:
        here, there = memory_on(store), memory_on(other)
        session = Session.start(here, Corridor(), f"own:find {SECRET}", Scripted())
        session.propose()
        answer(session, "approve")
        session.decide(Decision(step=2, kind="stop"))

        def forget(action: str = "") -> None:
            here.forget([each.key for each in here.experiences() if SECRET in each.state.task])

        there.refresh()
        policy = Quotes()
        world = Corridor(forget if when == "while it is executed" else lambda action: None)
        session = Session.start(there, world, "through", policy)
        if when == "while it is thought about":
            policy.think = forget
            with pytest.raises(SessionError, match="forgotten while this was thought about"):
                session.propose()
            policy.think = lambda: None
        assert (SECRET in session.propose().model_dump_json()) == (when != "while it is thought about")
        if when == "while it waits":
            forget()
        session.decide(Decision(step=1, kind="approve"))
        assert world.executed == ["go on"]
        assert SECRET not in "".join(event.model_dump_json() for event in store.events("me"))
        assert SECRET not in session.transcript.turns[0].proposals[-1].model_dump_json()
        assert SECRET.encode() not in on_disk(folder)
        session.propose()
        answer(session, "approve")
        assert session.turn.step == 3
        assert there.experiences() == memory_on(store).experiences() == store.experiences("me")
