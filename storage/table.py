"""One LanceDB table: read, written, kept small. Whatever goes wrong comes out as `StoreError`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import pyarrow as pa

from rememberer.errors import StoreError
from storage.complaints import complain
from storage.place import Place

MANY = 50
"""Versions after which a table is compacted. Reading slows down with their number, compacting costs a rewrite."""
SOME = 10
"""Versions after which one is compacted that consists of old versions mostly, as a small one soon does."""
_TRIES = 10
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


class Table:
    """A table of the store in `place`.

    Several threads and processes may read at any time. Writers hold the store's writing lock, except `compact`.
    """

    def __init__(self, place: Place, name: str) -> None:
        self.name = name
        self.files = place.files(name)
        self._place = place

    @property
    def long(self) -> bool:
        """Whether it is time to compact, as it was after the last commit."""
        return self.files.growth.versions > (SOME if self.files.growth.bloated else MANY)

    def mend(self) -> None:
        """Set versions aside that a power cut has torn. The caller holds both locks."""
        with complain(self._place):
            self.files.mend()

    def create(self, schema: pa.Schema) -> None:
        """Make the table unless it is there. The caller holds the writing lock."""
        with complain(self._place):
            if not self.files.begun():
                self.files.create(schema)

    def schema(self) -> pa.Schema | None:
        """The columns, or None when the table was not made yet."""
        with complain(self._place):
            return self.files.lance().schema if self.files.begun() else None

    def read(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Rows as they are now, in no order. `where` is SQL, made of fingerprints and numbers only."""
        return self._read(columns, where)

    def containing(self, text: str, column: str, user: str) -> pa.Array:
        """Ids of the rows of a user (by fingerprint) whose `column` has `text`, which may be anything."""
        from lancedb.expr import col, lit

        return self._read(["id"], (col("user") == lit(user)) & col(column).contains(lit(text)))["id"].combine_chunks()

    def add(self, rows: pa.Table) -> None:
        """Append rows in one commit."""
        self._commit(lambda: self.files.lance().add(rows))

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
            others = self.files.lance().search().where(f"NOT ({where})").to_arrow()
            self.files.lance().add(pa.concat_tables([others.select(rows.column_names), rows]), mode="overwrite")

        self._commit(write)

    def delete(self, where: str) -> None:
        """Delete rows in one commit, if there is a table. `where` as in `read`."""
        if self.files.begun():
            self._commit(lambda: self.files.lance().delete(where))

    def drop(self) -> None:
        """Remove the table with its files, if there is one."""
        with complain(self._place):
            if self.files.begun():
                self.files.drop()

    def version(self) -> int:
        """The number of the newest version, whoever made it."""
        with complain(self._place):
            return int(self.files.lance().version)

    def compact(self) -> int | None:
        """Join files and return the version then; None when a writer was quicker or a clock is wrong: nothing was done.

        Writers may go on meanwhile. Nothing is removed: that is `clean`'s. But where the clock is wrong, LanceDB would
        take what they are writing for left behind, and remove it.
        """
        with complain(self._place):
            if not self.files.on_time():
                return None
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
        self._optimize(_AT_ONCE, delete_unverified=self.files.alone)
        if self.files.growth.versions > 1:
            # LanceDB keeps what was written in the future, as it looks after the clock was set back.
            with complain(self._place):
                self.files.remove_old_versions()
            self._optimize(_AT_ONCE, delete_unverified=self.files.alone)
        with complain(self._place):
            self.files.remove_leftovers()

    def undo_cut(self) -> None:
        """Take back a write of which the disk has not got all. The caller holds the writing lock.

        Raises `StoreError` when there was one: nothing of it is left then.
        """
        self.files.undo_cut()

    def purge(self) -> None:
        """Rewrite the files so that they hold nothing but the rows of now. The caller holds both locks."""
        if not self.files.begun():
            return
        # Joining files is not enough: it leaves deleted rows in a file that has few of them. And the newest version
        # may say by which condition rows were deleted: another one has to follow.
        self._commit(self.files.rewrite)
        self.clean()
        if self.files.growth.versions != 1:
            raise StoreError(
                f"Old versions in {self.files} could not be removed, so what was forgotten is still in its files. "
                "It will be removed when the memory is opened again."
            )

    def stats(self) -> TableStats:
        """Count rows, versions, files, bytes."""
        if not self.files.begun():
            return TableStats(0, 0, 0, 0)
        with complain(self._place):
            rows, sizes = self.files.lance().count_rows(), self.files.sizes()
        versions = sum(name.endswith(".manifest") for name in sizes)
        return TableStats(rows, versions, len(sizes), sum(sizes.values()))

    def _read(self, columns: list[str], where: Any) -> pa.Table:
        def query() -> pa.Table:
            search = self.files.lance().search().select(columns)
            return (search.where(where) if where is not None else search).to_arrow()

        with complain(self._place):
            return _again(query)

    def _merge(self) -> Any:
        return self.files.lance().merge_insert("id")

    def _optimize(self, older_than: timedelta, *, delete_unverified: bool = False) -> None:
        with complain(self._place):
            try:
                self.files.lance().optimize(cleanup_older_than=older_than, delete_unverified=delete_unverified)
            finally:
                self.files.sync()

    def _commit(self, write: Callable[[], object]) -> None:
        """Write and have it on disk."""
        with complain(self._place):
            try:
                _again(write)
            finally:  # LanceDB may have stumbled over what it has just written
                self.files.sync()
                self.undo_cut()


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
