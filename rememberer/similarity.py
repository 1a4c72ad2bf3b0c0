"""How alike two states are (paper, section 3.2): f = lambda f_task + (1 - lambda) f_observation.

f_task is the cosine of the task's sentence embeddings. f_observation is the cosine of the observation's, or a table
over the kinds of page that the environment reports. Either way f is ONE dot product: the parts are scaled by the root
of their weight and stand side by side in one vector. So retrieval is one encoding and one matrix product.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rememberer.embedding import Encoder, Matrix, Vector
from rememberer.records import State

KindTable = Mapping[tuple[str, str], float]

LAMBDA = 0.5
"""Weight of the task against the observation (paper: 0.5)."""


class Similarity:
    """Similarity of the states of one environment.

    `kinds` is a symmetric positive semi-definite table over observation kinds, or None to compare observation texts.
    A kind is 1 with itself; a pair that the table does not name is 0; kinds that it does not name count as one.
    """

    def __init__(self, encoder: Encoder, kinds: KindTable | None = None) -> None:
        self._encoder = encoder
        self._factor: dict[str, Vector] | None = None
        if kinds is not None:
            names = sorted({kind for pair in kinds for kind in pair})
            table = np.eye(len(names) + 1)
            for (one, other), value in kinds.items():
                table[names.index(one), names.index(other)] = table[names.index(other), names.index(one)] = value
            # table = factor @ factor.T, so that looking a pair up is a dot product too.
            values, columns = np.linalg.eigh(table)
            factor = (columns * np.sqrt(np.clip(values, 0, None))).astype(np.float32)
            self._factor = dict(zip([*names, ""], factor, strict=True))

    def vectors(self, states: Sequence[State]) -> tuple[Matrix, Matrix]:
        """Return (task part, observation part), float32 of n rows each; f is the dot product of both side by side."""
        tasks = self._encoder.encode([state.task for state in states])
        if self._factor is None:
            seen = self._encoder.encode([state.observation for state in states])
        else:
            seen = np.stack([self._factor.get(state.kind, self._factor[""]) for state in states])
        return tasks * np.float32(np.sqrt(LAMBDA)), seen * np.float32(np.sqrt(1 - LAMBDA))


class Index:
    """The vectors of one user's states of one environment, oldest first, with how often each was visited."""

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._keys: list[str] = []
        self._row: dict[str, int] = {}
        self._visits = np.zeros(0, dtype=np.int64)
        self._tasks: Matrix = np.zeros((0, 0), dtype=np.float32)
        self._seen: Matrix = np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._row

    def add(self, states: Sequence[State]) -> None:
        """Append states that are not there yet; encodes what is not cached, in one batch."""
        tasks, seen = self._similarity.vectors(states)
        first, end = len(self._keys), len(self._keys) + len(states)
        if end > len(self._visits):
            room = max(2 * first, end)
            self._tasks, self._seen = _grown(self._tasks, room, tasks.shape[1]), _grown(self._seen, room, seen.shape[1])
            self._visits = np.concatenate([self._visits[:first], np.zeros(room - first, dtype=np.int64)])
        self._tasks[first:end], self._seen[first:end] = tasks, seen
        for row, state in enumerate(states, first):
            self._keys.append(state.key)
            self._row[state.key] = row

    def remove(self, keys: Iterable[str]) -> None:
        """Take states out; those that are not there are passed over."""
        gone = [self._row.pop(key) for key in keys if key in self._row]
        if gone:
            count, kept = len(self._keys), np.delete(np.arange(len(self._keys)), gone)
            self._keys = [self._keys[row] for row in kept]
            self._row = {key: row for row, key in enumerate(self._keys)}
            for rows in (self._visits, self._tasks, self._seen):
                rows[: len(kept)] = rows[:count][kept]

    def set_visits(self, key: str, visits: int) -> None:
        """Ties go to the state that was visited more."""
        if key in self._row:
            self._visits[self._row[key]] = visits

    def nearest(self, state: State, limit: int) -> list[tuple[str, float, float, float]]:
        """Return up to `limit` (key, f, f_task, f_observation), best first.

        Ties: higher f, then more visits, then older. One product of all vectors with the state's.
        """
        count = len(self._keys)
        if not count or limit < 1:
            return []
        task, seen = self._similarity.vectors([state])
        # Not `@`: the last bit of its products depends on where a row stands, and would decide ties.
        f_task, f_seen = np.einsum("ij,j", self._tasks[:count], task[0]), np.einsum("ij,j", self._seen[:count], seen[0])
        f = f_task + f_seen
        bar = np.partition(f, count - limit)[count - limit] if count > limit else f.min()
        near = np.flatnonzero(f >= bar)
        best = near[np.lexsort((near, -self._visits[near], -f[near]))][:limit]
        return [
            (self._keys[row], float(f[row]), float(f_task[row]) / LAMBDA, float(f_seen[row]) / (1 - LAMBDA))
            for row in best
        ]


def _grown(old: Matrix, rows: int, columns: int) -> Matrix:
    grown = np.zeros((rows, columns), dtype=np.float32)
    grown[: len(old), : old.shape[1]] = old
    return grown
