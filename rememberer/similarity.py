"""How alike two states are (paper, section 3.2): f = lambda f_task + (1 - lambda) f_observation.

f_task is the cosine of the task's sentence embeddings. f_observation is the cosine of the observation's, or a table
over the kinds of page that the environment reports, or the longest common subsequence of the observation's elements.
Cosines and tables are dot products, so that retrieval is one encoding and an exact matrix product for each part, over
each distinct text once.

Exact at every size: at a million states of a million different pages the products take 0.2 s on one core, after an
encoding of 0.1 s; an approximate index would take minutes to build, and miss some.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from rememberer.capacity import Neighbours
from rememberer.embedding import CachedEncoder, Encoder, Matrix, Vector
from rememberer.records import State
from rememberer.rows import Numbers, SequenceRows, VectorRows, with_room, written

KindTable = Mapping[tuple[str, str], float]
Elements = Callable[[str], Sequence[str]]
Comparison = KindTable | Elements | None
"""By what observations are compared, see `Similarity`."""

LAMBDA = 0.5
"""Weight of the task against the observation (paper: 0.5)."""

_LIKELIEST = 256
"""How many states are compared element by element before it is known how alike the best ones are."""

_TOGETHER = 1000
"""Rows of which each is compared with each in one go."""

_NOISE = 1e-5
"""Products of the same vectors differ by less, however they were computed."""


class Similarity:
    """Similarity of the states of one environment.

    `compare` says by what observations are compared (`envs.compared_by`): a symmetric positive
    semi-definite table over their kinds, a function that takes their texts apart into elements, or None: by embeddings
    of their texts. A kind is 1 with itself; a pair that the table does not name is 0; kinds that it does not name count
    as one.
    """

    def __init__(self, encoder: Encoder, compare: Comparison = None) -> None:
        self._encoder = encoder if isinstance(encoder, CachedEncoder) else CachedEncoder(encoder)
        self._compare = compare
        self._factor: dict[str, Vector] = {}
        if isinstance(compare, Mapping):
            names = sorted({kind for pair in compare for kind in pair})
            table = np.eye(len(names) + 1)
            for (one, other), value in compare.items():
                table[names.index(one), names.index(other)] = table[names.index(other), names.index(one)] = value
            # table = factor @ factor.T, so that looking a pair up is a dot product too.
            values, columns = np.linalg.eigh(table)
            factor = (columns * np.sqrt(np.clip(values, 0, None))).astype(np.float32)
            self._factor = dict(zip([*names, ""], factor, strict=True))

    def encode(self, states: Sequence[State]) -> None:
        """Have the encoder know all texts of these states that are compared by embeddings, in one batch."""
        texts = [state.task for state in states]
        if self._compare is None:
            texts += [state.observation for state in states]
        self._encoder.encode(texts)

    def seen(self, state: State) -> str:
        """The text that stands for a state's observation."""
        if callable(self._compare):
            return written(self._compare(state.observation))
        if self._factor:
            return state.kind if state.kind in self._factor else ""
        return state.observation

    def task_rows(self) -> VectorRows:
        """Rows for texts of tasks."""
        return VectorRows(self._encoder.encode, self._encoder.share)

    def seen_rows(self) -> VectorRows | SequenceRows:
        """Rows for what `seen` gives."""
        if callable(self._compare):
            return SequenceRows()
        if self._factor:
            return VectorRows(lambda kinds: np.stack([self._factor[kind] for kind in kinds]))
        return self.task_rows()


class Index:
    """One user's states of one environment, with how often each was visited."""

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._tasks = similarity.task_rows()
        self._seen = similarity.seen_rows()
        self._row: dict[str, int] = {}
        self._key: list[str] = []
        self._free: list[int] = []
        self._age = np.zeros(0, dtype=np.int64)
        """The lower the older; -1 when the row is free."""
        self._added = 0
        self._visits = np.zeros(0, dtype=np.int64)
        self._task_row = np.zeros(0, dtype=np.int64)
        self._seen_row = np.zeros(0, dtype=np.int64)
        self._neighbours: Neighbours | None = None

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, key: str) -> bool:
        return key in self._row

    def add(self, states: Sequence[State]) -> None:
        """Add states that are not there yet, as the newest; encodes what is not cached, in one batch."""
        self._similarity.encode(states)
        rows = [self._free.pop() for _ in range(min(len(self._free), len(states)))]
        missing = len(states) - len(rows)
        rows += range(len(self._key), len(self._key) + missing)
        self._key += [""] * missing
        size = len(self._key)
        self._age, self._visits = with_room(self._age, size), with_room(self._visits, size)
        self._task_row, self._seen_row = with_room(self._task_row, size), with_room(self._seen_row, size)
        for row, state in zip(rows, states, strict=True):
            self._key[row] = state.key
            self._row[state.key] = row
        self._age[rows] = np.arange(self._added, self._added + len(states))
        self._added += len(states)
        self._visits[rows] = 0
        self._task_row[rows] = self._tasks.enter([state.task for state in states])
        self._seen_row[rows] = self._seen.enter([self._similarity.seen(state) for state in states])
        if self._neighbours:
            self._neighbours.came(rows)

    def remove(self, keys: Iterable[str]) -> None:
        """Take states out; those that are not there are passed over. Takes no longer for a larger index."""
        rows = [self._row.pop(key) for key in keys if key in self._row]
        if not rows:
            return
        self._tasks.leave(self._task_row[rows])
        self._seen.leave(self._seen_row[rows])
        self._age[rows] = -1
        self._free += rows
        if self._neighbours:
            self._neighbours.left(rows)

    def set_visits(self, key: str, visits: int) -> None:
        """Ties go to the state that was visited more."""
        if key in self._row:
            self._visits[self._row[key]] = visits

    def nearest(self, state: State, limit: int) -> list[tuple[str, float, float, float]]:
        """Return up to `limit` (key, f, f_task, f_observation), best first.

        Ties: higher f, then more visits, then older. Exact.
        """
        limit = min(limit, len(self._row))
        if limit < 1:
            return []
        here, seen, f_task = slice(len(self._key)), self._similarity.seen(state), self._tasks.products([state.task])[0]
        if isinstance(self._seen, SequenceRows):
            near = self._near_sequences(self._seen, seen, f_task, limit)
        else:
            f = _weighted(f_task[self._task_row[here]], self._seen.products([seen])[0][self._seen_row[here]])
            self._pass_over_free(f)
            near = np.flatnonzero(f >= np.partition(f, len(f) - limit)[len(f) - limit] - _NOISE)
        # The last bits of a fast product depend on where a row stands, and would decide ties: those that could be among
        # the best are computed anew.
        f_task = _by_distinct(self._task_row[near], lambda rows: self._tasks.some_products(state.task, rows))
        f_seen = _by_distinct(self._seen_row[near], lambda rows: self._seen.some_products(seen, rows))
        f = _weighted(f_task, f_seen)
        best = np.lexsort((self._age[near], -self._visits[near], -f))[:limit]
        return [(self._key[near[each]], float(f[each]), float(f_task[each]), float(f_seen[each])) for each in best]

    def least_needed(self, pinned: Collection[str] = ()) -> tuple[str, str, float] | None:
        """Return (key, like, f): of the two states that are the most alike, the one to drop when memory is full.

        The one with fewer visits; of equally visited ones the newest of all, if it is one of them, otherwise the older
        one. `pinned` ones stay. Among pairs that are equally alike that of the newest of all comes first. None when
        there is no pair of which one may go. The first call looks at all, the later ones at what came or lost its
        neighbour since.
        """
        if self._neighbours is None:
            self._neighbours = Neighbours(self._compare, *self._first_neighbours())
        age = self._age[: len(self._key)]
        may_go = age >= 0
        may_go[[self._row[key] for key in pinned if key in self._row]] = False
        pair = self._neighbours.closest(may_go, age)
        if pair is None:
            return None
        one, other, f = pair
        newest = age.argmax()
        goes = min(
            (row for row in (one, other) if may_go[row]), key=lambda row: (self._visits[row], row != newest, age[row])
        )
        return self._key[goes], self._key[other if goes == one else one], f

    def _near_sequences(self, seen: SequenceRows, text: str, f_task: Vector, limit: int) -> Numbers:
        """Rows of all states that may be among the best `limit`. `f_task` is of the distinct tasks.

        Common subsequences take long, but f cannot be more than with all of the shorter one in common, or as much of
        each element as both have. So first the likeliest of the likeliest tasks, and then all that may still be as
        alike as those turned out to be.
        """
        count, size = max(limit, _LIKELIEST), len(self._key)
        f_most = _weighted(f_task[self._task_row[:size]], seen.ceilings(text)[self._seen_row[:size]])
        self._pass_over_free(f_most)

        def exact(rows: Numbers, least: float = 0.0) -> Vector:
            f_seen = _by_distinct(self._seen_row[rows], lambda distinct: seen.some_products(text, distinct, least))
            return _weighted(f_task[self._task_row[rows]], f_seen)

        first = max(len(f_task) - count, 0)
        likely = (f_task >= np.partition(f_task, first)[first])[self._task_row[:size]]
        rows = np.flatnonzero(likely & (f_most > -np.inf))
        if len(rows) < limit:
            rows = np.flatnonzero(f_most > -np.inf)
        if len(rows) > count:
            rows = rows[np.argpartition(f_most[rows], len(rows) - count)[-count:]]
        bar = np.partition(exact(rows), len(rows) - limit)[len(rows) - limit] - _NOISE
        rows = np.flatnonzero(f_most >= bar)
        closer = seen.closer_ceilings(text, self._seen_row[rows])
        rows = rows[_weighted(f_task[self._task_row[rows]], closer) >= bar]
        near: Numbers = rows[exact(rows, (bar - LAMBDA * f_task.max()) / (1 - LAMBDA)) >= bar]
        return near

    def _first_neighbours(self) -> tuple[Vector, Numbers]:
        """How alike each state's nearest one is at most, and which it is; -1 where that is not known.

        The most alike are nearly always of one task. With those of other tasks f cannot be more than with the same
        observation, so that comparing the tasks rules nearly all of them out.
        """
        size, rows = len(self._key), np.array(sorted(self._row.values()), dtype=np.int64)
        most, nearest = np.ones(size, dtype=np.float32), np.full(size, -1, dtype=np.int64)
        if len(rows):
            rows = rows[np.argsort(self._task_row[rows], kind="stable")]
            tasks, starts = np.unique(self._task_row[rows], return_index=True)
            most_of_task = np.zeros(tasks[-1] + 1, dtype=np.float32)
            for some in range(0, len(tasks), _TOGETHER):
                block = tasks[some : some + _TOGETHER]
                f_task = self._tasks.products(self._tasks.texts(block))[:, tasks]
                f_task[np.arange(len(block)), some + np.arange(len(block))] = -1
                most_of_task[block] = f_task.max(axis=1)
            most[rows] = _weighted(most_of_task[self._task_row[rows]], np.ones(len(rows), dtype=np.float32))
            for of_task in np.split(rows, starts[1:]):
                if len(of_task) > _TOGETHER:
                    most[of_task] = 1
                    continue
                f = _weighted(np.ones(1, dtype=np.float32), self._seen.pairs(self._seen_row[of_task]))
                np.fill_diagonal(f, -np.inf)
                best = f.max(axis=1)
                known = best >= most[of_task]
                most[of_task[known]], nearest[of_task[known]] = best[known], of_task[f.argmax(axis=1)[known]]
        return most, nearest

    def _compare(self, rows: Numbers) -> Matrix:
        """f of each of these rows with all rows; -inf for free ones."""
        here = slice(len(self._key))
        tasks, task = np.unique(self._task_row[rows], return_inverse=True)
        seen, look = np.unique(self._seen_row[rows], return_inverse=True)
        f_task = self._tasks.products(self._tasks.texts(tasks))[np.ix_(task, self._task_row[here])]
        f_seen = self._seen.products(self._seen.texts(seen))[np.ix_(look, self._seen_row[here])]
        f = _weighted(f_task, f_seen)
        self._pass_over_free(f)
        return f

    def _pass_over_free(self, f: Matrix) -> None:
        if self._free:
            f[..., self._free] = -np.inf


def _weighted(f_task: Matrix, f_seen: Matrix) -> Matrix:
    f: Matrix = np.float32(LAMBDA) * f_task + np.float32(1 - LAMBDA) * f_seen
    return f


def _by_distinct(rows: Numbers, products: Callable[[Numbers], Vector]) -> Vector:
    distinct, which = np.unique(rows, return_inverse=True)
    return products(distinct)[which]
