"""A disk with no room, or too little, for each thing that a memory does: refused in a sentence or done, never half.

The disk is a small one that is filled up until so much is left, for amounts that end the work at another place each.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from rememberer.errors import AlreadyAnswered, StoreError
from rememberer.learning import Learner
from rememberer.memory import Memory
from rememberer.records import Decision
from rememberer.session import Session
from storage import LanceStore, export_log, import_log
from tests.conftest import NIGHTLY
from tests.rememberer.worlds import Corridor, Scripted, answer, memory_on
from tests.storage.conftest import remount

LEFT = range(320, -1, -4) if NIGHTLY else [160, 64, 48, 32, 12, 0]
"""Kilobytes."""
SECRET = "slippers"


@contextmanager
def _filled(disk: Path, left: int) -> Iterator[None]:
    """The disk with so many kilobytes left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            size = file.tell()
        file.truncate(max(size - left * 1024, 0))
    try:
        yield
    finally:
        ballast.unlink()


class _Refusals:
    """What was refused for want of room."""

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Do something that may be refused, and only in the one sentence."""
        self.last = ""
        try:
            yield
        except StoreError as problem:
            self.count += 1
            self.last = str(problem)
            if "The disk is full: free some space (twice the size of the memory is good)" not in self.last:
                raise


@pytest.fixture
def refusals() -> Iterator[_Refusals]:
    """A test without any has tried nothing."""
    refused = _Refusals()
    yield refused
    assert refused.count


def _open(disk: Path) -> LanceStore:
    return LanceStore(disk / "memory", embedding_model="words")


def _visit(memory: Memory, task: str) -> Session:
    session = Session.start(memory, Corridor(), f"own:{task}", Scripted())
    session.propose()
    for _ in range(3):
        answer(session, "approve")
    return session


def _keys(memory: Memory) -> list[str]:
    return [each.key for each in memory.experiences() if SECRET in each.state.task]


def _check(memory: Memory) -> None:
    """What is on disk is what is known here, and each thing once."""
    store = memory.store
    events = store.events("me")
    assert [each.seq for each in events] == list(range(len(events)))
    assert len({each.id for each in events}) == len(events)
    assert memory.experiences() == list(Learner(events).experiences())


def _files(disk: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in (disk / "memory").rglob("*") if path.is_file())


@pytest.fixture
def memory(disk: Path) -> Iterator[Memory]:
    remount(disk, "size=32m" if NIGHTLY else "size=8m")
    with closing(_open(disk)) as store:
        memory = memory_on(store)
        _visit(memory, "find a lamp")
        memory.retrieve(memory.experiences()[0].state)
        yield memory


def test_a_step(memory: Memory, disk: Path, refusals: _Refusals) -> None:
    for left in LEFT:
        world = Corridor()
        session = Session.start(memory, world, "through", Scripted())
        session.propose()
        with _filled(disk, left):
            with refusals.allowed():
                session.decide(Decision(step=1, kind="approve"))
            _check(memory)
        # There is room again, and the person clicks once more.
        try:
            session.decide(Decision(step=1, kind="approve"))
        except AlreadyAnswered:
            if not session.transcript.actions:
                session.carry_on()
        assert session.transcript.actions == ("go on",)
        assert session.turn.step == 2
        _check(memory)
        session.propose()
        session.decide(Decision(step=2, kind="stop"))
    with closing(_open(disk)) as again:
        assert memory_on(again).experiences() == memory.experiences() == again.experiences("me")


def test_a_reward_and_a_pin(memory: Memory, disk: Path, refusals: _Refusals) -> None:
    episode = memory.episodes()[0].id
    key = memory.experiences()[0].key
    for number, left in enumerate(LEFT):
        changes = [
            partial(memory.label, episode, 1, number / 100),
            partial(memory.pin, key, number % 2 == 0),
        ]
        with _filled(disk, left):
            for change in changes:
                events, known = memory.store.events("me"), memory.experiences()
                with refusals.allowed():
                    change()
                if refusals.last:
                    assert (memory.store.events("me"), memory.experiences()) == (events, known)
                else:
                    assert len(memory.store.events("me")) == len(events) + 1
                _check(memory)
        for change in changes:
            change()
        assert memory.labels(episode)[1] == number / 100
        assert memory.store.experiences("me") == memory.experiences()


def test_forgetting(memory: Memory, disk: Path, refusals: _Refusals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.table.SOME", 50)  # so that rewriting the files takes more than what was written last
    outcomes = set()
    for left in LEFT:
        _visit(memory, f"find {SECRET}")
        others = [each for each in memory.experiences() if SECRET not in each.state.task]
        with _filled(disk, left):
            with refusals.allowed():
                memory.forget(_keys(memory))
            # All of it is known, or none.
            said = "".join(each.model_dump_json() for each in memory.store.events("me"))
            kept = SECRET in said
            assert len(_keys(memory)) == (3 if kept else 0)
            assert kept <= bool(refusals.last)
            assert ("is forgotten, but still in its old files" in refusals.last) == (not kept and bool(refusals.last))
            outcomes.add((kept, bool(refusals.last)))
            _check(memory)
            assert [each for each in memory.experiences() if SECRET not in each.state.task] == others
            if not kept and refusals.last:
                with closing(_open(disk)) as again:  # which is no reason not to open it
                    assert memory_on(again).experiences() == others
        if kept:
            memory.forget(_keys(memory))
        with closing(_open(disk)) as again:  # which finishes what could not be finished
            assert memory_on(again).experiences() == memory.experiences() == again.experiences("me") == others
        assert SECRET.encode() not in _files(disk)
    assert outcomes == {(True, True), (False, True), (False, False)}


def test_compacting(memory: Memory, disk: Path, refusals: _Refusals) -> None:
    for left in LEFT:
        before = memory.store.events("me"), memory.store.experiences("me"), memory.store.vectors("me").keys()
        with _filled(disk, left):
            with refusals.allowed():
                memory.store.forget_files()
            after = memory.store.events("me"), memory.store.experiences("me"), memory.store.vectors("me").keys()
            assert after == before
        memory.label(memory.episodes()[0].id, 1, left / LEFT[0])
    memory.store.forget_files()
    _check(memory)


def test_compacting_by_itself(
    memory: Memory,
    disk: Path,
    refusals: _Refusals,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It fails in the background, is said in the program's log, and is made good when there is room."""
    _visit(memory, "find " + Random(0).randbytes(100_000).hex())  # so that a compact copy needs more room than a label
    monkeypatch.setattr("storage.table.MANY", 8)
    monkeypatch.setattr("storage.table.SOME", 8)
    monkeypatch.setattr("storage.maintenance._PAUSE", 0.0)
    episode = memory.episodes()[0].id
    for left in reversed(LEFT):
        with _filled(disk, left):
            for step in range(6):
                with refusals.allowed():
                    memory.label(episode, 1, step / 8)
                _check(memory)
    assert "could not be made smaller" in caplog.text
    for step in range(12):
        memory.label(episode, 1, step / 12)
    memory.store.close()
    with closing(_open(disk)) as again:
        assert again.stats().log.versions <= 20
        assert memory_on(again).experiences() == memory.experiences() == again.experiences("me")


def test_importing(memory: Memory, disk: Path, tmp_path: Path, refusals: _Refusals) -> None:
    elsewhere = memory_on()
    for number in range(5):
        _visit(elsewhere, f"find {SECRET} {number}")
    for left in LEFT:
        file = tmp_path / f"{left}.jsonl"
        export_log(elsewhere.store, "me", file)
        before = memory.store.events("me")
        with _filled(disk, left):
            with refusals.allowed():
                import_log(memory.store, "me", file)
            if refusals.last:
                assert memory.store.events("me") == before
        import_log(memory.store, "me", file)
        assert import_log(memory.store, "me", file) == 0
        memory.refresh()
        _check(memory)
        _visit(elsewhere, "one more, so that the next time there is something to import")
    assert len(memory_on(memory.store)) == len(memory)


def test_exporting(memory: Memory, disk: Path, refusals: _Refusals) -> None:
    file = disk / "me.jsonl"
    for left in LEFT:
        export_log(memory.store, "me", file)
        before = file.read_bytes()
        _visit(memory, "find a lamp")
        with _filled(disk, left):
            with refusals.allowed():
                export_log(memory.store, "me", file)
            assert (file.read_bytes() == before) == bool(refusals.last)
        assert not list(disk.glob("*.part"))


def test_making_everything_anew(memory: Memory, disk: Path, refusals: _Refusals) -> None:
    before = memory.experiences()
    for left in LEFT:
        with _filled(disk, left):
            with refusals.allowed():
                assert memory.rebuild() == len(before)
            assert memory.experiences() == before
        assert memory.rebuild() == len(before)
        assert memory.store.experiences("me") == before


def test_opening(memory: Memory, disk: Path) -> None:
    """A memory opens on a full disk and can be read: that is what a person wants then."""
    before = memory.experiences()
    memory.store.close()
    for left in LEFT:
        with _filled(disk, left), closing(_open(disk)) as store:
            assert memory_on(store).experiences() == before
