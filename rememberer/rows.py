"""What states are compared by, each distinct text once: of a thousand pages of one task its vector is there one time.

Memory and time go by how many different texts there are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from rememberer.embedding import Matrix, Vector

Numbers = NDArray[np.int64]

_PILES = 16
"""Into how many piles the elements of a sequence are counted."""

_BLOCK = 4096
"""Vectors in a block. Blocks never move: growing copies nothing, and a view of a vector stays true."""


def with_room(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """The same array, or a copy with room for more than `size` when it has not as many."""
    if size <= len(numbers):
        return numbers
    grown = np.zeros(2 * size, dtype=numbers.dtype)
    grown[: len(numbers)] = numbers
    return grown


class Rows:
    """Gives each distinct text a row as long as it is in use. A row that became free is given to another text."""

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._text: list[str] = []
        self._uses: list[int] = []
        self._free: list[int] = []

    def enter(self, texts: Sequence[str]) -> Numbers:
        """Return the rows of texts, each of which is now used once more; makes them for those that have none."""
        if fresh := [text for text in dict.fromkeys(texts) if text not in self._row]:
            self._fill(self._assign(fresh), fresh)
        rows = [self._row[text] for text in texts]
        for row in rows:
            self._uses[row] += 1
        return np.array(rows, dtype=np.int64)

    def leave(self, rows: Numbers) -> None:
        """Use rows once less."""
        for row in rows.tolist():
            self._uses[row] -= 1
            if not self._uses[row]:
                self._clear(row)
                del self._row[self._text[row]]
                self._text[row] = ""
                self._free.append(row)

    def texts(self, rows: Numbers) -> list[str]:
        """The texts of rows."""
        return [self._text[row] for row in rows.tolist()]

    def products(self, texts: Sequence[str]) -> Matrix:
        """Return how alike each text is with each row's, float32 (len(texts), rows). Free rows have any number."""
        raise NotImplementedError

    def some_products(self, text: str, rows: Numbers) -> Vector:
        """Return how alike a text is with these rows', float32 (len(rows),): always the same, wherever they stand."""
        raise NotImplementedError

    def pairs(self, rows: Numbers) -> Matrix:
        """Return how alike these rows are with each other, float32 (len(rows), len(rows))."""
        raise NotImplementedError

    def _assign(self, fresh: Sequence[str]) -> Numbers:
        again = min(len(self._free), len(fresh))
        rows = [self._free.pop() for _ in range(again)]
        rows += range(len(self._text), len(self._text) + len(fresh) - again)
        self._text += [""] * (len(fresh) - again)
        self._uses += [0] * (len(fresh) - again)
        for row, text in zip(rows, fresh, strict=True):
            self._row[text], self._text[row] = row, text
        return np.array(rows, dtype=np.int64)

    def _fill(self, rows: Numbers, texts: Sequence[str]) -> None:
        """Put down what these texts are compared by."""
        raise NotImplementedError

    def _clear(self, row: int) -> None:
        """The row is about to become free."""


class VectorRows(Rows):
    """Texts that are compared by the dot product of their vectors.

    `share` is given views of the vectors by text, for whoever else would hold copies; and a copy before a view's row is
    given to another text.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[str]], Matrix],
        share: Callable[[Mapping[str, Vector]], None] | None = None,
    ) -> None:
        super().__init__()
        self._encode = encode
        self._share = share
        self._blocks: list[Matrix] = []

    def products(self, texts: Sequence[str]) -> Matrix:
        """See `Rows.products`: dot products by BLAS, whose last bits depend on where a row stands."""
        wanted = self._encode(texts)
        found = np.empty((len(texts), len(self._text)), dtype=np.float32)
        for number, block in enumerate(self._blocks):
            part = found[:, number * _BLOCK : (number + 1) * _BLOCK]
            if len(texts) == 1:
                np.dot(block[: part.shape[1]], wanted[0], out=part[0])
            else:
                part[:] = wanted @ block[: part.shape[1]].T
        return found

    def some_products(self, text: str, rows: Numbers) -> Vector:
        """See `Rows.some_products`."""
        products: Vector = np.einsum("ij,j", self._vectors(rows), self._encode([text])[0])
        return products

    def pairs(self, rows: Numbers) -> Matrix:
        """See `Rows.pairs`."""
        vectors = self._vectors(rows)
        products: Matrix = vectors @ vectors.T
        return products

    def _vectors(self, rows: Numbers) -> Matrix:
        vectors = np.empty((len(rows), self._blocks[0].shape[1]), dtype=np.float32)
        for number in np.unique(rows // _BLOCK):
            here = rows // _BLOCK == number
            vectors[here] = self._blocks[number][rows[here] % _BLOCK]
        return vectors

    def _fill(self, rows: Numbers, texts: Sequence[str]) -> None:
        vectors = self._encode(texts)
        while len(self._blocks) * _BLOCK < len(self._text):
            self._blocks.append(np.zeros((_BLOCK, vectors.shape[1]), dtype=np.float32))
        for number in np.unique(rows // _BLOCK):
            here = rows // _BLOCK == number
            self._blocks[number][rows[here] % _BLOCK] = vectors[here]
        if self._share:
            self._share({text: self._vector(row) for row, text in zip(rows.tolist(), texts, strict=True)})

    def _clear(self, row: int) -> None:
        if self._share:
            self._share({self._text[row]: self._vector(row).copy()})

    def _vector(self, row: int) -> Vector:
        vector: Vector = self._blocks[row // _BLOCK][row % _BLOCK]
        return vector


class SequenceRows(Rows):
    """Sequences, each as the text that `written` makes of it.

    They are as alike as their longest common subsequence is long, through the length of the longer one. Two empty ones
    are 1, an empty one with another is 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self._characters: dict[str, str] = {}
        self._sequences = np.zeros(0, dtype=object)
        self._lengths = np.zeros(0, dtype=np.int64)
        self._piles = [np.zeros(0, dtype=np.int32) for _ in range(_PILES)]

    def products(self, texts: Sequence[str]) -> Matrix:
        """See `Rows.products`."""
        return np.concatenate([self.some_products(text, np.arange(len(self._text)))[None] for text in texts])

    def some_products(self, text: str, rows: Numbers, least: float = 0.0) -> Vector:
        """See `Rows.some_products`. What is under `least` may be given as 0."""
        sequence = self._sequence(text)
        cutoff = max(0, int(np.ceil(least * len(sequence) - 1e-3)))
        common = cdist([sequence], self._sequences[rows], scorer=LCSseq.similarity, score_cutoff=cutoff)[0]
        return _through_longer(common, self._lengths[rows], len(sequence))

    def pairs(self, rows: Numbers) -> Matrix:
        """See `Rows.pairs`."""
        return np.stack([self.some_products(text, rows) for text in self.texts(rows)])

    def ceilings(self, text: str) -> Vector:
        """What `products` can be at most, by the lengths alone, float32 (rows,)."""
        length, lengths = len(self._sequence(text)), self._lengths[: len(self._text)]
        of_length = np.arange(lengths.max(initial=0) + 1)
        most: Vector = _through_longer(np.minimum(of_length, length), of_length, length)[lengths]
        return most

    def closer_ceilings(self, text: str, rows: Numbers) -> Vector:
        """The same for these rows, by which elements they have: in common is no more of any than the fewer has."""
        sequence = self._sequence(text)
        most = np.zeros(len(rows), dtype=np.int64)
        for pile, count in zip(self._piles, _piles([sequence])[0], strict=True):
            if count:
                most += np.minimum(pile[rows], count)
        return _through_longer(most, self._lengths[rows], len(sequence))

    def _fill(self, rows: Numbers, texts: Sequence[str]) -> None:
        self._sequences = with_room(self._sequences, len(self._text))
        self._lengths = with_room(self._lengths, len(self._text))
        self._piles = [with_room(pile, len(self._text)) for pile in self._piles]
        for row, text in zip(rows.tolist(), texts, strict=True):
            for each in _elements(text):
                if each not in self._characters:
                    self._characters[each] = _character(1 + len(self._characters))
            self._sequences[row] = self._sequence(text)
            self._lengths[row] = len(self._sequences[row])
        for pile, counts in zip(self._piles, _piles(self._sequences[rows]).T, strict=True):
            pile[rows] = counts

    def _sequence(self, text: str) -> str:
        """One character an element, as RapidFuzz compares strings quickest; all unheard-of ones are the same one."""
        return "".join([self._characters.get(each, "\0") for each in _elements(text)])


_SEPARATOR = "\x1e"


def written(elements: Sequence[str]) -> str:
    """A sequence as one text, for `SequenceRows`."""
    return "".join(each + _SEPARATOR for each in elements)


def _elements(text: str) -> list[str]:
    return text.split(_SEPARATOR)[:-1]


def _piles(sequences: Sequence[str] | NDArray[np.object_]) -> NDArray[np.int32]:
    """How many elements of each are in which pile. The first ones ever met, which are the frequent ones, are apart."""
    numbers = np.frombuffer("".join(sequences).encode("utf-32-le"), dtype=np.uint32) % _PILES
    owners = np.repeat(np.arange(len(sequences)), [len(each) for each in sequences])
    counts = np.bincount(owners * _PILES + numbers, minlength=len(sequences) * _PILES)
    return counts.reshape(-1, _PILES).astype(np.int32)


def _through_longer(common: NDArray[Any], lengths: Numbers, length: int) -> Vector:
    longer = np.maximum(lengths, length)
    return np.where(longer, common / np.maximum(longer, 1), 1).astype(np.float32)


def _character(number: int) -> str:
    # Half surrogates are left out. Who meets a million elements has the last ones for one.
    return chr(min(number if number < 0xD800 else number + 0x800, 0x10FFFF))
