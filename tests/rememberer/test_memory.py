"""A user's memory: what is written is learnt, found again, and there after a restart; on LanceDB."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from rememberer.embedding import Matrix
from rememberer.errors import NoSuchStep, SessionError, StoreError, UnknownEpisode, UnknownExperience
from rememberer.events import Body, EpisodeEnded, EpisodeStarted, Event, Labelled, Observed
from rememberer.memory import Memory
from rememberer.policy import Retrieved
from rememberer.records import State
from rememberer.store import InMemoryStore
from storage import LanceStore
from tests.rememberer.conftest import open_store
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.logs import logs, page, patient
from tests.rememberer.worlds import memory_on

SHOES = "buy a red shoe"


def place(observation: str, task: str = SHOES) -> State:
    return State(env="nowhere", task=task, observation=observation, kind="page")


def walk(
    memory: Memory, episode: str, *observations: str, task: str = SHOES, end: bool = True, reward: float = 1.0
) -> None:
    """An episode through these pages by the action "go"; the last page is its end, where `reward` is given."""
    pages = [place(each, task) for each in observations]
    bodies: list[Body] = [EpisodeStarted(env="nowhere", task_id="t", task=task, state=pages[0])]
    for step, to in enumerate(pages[1:], 1):
        last = end and step == len(pages) - 1
        bodies.append(Observed(step=step, action="go", reward=reward if last else 0.0, state=to, terminated=last))
    memory.write(bodies, episode)


def names(found: Sequence[Retrieved]) -> list[str]:
    return [each.experience.state.observation for each in found]


def seen(memory: Memory) -> Any:
    """All that a person and a policy can see of a memory."""
    return memory.experiences(), memory.retrieve(place("a small red shoe"), 100), memory.episodes()


def test_the_most_similar_comes_first_and_what_is_unlike_is_not_used(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "end")
    walk(memory, "two", "a green hat with feathers", "end", task="find some present for grandmother")
    walk(memory, "three", "a red boot", "end")
    found = memory.retrieve(place("a red shoe"))
    assert names(found) == ["a red shoe", "a red boot", "a green hat with feathers"]
    assert [each.used for each in found] == [True, True, False]
    assert found[0].similarity == pytest.approx(1)
    for each in found:
        assert each.similarity == pytest.approx((each.task + each.observation) / 2)
        assert each.used == (each.similarity >= memory.threshold)
    assert found[0].experience == memory.experience(place("a red shoe").key)
    assert names(memory.retrieve(place("a red shoe"), limit=2)) == ["a red shoe", "a red boot"]


def test_another_world_is_not_looked_at(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "end")
    elsewhere = place("a red shoe").model_copy(update={"env": "elsewhere"})
    assert memory.retrieve(elsewhere) == []


def test_equally_similar_ones_by_visits_then_by_age(memory: Memory) -> None:
    for episode in range(4):
        walk(memory, f"e{episode}", f"page{episode}", "end", task=f"task{episode % 2}")
    walk(memory, "again", "page2", "end", task="task0")

    def by_task(env: str) -> dict[tuple[str, str], float]:
        return {("page", "page"): 1.0}

    for opened in (memory, memory_on(memory.store)):
        kinds = Memory(opened.store, "me", WordEncoder(), tables=by_task)
        assert names(kinds.retrieve(place("?", "task0"), 2)) == ["page2", "page0"]
        assert names(kinds.retrieve(place("?", "task1"), 2)) == ["page1", "page3"]


def test_visits_that_come_later_count_for_the_order_too(memory: Memory) -> None:
    alike = Memory(memory.store, "me", WordEncoder(), tables=lambda env: {("page", "page"): 1.0})
    walk(alike, "one", "first", "end")
    walk(alike, "two", "second", "end")
    assert names(alike.retrieve(place("?"))) == ["first", "second"]
    walk(alike, "three", "second", "end")
    assert names(alike.retrieve(place("?"))) == ["second", "first"]


def test_what_is_just_as_similar_as_the_threshold_is_used(memory: Memory) -> None:
    walk(memory, "one", "a red boot", "end")
    (found,) = memory.retrieve(place("a red shoe"))
    memory.threshold = found.similarity
    (found,) = memory.retrieve(place("a red shoe"))
    assert found.used


def test_an_open_episode_is_no_evidence_for_itself_until_somebody_judges_it(memory: Memory) -> None:
    walk(memory, "mine", "one", "two", "three", end=False)
    assert names(memory.retrieve(place("one"), episode="mine")) == []
    assert set(names(memory.retrieve(place("one"), episode="another"))) == {"one", "two"}
    memory.label("mine", 1, 1.0)
    assert names(memory.retrieve(place("one"), episode="mine")) == ["one"]
    memory.write([EpisodeEnded()], "mine")
    assert set(names(memory.retrieve(place("one"), episode="mine"))) == {"one", "two"}


def test_what_is_left_out_does_not_use_up_the_limit(memory: Memory) -> None:
    walk(memory, "old", "a page seen before", "end")
    walk(memory, "mine", "now 1", "now 2", "now 3", "now 4", end=False)
    assert names(memory.retrieve(place("now 1"), 1, episode="mine")) == ["a page seen before"]


def test_writing_never_encodes(store: LanceStore) -> None:
    encoder = WordEncoder()
    encoder.forbidden = True
    memory = memory_on(store, encoder=encoder)
    walk(memory, "one", "a red shoe", "a blue shoe", "end")
    memory.label("one", 1, -1.0)
    memory.withdraw("one", 1)
    memory.pin(place("a red shoe").key)
    assert len(memory_on(store, encoder=encoder)) == len(memory) == 2


def test_writing_does_not_wait_for_a_model_that_somebody_else_waits_for(store: LanceStore) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(WordEncoder):
        def encode(self, texts: Sequence[str]) -> Matrix:
            begun.set()
            assert go_on.wait(30)
            return super().encode(texts)

    memory = memory_on(store, encoder=Slow())
    walk(memory, "one", "a red shoe", "end")
    with ThreadPoolExecutor(2) as pool:
        retrieved = pool.submit(memory.retrieve, place("a red shoe"))
        try:
            assert begun.wait(30)
            assert len(pool.submit(memory.label, "one", 1, -1.0).result(30)) == 1
        finally:
            go_on.set()
        assert [each.experience.actions[0].q for each in retrieved.result()] == [0.0]


def test_what_was_encoded_is_kept_with_the_next_thing_written(store: LanceStore) -> None:
    memory = memory_on(store)
    walk(memory, "one", "a red shoe", "end")
    memory.retrieve(place("a blue shoe"))
    memory.label("one", 1, 1.0)
    encoder = WordEncoder()
    encoder.forbidden = True
    assert names(memory_on(store, encoder=encoder).retrieve(place("a blue shoe"))) == ["a red shoe"]


def test_a_model_that_fails_once_loses_nothing(store: LanceStore) -> None:
    class Fails(WordEncoder):
        broken = True

        def encode(self, texts: Sequence[str]) -> Matrix:
            if self.broken:
                raise StoreError("The model is not there.")
            return super().encode(texts)

    encoder = Fails()
    memory = memory_on(store, encoder=encoder)
    walk(memory, "one", "a red shoe", "end")
    with pytest.raises(StoreError):
        memory.retrieve(place("a red shoe"))
    encoder.broken = False
    assert names(memory.retrieve(place("a red shoe"))) == ["a red shoe"]


def test_all_is_there_after_a_restart(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "memory")) as store:
        memory = memory_on(store)
        walk(memory, "one", "a red shoe", "a blue shoe", "end")
        walk(memory, "two", "a red boot", "a blue shoe", end=False)
        memory.label("one", 1, -0.5)
        memory.pin(place("a blue shoe").key)
        before = seen(memory)
        labels = memory.labels("one")
    with closing(open_store(tmp_path / "memory")) as store:
        again = memory_on(store)
        assert seen(again) == before
        assert again.labels("one") == labels == {1: -0.5}


def test_the_copy_on_disk_follows_every_write(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "a blue shoe", "end", end=False)
    memory.label("one", 1, -0.5)
    assert memory.store.experiences("me") == memory.experiences()
    memory.write([EpisodeEnded()], "one")
    assert memory.store.experiences("me") == memory.experiences()
    assert {each.outcome for each in memory.store.experiences("me")} == {"stopped"}


class LosesRows(InMemoryStore):
    """Dies between the log and the view."""

    def put_experiences(self, user: str, experiences: Any, seq: int) -> None:
        raise StoreError("The disk is full.")


@pytest.mark.parametrize("reopened", [True, False])
def test_a_view_that_missed_a_write_is_mended_on_opening_or_with_the_next_write(reopened: bool) -> None:
    store = LosesRows()
    memory = memory_on(store)
    walk(memory, "one", "a red shoe", "end")  # it is in the log, so it was not refused
    store.__class__ = InMemoryStore  # type: ignore[assignment]
    assert store.experiences("me") == []
    if reopened:
        memory = memory_on(store)
    else:
        walk(memory, "two", "a blue shoe", "end")
    assert store.experiences("me") == memory.experiences()
    assert len(memory) == 2 - reopened


def test_rows_of_the_view_that_the_log_knows_nothing_of_go_when_it_is_made_anew(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "end")
    (true,) = memory.experiences()
    stray = true.model_copy(update={"state": place("a page from nowhere")})
    memory.store.put_experiences("me", [stray], 99)
    assert memory.rebuild() == 1
    assert memory.experiences() == memory.store.experiences("me") == [true]


def test_two_memories_on_one_store_see_each_other(store: LanceStore) -> None:
    here, there = memory_on(store), memory_on(store)
    walk(here, "one", "a red shoe", "end")
    assert there.experiences() == []
    (change,) = there.refresh()
    assert (change.old, change.new) == (None, 1.0)
    assert there.refresh() == []
    there.label("one", 1, -1.0)
    walk(here, "two", "a blue shoe", "end")  # also learns the label that came between
    assert here.experience(place("a red shoe").key).actions[0].q == 0.0
    there.refresh()
    assert seen(here) == seen(there)
    assert store.experiences("me") == here.experiences()


def test_what_others_wrote_between_ones_own_events_is_not_missed(store: LanceStore) -> None:
    """A retry: of two events the first is in the log already, written by another process, and then others came."""
    here, there = memory_on(store), memory_on(store)
    started = EpisodeStarted(env="nowhere", task_id="t", task=SHOES, state=place("a red shoe"))
    there.write([started], "one", ["started"])
    walk(there, "two", "a blue shoe", "end")
    observed = Observed(step=1, action="go", reward=1.0, state=place("end"), terminated=True)
    here.write([started, observed], "one", ["started", "observed"])
    assert {each.state.observation for each in here.experiences()} == {"a red shoe", "a blue shoe"}
    there.refresh()
    assert here.experiences() == there.experiences()


def test_an_id_that_the_log_has_tells_the_second_writer(store: LanceStore) -> None:
    here, there = memory_on(store), memory_on(store)
    walk(here, "one", "a red shoe", "end")
    there.refresh()
    first, moved = here.append([Labelled(step=1, value=1.0)], "one", ["label"])
    assert (first[0].body, len(moved)) == (Labelled(step=1, value=1.0), 1)
    second, _ = there.append([Labelled(step=1, value=-1.0)], "one", ["label"])
    assert second == first
    assert there.labels("one") == here.labels("one") == {1: 1.0}
    assert len(store.events("me")) == 3
    third, moved = here.append([Labelled(step=1, value=-1.0)], "one", ["label"])
    assert (third, moved) == (first, [])


def test_users_never_see_each_other(store: LanceStore) -> None:
    mine, yours = memory_on(store, "me"), memory_on(store, "you")
    walk(mine, "one", "a red shoe", "end")
    yours.refresh()
    assert yours.experiences() == yours.retrieve(place("a red shoe")) == yours.episodes() == []
    key = place("a red shoe").key
    for refused, problem in (
        (lambda: yours.experience(key), UnknownExperience),
        (lambda: yours.pin(key), UnknownExperience),
        (lambda: yours.forget([key]), UnknownExperience),
        (lambda: yours.explain(key, "go"), UnknownExperience),
        (lambda: yours.label("one", 1, 1.0), UnknownEpisode),
    ):
        with pytest.raises(problem):
            refused()
    walk(yours, "one", "a red shoe", "end", reward=0.25)
    assert [each.actions[0].q for each in mine.experiences() + yours.experiences()] == [1.0, 0.25]
    assert memory_on(store, "me").experiences() == mine.experiences()


def test_a_label_tells_what_moved_and_can_be_taken_back(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "a blue shoe", "end")
    before = memory.experiences()
    changes = memory.label("one", 1, -0.5, comment="not that one")
    key = place("a red shoe").key
    assert [(each.key, each.action, each.old, each.new) for each in changes] == [(key, "go", 1.0, 0.5)]
    (target,) = memory.explain(key, "go").targets
    assert (target.rewards, target.labels) == ((-0.5, 1.0), (-0.5, None))
    assert len(memory.withdraw("one", 1)) == 1
    assert memory.experiences() == before
    assert memory.labels("one") == {}


@pytest.mark.parametrize("value", [1.5, -1.01, float("nan"), float("inf")])
def test_a_reward_out_of_range_is_refused(memory: Memory, value: float) -> None:
    walk(memory, "one", "a red shoe", "end")
    with pytest.raises(SessionError, match="from -1 to 1"):
        memory.label("one", 1, value)
    assert memory.labels("one") == {}
    assert len(memory.store.events("me")) == 2


def test_only_steps_that_were_taken_can_be_rewarded(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "end")
    refusals: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: memory.label("one", 2, 1.0), NoSuchStep, "Steps 1 to 1 were taken"),
        (lambda: memory.label("one", -1, 1.0), NoSuchStep, "no step -1"),
        (lambda: memory.label("two", 1, 1.0), UnknownEpisode, "'two'"),
        (lambda: memory.withdraw("one", 1), NoSuchStep, "no reward of yours"),
    ]
    for refused, problem, words in refusals:
        with pytest.raises(problem, match=words):
            refused()
    assert len(memory.store.events("me")) == 2


def test_pinning_holds_until_it_is_taken_back(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "end")
    key = place("a red shoe").key
    memory.pin(key)
    assert memory.experience(key).pinned
    assert memory_on(memory.store).experience(key).pinned
    memory.pin(key, False)
    assert not memory.experience(key).pinned


def test_rebuilding_makes_view_and_embeddings_again(memory: Memory) -> None:
    walk(memory, "one", "a red shoe", "a blue shoe", "end")
    before = seen(memory)
    memory.label("one", 1, 0.0)  # has the embeddings kept
    vectors = memory.store.vectors("me")
    memory.withdraw("one", 1)
    memory.store.drop_experiences("me")
    memory.store.put_vectors("me", {"a text of long ago": vectors[SHOES]})
    assert memory.rebuild() == 2
    assert seen(memory) == before
    assert memory.store.experiences("me") == memory.experiences()
    assert set(memory.store.vectors("me")) == {SHOES, "a red shoe", "a blue shoe"}


@patient
@given(logs())
def test_any_log_is_the_same_memory_live_reopened_and_rebuilt(log: list[Event]) -> None:
    store = InMemoryStore()
    live = memory_on(store)
    for event in log:
        live.write([event.body], event.episode)
    here = page("one")
    kept, found = live.experiences(), live.retrieve(here, 100)
    assert sorted(kept, key=lambda each: each.key) == sorted(store.experiences("me"), key=lambda each: each.key)
    reopened = memory_on(store)
    assert (reopened.experiences(), reopened.retrieve(here, 100)) == (kept, found)
    live.rebuild()
    assert (live.experiences(), live.retrieve(here, 100)) == (kept, found)
