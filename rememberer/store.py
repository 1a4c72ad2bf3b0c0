"""What the memory asks of a store, and the store that keeps everything in this process (for tests and throwaway use).

The durable store is `storage.LanceStore`.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rememberer.events import Event
from rememberer.records import Experience

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the experiences that were looked for, and how many there are in all."""

    experiences: list[Experience]
    total: int


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

        Only forgetting does this: the old texts are unrecoverable after `forget_files`. A view that does not reflect
        `record` by then, because its writer died, goes too.
        """
        ...

    def put_experiences(self, user: str, experiences: Iterable[Experience], seq: int) -> None:
        """Insert or overwrite rows of the view, by key, and say that with them it reflects the log up to event `seq`.

        A row that reflects a later event stays as it is. Who puts rows holds `alone`, and puts all that the events
        after `view_seq` have touched.
        """
        ...

    def drop_experiences(self, user: str, keys: Sequence[str] | None = None) -> None:
        """Remove rows of the view; with `keys` None all of the user's, and `view_seq` is -1 then."""
        ...

    def view_seq(self, user: str) -> int:
        """The last event that the view reflects: all rows that it and those before it touched are right. -1: none."""
        ...

    def experiences(self, user: str) -> list[Experience]:
        """All rows of the view, oldest first."""
        ...

    def page(self, user: str, *, words: Iterable[str] = (), key: str = "", offset: int = 0, limit: int = 50) -> Page:
        """A page of the view, last changed first: of the rows whose task, observation or actions have all `words`,
        in capitals or not, and whose key begins with `key`."""
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
        self._view: dict[str, dict[str, tuple[Experience, int]]] = defaultdict(dict)
        self._view_seq: dict[str, int] = {}
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

    def put_experiences(self, user: str, experiences: Iterable[Experience], seq: int) -> None:
        with self._lock:
            view = self._view[user]
            view.update({each.key: (each, seq) for each in experiences if seq >= view.get(each.key, (each, seq))[1]})
            self._view_seq[user] = max(seq, self.view_seq(user))

    def drop_experiences(self, user: str, keys: Sequence[str] | None = None) -> None:
        with self._lock:
            view = self._view[user]
            if keys is None:
                self._view_seq.pop(user, None)
            for key in list(view) if keys is None else keys:
                view.pop(key, None)

    def view_seq(self, user: str) -> int:
        return self._view_seq.get(user, -1)

    def experiences(self, user: str) -> list[Experience]:
        with self._lock:
            return sorted((each for each, _ in self._view[user].values()), key=lambda each: (each.created, each.key))

    def page(self, user: str, *, words: Iterable[str] = (), key: str = "", offset: int = 0, limit: int = 50) -> Page:
        folded = [word.casefold() for word in words]
        every = [each for each in self.experiences(user) if each.key.startswith(key)]
        found = [each for each in every if all(word in _text(each) for word in folded)]
        found.sort(key=lambda each: each.updated, reverse=True)
        return Page(found[offset : offset + limit], len(found))

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


def _text(known: Experience) -> str:
    """All words of an experience that can be looked for, folded."""
    return "\n".join([known.state.task, known.state.observation, *(row.action for row in known.actions)]).casefold()
