"""Keeps the tables small: LanceDB makes a version and some files with every commit and never tidies up by itself.

Nobody has to call anything. A commit that makes a table too long wakes a thread, which ends when nothing is left to do.
Of all processes on a folder one does it at a time, and writers go on meanwhile.
"""

import logging
import threading
import time
from collections.abc import Sequence

from rememberer.errors import StoreError
from storage.place import Lockable
from storage.table import Table

log = logging.getLogger(__name__)

_BLINK = 0.1  # seconds that writers may have to wait without a person noticing
_PATIENCE = 1.0  # seconds: who else compacts soon has done it; who writes to a bucket has the same lock
_PAUSE = 30.0  # seconds after a failure, which is a full disk more often than not


class Maintenance:
    """Compacts `tables` when they have become long. `owner` is held meanwhile; it is taken before `writing`."""

    def __init__(self, tables: Sequence[Table], owner: Lockable, writing: Lockable) -> None:
        self._tables = tables
        self._owner = owner
        self._writing = writing
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._not_before = 0.0

    def wake(self) -> None:
        """Look whether there is something to do, and have it done. Returns at once."""
        if not self._due() or time.monotonic() < self._not_before:
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="rememberer-maintenance")
                self._thread.start()

    def wait(self) -> None:
        """Wait for what is under way."""
        with self._lock:
            thread = self._thread
        if thread:
            thread.join()

    def _due(self) -> list[Table]:
        return [table for table in self._tables if table.long]

    def _run(self) -> None:
        try:
            if not self._owner.acquire(_PATIENCE):
                return
            try:
                while due := self._due():
                    before = due[0].files.growth.versions
                    self._tidy(due[0])
                    if due[0].files.growth.versions >= before:
                        return  # as when the clock was set back: the next commit tries again
            finally:
                self._owner.release()
        except StoreError as problem:
            self._not_before = time.monotonic() + _PAUSE
            log.warning("The memory could not be made smaller, so it keeps growing until the next try: %s", problem)

    def _tidy(self, table: Table) -> None:
        for last in (False, False, True):
            began = time.monotonic()
            try:
                version = table.compact()
            except StoreError:
                with self._writing.held():
                    table.undo_cut()
                raise
            quick = time.monotonic() - began < _BLINK
            with self._writing.held():
                table.undo_cut()
                # What was written meanwhile is joined again in here, while writers wait. That is nothing after a pause
                # and little in a small table. In a large one that is written to all the time they wait in the end.
                if quick or version == table.version() or last:
                    table.clean()
                    return
