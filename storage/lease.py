"""A lock where there is no operating system to ask: an object in a bucket that says who holds it.

Who holds it gives a sign of life by writing it anew. Who waits and sees none for long takes it: clocks of different
machines are never compared. The former holder may only have slept, and may wake in the midst of a write. So whoever
takes a lock like that shuts the door first, on everything that was begun before (`storage.bucket`).
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from rememberer.errors import StoreError
from storage.complaints import complain
from storage.locks import PATIENCE
from storage.objects import Objects

log = logging.getLogger(__name__)

EXPIRY = 20.0
"""Seconds without a sign of life after which a holder counts as dead."""
_SIGNS = 4  # of life, in that time
_BETWEEN_LOOKS = (0.02, 0.08)  # seconds
_HELD = b"held by "
_FREE = b"free since "
_SPOILT = b"given up since "  # what its holder wrote last may still arrive


def unlocked(how: bytes = _FREE) -> bytes:
    """Content of the object while nobody holds it. No two are equal."""
    return how + uuid4().hex.encode()


class Lease:
    """A `storage.place.Lockable` on the object `name`.

    Before anybody holds it, `prepare` is called: with True if the door is to be shut on former holders. What it sees
    then, the holder of the lock sees.
    """

    def __init__(self, objects: Objects, name: str, prepare: Callable[[bool], None]) -> None:
        self._objects = objects
        self._name = name
        self._prepare = prepare
        self._thread = threading.RLock()
        self._holder = 0
        self._depth = 0
        self._spoilt = False
        self._writing = threading.Lock()  # the object, and what follows
        self._tag: str | None = None
        self._who = b""
        self._alive: threading.Timer | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """See `Lockable.held`."""
        if not self.acquire(PATIENCE):
            raise StoreError(
                f"Another process has kept the memory in {self._objects} locked for {PATIENCE:.0f} seconds. "
                "Nothing was changed. End that process, then try again."
            )
        try:
            yield
        except StoreError:
            self._spoilt = True
            raise
        finally:
            self.release()

    def acquire(self, seconds: float) -> bool:
        """See `Lockable.acquire`."""
        if not self._thread.acquire(timeout=seconds):
            return False
        try:
            with complain(self._objects):
                got = self._depth > 0 or self._take(time.monotonic() + seconds)
        except BaseException:
            self._thread.release()
            raise
        if got:
            self._depth += 1
            self._holder = threading.get_ident()
        else:
            self._thread.release()
        return got

    def release(self) -> None:
        """See `Lockable.release`."""
        self._depth -= 1
        if not self._depth:
            self._holder = 0
            self._let_go(_SPOILT if self._spoilt else _FREE)
            self._spoilt = False
        self._thread.release()

    def mine(self) -> bool:
        """Whether this thread holds it."""
        return self._holder == threading.get_ident()

    def confirm(self) -> None:
        """Raise `StoreError` if somebody else has taken it, who counted this holder as dead."""
        with complain(self._objects):
            if not self._give_sign():
                raise StoreError(
                    f"Another process has taken over the memory in {self._objects}, because this one gave no sign of "
                    f"life for {EXPIRY:.0f} seconds. Nothing was changed. Try again."
                )

    def _take(self, until: float) -> bool:
        seen, since = None, time.monotonic()
        while True:
            now = time.monotonic()
            text, tag = self._objects.read(self._name) or (b"", None)
            if tag != seen:
                seen, since = tag, now
            dead = text.startswith(_HELD) and now - since >= EXPIRY
            if dead or not text.startswith(_HELD):
                if dead:
                    log.warning("Nobody has heard of who holds the memory in %s: it is taken over.", self._objects)
                if self._begin(tag, dead or text.startswith(_SPOILT)):
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(random.uniform(*_BETWEEN_LOOKS))

    def _begin(self, tag: str | None, shut: bool) -> bool:
        """Hold it unless somebody was quicker. Only who still holds it afterwards has prepared in time."""
        with self._writing:
            self._tag, self._who = tag, _HELD + uuid4().hex.encode()
        if not self._give_sign():
            return False
        self._next_sign()
        try:
            self._prepare(shut)
            if self._give_sign():
                return True
        except BaseException:
            self._let_go(_SPOILT if shut else _FREE)
            raise
        self._let_go(_FREE)
        return False

    def _give_sign(self) -> bool:
        """Write that it is held; False if somebody else has taken it."""
        with self._writing:
            content = self._who + f" {uuid4().hex}".encode()
            tag = self._objects.swap(self._name, content, self._tag) if self._who else None
            self._tag = tag or self._tag
            return tag is not None

    def _next_sign(self) -> None:
        self._alive = threading.Timer(EXPIRY / _SIGNS, self._sign)
        self._alive.daemon = True
        self._alive.start()

    def _sign(self) -> None:
        try:
            if not self._give_sign():
                return  # what is written from now on is refused
        except OSError as problem:
            log.warning("No sign of life reached the memory in %s: %s", self._objects, problem)
        if self._who:
            self._next_sign()

    def _let_go(self, how: bytes) -> None:
        if self._alive:
            self._alive.cancel()
        with self._writing:
            self._who = b""
            try:
                self._objects.swap(self._name, unlocked(how), self._tag)
            except OSError as problem:
                log.warning("The lock of the memory in %s is free only in a while: %s", self._objects, problem)
