"""What guests see: the shared memory, behind glass. Nothing that they do is written, and no model works for them."""

from pathlib import Path
from typing import Any, NoReturn, cast

import envs
from app.desk import Desk
from app.users import LOOK_ONLY
from rememberer.errors import RemembererError
from rememberer.session import Session
from rememberer.store import Store
from rememberer.transcript import transcript_of

LOOKING = ("open", "memory", "view", "wait", "stop", "close")
"""What a guest may do at a desk; whatever else there is, or will be, is refused."""


class LookOnly(RemembererError):
    """Raised for whatever a guest would change."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise LookOnly(LOOK_ONLY)


class _Glass:
    """A store whose log cannot be written. The view, which is made from it, is mended as ever."""

    append = replace = drop_vectors = forget_files = staticmethod(_refuse)

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def behind_glass(store: Store) -> Store:
    """The same store, to look at: what would write to its log raises `LookOnly`."""
    return cast(Store, _Glass(store))


class GuestDesk(Desk):
    """The desk of all guests: the last task of the memory lies there as it was left. Its memory is behind glass."""

    def _read(self, job: int) -> None:
        memory, policies = self._opened()
        session = None
        if episodes := memory.episodes():
            transcript = transcript_of(memory, episodes[-1].id)
            started = transcript.started
            world = envs.make(started.env, Path(started.data) if started.data else None)
            # Not taken up: that would carry on with what somebody else has in hand.
            session = Session(memory, world, policies[self._policy], transcript)
        with self._moved:
            self._memory, self.policies, self._session = memory, policies, session


for _name in vars(Desk).keys() - set(LOOKING):
    if not _name.startswith("_"):
        setattr(GuestDesk, _name, _refuse)
