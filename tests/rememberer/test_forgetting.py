"""What is forgotten is gone from the log, the view, the embeddings and the files; all else is as it was."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rememberer.errors import SessionError, UnknownExperience
from rememberer.events import (
    Body,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Imported,
    ImportedAction,
    Labelled,
    Observed,
    Pinned,
    Proposed,
)
from rememberer.memory import Memory
from rememberer.records import (
    ActionText,
    Candidate,
    Decision,
    Experience,
    LearningSettings,
    Proposal,
    Recalled,
    State,
)
from rememberer.store import InMemoryStore, Store
from storage import LanceStore
from tests.rememberer.conftest import open_store
from tests.rememberer.worlds import memory_on, resting_on

TASK = "a present for grandmother"
PLAIN = "a lamp"
SECRETS = ["grandmother", "slippers", "wool", "birthday", "surprise", "parcel", "catalogue"]
"""Words that stand only in what is forgotten."""


def place(observation: str, task: str) -> State:
    label = f"see {observation}"
    return State(
        env="nowhere",
        task=task,
        observation=observation,
        kind="page",
        actions=(ActionText(text=f"click[{observation}]", label=label, kind="open"),),
    )


SLIPPERS, WOOL, PARCEL = (place(each, TASK) for each in ("slippers", "wool", "parcel"))
CATALOGUE = place("catalogue", TASK)
"""Looked at, and left at once: nothing was ever done there."""
LAMP, BULB, SHELF = (place(each, PLAIN) for each in ("lamp", "bulb", "shelf"))


def proposal(of: State, *recalled: State) -> Proposal:
    """A model's proposal that quotes what it recalled."""
    words = " and ".join(each.observation for each in recalled)
    return Proposal(
        candidates=(
            Candidate(
                action=of.actions[0].text,
                label=of.actions[0].label,
                reason=f"like {words}",
                evidence=tuple(resting_on(each.key) for each in recalled),
            ),
            Candidate(action="click[back]", reason=f"nothing here is like {words}"),  # without evidence, with the words
        ),
        recalled=tuple(Recalled(key=each.key, similarity=0.9, used=True) for each in recalled),
        prompt=f"exemplars: {words}; {of.observation}",
        reply=f"as with {words}",
        reasoning=f"thinking of {words}",
    )


def fill(memory: Memory, **learning: Any) -> None:
    """A task that will be forgotten, and others that rest on it and that it rests on."""
    settings = LearningSettings(**learning)

    def started(where: State) -> Body:
        return EpisodeStarted(
            env="nowhere", task_id=f"own:{where.task}", task=where.task, learning=settings, state=where
        )

    def decided(step: int, where: State, hint: str = "") -> Body:
        action = where.actions[0].text
        kind = "override" if hint else "approve"
        return Decided(decision=Decision(step=step, kind=kind, action=action, proposed=action, hint=hint))

    def observed(step: int, where: State, to: State, reward: float = 0.0, **more: Any) -> Body:
        return Observed(step=step, action=where.actions[0].text, reward=reward, state=to, **more)

    lamp, slippers = LAMP, SLIPPERS
    memory.write(
        [started(lamp), observed(1, lamp, BULB), observed(2, BULB, place("done", PLAIN), 0.5, terminated=True)], "lamp"
    )
    memory.write(
        [
            started(slippers),
            Proposed(step=1, proposal=proposal(slippers, lamp)),
            decided(1, slippers, hint="not for a birthday"),
            observed(1, slippers, WOOL, reason="like lamp"),
            Labelled(step=1, value=-0.5, comment="no surprise"),
            Proposed(step=2, proposal=proposal(WOOL)),
            decided(2, WOOL),
            observed(2, WOOL, PARCEL, 1.0, terminated=True),
        ],
        "present",
    )
    imported = ImportedAction(action="click[wool]", q=0.5, reason="wool is warm")
    memory.write([Imported(state=WOOL, actions=(imported,), history=("click[slippers]",), source="friends")])
    memory.write([Pinned(key=WOOL.key)])
    memory.write([started(CATALOGUE), EpisodeEnded()], "only looked at")
    again = proposal(LAMP, SLIPPERS, BULB)
    memory.write([started(LAMP), Proposed(step=1, proposal=again), decided(1, LAMP)], "lamp again")
    memory.write(
        [observed(1, LAMP, SHELF, reason=again.candidates[0].reason, nearest=WOOL.key), EpisodeEnded()], "lamp again"
    )
    memory.retrieve(PARCEL)
    memory.label("lamp", 1, 0.25, comment="quite so")


def on_disk(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def known(memory: Memory) -> dict[str, Experience]:
    return {each.key: each for each in memory.experiences()}


def told(store: Store, user: str = "me") -> str:
    """Everything that a store says of a user."""
    said = [event.model_dump_json() for event in store.events(user)]
    said += [each.model_dump_json() for each in store.experiences(user)]
    return "\n".join([*said, *store.vectors(user)])


def test_nothing_of_a_forgotten_task_is_left(store: LanceStore, tmp_path: Path) -> None:
    memory = memory_on(store)
    fill(memory)
    assert all(word in told(store) and word.encode() in on_disk(tmp_path / "memory") for word in SECRETS)
    memory.forget([SLIPPERS.key, WOOL.key])
    said = told(store)
    assert [word for word in SECRETS if word in said] == []
    files = on_disk(tmp_path / "memory")
    assert [word for word in SECRETS if word.encode() in files] == []
    for state in (SLIPPERS, WOOL, PARCEL, CATALOGUE):  # nor what a guess could be checked against
        assert state.key not in said
    assert "lamp" in said
    memory.encoder.encode([TASK])
    assert TASK in memory.encoder.take_fresh()  # had been forgotten here too


@pytest.mark.parametrize("learning", [{}, {"n": 1}, {"n": 1, "bootstrap": "nearest"}, {"alpha": 0.5}])
def test_the_values_of_everything_else_stay(learning: dict[str, Any]) -> None:
    memory = memory_on(InMemoryStore())
    fill(memory, **learning)
    before = known(memory)
    memory.forget([WOOL.key])
    after = known(memory)
    assert after.keys() == before.keys() - {WOOL.key}
    for key, experience in after.items():
        assert [(row.q, row.visits, row.mean_reward, row.labels) for row in experience.actions] == [
            (row.q, row.visits, row.mean_reward, row.labels) for row in before[key].actions
        ]
        assert experience.model_copy(update={"actions": (), "history": ()}) == before[key].model_copy(
            update={"actions": (), "history": ()}
        )


def test_experiences_that_quoted_it_lose_the_quotation_only(store: LanceStore) -> None:
    memory = memory_on(store)
    fill(memory)
    memory.forget([SLIPPERS.key])
    (row,) = memory.experience(LAMP.key).actions
    assert (row.action, row.reason, row.visits) == ("click[lamp]", "", 2)
    proposed = next(each.body for each in store.events("me", episode="lamp again") if isinstance(each.body, Proposed))
    assert [each.key for each in proposed.proposal.recalled] == [BULB.key]
    assert (proposed.proposal.candidates[0].action, proposed.proposal.prompt) == ("click[lamp]", "")
    (labelled,) = [each.body for each in store.events("me", episode="lamp") if isinstance(each.body, Labelled)]
    assert labelled.comment == "quite so"


def test_pages_where_nothing_was_done_go_with_what_led_there_or_with_the_last_of_their_task(store: LanceStore) -> None:
    memory = memory_on(store)
    fill(memory)
    memory.forget([SLIPPERS.key])
    assert [word for word in ("parcel", "catalogue", "wool") if word not in told(store)] == []
    memory.forget([WOOL.key])
    assert [word for word in ("parcel", "catalogue", "wool") if word in told(store)] == []
    assert "shelf" in told(store)


@pytest.mark.parametrize("order", [(SLIPPERS, WOOL), (WOOL, SLIPPERS)])
def test_a_page_to_which_two_ways_led_goes_with_the_second(order: tuple[State, State]) -> None:
    memory = memory_on(InMemoryStore())
    for where in order:
        start = EpisodeStarted(env="nowhere", task_id="t", task=TASK, state=where)
        memory.write(
            [start, Observed(step=1, action="go", reward=0.0, state=PARCEL, terminated=True)], where.observation
        )
    for where, parcel_is_there in zip(order, (True, False), strict=True):
        memory.forget([where.key])
        assert ("parcel" in told(memory.store)) == parcel_is_there


def test_an_experience_stays_where_a_forgotten_step_ended_on_its_page() -> None:
    memory = memory_on(InMemoryStore())
    fill(memory)
    before = memory.experience(LAMP.key)
    start = EpisodeStarted(env="nowhere", task_id="t", task=TASK, state=PARCEL)
    memory.write([start, Observed(step=1, action="go", reward=0.0, state=LAMP, terminated=True)], "back to the lamp")
    memory.forget([PARCEL.key])
    assert memory.experience(LAMP.key) == before


def test_it_is_not_found_any_more_and_can_be_learnt_anew(store: LanceStore) -> None:
    memory = memory_on(store)
    fill(memory)
    memory.forget([SLIPPERS.key, WOOL.key])
    found = {each.experience.key for each in memory.retrieve(SLIPPERS, 100)}
    assert found == known(memory).keys() == {LAMP.key, BULB.key}
    with pytest.raises(UnknownExperience):
        memory.experience(WOOL.key)
    assert {each.key for each in store.experiences("me")} == {LAMP.key, BULB.key}
    start = EpisodeStarted(env="nowhere", task_id="t", task=TASK, state=WOOL)
    memory.write([start, Observed(step=1, action="click[wool]", reward=0.25, state=PARCEL, terminated=True)], "new")
    (row,) = memory.experience(WOOL.key).actions
    assert (row.q, row.visits, memory.experience(WOOL.key).pinned) == (0.25, 1, False)


def test_reopened_and_rebuilt_it_is_the_same(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "memory")) as store:
        memory = memory_on(store)
        fill(memory, n=1)
        memory.forget([WOOL.key])
        before = memory.experiences()
        memory.rebuild()
        assert memory.experiences() == store.experiences("me") == before
    with closing(open_store(tmp_path / "memory")) as store:
        again = memory_on(store)
        assert again.experiences() == store.experiences("me") == before


def test_another_users_memory_is_untouched(store: LanceStore) -> None:
    mine, yours = memory_on(store), memory_on(store, "you")
    fill(mine)
    fill(yours)
    before, vectors = told(store, "you"), store.vectors("you")
    mine.forget([SLIPPERS.key, WOOL.key, LAMP.key])
    assert told(store, "you") == before
    after = store.vectors("you")
    assert {text: vector.tobytes() for text, vector in after.items()} == {
        text: vector.tobytes() for text, vector in vectors.items()
    }
    assert memory_on(store, "you").experiences() == yours.experiences()


def test_what_an_open_task_needs_cannot_be_forgotten_yet(store: LanceStore) -> None:
    memory = memory_on(store)
    fill(memory)
    before = told(store)
    memory.write([EpisodeStarted(env="nowhere", task_id="t", task=TASK, state=SLIPPERS)], "open")
    with pytest.raises(SessionError, match="still open"):
        memory.forget([LAMP.key, SLIPPERS.key])
    memory.write([Observed(step=1, action="go", reward=0.0, state=LAMP)], "open")
    with pytest.raises(SessionError, match="still open"):
        memory.forget([SLIPPERS.key])
    assert known(memory).keys() >= {LAMP.key, SLIPPERS.key}
    assert all(line in told(store) for line in before.splitlines() if "grandmother" in line and '"seq"' in line)
    memory.write([EpisodeEnded()], "open")
    memory.forget([SLIPPERS.key])
    assert SLIPPERS.key not in known(memory)


def test_where_one_key_is_unknown_nothing_is_forgotten(store: LanceStore) -> None:
    memory = memory_on(store)
    fill(memory)
    before = told(store)
    with pytest.raises(UnknownExperience, match="no experience 'nonsense'"):
        memory.forget([WOOL.key, "nonsense"])
    memory.forget([])
    assert told(store) == before


def test_another_memory_on_the_same_store_forgets_too(store: LanceStore) -> None:
    here, there = memory_on(store), memory_on(store)
    fill(here)
    there.retrieve(WOOL)
    there.refresh()
    here.forget([SLIPPERS.key, WOOL.key])
    there.label("lamp", 1, 1.0)
    assert there.experiences() == memory_on(store).experiences()
    there.retrieve(LAMP)
    there.label("lamp", 1, -1.0)
    said = told(store)
    assert [word for word in SECRETS if word in said] == []


def test_what_another_process_writes_while_it_is_forgotten_waits_and_is_whole(tmp_path: Path) -> None:
    """A visit to the page, a pin on it and a word about it come when the log was read but not yet rewritten."""
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as store, closing(open_store(folder)) as other:
        here, there = memory_on(store), memory_on(other)
        fill(here)
        there.refresh()
        there.retrieve(WOOL)
        start = EpisodeStarted(env="nowhere", task_id="t", task=TASK, state=SLIPPERS)
        led = Observed(step=1, action="click[slippers]", reward=0.25, state=PARCEL, terminated=True)
        pins = ThreadPoolExecutor()
        works, waiting = store.replace, list[Future[object]]()

        def replace(*given: Any) -> None:
            waiting.append(pins.submit(there.write, [start, led], "while it was forgotten"))
            waiting.append(pins.submit(there.pin, WOOL.key))
            waiting.append(pins.submit(there.label, "present", 1, 1.0))
            assert not wait(waiting, 0.5).done
            works(*given)

        with mock.patch.object(store, "replace", replace):
            here.forget([SLIPPERS.key, WOOL.key])
        visited, pinned, labelled = waiting
        assert visited.result(60)
        assert isinstance(pinned.exception(60), UnknownExperience)
        labelled.result(60)
        here.refresh()
        (row,) = here.experience(SLIPPERS.key).actions  # learnt anew, from that visit alone
        assert (row.q, row.visits) == (0.25, 1)
        assert memory_on(store).experiences() == here.experiences() == there.experiences() == store.experiences("me")
        assert WOOL.key not in told(store)
        here.forget([SLIPPERS.key])
        files = on_disk(folder)
        assert [word for word in SECRETS if word in told(store) or word.encode() in files] == []
        pins.shutdown()


class Killed(Exception):
    """Nobody catches it."""


STAGES = ["put_experiences", "drop_experiences", "drop_vectors", "replace", "forget_files"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_who_dies_while_forgetting_has_it_forgotten_or_can_do_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, when: str
) -> None:
    def dying(work: Callable[..., Any]) -> Callable[..., Any]:
        def die(*args: Any) -> None:
            if when == "after":
                work(*args)
            raise Killed

        return die

    with closing(open_store(tmp_path / "memory")) as store:
        memory = memory_on(store)
        fill(memory)
        monkeypatch.setattr(store, stage, dying(getattr(store, stage)))
        with pytest.raises(Killed):
            memory.forget([SLIPPERS.key, WOOL.key])
    with closing(open_store(tmp_path / "memory")) as store:
        again = memory_on(store)
        assert store.experiences("me") == again.experiences()
        if left := known(again).keys() & {SLIPPERS.key, WOOL.key}:
            assert left == {SLIPPERS.key, WOOL.key}
            again.forget(left)
        said, files = told(store), on_disk(tmp_path / "memory")
        assert [word for word in SECRETS if word in said or word.encode() in files] == []
