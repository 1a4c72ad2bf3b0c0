"""A memory that is worked with for long stays clean and small, and nobody ever has to call anything."""

import threading
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from rememberer.events import EpisodeStarted, Observed
from rememberer.memory import Memory
from rememberer.records import State
from rememberer.session import Session
from storage import LanceStore
from tests.rememberer.worlds import Corridor, memory_on
from tests.storage.conftest import state
from tests.storage.test_kills import Yes
from tests.storage.working import Reminded


def _open(folder: Path) -> LanceStore:
    return LanceStore(folder, embedding_model="words")


class _Watch:
    """Counts versions of every table all the time."""

    def __init__(self, folder: Path) -> None:
        self.most: dict[str, int] = defaultdict(int)
        self.looks = 0
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "_Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.looks += 1
            for table in self._folder.glob("*.lance"):
                versions = len(list(table.glob("_versions/*.manifest")))
                self.most[table.stem] = max(self.most[table.stem], versions)


def _one_by_one(memory: Memory, updates: int) -> None:
    """So many steps of episodes of ten, over twenty tasks, each written for itself; words are encoded as they come."""
    here = [[state(f"page {step} of {task}", f"task {task}") for step in range(11)] for task in range(20)]
    for number in range(updates // 10):
        pages = here[number % 20]
        start = EpisodeStarted(env="nowhere", task_id="t", task=pages[0].task, state=pages[0])
        memory.write([start], str(number))
        for step in range(1, 11):
            _embed(memory, pages[step], number)
            done = Observed(step=step, action=f"go {number % 3}", reward=0.1, state=pages[step], terminated=step == 10)
            memory.write([done], str(number))


def _embed(memory: Memory, page: State, number: int) -> None:
    memory.encoder.encode([f"{page.observation} {number // 40}"])


@pytest.mark.parametrize("updates", [160, pytest.param(5000, marks=pytest.mark.nightly)])
def test_single_updates_leave_few_versions_and_little_on_disk(
    tmp_path: Path, updates: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "memory"
    with _Watch(folder) as watch, closing(_open(folder)) as store:
        memory = memory_on(store)
        _one_by_one(memory, updates)
    with closing(_open(folder)) as store:
        size = store.stats()
        assert memory_on(store).experiences() == memory.experiences() == store.experiences("me")
        store.forget_files()
        least = store.stats()
    tables = [(name, getattr(size, name), getattr(least, name)) for name in ("log", "states", "values", "vectors")]
    if updates > 1000:
        with capsys.disabled():
            print(f"\n{updates} updates, versions at most and size to the least size:")
            for name, now, then in tables:
                print(f"  {name}: {watch.most[name]}, {now.bytes / then.bytes:.2f}")
    assert watch.looks > 10
    for name, now, then in tables:
        assert 0 < watch.most[name] <= 100
        assert now.rows == then.rows
        assert now.bytes <= 3 * then.bytes


@pytest.mark.parametrize("least", [50, pytest.param(200, marks=pytest.mark.nightly)])
def test_the_same_pages_again_and_again_are_remembered_once(tmp_path: Path, least: int) -> None:
    """So many steps over 20 states; and the words that memory gave back are in no state and no experience."""
    folder = tmp_path / "memory"
    with closing(_open(folder)) as store:
        memory = memory_on(store)
        steps = 0
        while steps < least:
            for task in range(7):
                session = Session.start(memory, Corridor(), f"own:task {task}", Reminded())
                session.run(Yes())
                steps += len(session.transcript.actions)
        assert session.transcript.turns[0].proposals[0].prompt  # it was reminded, and said so
        states = {(each.state.task, each.state.observation) for each in memory.experiences()}
        assert len(memory) == len(states) == 21
        assert sum(row.visits for each in memory.experiences() for row in each.actions) == steps
        for table, column in ((store._view.states, "payload"), (store._view.values, "id"), (store._vectors, "text")):
            rows = Counter(table.read([column])[column].to_pylist())
            assert max(rows.values()) == 1
        assert store.stats().states.rows == 21
        # What was embedded is what the world showed: tasks, pages, labels of actions.
        pages = {each.state for each in memory.experiences()}
        shown = {word for page in pages for word in (page.task, page.observation, *(a.label for a in page.actions))}
        for text in store.vectors("me"):
            assert text in shown or text.startswith("place 3")
        assert not any("as in" in each.state.model_dump_json() for each in memory.experiences())
