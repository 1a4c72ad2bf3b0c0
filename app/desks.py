"""The desks of everybody who uses this server: one a user, made when they first come, kept while the server runs."""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import envs
from app.desk import Desk
from app.opening import open_memory
from app.policies import Policies
from app.settings import Settings
from rememberer.embedding import Encoder
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.store import Store


class Desks:
    """Desks by user name, on one store and with one encoder."""

    def __init__(self, settings: Settings, store: Store, encoder: Encoder) -> None:
        """Raises what `Policies` raises."""
        self.settings = settings
        self._policies = Policies(settings)
        self._store = store
        self._encoder = encoder
        self._lock = threading.Lock()
        self._desks: dict[str, Desk] = {}

    def of(self, user: str) -> Desk:
        """The desk of a user. Returns at once; their memory may still be being opened."""
        with self._lock:
            if user not in self._desks:
                self._desks[user] = Desk(user, lambda: self._open(user), self._policies.default, self.settings)
            return self._desks[user]

    def _open(self, user: str) -> tuple[Memory, Mapping[str, Policy]]:
        memory = open_memory(self._store, self.settings, user, self._encoder)
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
