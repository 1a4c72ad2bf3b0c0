"""What there is to label, in which order; and how far those who labelled agree."""

import pytest

from rememberer.approval import Auto
from rememberer.labelling import Pair, Step
from rememberer.memory import Memory
from rememberer.session import Session
from tests.rememberer.worlds import Corridor, Scripted, answer, begin, memory_on


def by_itself(memory: Memory, *policy: str) -> str:
    """An episode that nobody watched, in which the policy's first candidate is `policy`, in turn."""
    session = Session.start(memory, Corridor(), "through", Scripted(*policy) if policy else Scripted("go on"))
    session.run(Auto())
    return session.episode


def test_only_what_nobody_watched_is_to_be_labelled() -> None:
    memory = memory_on()
    watched = begin(memory, Corridor())
    answer(watched, "approve")
    episode = by_itself(memory)
    queue = memory.to_label()
    assert (queue.done, queue.total) == (0, 3)
    assert {each.episode for each in queue.items if isinstance(each, Step)} == {episode}
    memory.label(episode, 2, 0.5)
    queue = memory.to_label()
    assert (queue.done, queue.total) == (1, 3)
    assert {each.step for each in queue.items if isinstance(each, Step)} == {1, 3}
    # Another person has it all before them; what counts for nothing is nobody's.
    assert memory.to_label("anna").done == 0
    memory.quarantine(episode=episode)
    assert memory.to_label().total == 0


def test_the_most_uncertain_comes_first() -> None:
    memory = memory_on()
    episode = by_itself(memory)
    memory.label(episode, 1, -0.75)
    memory.label(episode, 2, 0.5)
    memory.withdraw(episode, 2)
    # Values by step: 0.25, 1, 1; nothing else was tried anywhere. Of equal ones the later.
    items = memory.to_label("anna").items
    assert [(each.step, each.margin) for each in items if isinstance(each, Step)] == [(1, 0.25), (3, 1.0), (2, 1.0)]


def test_the_best_two_actions_are_compared_once_by_everybody() -> None:
    memory = memory_on()
    session = begin(memory, Corridor())
    for _ in range(3):
        answer(session, "approve")
    again = begin(memory, Corridor())
    answer(again, "override", "go back")
    again.decide(again.transcript.turns[0].decision.model_copy(update={"kind": "stop", "step": 2}))  # type: ignore[union-attr]
    (pair,) = memory.to_label(kind="actions").items
    assert isinstance(pair, Pair)
    assert (pair.first, pair.second, pair.margin) == ("go on", "go back", 1.0)
    memory.compare("go back", "go on", key=pair.key)
    queue = memory.to_label(kind="actions")
    assert (queue.items, queue.done, queue.total) == ((), 1, 1)
    assert len(memory.to_label("anna", "actions").items) == 1
    memory.undo()
    assert len(memory.to_label(kind="actions").items) == 1


def test_two_episodes_of_a_task_are_compared_where_they_differ() -> None:
    memory = memory_on()
    first, same = by_itself(memory), by_itself(memory)
    assert memory.to_label(kind="episodes").total == 0
    session = begin(memory, Corridor())
    answer(session, "override", "go back")
    memory.end_open()
    (pair,) = memory.to_label(kind="episodes").items
    assert pair == Pair(same, session.episode, margin=1.0)
    memory.compare(same, session.episode)
    assert memory.to_label(kind="episodes").items == ()
    assert first != same


def test_agreement_is_krippendorffs_alpha() -> None:
    memory = memory_on()
    episode = by_itself(memory)
    memory.label(episode, 1, 1.0, by="anna")
    assert (memory.agreement().alpha, memory.agreement().steps) == (None, 0)
    memory.label(episode, 1, 1.0, by="ben")
    assert memory.agreement().alpha is None  # all said the same of everything: chance cannot be told from it
    memory.label(episode, 2, 1.0, by="anna")
    memory.label(episode, 2, 0.0, by="ben")
    memory.label(episode, 3, -1.0, by="anna")
    memory.label(episode, 3, -1.0, by="ben")
    found = memory.agreement()
    # Observed: (0 + 1 + 0) * 2 / 6 pairs; expected over all pairs of 1, 1, 1, 0, -1, -1: squares add up to 58 of 30.
    assert found.alpha == pytest.approx(1 - (2 / 6) / (58 / 30))
    assert (found.steps, found.people) == (3, ("anna", "ben"))
    (apart,) = found.disagreements
    assert (apart.step, apart.said, apart.spread) == (2, (("anna", 1.0), ("ben", 0.0)), 1.0)
    memory.undo(by="ben")
    memory.undo(by="ben")
    assert memory.agreement().disagreements == ()
