"""Which two of many rows are the most alike, kept up as rows come and go."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rememberer.embedding import Matrix, Vector
from rememberer.rows import Numbers, with_room

_AT_ONCE = 8_000_000
"""Similarities that are held at a time: 32 MB, several times over."""
_TIE = 1e-5
"""Products that differ by less are equal: the last bits depend on how they were computed."""


class Neighbours:
    """Keeps the nearest other row of each row, as far as it matters.

    `compare` gives the similarity of some rows with all rows; -inf for those that are not there. Of
    each row either the nearest one is known, or only how alike that is at most. A row that leaves makes nobody's
    nearest one more alike, so its neighbours are looked at again only when they could be the most alike of all.

    `most` and `nearest` are what is known to begin with: how alike each row's nearest one is at most, and which one it
    is; then that is exact. -1: not known.
    """

    def __init__(self, compare: Callable[[Numbers], Matrix], most: Vector, nearest: Numbers) -> None:
        self._compare = compare
        self._most = most
        self._nearest = nearest
        self._came: list[int] = []

    def came(self, rows: Sequence[int]) -> None:
        """Rows are there now, which were free or new."""
        self._came += rows

    def left(self, rows: Sequence[int]) -> None:
        """Rows are not there any more."""
        self._came = [row for row in self._came if row not in rows]
        self._nearest[np.isin(self._nearest, rows)] = -1

    def closest(self, of: NDArray[np.bool_], age: Numbers) -> tuple[int, int, float] | None:
        """Return (row, other, similarity) of the two most alike rows, at least one of which is one `of` these.

        Among pairs that are equally alike that of the row with the highest `age` comes first, if it is `of` these; then
        that of the one with the lowest. None when there are none.
        """
        size, newest = len(of), int(age.argmax()) if len(age) else -1
        self._most, self._nearest = with_room(self._most, size), with_room(self._nearest, size)
        while self._came:
            rows = np.array(self._came[: self._block(size)])
            f = self._look(rows)
            # For the others they may be nearer than what was known.
            most = f.max(axis=0)
            nearer = np.flatnonzero(most > self._most[:size])
            self._most[nearer], self._nearest[nearer] = most[nearer], rows[f[:, nearer].argmax(axis=0)]
            del self._came[: len(rows)]
        if newest >= 0 and of[newest] and self._nearest[newest] < 0:
            self._look(np.array([newest]))
        while True:
            most, known = np.where(of, self._most[:size], -np.inf), self._nearest[:size] >= 0
            best = most[known].max(initial=-np.inf)
            unsure = np.flatnonzero(~known & (most > best + _TIE))
            if not len(unsure):
                break
            self._look(unsure[np.argsort(-most[unsure], kind="stable")[: self._block(size)]])
        if best == -np.inf:
            return None
        row = newest
        if not of[newest] or self._most[newest] < best - _TIE:
            alike = np.flatnonzero(known & (most >= best - _TIE))
            row = int(alike[age[alike].argmin()])
        return row, int(self._nearest[row]), float(self._most[row])

    def _look(self, rows: Numbers) -> Matrix:
        """Find the nearest ones of these rows. Returns the similarities with all."""
        f = self._compare(rows)
        each = np.arange(len(rows))
        f[each, rows] = -np.inf
        self._nearest[rows] = nearest = f.argmax(axis=1)
        self._most[rows] = f[each, nearest]
        return f

    def _block(self, size: int) -> int:
        return max(1, _AT_ONCE // size)
