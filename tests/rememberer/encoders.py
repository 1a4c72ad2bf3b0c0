"""Encoders for tests: quick, and the same in every process."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rememberer.embedding import Matrix


class WordEncoder:
    """Texts with words in common are alike. `asked` lists every text that it had to encode.

    `forbidden = True`: whoever encodes now fails the test.
    """

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.forbidden = False

    def encode(self, texts: Sequence[str]) -> Matrix:
        assert not self.forbidden, f"nobody should encode now, but was asked for {list(texts)}"
        self.asked += texts
        return np.stack([_vector(text) for text in texts])


def _vector(text: str) -> Matrix:
    total = np.sum([_word(word) for word in ["", *text.split()]], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


@lru_cache(10_000)
def _word(word: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    digest = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(384)
    return np.frombuffer(digest, dtype=np.uint8) / 255 - 0.5


class OverlapEncoder:
    """Vectors of these texts whose products are the share of words that two of them have in common."""

    name = "overlap"

    def __init__(self, texts: Sequence[str]) -> None:
        sets = [frozenset(text.split()) for text in texts]
        shares = np.array([[len(one & other) / len(one | other) for other in sets] for one in sets])
        values, columns = np.linalg.eigh(shares)
        rows = (columns * np.sqrt(np.clip(values, 0, None))).astype(np.float32)
        self._row = dict(zip(texts, rows, strict=True))

    def encode(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self._row[text] for text in texts])
