"""The desks of everybody who uses this server: one a user, made when they first come, kept while the server runs."""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import envs
from app.desk import Desk
from app.guest_desk import GuestDesk, behind_glass
from app.opening import open_memory
from app.policies import Policies
from app.settings import Settings
from app.users import GUEST, SHARED, Users
from rememberer.embedding import Encoder
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.store import Store


class Desks:
    """Desks by user name, on one store and with one encoder."""

    def __init__(self, settings: Settings, store: Store, encoder: Encoder) -> None:
        """Raises what `Policies` raises."""
        self.settings = settings
        self.users = Users(settings.home)
        self._policies = Policies(settings)
        self._store = store
        self._encoder = encoder
        self._lock = threading.Lock()
        self._desks: dict[str, Desk] = {}

    def of(self, user: str) -> Desk:
        """The desk of a user, or of guests. Returns at once; their memory may still be being opened."""
        is_guest = user == GUEST and self.settings.guests
        with self._lock:
            if user not in self._desks:
                kind = GuestDesk if is_guest else Desk
                of, store = (SHARED, behind_glass(self._store)) if is_guest else (user, self._store)
                self._desks[user] = kind(of, lambda: self._open(of, store), self._policies.default, self.settings)
            desk = self._desks[user]
        desk.leave = "" if self.users.is_open else "Log in" if is_guest else "Log out"
        return desk

    def _open(self, user: str, store: Store) -> tuple[Memory, Mapping[str, Policy]]:
        memory = open_memory(store, self.settings, user, self._encoder)
        return memory, self._policies.of(memory.encoder)

    def tasks(self, env: str) -> Sequence[envs.Task]:
        """All tasks of a world. Raises `EnvError`."""
        return _tasks(env, self.settings)

    def close(self) -> None:
        """Stop all work; open tasks stay open."""
        with self._lock:
            for desk in self._desks.values():
                desk.close()
            self._desks.clear()
            self._policies.close()


@lru_cache(maxsize=8)
def _tasks(env: str, settings: Settings) -> Sequence[envs.Task]:
    world = envs.make(env, settings.data)
    try:
        return world.tasks()
    finally:
        world.close()
