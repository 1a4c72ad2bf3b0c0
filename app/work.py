"""Work under way on a desk: one thing at a time, in a thread of its own. A reload or a closed window ends nothing."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from rememberer.errors import Cancelled, RemembererError

STREAM_SECONDS = 0.25
"""At most that often the windows are told of a model's new words."""

log = logging.getLogger(__name__)


class Work(ABC):
    """What a desk is doing. Windows follow by its version, which grows with everything that can be seen."""

    def __init__(self, user: str) -> None:
        self.user = user
        self._status = "empty"
        self._error = ""
        self._draft = ""
        self._version = 0
        self._job = 0
        """Number of the work under way; work that is not the last one any more says nothing."""
        self._moved = threading.Condition(threading.RLock())

    @abstractmethod
    def _rest(self) -> str:
        """The status when nothing is under way."""

    def wait(self, version: int, seconds: float) -> None:
        """Return when something has changed since `version`, or after `seconds`."""
        with self._moved:
            self._moved.wait_for(lambda: self._version != version, seconds)

    def _begin(self, status: str, work: Callable[[int], None]) -> None:
        """Do `work`, which is given its number, in a thread; what was under way is the last one no more."""
        with self._moved:
            self._job += 1
            self._status, self._error, self._draft = status, "", ""
            self._changed()
            threading.Thread(target=self._work, args=(self._job, work), name="desk", daemon=True).start()

    def _work(self, job: int, work: Callable[[int], None]) -> None:
        error = ""
        try:
            work(job)
        except Cancelled:
            pass
        except RemembererError as problem:
            error = str(problem)
        except Exception as problem:
            log.exception("Work on the desk of %s failed", self.user)
            error = f"Something unforeseen went wrong ({type(problem).__name__}). Your task is kept; try again."
        with self._moved:
            if job == self._job:
                self._status, self._error, self._draft = self._rest(), error, ""
                self._changed()

    def _tell_status(self, status: str) -> None:
        with self._moved:
            self._status = status
            self._changed()

    def _show(self, job: int) -> Callable[[str], None]:
        """What is called with a model's words so far, while it writes them."""
        last = 0.0

        def show(text: str) -> None:
            nonlocal last
            with self._moved:
                if job == self._job and time.monotonic() - last >= STREAM_SECONDS:
                    last = time.monotonic()
                    self._draft = text
                    self._changed()

        return show

    def _changed(self) -> None:
        self._version += 1
        self._moved.notify_all()
