"""The view: up to which event it is right, and pages of it, in the store in memory and the one on disk."""

from contextlib import closing
from pathlib import Path

import pytest

from rememberer.errors import StoreError
from rememberer.events import EpisodeStarted, Observed
from rememberer.memory import Memory
from rememberer.records import ActionValue, Experience
from rememberer.store import Store
from tests.rememberer.encoders import WordEncoder
from tests.storage.conftest import NASTY, event, experience, open_store, state


def test_it_says_up_to_which_event_it_is_right(store: Store) -> None:
    assert store.view_seq("me") == -1
    store.put_experiences("me", [experience("one")], 3)
    store.put_experiences("you", [experience("one")], 1)
    assert (store.view_seq("me"), store.view_seq("you")) == (3, 1)
    store.put_experiences("me", [], 4)
    store.drop_experiences("me", [experience("one").key])
    assert store.view_seq("me") == 4
    store.drop_experiences("me")
    assert (store.view_seq("me"), store.view_seq("you")) == (-1, 1)
    assert store.experiences("you") == [experience("one")]


def _values(store: Store) -> dict[str, float]:
    return {each.state.observation: each.actions[0].q for each in store.experiences("me")}


def test_who_comes_late_puts_no_old_row_over_a_new_one(store: Store) -> None:
    store.put_experiences("me", [experience("one", q=0.5), experience("two", q=0.5)], 5)
    store.put_experiences("me", [experience("one", q=0.1), experience("three", q=0.1)], 3)
    assert _values(store) == {"one": 0.5, "two": 0.5, "three": 0.1}
    assert store.view_seq("me") == 5
    store.put_experiences("me", [experience("one", q=0.7)], 5)
    assert _values(store) == {"one": 0.7, "two": 0.5, "three": 0.1}


def test_what_was_dropped_can_come_back(store: Store) -> None:
    store.put_experiences("me", [experience("one", q=0.1)], 0)
    store.drop_experiences("me", [experience("one").key])
    assert store.page("me", words=["one"]).total == 0
    store.put_experiences("me", [experience("one", q=0.2)], 1)
    assert store.experiences("me") == [experience("one", q=0.2)]
    assert store.page("me", words=["one"]).experiences == [experience("one", q=0.2)]


def test_pages_are_cut_from_what_changed_last(store: Store) -> None:
    every = [experience(f"page {number}", day=number) for number in range(23)]
    store.put_experiences("me", every, 0)
    store.put_experiences("you", [experience("page 1", day=99)], 0)
    assert store.page("me", limit=5).experiences == every[:-6:-1]
    pages = [store.page("me", offset=offset, limit=5) for offset in range(0, 30, 5)]
    assert {page.total for page in pages} == {23}
    assert [each for page in pages for each in page.experiences] == every[::-1]
    again = every[3].model_copy(update={"updated": every[-1].updated.replace(hour=5)})
    store.put_experiences("me", [again], 1)
    assert store.page("me", limit=1).experiences == [again]
    assert store.page("me", key=every[7].key[:10]).experiences == [every[7]]
    assert store.page("me", key="no such key").total == 0


def test_all_words_are_found_in_task_observation_and_actions_in_capitals_or_not(store: Store) -> None:
    scarf = experience("A Page of SCARVES", task="Buy a warm Straße scarf")
    lamp = experience("a page of lamps", task="buy a lamp")
    lamp = lamp.model_copy(update={"actions": (*lamp.actions, ActionValue(action="search[Red Lamp]", q=0.0, visits=0))})
    store.put_experiences("me", [scarf, lamp], 0)

    def found(*words: str) -> list[Experience]:
        return store.page("me", words=words).experiences

    assert found("page") == found("BUY") == found("click[buy]", "of") == found() == store.page("me").experiences
    assert found("scarves") == found("WARM", "scarVES") == found("strasse") == [scarf]
    assert found("lamps", "red") == found("search[red lamp]") == found("lamp", "lamp") == [lamp]
    assert found("scarves", "red") == found("scarves", "nowhere") == []
    assert store.page("me", words=["page"], key=lamp.key).experiences == [lamp]


@pytest.mark.parametrize("word", [*NASTY, "') OR 1=1 --", "%", "_", "a%b_c", "\\", "\\'", "''", '"', "?", "$1", "{x}"])
def test_words_are_looked_for_as_they_are(store: Store, word: str) -> None:
    mine = experience(f"before {word} after")
    acted = experience("another", day=2).model_copy(update={"actions": (ActionValue(action=word, q=0.5, visits=1),)})
    others = [experience("nothing of the kind", day=3), experience("axxxbyc", day=4)]
    store.put_experiences("me", [mine, acted, *others], 0)
    store.put_experiences("you", [experience(f"{word} is not theirs")], 0)
    found = store.page("me", words=[word])
    assert {each.key for each in found.experiences} >= {mine.key, acted.key}
    if word.strip():
        assert found.total == 2
    assert store.page("me", key=word).total == (0 if word else 4)
    assert len(store.experiences("me")) == 4


def _start(observation: str) -> EpisodeStarted:
    return EpisodeStarted(env="nowhere", task_id="t", task="task", state=state(observation, "task"))


def _walk(memory: Memory, episode: str, *observations: str) -> None:
    """Single steps, each written by itself."""
    memory.write([_start(observations[0])], episode)
    for step, page in enumerate(observations[1:], 1):
        over = step == len(observations) - 1
        done = Observed(step=step, action="click[buy]", reward=0.25, state=state(page, "task"), terminated=over)
        memory.write([done], episode)


def _dies(*_: object) -> None:
    raise StoreError("killed")


def _memory(store: Store) -> Memory:
    return Memory(store, encoder=WordEncoder(), tables=lambda env: None)


@pytest.mark.parametrize("knew", ["it was open", "it had learnt it", "it is opened after"])
def test_what_one_wrote_to_the_log_and_not_to_the_view_another_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knew: str
) -> None:
    folder = tmp_path / "memory"
    with closing(open_store(folder)) as one, closing(open_store(folder)) as two:
        here = _memory(one)
        _walk(here, "first", "a", "b", "c")
        there = _memory(two) if knew != "it is opened after" else None
        with monkeypatch.context() as dying:
            dying.setattr(one, "put_experiences", _dies)
            here.label("first", 1, -1.0)
            _walk(here, "second", "b", "d", "e")
        assert one.experiences("me") != here.experiences()
        if there and knew == "it had learnt it":
            there.refresh()
        there = there or _memory(two)
        _walk(there, "third", "x", "y")  # touches nothing of what the other one has
        there.refresh()
        assert two.experiences("me") == there.experiences()
        _walk(here, "fourth", "y", "z")
        assert one.experiences("me") == here.experiences()


def test_a_view_that_is_right_is_not_read_or_written_on_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_store(tmp_path / "memory")) as store:
        memory = _memory(store)
        _walk(memory, "first", "a", "b", "c")
        memory.write([_start("a")], "touches none")
        for method in ("put_experiences", "drop_experiences", "experiences", "page"):
            monkeypatch.setattr(store, method, _dies)
        assert len(_memory(store)) == 2


def test_a_view_without_rows_of_its_user_is_made_from_the_log(store: Store) -> None:
    memory = _memory(store)
    _walk(memory, "first", "a", "b", "c")
    store.append([event("you")])
    store.drop_experiences("me")
    assert _memory(store).experiences() == store.experiences("me") == memory.experiences()
