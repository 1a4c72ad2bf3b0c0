"""The parts of the search that the golden rankings do not reach."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.webshop.search import K1, B, Index, stored_length, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The women's T-SHIRT (long-sleeve)!", "women t shirt long sleev"),
        ("1,000 pieces, 2.7oz, 16x24 inch, 3.5", "1,000 piec 2.7oz 16x24 inch 3.5"),
        ('32"-33" neck/34 e.g. usb:c', "32 33 neck 34 e.g usb:c"),
        ("us s as of it", "us s"),
        ("easy assembly, easy to assemble", "easi assembl easi assembl"),
        ("technology technologies technological", "technolog technolog technolog"),
        ("possible, possibly; terribly biology ably", "possibl possibl terribl biologi abli"),
        ("crème brûlée – naïve", "crème brûlée naïv"),
        ("日本 tea ひら カタカナ", "日 本 tea ひ ら カタカナ"),
        ("\u2028\x00 !!! …", ""),
    ],
)
def test_words_become_terms_as_in_lucenes_english_analyser(text: str, expected: str) -> None:
    assert terms([text]) == [expected.split()]


@given(st.integers(0, 2**31 - 1))
def test_a_length_is_kept_in_one_byte(length: int) -> None:
    """Below 24 as it is; above, what is beyond 24 keeps its first four binary digits."""
    beyond = max(length - 24, 0)
    dropped = max(beyond.bit_length() - 4, 0)
    expected = length if length < 24 else 24 + (beyond >> dropped << dropped)
    assert stored_length(np.array([length]))[0] == expected


WORDS = st.sampled_from(["red", "blue", "lamp", "shoe", "cotton", "desk", "oak", "tea"])
TEXTS = st.lists(st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=20)


@given(TEXTS, st.lists(WORDS, max_size=5).map(" ".join), st.integers(1, 25))
def test_it_finds_what_the_formula_says(texts: list[str], query: str, limit: int) -> None:
    ids = [f"{(7 * row) % 20:02}" for row in range(len(texts))]
    documents = [text.split() for text in texts]
    filled = sum(bool(document) for document in documents)

    def score(words: list[str]) -> float:
        total = 0.0
        for term, times in Counter(query.split()).items():
            containing = sum(term in document for document in documents)
            if term in words:
                mean = sum(map(len, documents)) / filled
                idf = math.log(1 + (filled - containing + 0.5) / (containing + 0.5))
                length = int(stored_length(np.array([len(words)]))[0])
                frequency = words.count(term)
                total += times * idf * frequency / (frequency + K1 * (1 - B + B * length / mean))
        return total

    scores = {ids[row]: score(words) for row, words in enumerate(documents)}
    found = [(ids[row], value) for row, value in Index(ids, texts).search(query, limit)]
    assert len(found) == min(limit, sum(value > 0 for value in scores.values()))
    for each, value in found:
        assert value == pytest.approx(scores[each], rel=1e-5)
    best = sorted(scores.values(), reverse=True)[: len(found)]
    assert [value for _, value in found] == pytest.approx(best, rel=1e-5)


def test_equal_scores_are_ordered_by_id() -> None:
    ids = [f"B{(37 * number) % 101:03}" for number in range(100)]
    hits = Index(ids, ["red lamp"] * 100).search("lamp", 50)
    assert [ids[row] for row, _ in hits] == sorted(ids)[:50]


def test_an_empty_shop_finds_nothing() -> None:
    assert Index([], []).search("lamp") == []
    assert Index(["a"], ["the"]).search("lamp the") == []
