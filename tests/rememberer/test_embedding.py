"""Sentence embeddings: the real model, and the cache in front of it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from rememberer.embedding import CachedEncoder, Matrix, SentenceEncoder
from rememberer.errors import StoreError
from tests.rememberer.encoders import WordEncoder


def test_the_real_model_makes_unit_vectors_of_any_text() -> None:
    encoder = SentenceEncoder()
    texts = [
        "a red shoe",
        "red shoes for women",
        "the tax return",
        "",
        "half \ud83e a pair",
        "买一双红色的鞋",
        "word " * 2000,
    ]
    rows = encoder.encode(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert rows[0] @ rows[1] > 0.6 > 0.3 > rows[0] @ rows[2]
    assert encoder.encode(texts[:1])[0] == pytest.approx(rows[0], abs=1e-5)


def test_a_model_that_is_not_there_is_named_and_what_to_do_is_said() -> None:
    encoder = SentenceEncoder("nobody/has-this-model")
    with pytest.raises(StoreError, match=r"'nobody/has-this-model' is not on this machine.*REMEMBERER_ENCODER"):
        encoder.encode(["a red shoe"])


def test_each_text_is_encoded_once() -> None:
    words = WordEncoder()
    cached = CachedEncoder(words)
    rows = cached.encode(["a", "b", "a"])
    assert words.asked == ["a", "b"]
    assert np.array_equal(rows, words.encode(["a", "b", "a"]))
    words.forbidden = True
    assert np.array_equal(cached.encode(["b"]), rows[1:2])
    assert cached.encode([]).shape[0] == 0
    assert cached.name == words.name


def test_what_a_store_has_kept_is_not_encoded_and_not_fresh() -> None:
    words = WordEncoder()
    (kept,) = words.encode(["kept"])
    cached = CachedEncoder(words, {"kept": kept})
    cached.encode(["kept", "new"])
    assert words.asked == ["kept", "new"]
    assert list(cached.take_fresh()) == ["new"]
    assert cached.take_fresh() == {}


def test_starting_over_forgets_all_but_what_was_kept() -> None:
    words = WordEncoder()
    cached = CachedEncoder(words)
    kept, _ = cached.encode(["kept", "gone"])
    cached.reset({"kept": kept})
    assert cached.take_fresh() == {}
    cached.encode(["kept", "gone"])
    assert words.asked == ["kept", "gone", "gone"]


def test_a_slow_model_holds_nobody_up_who_does_not_need_it() -> None:
    begun, go_on = Event(), Event()

    class Slow(WordEncoder):
        def encode(self, texts: list[str]) -> Matrix:  # type: ignore[override]
            begun.set()
            assert go_on.wait(30)
            return super().encode(texts)

    words = WordEncoder()
    cached = CachedEncoder(Slow(), {"known": words.encode(["known"])[0]})
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(cached.encode, ["unknown"])
        try:
            assert begun.wait(30)
            assert np.array_equal(cached.encode(["known"]), words.encode(["known"]))
            assert cached.take_fresh() == {}
        finally:
            go_on.set()
        assert np.array_equal(slow.result(), words.encode(["unknown"]))
    assert list(cached.take_fresh()) == ["unknown"]
