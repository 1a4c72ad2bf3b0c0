"""One user's experience memory: the log on disk, and beside it what is learnt from it, ready to be retrieved."""

import threading
from collections.abc import Callable, Iterable, Sequence

import envs
from rememberer.embedding import CachedEncoder, Encoder, SentenceEncoder
from rememberer.errors import NoSuchStep, SessionError, UnknownEpisode, UnknownExperience
from rememberer.forgetting import redact
from rememberer.learning import Learner
from rememberer.policy import Retrieved
from rememberer.records import Body, Change, Event, Experience, Forgotten, Labelled, LabelWithdrawn, Pinned, State
from rememberer.similarity import Index, KindTable, Similarity
from rememberer.store import Store
from rememberer.values import EpisodeTrace, Target, Transition

THRESHOLD = 0.6
"""Similarity below which an experience is shown, greyed, but not used."""


class Memory:
    """A user's memory in a store. Opening folds the log, and mends the view where a crash left it behind.

    `tables` gives the kind table of an environment by name. All methods may be called from several threads.
    """

    def __init__(
        self,
        store: Store,
        user: str = "me",
        encoder: Encoder | None = None,
        *,
        threshold: float = THRESHOLD,
        tables: Callable[[str], KindTable | None] = envs.kind_similarity,
    ) -> None:
        self.store = store
        self.user = user
        self.threshold = threshold
        self.encoder = CachedEncoder(encoder or SentenceEncoder(), store.vectors(user))
        self._tables = tables
        self._lock = threading.RLock()
        self._learner = Learner()
        self._seq = -1
        self._indexes: dict[str, Index] = {}
        self._unindexed: dict[str, State] = {}
        self.refresh()
        self._mend_view()

    def __len__(self) -> int:
        """Number of experiences."""
        with self._lock:
            return sum(map(len, self._indexes.values())) + len(self._unindexed)

    def refresh(self) -> list[Change]:
        """Learn what other processes have written to the log since. Reads the store; writes nothing."""
        with self._lock:
            return self._learn(self.store.events(self.user, after=self._seq))

    def write(self, bodies: Sequence[Body], episode: str = "", ids: Sequence[str] = ()) -> list[Change]:
        """Append to the log and learn from it; returns the values that moved.

        On disk: the events first, then the rows of the view that they touch. Raises `StoreError`, with nothing
        written, when the disk does not play along. `ids` are idempotency keys: an event that the log has is not
        written twice.
        """
        return self.append(bodies, episode, ids)[1]

    def append(
        self, bodies: Sequence[Body], episode: str = "", ids: Sequence[str] = ()
    ) -> tuple[list[Event], list[Change]]:
        """Like `write`; returns also the events as the log has them, which tells a writer that it came second."""
        events = [Event(user=self.user, episode=episode, body=body) for body in bodies]
        events = [event.model_copy(update={"id": id}) for event, id in zip(events, ids, strict=True)] if ids else events
        with self._lock:
            stored = self.store.append(events)
            fresh = [event for event in stored if event.seq > self._seq]
            if fresh and fresh[0].seq > self._seq + 1:
                fresh = self.store.events(self.user, after=self._seq)
            changes = self._learn(fresh)
            touched = self._learner.touched()
            if touched:
                self.store.put_experiences(self.user, self._learner.experiences(touched))
            return stored, changes

    def retrieve(self, state: State, limit: int = 8, episode: str = "") -> list[Retrieved]:
        """Return up to `limit` experiences most like `state`, best first (paper, section 3.2).

        What only the open `episode` itself has brought about, and nobody judged, is no evidence and left out.
        """
        with self._lock:
            self._index_new()
            index = self._indexes.get(state.env)
            if index is None:
                return []
            own = {each.state.key for each in self._open_transitions(episode)}
            found = [
                each
                for each in index.nearest(state, limit + len(own))
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

    def experience(self, key: str) -> Experience:
        """One experience. Raises `UnknownExperience`."""
        with self._lock:
            for found in self._learner.experiences([key]):
                return found
        raise UnknownExperience(f"There is no experience {key!r} in the memory of {self.user!r}. See: memory list")

    def explain(self, key: str, action: str) -> list[Target]:
        """The targets that make up Q(key, action), in order of time."""
        self.experience(key)
        with self._lock:
            return self._learner.targets(key, action)

    def episodes(self) -> list[EpisodeTrace]:
        """All episodes, oldest first."""
        with self._lock:
            return list(self._learner.episodes.values())

    def labels(self, episode: str) -> dict[int, float]:
        """The labels in force on an episode, by step."""
        with self._lock:
            return {step: value for (owner, step), value in self._learner.labels.items() if owner == episode}

    def label(self, episode: str, step: int, value: float, *, by: str = "person", comment: str = "") -> list[Change]:
        """Reward an executed step of an episode, open or closed, with -1 to 1; it replaces an earlier label.

        Returns the values that moved. On disk: one event, and the rows of the view that moved. Raises `NoSuchStep`,
        `UnknownEpisode`, and `SessionError` for another value; then nothing is written.
        """
        self._check_step(episode, step)
        if not -1 <= value <= 1:
            raise SessionError(f"A reward is a number from -1 to 1, but it was {value}. Nothing was changed.")
        return self.write([Labelled(step=step, value=value, by=by, comment=comment)], episode)

    def withdraw(self, episode: str, step: int) -> list[Change]:
        """Take the label of a step back. Returns, writes and raises like `label`; `NoSuchStep` also without one."""
        self._check_step(episode, step)
        if step not in self.labels(episode):
            raise NoSuchStep(f"Step {step} has no reward of yours to take back.")
        return self.write([LabelWithdrawn(step=step)], episode)

    def v(self, key: str) -> float | None:
        """V of a recorded state from settled targets; None when there is none."""
        with self._lock:
            return self._learner.v(key)

    def pin(self, key: str, pinned: bool = True) -> None:
        """Keep an experience whatever the limits. Raises `UnknownExperience`."""
        self.experience(key)
        self.write([Pinned(key=key, pinned=pinned)])

    def forget(self, keys: Iterable[str]) -> None:
        """Forget experiences for good: their texts leave the view, the log, and the files.

        The values of other experiences stay as they are. Raises `UnknownExperience` for a key that is not there and
        `SessionError` for one that belongs to an open episode; then nothing is forgotten.
        """
        with self._lock:
            wanted = dict.fromkeys(keys)
            for key in wanted:
                self.experience(key)
            for episode in self.episodes():
                if not episode.ended and any(each.state.key in wanted for each in episode.transitions):
                    raise SessionError(
                        f"This experience belongs to a task that is still open ({episode.task[:60]!r}). Finish that "
                        "task or start a new one, then forget it."
                    )
            texts = {text for each in self.experiences() if each.key in wanted for text in _texts(each)}
            texts -= {text for each in self.experiences() if each.key not in wanted for text in _texts(each)}
            events, stand_ins = redact(self.store.events(self.user), set(wanted))
            self.store.replace(self.user, events)
            self.store.append([Event(user=self.user, body=Forgotten(stand_ins=tuple(stand_ins)))])
            self.store.drop_experiences(self.user, list(wanted))
            self.store.drop_vectors(self.user, sorted(texts))
            self.encoder.drop(sorted(texts))
            self.store.forget_files()
            self._restart()

    def rebuild(self) -> int:
        """Drop the view and make it again from the log, embeddings too. Returns the number of experiences."""
        with self._lock:
            self.store.drop_experiences(self.user)
            self.store.drop_vectors(self.user)
            self.encoder = CachedEncoder(self.encoder.encoder)
            self._restart()
            self._mend_view()
            self._index_new()
            return len(self)

    def _check_step(self, episode: str, step: int) -> None:
        with self._lock:
            trace = self._learner.episodes.get(episode)
            done = [each.step for each in trace.transitions] if trace else []
        if trace is None:
            raise UnknownEpisode(f"There is no task {episode!r} in the memory of {self.user!r}.")
        if step not in done:
            taken = f"Steps 1 to {len(done)} were" if done else "No step was"
            raise NoSuchStep(f"There is no step {step} to reward. {taken} taken in this task.")

    def _restart(self) -> None:
        self._learner, self._seq, self._indexes, self._unindexed = Learner(), -1, {}, {}
        self.refresh()

    def _learn(self, events: Sequence[Event]) -> list[Change]:
        if not events:
            return []
        changes = self._learner.apply(events)
        self._seq = events[-1].seq
        for each in self._learner.experiences(self._learner.touched()):
            index = self._indexes.get(each.state.env)
            if index is not None and each.key in index:
                index.set_visits(each.key, sum(row.visits for row in each.actions))
            else:
                self._unindexed[each.key] = each.state
        return changes

    def _index_new(self) -> None:
        """Encode and index what was written since, in one batch an environment: writing never waits for a model."""
        waiting, self._unindexed = self._unindexed, {}
        by_env: dict[str, list[State]] = {}
        for state in waiting.values():
            by_env.setdefault(state.env, []).append(state)
        for env, states in by_env.items():
            if env not in self._indexes:
                self._indexes[env] = Index(Similarity(self.encoder, self._tables(env)))
            self._indexes[env].add(states)
            for each in self._learner.experiences(state.key for state in states):
                self._indexes[env].set_visits(each.key, sum(row.visits for row in each.actions))
        fresh = self.encoder.take_fresh()
        if fresh:
            self.store.put_vectors(self.user, fresh)

    def _open_transitions(self, episode: str) -> list[Transition]:
        trace = self._learner.episodes.get(episode)
        return list(trace.transitions) if trace and not trace.ended else []

    def _mend_view(self) -> None:
        stored = {each.key: each for each in self.store.experiences(self.user)}
        right = {each.key: each for each in self._learner.experiences()}
        if stale := [each for key, each in right.items() if stored.get(key) != each]:
            self.store.put_experiences(self.user, stale)
        if gone := [key for key in stored if key not in right]:
            self.store.drop_experiences(self.user, gone)


def _texts(experience: Experience) -> set[str]:
    state = experience.state
    return {state.task, state.observation, *(action.label for action in state.actions)}
