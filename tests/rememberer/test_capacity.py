"""A full memory: what leaves, what stays, and that nothing is lost."""

import logging
from typing import Any

import pytest

from rememberer.errors import StoreError, UnknownExperience
from rememberer.events import Dropped, EpisodeStarted, Imported, ImportedAction, Observed
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.records import State
from rememberer.store import InMemoryStore
from storage import LanceStore
from tests.rememberer.encoders import OverlapEncoder, WordEncoder
from tests.rememberer.logs import table
from tests.rememberer.test_learning_goldens import TASK, assert_same, load, state
from tests.rememberer.test_memory import names, place, walk


@pytest.mark.parametrize("case", ["g044_item_cap_2", "g046_item_cap_dup_refused", "g047_item_cap_unreached"])
def test_golden(case: str) -> None:
    golden: dict[str, Any] = load(case)
    texts = {part for call in golden["calls"] for part in call["step"][:2]}
    memory = Memory(
        InMemoryStore(),
        encoder=OverlapEncoder(sorted(texts)),
        capacity=golden["settings"]["item_capacity"],
        tables=lambda env: None,
    )
    episode, step = "", 0
    for number, call in enumerate(golden["calls"]):
        now = state(call["step"])
        if call["action"] is None:
            episode, step = f"e{number}", 0
            memory.write([EpisodeStarted(env="toy", task_id="0", task=TASK, state=now)], episode)
        else:
            step += 1
            end, action = call["last_step"], call["action"][0]
            memory.write(
                [Observed(step=step, action=action, reward=call["reward"], state=now, terminated=end)], episode
            )
        memory.retrieve(now)
    assert_same(Learner(memory.store.events("me")), golden["expected_result"], golden)


def full(store: Any, capacity: int = 2) -> Memory:
    return Memory(store, "me", WordEncoder(), capacity=capacity, tables=lambda env: None)


def load_page(memory: Memory, observation: str, visits: int = 1) -> None:
    row = ImportedAction(action="go", q=0.5, visits=visits)
    memory.write([Imported(state=place(observation), actions=(row,), visits=visits)])


def seen(memory: Memory) -> list[str]:
    return sorted(each.state.observation for each in memory.experiences())


def test_of_the_two_most_alike_the_one_that_was_visited_less_leaves(store: LanceStore) -> None:
    memory = full(store)
    for observation, visits in (("a red shoe", 1), ("something else entirely", 1), ("a red shoe here", 5)):
        load_page(memory, observation, visits)
    assert len(memory) == 3
    memory.retrieve(place("now"))
    assert seen(memory) == ["a red shoe here", "something else entirely"]
    (dropped,) = [each.body for each in store.events("me") if isinstance(each.body, Dropped)]
    assert (dropped.key, dropped.like) == (place("a red shoe").key, place("a red shoe here").key)
    one, other = WordEncoder().encode(["a red shoe", "a red shoe here"])
    assert dropped.similarity == pytest.approx(0.5 + 0.5 * float(one @ other), abs=1e-6)
    assert store.experiences("me") == memory.experiences()
    with pytest.raises(UnknownExperience, match="which was full, any more"):
        memory.experience(dropped.key)
    reopened = full(store)
    assert reopened.experiences() == memory.experiences()
    assert names(reopened.retrieve(place("a red shoe"))) == names(memory.retrieve(place("a red shoe")))


def test_what_is_pinned_stays_and_a_memory_full_of_it_grows(store: LanceStore) -> None:
    memory = full(store)
    pages = ["a red shoe", "a red shoe here", "a red shoe there"]
    for page in pages[:2]:
        load_page(memory, page)
        memory.pin(place(page).key)
    load_page(memory, pages[2], visits=9)
    memory.retrieve(place("now"))
    assert seen(memory) == pages[:2]
    load_page(memory, pages[2])
    memory.pin(place(pages[2]).key)
    memory.retrieve(place("now"))
    assert seen(memory) == pages


def test_what_left_comes_back_with_all_that_was_known_when_it_is_met_again(store: LanceStore) -> None:
    memory = full(store)
    walk(memory, "one", "a red shoe", "end")
    load_page(memory, "a red shoe here", visits=9)
    load_page(memory, "something else entirely", visits=9)
    memory.retrieve(place("now"))
    assert seen(memory) == ["a red shoe here", "something else entirely"]
    memory.label("one", 1, -0.5)  # counts, although nobody sees it now
    walk(memory, "two", "a red shoe", "end", reward=0.0)
    assert memory.explain(place("a red shoe").key, "go").q == 0.25
    assert [each.value for each in memory.explain(place("a red shoe").key, "go").targets] == [0.5, 0.0]
    memory.retrieve(place("now"))
    assert len(memory) == 2


def test_nothing_leaves_a_memory_that_is_not_full(store: LanceStore) -> None:
    memory = full(store)
    load_page(memory, "a red shoe")
    load_page(memory, "a red shoe here")
    memory.retrieve(place("now"))
    assert len(memory) == 2


def test_a_large_import_is_cut_to_size_at_once() -> None:
    memory = full(InMemoryStore(), capacity=20)
    pages = [f"page {number} of {number % 7} shoes" for number in range(100)]
    rows = (ImportedAction(action="go", q=0.5),)
    memory.write([Imported(state=place(each), actions=rows) for each in pages])
    memory.retrieve(place("now"))
    assert len(memory) == len(memory.experiences()) == 20
    assert table(full(memory.store, 20).experiences()) == table(memory.experiences())


def test_worlds_share_the_room(store: LanceStore) -> None:
    memory = full(store)
    for env in ("here", "there"):
        row = (ImportedAction(action="go", q=0.5),)
        page = State(env=env, task="t", observation="a red shoe", kind="page")
        memory.write([Imported(state=page, actions=row)])
    load_page(memory, "a red shoe")
    load_page(memory, "a blue shoe")
    memory.retrieve(place("now"))
    assert sorted(each.state.env for each in memory.experiences()) == ["here", "nowhere", "there"]


def test_where_it_cannot_be_written_that_something_left_it_stays(
    store: LanceStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    memory = full(store)
    for page in ("a red shoe", "a red shoe here", "something else entirely"):
        load_page(memory, page)
    with monkeypatch.context() as broken:

        def refuse(*_: object) -> list[Any]:
            raise StoreError("The disk is full.")

        broken.setattr(store, "append", refuse)
        with caplog.at_level(logging.WARNING):
            assert len(memory.retrieve(place("a red shoe"))) == 3
    assert "could not be made smaller: The disk is full." in caplog.text
    assert len(memory.retrieve(place("a red shoe"))) == 2
