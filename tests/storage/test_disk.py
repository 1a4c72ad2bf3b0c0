"""A disk that is full or can only be read: a plain sentence, nothing half done, and it goes on when there is room."""

from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from rememberer.errors import StoreError
from rememberer.events import Event, Pinned
from storage import LanceStore, export_log
from tests.storage.conftest import event, experience, open_store, remount


def _large(number: int) -> Event:
    noise = np.random.default_rng(number).bytes(60_000).hex()
    return event(id=str(number), body=Pinned(key=noise))


def _append_without_end(store: LanceStore, acknowledged: list[Event]) -> None:
    while True:
        acknowledged += store.append([_large(len(acknowledged))])


def test_a_full_disk_loses_and_halves_nothing(disk: Path) -> None:
    with closing(open_store(disk / "memory")) as store:
        events: list[Event] = []
        with pytest.raises(StoreError, match="The disk is full: free some space"):
            _append_without_end(store, events)
        assert store.events("me") == events
        with suppress(StoreError):
            store.put_experiences("me", [experience()], 0)
        assert store.experiences("me") in ([], [experience()], 0)
        remount(disk, "size=64m")
        stored = store.append([_large(len(events))])
        assert store.events("me") == events + stored
        assert stored[0].seq == len(events)
        store.forget_files()
        assert store.stats().log.versions == 1
    with closing(open_store(disk / "memory")) as store:
        assert store.events("me") == events + stored


def test_a_full_disk_is_no_place_for_a_new_store_until_there_is_room(disk: Path) -> None:
    (disk / "ballast").write_bytes(bytes(5 << 20))
    with suppress(OSError), (disk / "more").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    with pytest.raises(StoreError, match="The disk is full"):
        open_store(disk / "memory")
    (disk / "ballast").unlink()
    with closing(open_store(disk / "memory")) as store:
        assert [each.seq for each in store.append([event()])] == [0]


def test_an_export_that_does_not_fit_leaves_the_older_one(disk: Path, tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "memory")) as store:
        store.append([event()])
        export_log(store, "me", disk / "me.jsonl")
        before = (disk / "me.jsonl").read_bytes()
        store.append([_large(number) for number in range(60)])
        with pytest.raises(StoreError, match="The disk is full"):
            export_log(store, "me", disk / "me.jsonl")
    assert {path.name: path.read_bytes() for path in disk.iterdir()} == {"me.jsonl": before}


def test_a_disk_that_can_only_be_read_is_a_plain_sentence(disk: Path) -> None:
    with closing(open_store(disk / "memory")) as store:
        stored = store.append([event()])
        remount(disk, "ro")
        for write in (
            lambda: store.append([event()]),
            lambda: store.put_experiences("me", [experience()], 0),
            lambda: store.replace("me", stored, event()),
            store.forget_files,
            lambda: open_store(disk / "memory"),
            lambda: open_store(disk / "another"),
        ):
            with pytest.raises(StoreError, match=r"can only be read\. Make it writable"):
                write()
        assert store.events("me") == stored
        remount(disk, "rw")
        assert [each.seq for each in store.append([event()])] == [1]
