"""What a person says of a memory: rewards, comparisons, their undoing, what to keep and what to leave out of account.

All of it is events: nothing is ever overwritten, and all can be taken back.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from rememberer.errors import NoSuchStep, SessionError, UnknownEpisode, UnknownSource
from rememberer.events import Body, Compared, Labelled, LabelWithdrawn, Pinned, Quarantined, Undone
from rememberer.labelling import Agreement, Queue, agreement, pairs_of_actions, pairs_of_episodes, steps
from rememberer.labels import WHOLE, Said
from rememberer.learning import Learner
from rememberer.records import Change
from rememberer.values import EpisodeTrace

PERSON = "person"
"""Who speaks where nobody has a name."""
QUEUED = 200
"""How much of what is to be labelled is handed out at once."""


class Judged(ABC):
    """The part of `Memory` that people speak to."""

    user: str
    _learner: Learner
    _lock: threading.RLock

    @abstractmethod
    def write(self, bodies: Sequence[Body], episode: str = "", ids: Sequence[str] = ()) -> list[Change]:
        """See `Memory.write`."""

    @abstractmethod
    @contextmanager
    def alone(self) -> Iterator[None]:
        """See `Memory.alone`."""
        yield

    @abstractmethod
    def _check_known(self, key: str) -> None: ...

    def trace(self, episode: str) -> EpisodeTrace:
        """One episode. Raises `UnknownEpisode`."""
        with self._lock:
            if episode in self._learner.episodes:
                return self._learner.episodes[episode]
        raise UnknownEpisode(f"There is no task {episode!r} in the memory of {self.user!r}.")

    def labels(self, episode: str, by: str = "") -> dict[int, float]:
        """The labels in force on an episode, by step (0: the whole): of one person, or the last ones of anybody."""
        return {step: each.value for step, each in self.said(episode, by).items()}

    def said(self, episode: str, by: str = "") -> dict[int, Labelled]:
        """The same with who said it, and their comment."""
        with self._lock:
            return self._learner.labels.of_episode(episode, by)

    def history(self, episode: str, step: int) -> list[Said]:
        """All that was ever said of a step (0: the whole episode), in order, undone or not."""
        with self._lock:
            return self._learner.labels.history(episode, step)

    def label(self, episode: str, step: int, value: float, *, by: str = PERSON, comment: str = "") -> list[Change]:
        """Reward an executed step of an episode, open or closed, with -1 to 1; it replaces an earlier label.

        `step` 0 rewards a whole episode that has ended, which counts with its last step. Returns the values that moved.
        On disk: one event, and the rows of the view that moved. Raises `NoSuchStep`, `UnknownEpisode`, and
        `SessionError` for another value; then nothing is written.
        """
        self._check_step(episode, step)
        if not -1 <= value <= 1:
            raise SessionError(f"A reward is a number from -1 to 1, but it was {value}. Nothing was changed.")
        return self.write([Labelled(step=step, value=value, by=by, comment=comment)], episode)

    def withdraw(self, episode: str, step: int, *, by: str = PERSON) -> list[Change]:
        """Take a person's label of a step back. Returns, writes and raises like `label`; `NoSuchStep` without one."""
        self._check_step(episode, step)
        if step not in self.labels(episode, by):
            what = f"Step {step}" if step else "The whole task"
            raise NoSuchStep(f"{what} has no reward of yours to take back.")
        return self.write([LabelWithdrawn(step=step, by=by)], episode)

    def compare(self, better: str, worse: str, *, key: str = "", equal: bool = False, by: str = PERSON) -> list[Change]:
        """Say which of two is better: of two actions in the state `key`, or of two episodes that have ended.

        How that counts is in `rememberer.labels`. Returns the values that moved; an action that was not executed yet
        gets its share when it is. On disk: one event, and the rows of the view that moved. Raises `SessionError` for
        one and the same, `UnknownEpisode`, and `NoSuchStep` for an episode without steps; then nothing is written.
        """
        if better == worse:
            raise SessionError(f"Two are compared, but both are {better!r}. Nothing was changed.")
        for episode in () if key else (better, worse):
            self._check_step(episode, WHOLE)
        return self.write([Compared(better=better, worse=worse, key=key, equal=equal, by=by)])

    def undo(self, *, by: str = PERSON, label: str = "") -> tuple[Said, list[Change]]:
        """Undo what a person said last, or the event `label`: it counts for nothing, as if it had never been said.

        Returns what was undone, and the values that moved. On disk: one event, and the rows of the view that moved.
        Raises `NoSuchStep` when there is nothing to undo.
        """
        with self.alone():
            labels = self._learner.labels
            found = labels.find(label) if label else labels.undoable(by)
            if found is None or found.undone:
                raise NoSuchStep("There is no reward of yours to undo.")
            return found, self.write([Undone(label=found.event.id)], found.event.episode)

    def redo(self, *, by: str = PERSON, label: str = "") -> tuple[Said, list[Change]]:
        """Say again what was undone last, or the event `label`. Returns, writes and raises like `undo`."""
        with self.alone():
            labels = self._learner.labels
            found = labels.find(label) if label else labels.redoable(by)
            if found is None or not found.undone:
                raise NoSuchStep("There is nothing of yours to do again.")
            return found, self.write([Undone(label=found.event.id, on=False)], found.event.episode)

    def can_undo(self, by: str = PERSON) -> tuple[bool, bool]:
        """Whether there is something to undo, and to redo."""
        with self._lock:
            labels = self._learner.labels
            return labels.undoable(by) is not None, labels.redoable(by) is not None

    def to_label(self, by: str = PERSON, kind: Literal["steps", "actions", "episodes"] = "steps") -> Queue:
        """What a person may label or compare next: see `rememberer.labelling`."""
        queue = {"steps": steps, "actions": pairs_of_actions, "episodes": pairs_of_episodes}[kind]
        with self._lock:
            return queue(self._learner, by, QUEUED)

    def agreement(self) -> Agreement:
        """How far the people agree who labelled the same steps: see `rememberer.labelling`."""
        with self._lock:
            return agreement(self._learner)

    def pin(self, key: str, pinned: bool = True) -> None:
        """Keep an experience whatever the limits. Raises `UnknownExperience`."""
        with self.alone():
            self._check_known(key)
            self.write([Pinned(key=key, pinned=pinned)])

    def quarantine(
        self, *, episode: str = "", source: str = "", key: str = "", on: bool = True, reason: str = ""
    ) -> list[Change]:
        """Have one of these count for nothing, as if it had never been: an episode, all that was imported from a
        source (until now), or an experience; with `on=False` have it count again.

        Returns the values that moved. On disk: one event, and the rows of the view that moved. Raises
        `UnknownEpisode`, `UnknownSource`, `UnknownExperience`; then nothing is written.
        """
        with self.alone():
            if episode:
                self.trace(episode)
            elif source:
                if source not in self.sources():
                    raise UnknownSource(
                        f"Nothing in the memory of {self.user!r} came from {source!r}. "
                        f"What was imported came from: {', '.join(self.sources()) or 'nowhere, so far'}."
                    )
            elif on or key not in self._learner.quarantined():
                self._check_known(key)
            return self.write([Quarantined(episode=episode, source=source, key=key, on=on, reason=reason)])

    def quarantined(self) -> list[str]:
        """Keys of the experiences that were quarantined themselves."""
        with self._lock:
            return self._learner.quarantined()

    def sources(self) -> list[str]:
        """The files that something was imported from, quarantined or not, sorted."""
        with self._lock:
            return self._learner.sources()

    def _check_step(self, episode: str, step: int) -> None:
        trace = self.trace(episode)
        done = [each.step for each in trace.transitions]
        if step == WHOLE:
            if not trace.ended or not done:
                raise NoSuchStep(
                    "A task as a whole can be rewarded when it is over and a step of it was taken. Reward a step."
                )
        elif step not in done:
            taken = f"Steps 1 to {len(done)} were" if done else "No step was"
            raise NoSuchStep(f"There is no step {step} to reward. {taken} taken in this task.")
