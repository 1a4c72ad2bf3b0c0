"""Folders, files and rights that are not as they should be: a sentence that says what to do, and nothing made worse."""

import logging
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from rememberer.errors import RemembererError, StoreError
from rememberer.events import Pinned
from rememberer.memory import Memory
from rememberer.session import Session
from storage import LanceStore
from tests.rememberer.worlds import Corridor, Scripted, answer, begin, memory_on
from tests.storage.conftest import ROOT, event

NOBODY = 65534


def _open(folder: Path) -> LanceStore:
    return LanceStore(folder, embedding_model="words")


def _fill(folder: Path) -> None:
    with closing(_open(folder)) as store:
        session = begin(memory_on(store))
        for _ in range(3):
            answer(session, "approve")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user of the machine may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def _as_somebody(work: Callable[[Path], None], limit: Callable[[], None], folder: Path, told: Connection) -> None:
    limit()
    try:
        work(folder)
        told.send("")
    except RemembererError as problem:
        told.send(str(problem))
    except BaseException as problem:
        told.send(f"unforeseen: {problem!r}")


@pytest.mark.parametrize("name", ["states", "values", "vectors"])
@pytest.mark.parametrize("what", ["data/*.lance", "_versions/*.manifest"])
def test_what_can_be_made_from_the_log_is_made_again(
    tmp_path: Path, name: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """All files of a table were truncated, which is more than a power cut does."""
    folder = tmp_path / "memory"
    with closing(_open(folder)) as store:
        memory = memory_on(store)
        for number in range(3):
            _walk(memory, f"find lamp {number}")
        known = memory.experiences()
        found = [each.experience.key for each in memory.retrieve(known[0].state)]
    for path in (folder / f"{name}.lance").glob(what):
        os.truncate(path, path.stat().st_size // 2)
    with caplog.at_level(logging.WARNING), closing(_open(folder)) as store:
        assert "is made again from the log" in caplog.text
        memory = memory_on(store)
        assert memory.experiences() == store.experiences("me") == known
        assert [each.experience.key for each in memory.retrieve(known[0].state)] == found
        memory.embed()
        assert store.vectors("me")
        _walk(memory, "find lamp 0")
    caplog.clear()
    with closing(_open(folder)) as store:
        assert memory_on(store).experiences() == memory.experiences() == store.experiences("me")
        assert not caplog.text


def _walk(memory: Memory, task: str) -> None:
    session = Session.start(memory, Corridor(), f"own:{task}", Scripted())
    session.propose()
    for _ in range(3):
        answer(session, "approve")


def _nobody() -> None:
    os.setuid(NOBODY)


def _small_files(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _told(
    work: Callable[[Path], None], limit: Callable[[], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """What a process under this limit is told."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.storage.working"])
    here, there = server.Pipe(duplex=False)
    process = server.Process(target=_as_somebody, args=(work, limit, folder, there))
    process.start()
    assert here.poll(60)
    said = str(here.recv())
    process.join()
    return said


def _look(folder: Path) -> None:
    with closing(_open(folder)) as store:
        memory_on(store).experiences()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_who_may_not_write_there_is_told_so(place: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(place / "memory")
    (place / "memory").chmod(mode)
    before = {path: path.stat().st_mtime_ns for path in (place / "memory").rglob("*")}
    said = _told(_look, _nobody, place / "memory", monkeypatch)
    assert "This user may not write there. Change the permissions, or choose another folder" in said
    said = _told(_look, _nobody, place / "another", monkeypatch)
    assert "This user may not write there" in said
    assert {path: path.stat().st_mtime_ns for path in (place / "memory").rglob("*")} == before


def _work_on(folder: Path) -> None:
    with closing(_open(folder)) as store:
        memory = memory_on(store)
        for number in range(6):
            session = begin(memory, Corridor(sign=f"{number} " * 2000), Scripted("go on"))
            answer(session, "approve")
            answer(session, "stop")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
@pytest.mark.parametrize(
    "limits",
    [(6_000, 9_500, 12_800), pytest.param(range(5_000, 30_000, 500), marks=pytest.mark.nightly)],
    ids=["some", "many"],
)
def test_a_limit_on_the_size_of_files_is_told_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Sequence[int]
) -> None:
    """Wherever it hits: data, versions, what is joined in the background."""
    said = []
    for limit in limits:
        folder = tmp_path / str(limit) / "memory"
        _fill(folder)
        with closing(_open(folder)) as store:
            before = store.events("me")
        said.append(_told(_work_on, partial(_small_files, limit), folder, monkeypatch))
        with closing(_open(folder)) as store:
            events = store.events("me")
            assert events[: len(before)] == before
            assert [each.seq for each in events] == list(range(len(events)))
            if not said[-1]:
                assert len(events) == len(before) + 6 * 7
            memory = memory_on(store)
            assert {each.key for each in memory.experiences()} == {each.key for each in store.experiences("me")}
        _work_on(folder)
    refused = [each for each in said if each]
    assert refused
    sentences = ("lift the limit on the size of files", "taken only a part of what was written", "A file lacks its end")
    for each in refused:
        assert any(words in each for words in sentences)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_write_of_which_the_disk_took_all_but_the_end_is_refused(tmp_path: Path) -> None:
    """LanceDB takes no notice of that, and would say that it was written."""
    told = []
    with closing(_open(tmp_path / "memory")) as store:
        events = store.append([event(), event()])
        text = np.random.default_rng(1).bytes(10_000).hex()
        for limit in range(19_500, 22_000, 100):
            was = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, was[1]))
            try:
                events += store.append([event(body=Pinned(key=f"{limit} {text}"))])
            except StoreError as problem:
                told.append(str(problem))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, was)
            assert store.events("me") == events
            events += store.append([event()])
    assert any("taken only a part of what was written" in each for each in told)
    assert len(told) < 25  # some were large enough
    with closing(_open(tmp_path / "memory")) as store:
        assert store.events("me") == events
        store.forget_files()
        assert store.events("me") == events
