"""One user's experience memory: the log on disk, and beside it what is learnt from it, ready to be retrieved."""

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import takewhile
from typing import Literal

import envs
from rememberer.collector import no_collector
from rememberer.embedding import CachedEncoder, Encoder, SentenceEncoder
from rememberer.errors import (
    StoreError,
    UnknownExperience,
    WrongStore,
)
from rememberer.events import Body, EpisodeEnded, Event, Forgotten
from rememberer.forgetting import ends_after, quoting, redact, refuse_open, texts_of
from rememberer.judged import Judged
from rememberer.learning import Learner
from rememberer.policy import Retrieved
from rememberer.records import Change, Experience, LearningSettings, State
from rememberer.retrieval import Retrieval
from rememberer.similarity import Comparison
from rememberer.store import Page, Store
from rememberer.values import EpisodeTrace, Explanation
from rememberer.view import ViewWriter

log = logging.getLogger(__name__)

THRESHOLD = 0.6
"""Similarity below which an experience is shown, greyed, but not used."""

CAPACITY = 100_000
"""Experiences of a user that can be retrieved at most."""


class Memory(Judged):
    """A user's memory in a store. Opening folds the log, and mends the view where a crash left it behind.

    `tables` says by what observations are compared, by environment. With more than `capacity` experiences the next
    `retrieve` has some leave: of the two most alike the one that was visited less, until it is met again; pinned ones
    stay. All methods may be called from several threads.
    """

    def __init__(
        self,
        store: Store,
        user: str = "me",
        encoder: Encoder | None = None,
        *,
        threshold: float = THRESHOLD,
        capacity: int = CAPACITY,
        tables: Callable[[str], Comparison] = envs.compared_by,
    ) -> None:
        self.store = store
        self.user = user
        self.threshold = threshold
        self.capacity = capacity
        self.encoder = CachedEncoder(encoder or SentenceEncoder())
        self._retrieval = Retrieval(self.encoder, tables)
        self._learner, self._seq = Learner(), -1
        self._lock = threading.RLock()
        self.forgotten = -1
        """Where in the log something was forgotten last: what was read before may be gone now."""
        self._view = ViewWriter(store, user)
        self._restart()
        self._mend_view()

    def __len__(self) -> int:
        """Number of experiences."""
        with self._lock:
            return len(self._retrieval)

    def __contains__(self, key: str) -> bool:
        """Whether there is an experience with this key."""
        with self._lock:
            return any(self._learner.counts([key]))

    def refresh(self) -> list[Change]:
        """Learn what others have written to the log since. Reads the store; writes nothing."""
        with self._lock:
            return self._learn(self.store.events(self.user, after=self._seq))

    def write(self, bodies: Sequence[Body], episode: str = "", ids: Sequence[str] = ()) -> list[Change]:
        """Append to the log and learn from it; returns the values that moved.

        On disk: the events first, then the rows of the view that they touch, and what was encoded meanwhile. Raises
        `StoreError`, with nothing written, when the disk does not play along; where it fails after the events, the
        view is mended with the next write. `ids` are idempotency keys: an event that the log has is not written twice.
        """
        return self.append(bodies, episode, ids)[1]

    def append(
        self, bodies: Sequence[Body], episode: str = "", ids: Sequence[str] = ()
    ) -> tuple[list[Event], list[Change]]:
        """Like `write`; returns also the events as the log has them, which tells a writer that it came second."""
        events = [Event(user=self.user, episode=episode, body=body) for body in bodies]
        events = [event.model_copy(update={"id": id}) for event, id in zip(events, ids, strict=True)] if ids else events
        with self._lock, self.store.alone():
            stored = self.store.append(events)
            fresh = [event for event in stored if event.seq > self._seq]
            if [event.seq for event in fresh] != list(range(self._seq + 1, self._seq + 1 + len(fresh))):
                fresh = self.store.events(self.user, after=self._seq)  # others have written between
            changes = self._learn(fresh)
            self._write_view()
            return stored, changes

    def retrieve(self, state: State, limit: int = 8, episode: str = "") -> list[Retrieved]:
        """Return up to `limit` experiences most like `state`, best first (paper, section 3.2).

        What only the open `episode` itself has brought about, and nobody judged, is no evidence and left out.
        Encodes what is new since the last call. Nothing is written but what leaves a memory that is full.
        """
        with self._lock:
            waiting = self._retrieval.waiting()
        self._retrieval.encode([*waiting, state])  # without the lock, as a model may take seconds
        with self._lock:
            self._retrieval.index()
            self._make_room()
            trace = self._learner.episodes.get(episode)
            own = {each.state.key for each in trace.transitions} if trace and not trace.ended else set()
            found = [
                each
                for each in self._retrieval.nearest(state, limit + len(own))
                if each[0] not in own or not self._learner.unproven(each[0], episode)
            ][:limit]
            experiences = {each.key: each for each in self._learner.experiences(key for key, *_ in found)}
            return [
                Retrieved(experiences[key], f, task, observation, f >= self.threshold)
                for key, f, task, observation in found
            ]

    def experiences(self) -> list[Experience]:
        """All experiences, oldest first."""
        with self._lock:
            return list(self._learner.experiences())

    def page(self, *, words: Iterable[str] = (), key: str = "", offset: int = 0, limit: int = 50) -> Page:
        """Some experiences, last changed first, and how many there are: see `Store.page`. Quick in a large memory."""
        self.refresh()
        self._mend_view()
        return self.store.page(self.user, words=words, key=key, offset=offset, limit=limit)

    def experience(self, key: str) -> Experience:
        """One experience. Raises `UnknownExperience`."""
        with self._lock:
            self._check_known(key)
            return next(self._learner.experiences([key]))

    def explain(self, key: str, action: str) -> Explanation:
        """What makes up Q(key, action), down to the last reward and label."""
        self._check_known(key)
        with self._lock:
            return self._learner.explain(key, action)

    def at(self, time: datetime) -> Learner:
        """The table as it was at a moment, but for what was forgotten since: that is gone for good.

        Reads the store; writes nothing. A clock that was set back tells nothing: what the log has first came first.
        """
        return Learner(takewhile(lambda event: event.time <= time, self.store.events(self.user)))

    def episodes(self) -> list[EpisodeTrace]:
        """All episodes, oldest first."""
        with self._lock:
            return list(self._learner.episodes.values())

    def end_open(self) -> None:
        """End all episodes that are still open, as `stop` does, those included whose worlds are not there any more."""
        with self.alone():
            for each in self.episodes():
                if not each.ended:
                    self.write([EpisodeEnded()], each.id)

    def table(self, learning: LearningSettings, seed: int) -> Literal[0, 1] | None:
        """The table that an episode which begins now writes to; None without double Q-learning."""
        with self._lock:
            return self._learner.next_table(learning, seed)

    def forget(self, keys: Iterable[str]) -> None:
        """Forget experiences for good: their texts leave the view, the log, and the files.

        The values of other experiences stay as they are. Raises `UnknownExperience` for a key that is not there and
        `SessionError` for one that belongs to an open episode; then nothing is forgotten.
        """
        wanted = set(keys)
        if not wanted:
            return
        with self._lock:
            with self.alone(), no_collector():
                self._forget(wanted)
            self.store.forget_files()

    def rebuild(self) -> int:
        """Drop the view and make it again from the log, embeddings too. Returns the number of experiences."""
        with self._lock:
            with self.alone():
                self.store.drop_experiences(self.user)
                self.store.drop_vectors(self.user)
                self._restart()
                self._write_view()
            self.embed()
            return len(self)

    def embed(self) -> None:
        """Encode in one batch what is new since the last retrieval, and have the store keep it: the next is quick."""
        with self._lock:
            self._retrieval.index()  # other processes may write meanwhile, as a model may take minutes
            with self.alone():
                self.store.put_vectors(self.user, self.encoder.take_fresh())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While it is held nobody else writes, here or in another process, and all that they wrote before is known."""
        with self._lock, self.store.alone():
            self.refresh()
            yield

    def _forget(self, wanted: set[str]) -> None:
        texts = {state.key: texts_of(state) for state in self._learner.states(out=True)}
        for key in wanted - texts.keys():
            self._check_known(key)
        refuse_open(self._learner.episodes.values(), wanted)
        kept = {text for key, of_it in texts.items() if key not in wanted for text in of_it}
        whole = self.store.events(self.user)
        events, stand_ins = redact(whole, wanted | ends_after(self._learner, wanted))
        rewritten = {event.id: event for event in events}
        forgotten = Event(user=self.user, seq=self._seq + 1, body=Forgotten(stand_ins=tuple(stand_ins)))
        learner = Learner([*(rewritten.get(event.id, event) for event in whole), forgotten])
        self._write_view()
        try:
            self.store.drop_vectors(self.user, [text for text in self.store.vectors(self.user) if text not in kept])
            # The view after the log: who dies in between leaves one that does not reflect this, and the store drops it.
            self.store.replace(self.user, events, forgotten)
        except BaseException:
            self._restart()
            raise
        self._learner, self._seq, self.forgotten = learner, forgotten.seq, forgotten.seq
        self._retrieval.follow(wanted, ())
        self.encoder.keep(kept)
        self._view.tell([*wanted, *quoting(learner, events)], self._seq)
        self._write_view()

    def _check_known(self, key: str) -> None:
        if key not in self:
            out = ", which was full, any more" if self._learner.is_out(key) else ""
            raise UnknownExperience(f"There is no experience {key!r} in {self.user!r}'s memory{out}. See: memory list")

    def _make_room(self) -> None:
        if len(self) <= self.capacity:
            return
        try:
            with self.alone():
                if dropped := self._retrieval.make_room(self.capacity, self._learner.pinned()):
                    self.write(dropped)
        except StoreError as problem:
            self._restart()
            self._retrieval.index()
            log.warning("The memory is full, and could not be made smaller: %s", problem)

    def _restart(self) -> None:
        """Learn the whole log anew."""
        self.encoder.reset(self.store.vectors(self.user))
        shown = self._view.start()
        events = self.store.events(self.user)
        after = bisect_right(events, shown, key=lambda event: event.seq)
        self._retrieval.reset()
        with no_collector():
            self._learner = Learner(events[:after] or events)
            self._follow(events[:after] or events)
            if 0 < after < len(events):
                self._learner.apply(events[after:])
                self._follow(events[after:])
        self._view.tell(self._learner.touched() if after < len(events) else (), self._seq)
        if self.forgotten > shown:
            self._view.doubt(self.forgotten)

    def _learn(self, events: Sequence[Event]) -> list[Change]:
        if not events:
            return []
        changes = self._learner.apply(events)
        if any(isinstance(each.body, Forgotten) for each in events):
            self._restart()  # another process has forgotten what is still known here
        else:
            self._follow(events)
            self._view.tell(self._learner.touched(), self._seq)
        return changes

    def _follow(self, events: Sequence[Event]) -> None:
        """Take in what the learner has just learnt from these events."""
        self._seq = events[-1].seq if events else self._seq
        self.forgotten = max((each.seq for each in events if isinstance(each.body, Forgotten)), default=self.forgotten)
        touched = self._learner.touched()
        self._retrieval.follow(touched, self._learner.counts(touched))

    def _mend_view(self) -> None:
        """Write what the view lacks, because others did not live to write it."""
        if self._view.lacks:
            with self.alone():
                self._write_view()

    def _write_view(self) -> None:
        """Have the store keep what was learnt and encoded since the last time, and what it could not keep before.

        Where it cannot, what was written to the log is no less true, and the next write mends the view.
        """
        try:
            self._view.write(self._learner, self._seq)
            if encoded := self.encoder.take_fresh():
                self.store.put_vectors(self.user, encoded)
        except WrongStore:
            raise
        except StoreError as problem:
            log.warning("It is in the log, but the view of it could not be written yet: %s", problem)
