"""Search as the official index does it: Lucene's BM25 (k1 0.9, b 0.4) behind its English analyser.

Robertson et al., "Okapi at TREC-3", in Lucene's variant without the factor (k1 + 1). What a term adds to a product is
worked out once, so that a query is a handful of column operations.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import Stemmer
from numpy.typing import NDArray

K1, B = 0.9, 0.4

_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
_IGNORED = frozenset(_STOP_WORDS.split())
# Unicode word segmentation, as far as shops need it: letters and digits stick together, an apostrophe, dot or colon
# joins letters (women's), a comma or dot joins digits (1,000 and 2.7); Han and Hiragana stand alone.
_ALONE = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff"
_RUN = rf"[^\W{_ALONE}]+"
_WORD = re.compile(rf"[{_ALONE}]|{_RUN}(?:(?:(?<=[^\W\d_])['’.:·](?=[^\W\d_])|(?<=\d)['’.,;](?=\d)){_RUN})*")
_POSSESSIVE = re.compile("['’]s$")
# Lucene's Porter stemmer departs from the published one in two endings, where a syllable is left before them: -bly
# goes with -ble (assembly, assemble), -logy with -logical.
_BLY = re.compile("^(.*[aeiouy][^aeiou].*)bly$")
_LOGY = re.compile("^(.*[aeiouy][^aeiou].*)log(?:y|ies)$")


def terms(texts: Sequence[str]) -> list[list[str]]:
    """Return the index terms of each text: words in lower case without stop words, stemmed."""
    stemmer = Stemmer.Stemmer("porter")  # holds a cache that threads must not share
    stems: dict[str, str] = {}

    def stem(word: str) -> str:
        if word not in stems:
            ready = _LOGY.sub(r"\1log", _BLY.sub(r"\1ble", word))
            stems[word] = stemmer.stemWord(ready) if len(ready) > 2 else ready
        return stems[word]

    words = ((_POSSESSIVE.sub("", word) for word in _WORD.findall(text.lower())) for text in texts)
    return [[stem(word) for word in each if word not in _IGNORED] for each in words]


def stored_length(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return document lengths as Lucene's one byte remembers them: exact below 40, then the first four bits."""
    rest = np.maximum(lengths - 24, 1)
    shift = np.maximum(np.floor(np.log2(rest)).astype(np.int64) - 3, 0)
    return np.where(lengths < 24, lengths, 24 + ((lengths - 24) >> shift << shift))


class Index:
    """An immutable index over texts; may be shared between threads."""

    def __init__(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index `texts`; equal scores are ordered by `ids`, one for each text."""
        documents = terms(texts)
        rows: dict[str, list[int]] = {}
        counts: dict[str, list[int]] = {}
        for row, words in enumerate(documents):
            for word, count in Counter(words).items():
                rows.setdefault(word, []).append(row)
                counts.setdefault(word, []).append(count)
        lengths = np.array([len(words) for words in documents], dtype=np.int64)
        filled = max(int((lengths > 0).sum()), 1)  # to Lucene, an empty text is none
        mean = max(int(lengths.sum()), 1) / filled
        dampening = K1 * (1 - B + B * stored_length(lengths) / mean)
        self._size = len(documents)
        self._order = np.argsort(np.argsort(np.array(ids)))
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        for word, where in rows.items():
            row_numbers = np.array(where)
            frequency = np.array(counts[word])
            idf = np.log1p((filled - len(where) + 0.5) / (len(where) + 0.5))
            impact = idf * frequency / (frequency + dampening[row_numbers])
            self._postings[word] = (row_numbers, impact.astype(np.float32))

    def search(self, query: str, limit: int = 50) -> list[tuple[int, float]]:
        """Return up to `limit` pairs of row number and score, best first; rows without any term are no hits."""
        scores = np.zeros(self._size)
        for word, count in Counter(terms([query])[0]).items():
            if word in self._postings:
                rows, impact = self._postings[word]
                scores[rows] += count * impact
        hits = np.flatnonzero(scores)
        # Compared at Lucene's precision: what it takes for a tie must be one here.
        found = scores[hits].astype(np.float32)
        if len(hits) > limit:
            enough = found >= np.partition(found, -limit)[-limit]
            hits, found = hits[enough], found[enough]
        best = np.lexsort((self._order[hits], -found))[:limit]
        return [(int(hits[each]), float(found[each])) for each in best]
