"""What the memory asks of a store, and the store that keeps everything in this process (for tests and throwaway use).

The durable store is `storage.LanceStore`.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rememberer.records import Event, Experience

Vector = NDArray[np.float32]


class Store(Protocol):
    """Where a memory lives. The log is the truth; experiences and vectors are derived and can be made again.

    Everything is asked by user: nobody sees another's. All methods may be called from several threads.
    Raises `rememberer.errors.StoreError` when the disk does not play along; then nothing is half done.
    """

    def alone(self) -> AbstractContextManager[None]:
        """While it is held, no other thread and no other process writes: what is read stays true until it is written.

        It may be held while it is held. `forget_files` waits for others and is called outside.
        """
        ...

    def append(self, events: Sequence[Event]) -> list[Event]:
        """Add events to the log and return them with their `seq`. When it returns, they outlive a kill -9.

        All events are of one user. An event whose `id` the log has already is not added again: its stored form is
        returned, so a retry is harmless.
        """
        ...

    def events(self, user: str, *, after: int = -1, episode: str | None = None) -> list[Event]:
        """Events of a user with `seq > after` in the order of `seq`, of one episode if given."""
        ...

    def replace(self, user: str, events: Sequence[Event], record: Event) -> None:
        """Rewrite events in place, by `id` (`seq` stays), and append `record`, which says so, in the same commit.

        Only forgetting does this: the old texts are unrecoverable after `forget_files`.
        """
        ...

    def put_experiences(self, user: str, experiences: Iterable[Experience]) -> None:
        """Insert or overwrite rows of the view, by key."""
        ...

    def drop_experiences(self, user: str, keys: Sequence[str] | None = None) -> None:
        """Remove rows of the view; all of the user's when `keys` is None."""
        ...

    def experiences(self, user: str) -> list[Experience]:
        """All rows of the view, oldest first."""
        ...

    def put_vectors(self, user: str, vectors: Mapping[str, Vector]) -> None:
        """Keep sentence embeddings, by text; shape (d,) each. A text that is there stays as it is."""
        ...

    def vectors(self, user: str) -> dict[str, Vector]:
        """All kept embeddings of a user, by text."""
        ...

    def drop_vectors(self, user: str, texts: Sequence[str] | None = None) -> None:
        """Remove embeddings; all of the user's when `texts` is None."""
        ...

    def forget_files(self) -> None:
        """Rewrite the files so that nothing that was dropped or replaced can be read from them."""
        ...

    def users(self) -> list[str]:
        """Names of all users that have events, sorted."""
        ...

    def close(self) -> None:
        """Wait for what is under way and let go. May be called twice."""
        ...


class InMemoryStore:
    """A store that is gone when the process ends."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._log: dict[str, list[Event]] = defaultdict(list)
        self._ids: dict[str, Event] = {}
        self._view: dict[str, dict[str, Experience]] = defaultdict(dict)
        self._vectors: dict[str, dict[str, Vector]] = defaultdict(dict)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            yield

    def append(self, events: Sequence[Event]) -> list[Event]:
        with self._lock:
            stored = []
            for event in events:
                if event.id not in self._ids:
                    log = self._log[event.user]
                    self._ids[event.id] = event.model_copy(update={"seq": len(log)})
                    log.append(self._ids[event.id])
                stored.append(self._ids[event.id])
            return stored

    def events(self, user: str, *, after: int = -1, episode: str | None = None) -> list[Event]:
        with self._lock:
            log = self._log.get(user, [])[after + 1 :]
        return log if episode is None else [event for event in log if event.episode == episode]

    def replace(self, user: str, events: Sequence[Event], record: Event) -> None:
        with self._lock:
            for event in events:
                seq = self._ids[event.id].seq
                self._ids[event.id] = self._log[user][seq] = event.model_copy(update={"seq": seq})
            self.append([record])

    def put_experiences(self, user: str, experiences: Iterable[Experience]) -> None:
        with self._lock:
            self._view[user].update({each.key: each for each in experiences})

    def drop_experiences(self, user: str, keys: Sequence[str] | None = None) -> None:
        with self._lock:
            view = self._view[user]
            for key in list(view) if keys is None else keys:
                view.pop(key, None)

    def experiences(self, user: str) -> list[Experience]:
        with self._lock:
            return sorted(self._view[user].values(), key=lambda each: (each.created, each.key))

    def put_vectors(self, user: str, vectors: Mapping[str, Vector]) -> None:
        with self._lock:
            self._vectors[user] = {**vectors, **self._vectors[user]}

    def vectors(self, user: str) -> dict[str, Vector]:
        with self._lock:
            return dict(self._vectors[user])

    def drop_vectors(self, user: str, texts: Sequence[str] | None = None) -> None:
        with self._lock:
            kept = self._vectors[user]
            for text in list(kept) if texts is None else texts:
                kept.pop(text, None)

    def forget_files(self) -> None:
        pass

    def users(self) -> list[str]:
        with self._lock:
            return sorted(user for user, log in self._log.items() if log)

    def close(self) -> None:
        pass
