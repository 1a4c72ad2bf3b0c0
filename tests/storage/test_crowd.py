"""Many at once on one memory, in threads and in processes: everything that was said counts, once."""

import multiprocessing
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from rememberer.events import EpisodeStarted, Labelled, Observed
from rememberer.memory import Memory
from storage import LanceStore
from tests.rememberer.worlds import memory_on
from tests.storage.conftest import ROOT, in_eight_threads, state

STEPS = 10

how_many = pytest.mark.parametrize("labels", [10, pytest.param(100, marks=pytest.mark.nightly)])


def _open(folder: Path) -> LanceStore:
    return LanceStore(folder, embedding_model="words")


def _episodes(memory: Memory, writers: int, labels: int) -> None:
    """Tasks of ten steps each, enough for each writer to reward so many; all over the same pages."""
    for writer in range(writers):
        for number in range(labels // STEPS):
            here = [state(f"page {step}", f"task {number}") for step in range(STEPS + 1)]
            start = EpisodeStarted(env="nowhere", task_id="t", task=f"task {number}", state=here[0])
            done = [Observed(step=step, action="go", reward=0.0, state=here[step]) for step in range(1, STEPS + 1)]
            memory.write([start, *done], f"{writer} {number}")


def _value(writer: int, number: int) -> float:
    return (writer * 10 + number % 10) / 100


def _label(memory: Memory, writer: int, labels: int) -> None:
    for number in range(labels):
        memory.label(f"{writer} {number // STEPS}", number % STEPS + 1, _value(writer, number))


def _check(folder: Path, writers: int, labels: int) -> None:
    """All labels were applied, none is lost, and the view is what the log says."""
    with closing(_open(folder)) as store:
        events = store.events("me")
        on_disk = store.experiences("me")
        memory = memory_on(store)
        assert on_disk == memory.experiences()
        assert [each.seq for each in events] == list(range(len(events)))
        for table in store._tables[:-1]:
            assert max(Counter(table.read(["id"])["id"].to_pylist()).values()) == 1
    assert sum(isinstance(each.body, Labelled) for each in events) == writers * labels
    for writer in range(writers):
        for number in range(labels):
            assert memory.labels(f"{writer} {number // STEPS}")[number % STEPS + 1] == _value(writer, number)


@how_many
@pytest.mark.parametrize("shared", [True, False], ids=["one memory", "a store and memory each"])
def test_eight_threads_reward_at_once(tmp_path: Path, labels: int, shared: bool) -> None:
    folder = tmp_path / "memory"
    with closing(_open(folder)) as store:
        _episodes(memory_on(store), 8, labels)
    stores = [_open(folder) for _ in range(1 if shared else 8)]
    memories = [memory_on(each) for each in stores]
    in_eight_threads(lambda writer: _label(memories[writer % len(memories)], writer, labels))
    for store in stores:
        store.close()
    _check(folder, 8, labels)


def _process(work: Callable[[Memory, int], None], folder: Path, writer: int, told: Connection) -> None:
    try:
        with closing(_open(folder)) as store:
            work(memory_on(store), writer)
        told.send("")
    except Exception as problem:
        told.send(repr(problem))


def _reward(memory: Memory, writer: int) -> None:
    _label(memory, writer, len(memory.episodes()) // 4 * STEPS)


def _pin(memory: Memory, writer: int) -> None:
    for each in memory.experiences():
        memory.pin(each.key, writer % 2 == 0)
        memory.label(f"{writer} 0", 1, writer / 10)


def _at_once(work: Callable[[Memory, int], None], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What four processes on one folder complained of."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.storage.working"])
    pipes = [server.Pipe(duplex=False) for _ in range(4)]
    processes = [
        server.Process(target=_process, args=(work, folder, writer, pipe)) for writer, (_, pipe) in enumerate(pipes)
    ]
    for each in processes:
        each.start()
    said = [here.recv() for here, _ in pipes]
    for each in processes:
        each.join()
    return [each for each in said if each]


@how_many
def test_four_processes_reward_at_once(tmp_path: Path, labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "memory"
    with closing(_open(folder)) as store:
        _episodes(memory_on(store), 4, labels)
    assert _at_once(_reward, folder, monkeypatch) == []
    _check(folder, 4, labels)


def test_four_processes_pin_and_reward_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "memory"
    with closing(_open(folder)) as store:
        _episodes(memory_on(store), 4, STEPS)
    assert _at_once(_pin, folder, monkeypatch) == []
    with closing(_open(folder)) as store:
        on_disk = store.experiences("me")
        memory = memory_on(store)
        assert on_disk == memory.experiences()
        assert [memory.labels(f"{writer} 0")[1] for writer in range(4)] == [0.0, 0.1, 0.2, 0.3]
        assert [each.body.type for each in store.events("me")].count("pinned") == 4 * STEPS
