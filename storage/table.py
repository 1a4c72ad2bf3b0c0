"""One LanceDB table: read, written, kept small. Whatever goes wrong comes out as `StoreError`."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from rememberer.errors import StoreError
from storage.complaints import complain
from storage.durability import Syncer, is_begun, mend, remove_leftovers, remove_old_versions, set_aside

_TRIES = 10
_CACHE = 16 << 20  # bytes
_CONFLICT = "commit conflict"
_PASSING = (_CONFLICT, "Not found", "failed to fill whole buffer")
_FOREVER = timedelta(days=10_000)
_AT_ONCE = timedelta(milliseconds=2)  # LanceDB warns of 0, as other processes may read; ours read again

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableStats:
    """How large a table is: rows that are read, versions and files on disk, bytes of all files."""

    rows: int
    versions: int
    files: int
    bytes: int


def connect(folder: Path) -> Any:
    """Open LanceDB on a folder. Imports LanceDB, which takes some seconds."""
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    # Left alone, the cache keeps what every version consisted of, up to a gigabyte.
    session = lancedb.Session(index_cache_size_bytes=_CACHE, metadata_cache_size_bytes=_CACHE)
    # Interval 0: every read looks for what other processes wrote.
    with complain(folder):
        return lancedb.connect(folder, read_consistency_interval=timedelta(0), session=session)


class Table:
    """A table of the database `connection` in `folder`.

    Several threads and processes may read at any time. Writers hold the store's writing lock, except `compact`.
    """

    def __init__(self, connection: Any, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / f"{name}.lance"
        self.versions = 0
        """How many there were after the last commit."""
        self._home = folder
        self._connection = connection
        self._opened: Any = None
        self._syncer = Syncer(self.folder)

    def mend(self) -> None:
        """Set versions aside that a power cut has torn. The caller holds both locks."""
        with complain(self._home):
            mend(self.folder, self._is_readable, self._home / "set-aside")

    def create(self, schema: pa.Schema) -> None:
        """Make the table unless it is there. The caller holds the writing lock."""
        with complain(self._home):
            if not is_begun(self.folder):
                self._connection.create_table(self.name, schema=schema)
                self._sync()

    def schema(self) -> pa.Schema | None:
        """The columns, or None when the table was not made yet."""
        with complain(self._home):
            return self._lance().schema if is_begun(self.folder) else None

    def read(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Rows as they are now, in no order. `where` is SQL, made of fingerprints and numbers only."""
        return self._read(columns, where)

    def containing(self, text: str, column: str, user: str) -> pa.Array:
        """Ids of the rows of a user (by fingerprint) whose `column` has `text`, which may be anything."""
        from lancedb.expr import col, lit

        return self._read(["id"], (col("user") == lit(user)) & col(column).contains(lit(text)))["id"].combine_chunks()

    def add(self, rows: pa.Table) -> None:
        """Append rows in one commit."""
        self._commit(lambda: self._lance().add(rows))

    def add_missing(self, rows: pa.Table) -> None:
        """Append the rows whose id is not there, in one commit."""
        self._commit(lambda: self._merge().when_not_matched_insert_all().execute(rows))

    def overwrite(self, rows: pa.Table, *, insert: bool, only: str | None = None) -> None:
        """Put rows in place of those with the same id, in one commit; the others are inserted or left out.

        `only` is a condition in SQL for putting the row `source` in place of the row `target`.
        """

        def merge() -> Any:
            builder = self._merge().when_matched_update_all(where=only)
            return (builder.when_not_matched_insert_all() if insert else builder).execute(rows)

        self._commit(merge)

    def replace_rows(self, where: str, rows: pa.Table) -> None:
        """Put `rows` in place of those that `where` finds, in one commit that rewrites the whole table."""

        def write() -> None:
            others = self._lance().search().where(f"NOT ({where})").to_arrow()
            self._lance().add(pa.concat_tables([others.select(rows.column_names), rows]), mode="overwrite")

        self._commit(write)

    def delete(self, where: str) -> None:
        """Delete rows in one commit, if there is a table. `where` as in `read`."""
        if is_begun(self.folder):
            self._commit(lambda: self._lance().delete(where))

    def drop(self) -> None:
        """Remove the table with its files, if there is one."""
        with complain(self._home):
            if is_begun(self.folder):
                self._connection.drop_table(self.name)
        self._opened = None

    def version(self) -> int:
        """The number of the newest version, whoever made it."""
        with complain(self._home):
            return int(self._lance().version)

    def compact(self) -> int | None:
        """Join files and return the version then; None when a writer was quicker: then nothing was done.

        Writers may go on meanwhile. Nothing is removed: that is `clean`'s.
        """
        try:
            self._optimize(_FOREVER)
        except StoreError as problem:
            if _CONFLICT in str(problem.__cause__):
                return None
            raise
        return self.version()

    def clean(self) -> None:
        """Join files, and remove all that the newest version does not need. The caller holds both locks.

        LanceDB removes files in the same breath as it joins others, before those are on disk: so it joins first, and
        has nothing more to join when it removes.
        """
        try:
            self._optimize(_FOREVER)
        finally:
            self.undo_cut()
        time.sleep(2 * _AT_ONCE.total_seconds())
        self._optimize(_AT_ONCE, delete_unverified=True)
        if self.versions > 1:
            # LanceDB keeps what was written in the future, as it looks after the clock was set back.
            with complain(self._home):
                remove_old_versions(self.folder)
            self._optimize(_AT_ONCE, delete_unverified=True)
        with complain(self._home):
            remove_leftovers(self.folder)

    def undo_cut(self) -> None:
        """Take back a write of which the disk has not got all. The caller holds the writing lock.

        Raises `StoreError` when there was one: nothing of it is left then.
        """
        if self._syncer.cut and set_aside(self.folder, self._is_readable, self._home / "set-aside"):
            self._opened = None
            raise StoreError(
                f"The disk has taken only a part of what was written to {self.folder}, as when it is full or broken. "
                "Nothing was changed. Free some space, then try again."
            )

    def purge(self) -> None:
        """Rewrite the files so that they hold nothing but the rows of now. The caller holds both locks."""
        if not is_begun(self.folder):
            return
        # Joining files is not enough: it leaves deleted rows in a file that has few of them. And the newest version
        # may say by which condition rows were deleted: another one has to follow.
        self._commit(self._rewrite)
        self.clean()
        if self.versions != 1:
            raise StoreError(
                f"Old versions of {self.folder} could not be removed, so what was forgotten is still in its files. "
                "It will be removed when the memory is opened again."
            )

    def stats(self) -> TableStats:
        """Count rows, versions, files, bytes."""
        if not is_begun(self.folder):
            return TableStats(0, 0, 0, 0)
        with complain(self._home):
            rows = self._lance().count_rows()
        sizes = {}
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):
                if path.is_file():
                    sizes[path] = path.stat().st_size
        versions = sum(path.suffix == ".manifest" for path in sizes)
        return TableStats(rows, versions, len(sizes), sum(sizes.values()))

    def _lance(self) -> Any:
        if self._opened is None:
            self._opened = self._connection.open_table(self.name)
        return self._opened

    def _read(self, columns: list[str], where: Any) -> pa.Table:
        def query() -> pa.Table:
            search = self._lance().search().select(columns)
            return (search.where(where) if where is not None else search).to_arrow()

        with complain(self._home):
            return _again(query)

    def _merge(self) -> Any:
        return self._lance().merge_insert("id")

    def _is_readable(self) -> bool:
        """Whether all files of the newest version can be read."""
        try:
            connect(self._home).open_table(self.name).search().select(["id"]).to_arrow()
        except (StoreError, OSError, RuntimeError, ValueError):
            return False
        return True

    def _rewrite(self) -> None:
        lance = self._lance()
        rows = pa.RecordBatchReader.from_batches(lance.schema, lance.search().to_batches())
        lance.add(rows, mode="overwrite")

    def _optimize(self, older_than: timedelta, *, delete_unverified: bool = False) -> None:
        with complain(self._home):
            try:
                self._lance().optimize(cleanup_older_than=older_than, delete_unverified=delete_unverified)
            finally:
                self._sync()

    def _commit(self, write: Callable[[], object]) -> None:
        """Write and have it on disk."""
        with complain(self._home):
            try:
                _again(write)
            finally:  # LanceDB may have stumbled over what it has just written
                self._sync()
                self.undo_cut()

    def _sync(self) -> None:
        self.versions = self._syncer.sync()


def _again(work: Callable[[], T]) -> T:
    """Do it again when somebody else compacted at that moment.

    A file was gone, the commit came too late, or what was joined lacks its end and is being taken back.
    """
    for attempt in range(_TRIES):
        try:
            return work()
        except (OSError, RuntimeError, ValueError) as problem:
            passing = any(words in str(problem) for words in _PASSING)
            if not passing or attempt == _TRIES - 1:
                raise
            time.sleep(0.01 * attempt)
    raise AssertionError("unreachable")
