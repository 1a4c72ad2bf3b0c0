"""What every store does: each test runs against the one in memory and the one on disk."""

import numpy as np
import pytest

from rememberer.events import EpisodeStarted, Forgotten, Imported, ImportedAction, Labelled, Pinned
from rememberer.store import Page, Store
from tests.conftest import NIGHTLY
from tests.storage.conftest import NASTY, episode, event, experience, in_eight_threads, state


def test_events_come_back_as_they_were_in_order(store: Store) -> None:
    events = episode()
    stored = store.append(events)
    assert [each.seq for each in stored] == list(range(len(events)))
    assert [each.model_copy(update={"seq": -1}) for each in stored] == events
    assert store.events("me") == stored


def test_numbers_go_on_where_they_stopped(store: Store) -> None:
    store.append(episode(name="one"))
    before = len(store.events("me"))
    (stored,) = store.append([event()])
    assert stored.seq == before
    assert store.events("me", after=before - 1) == [stored]
    assert store.events("me", after=before) == []


def test_an_episode_is_read_by_its_name(store: Store) -> None:
    store.append(episode(name="one"))
    two = store.append(episode(name="two"))
    assert store.events("me", episode="two") == two
    assert store.events("me", after=two[0].seq, episode="two") == two[1:]
    assert store.events("me", episode="three") == []


def test_an_event_is_stored_once_however_often_it_is_appended(store: Store) -> None:
    first = event(body=Pinned(key="as it was"))
    (stored,) = store.append([first])
    again = first.model_copy(update={"body": Pinned(key="changed")})
    assert store.append([again]) == [stored]
    fresh = event()
    assert [each.seq for each in store.append([fresh, again, fresh])] == [1, 0, 1]
    assert len(store.events("me")) == 2


def test_nothing_is_nothing(store: Store) -> None:
    assert store.append([]) == []
    assert store.users() == []
    assert store.events("me") == []
    assert store.experiences("me") == []
    assert store.vectors("me") == {}
    assert store.view_seq("me") == -1
    assert store.page("me") == Page([], 0)
    store.put_vectors("me", {})
    store.drop_experiences("me")
    store.drop_experiences("me", ["nowhere"])
    store.drop_vectors("me")
    store.drop_vectors("me", ["nowhere"])
    store.forget_files()


def test_replaced_events_keep_their_place(store: Store) -> None:
    stored = store.append(episode())
    changed = [each.model_copy(update={"body": Pinned(key="redacted"), "seq": 99}) for each in stored[1:3]]
    store.replace("me", changed, event(body=Forgotten(stand_ins=("x",))))
    bodies = [each.body for each in store.events("me")]
    assert [each.seq for each in store.events("me")] == list(range(len(stored) + 1))
    assert bodies[1] == bodies[2] == Pinned(key="redacted")
    assert bodies[3:-1] == [each.body for each in stored[3:]]
    assert bodies[-1] == Forgotten(stand_ins=("x",))
    assert store.append([stored[1]])[0].body == Pinned(key="redacted")
    (later,) = store.append([event()])
    assert later.seq == len(stored) + 1


def test_experiences_are_overwritten_by_key_and_come_oldest_first(store: Store) -> None:
    new, old = experience("new", day=9), experience("old", day=1)
    store.put_experiences("me", [new, old], 0)
    better = old.model_copy(update={"visits": 7, "updated": new.updated, "pinned": True})
    store.put_experiences("me", [better], 1)
    assert store.experiences("me") == [better, new]
    last = better.model_copy(update={"visits": 8})
    store.put_experiences("me", iter([better, last]), 2)
    assert store.experiences("me") == [last, new]
    store.drop_experiences("me", [new.key, "nowhere"])
    assert store.experiences("me") == [last]
    store.drop_experiences("me", [])
    assert store.experiences("me") == [last]
    store.drop_experiences("me")
    assert store.experiences("me") == []


def test_an_experience_without_executed_actions_comes_back(store: Store) -> None:
    only_rejected = experience().model_copy(update={"actions": (), "visits": 0})
    store.put_experiences("me", [only_rejected], 3)
    assert store.experiences("me") == [only_rejected]


def test_embeddings_come_back_to_the_bit_and_stay_as_they_are(store: Store) -> None:
    one, two = np.random.default_rng(1).standard_normal((2, 384)).astype(np.float32)
    store.put_vectors("me", {"one": one})
    store.put_vectors("me", {"one": two, "two": two})
    kept = store.vectors("me")
    assert sorted(kept) == ["one", "two"]
    assert kept["one"].dtype == np.float32
    np.testing.assert_array_equal(kept["one"], one)
    np.testing.assert_array_equal(kept["two"], two)
    store.drop_vectors("me", ["one", "nowhere"])
    assert list(store.vectors("me")) == ["two"]
    store.drop_vectors("me", [])
    assert list(store.vectors("me")) == ["two"]
    store.drop_vectors("me")
    assert store.vectors("me") == {}


def test_any_text_comes_back_verbatim_from_everywhere(store: Store) -> None:
    for number, text in enumerate(NASTY):
        body = EpisodeStarted(env=text, task_id=text, task=text, state=state(text, text, text, text))
        rows = (ImportedAction(action=text, q=0.5, reason=text),)
        store.append([event(text, body=body, episode=text, id=text)])
        store.append([event(text, body=Imported(state=state(text), actions=rows, source=text), episode="another")])
        store.put_experiences(text, [experience(text, task=text)], 0)
        store.put_vectors(text, {text: np.full(3, number, np.float32)})
    assert store.users() == sorted(NASTY)
    for number, text in enumerate(NASTY):
        started, imported = store.events(text)
        assert started.user == started.id == started.episode == text
        assert isinstance(started.body, EpisodeStarted)
        assert started.body.state == state(text, text, text, text)
        assert isinstance(imported.body, Imported)
        assert imported.body.actions[0].reason == text
        assert store.events(text, episode=text) == [started]
        assert store.experiences(text) == [experience(text, task=text)]
        ((kept, vector),) = store.vectors(text).items()
        assert kept == text
        assert vector.tolist() == [number] * 3


def test_nobody_sees_or_touches_what_is_anothers(store: Store) -> None:
    users = [*NASTY, "me", "Me"]
    for user in users:
        store.append(episode(user, "e"))
        store.put_experiences(user, [experience()], 0)
        store.put_vectors(user, {"text": np.ones(3, np.float32)})
    mine = store.events("me")
    for user in users[:-2]:
        redacted = [each.model_copy(update={"body": Pinned(key="x")}) for each in store.events(user)]
        store.replace(user, redacted, event(user))
        store.drop_experiences(user)
        store.drop_vectors(user)
        assert store.experiences(user) == []
        assert store.vectors(user) == {}
    store.forget_files()
    assert store.events("me") == mine
    for user in users[-2:]:
        assert [type(each.body) for each in store.events(user)] == [type(each.body) for each in mine]
        assert store.experiences(user) == [experience()]
        assert list(store.vectors(user)) == ["text"]


def test_eight_threads_lose_nothing_and_number_everything_once(store: Store, request: pytest.FixtureRequest) -> None:
    labels = 10 if "bucket" in request.node.name and not NIGHTLY else 100  # the server of the test is a slow one

    def label(thread: int) -> None:
        for step in range(labels):
            body = Labelled(step=step, value=0.5)
            (stored,) = store.append([event(f"user {thread % 2}", body=body, episode=str(thread))])
            assert stored.seq >= 0

    in_eight_threads(label)
    for user in ("user 0", "user 1"):
        events = store.events(user)
        assert [each.seq for each in events] == list(range(4 * labels))
        assert len({each.id for each in events}) == 4 * labels
    for number in range(8):
        said = [each.body for each in store.events(f"user {number % 2}", episode=str(number))]
        assert [body.step for body in said if isinstance(body, Labelled)] == list(range(labels))


def test_closing_twice_is_harmless(store: Store) -> None:
    store.append([event()])
    store.close()
    store.close()
