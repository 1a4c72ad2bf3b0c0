"""One at a time: among the threads of this process and among all processes that have the folder open."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from rememberer.errors import StoreError
from storage.complaints import complain

PATIENCE = 60.0
"""Seconds after which somebody who waits gives up: the holder hangs or is stopped."""


class Lock:
    """A lock on a file. The operating system lets go of it when its holder dies, however that happens.

    Who holds it may take it again, in the same thread, and lets go of it as often.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = threading.RLock()
        self._process = FileLock(path, thread_local=False)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock and hold it. Raises `StoreError` when it cannot be had within a minute, or at all."""
        if not self.acquire(PATIENCE):
            raise StoreError(
                f"Another process has kept the memory in {self._path.parent} locked for {PATIENCE:.0f} seconds. "
                "Nothing was changed. End that process, then try again."
            )
        try:
            yield
        finally:
            self.release()

    def acquire(self, seconds: float) -> bool:
        """Wait so long at most; True when it is held now. Whoever got True calls `release`."""
        if not self._thread.acquire(timeout=seconds):
            return False
        try:
            with complain(self._path.parent):
                # The default of 50 ms between two looks is longer than most commits.
                self._process.acquire(timeout=seconds, poll_interval=0.005)
        except BaseException as problem:
            self._thread.release()
            if isinstance(problem, Timeout):
                return False
            raise
        return True

    def release(self) -> None:
        self._process.release()
        self._thread.release()
