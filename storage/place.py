"""Where a store can be, a folder or a part of a bucket, and what the store needs of either."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

OWNER = "maintenance.lock"
WRITING = "writing.lock"


class Lockable(Protocol):
    """One at a time: among the threads of this process and among all processes that have the place open.

    Who holds it may take it again, in the same thread, and lets go of it as often.
    """

    def held(self) -> AbstractContextManager[None]:
        """Wait for it and hold it. Raises `StoreError` when it cannot be had within a minute, or at all."""
        ...

    def acquire(self, seconds: float) -> bool:
        """Wait so long at most; True when it is held now. Whoever got True calls `release`."""
        ...

    def release(self) -> None:
        """Let go of it."""
        ...


@dataclass
class Growth:
    """How a table has grown, as far as was looked."""

    versions: int = 0
    bloated: bool = False
    """Whether most bytes belong to old versions."""
    _least: int | None = None

    def note(self, versions: int, size: int) -> None:
        """Take down how many versions there are, and how many bytes."""
        # After a clean-up there is one version; after opening nobody knows how small the table could be.
        self._least = size if self._least is None or versions == 1 else min(size, self._least)
        self.versions, self.bloated = versions, size > 2 * self._least


class Files(Protocol):
    """The files of one LanceDB table. Except for reading, the caller holds the lock `writing`."""

    growth: Growth
    """As it was after the last `sync`."""

    @property
    def alone(self) -> bool:
        """Whether nobody else can be writing while the locks are held, not even who has lost them without noticing."""
        ...

    def on_time(self) -> bool:
        """Whether files get the time of this process's clock. If not, what is being written looks left behind."""
        ...

    def begun(self) -> bool:
        """Whether the table is there: one that was killed while it was created is not."""
        ...

    def lance(self) -> Any:
        """The table, with what others have written."""
        ...

    def create(self, schema: pa.Schema) -> None:
        """Make the table, empty, and have it outlive a power cut."""
        ...

    def drop(self) -> None:
        """Remove the table with its files."""
        ...

    def sync(self) -> None:
        """Have what was written outlive a power cut. Called after every write."""
        ...

    def undo_cut(self) -> None:
        """Take back a write of which only a part has arrived. Raises `StoreError` when there was one."""
        ...

    def mend(self) -> None:
        """Set aside what a power cut has torn. Raises `Damaged` when more is lost. The caller holds both locks."""
        ...

    def rewrite(self) -> None:
        """Write all rows into new files, in one commit."""
        ...

    def remove_old_versions(self) -> None:
        """Remove the lists of files of all versions but the newest. The caller holds both locks."""
        ...

    def remove_leftovers(self) -> None:
        """Remove what killed writers have left and LanceDB never looks at. The caller holds both locks."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes of each file, by its name."""
        ...


class Place(Protocol):
    """A folder, or what begins with a prefix in a bucket. `str` of it is for messages.

    Names are those of its entries: documents (small texts), and what tables are made of.
    """

    @property
    def owner(self) -> Lockable:
        """Held by who compacts; taken before `writing`."""
        ...

    @property
    def writing(self) -> Lockable:
        """Held by who writes."""
        ...

    def make(self) -> None:
        """Have it ready for use. Raises `WrongStore` when it can never be, `StoreError` when it is not now."""
        ...

    def names(self, under: str = "") -> set[str]:
        """Names of all entries, or of those in the entry `under`; empty when there is none."""
        ...

    def read(self, name: str) -> str | None:
        """A document; None when there is none."""
        ...

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a document so that it is there wholly or not at all, power cut or not. Lines bring their line end."""
        ...

    def remove(self, name: str) -> None:
        """Remove an entry with all that is in it, if there is one."""
        ...

    def files(self, table: str) -> Files:
        """The files of a table."""
        ...


def connect(where: Path | str, *, fresh: bool = True) -> Any:
    """Open LanceDB. Imports it, which takes some seconds. Unless `fresh`, tables stay as they were opened.

    Raises what LanceDB raises: see `storage.complaints`.
    """
    import os

    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    # Left alone, the cache keeps what every version consisted of, up to a gigabyte.
    session = lancedb.Session(index_cache_size_bytes=_CACHE, metadata_cache_size_bytes=_CACHE)
    # Interval 0: every read looks for what other processes wrote.
    return lancedb.connect(where, read_consistency_interval=timedelta(0) if fresh else None, session=session)


_CACHE = 16 << 20  # bytes
