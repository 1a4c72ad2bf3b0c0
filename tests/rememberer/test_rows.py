"""Each distinct text once, and no vector twice."""

import numpy as np

from rememberer.embedding import CachedEncoder
from rememberer.rows import VectorRows
from tests.rememberer.encoders import WordEncoder


def rows_of(encoder: CachedEncoder) -> VectorRows:
    return VectorRows(encoder.encode, encoder.share)


def test_a_text_has_one_row_as_long_as_somebody_uses_it() -> None:
    rows = rows_of(CachedEncoder(WordEncoder()))
    shoe, hat, shoe_again = rows.enter(["a shoe", "a hat", "a shoe"]).tolist()
    assert shoe == shoe_again != hat
    assert rows.products(["x"]).shape == (1, 2)
    rows.leave(np.array([shoe]))
    assert rows.texts(np.array([shoe, hat])) == ["a shoe", "a hat"]
    rows.leave(np.array([shoe_again]))
    assert rows.enter(["a scarf"]).tolist() == [shoe]
    encoder = WordEncoder()
    wanted = encoder.encode(["a red scarf"]) @ encoder.encode(["a scarf", "a hat"]).T
    assert np.allclose(rows.products(["a red scarf"])[0, [shoe, hat]], wanted[0], atol=1e-6)


def test_what_is_in_a_matrix_is_not_held_a_second_time_and_stays_right_when_its_row_is_another_texts() -> None:
    encoder = CachedEncoder(WordEncoder())
    rows = rows_of(encoder)
    before = encoder.encode(["a shoe"])
    entered = rows.enter(["a shoe"])
    assert np.shares_memory(encoder._known["a shoe"], rows._blocks[0])
    rows.leave(entered)
    assert rows.enter(["a hat"]).tolist() == entered.tolist()
    assert (encoder.encode(["a shoe"]) == before).all()
    assert (encoder.encode(["a hat"]) == WordEncoder().encode(["a hat"])).all()


def test_more_texts_than_fit_a_block() -> None:
    rows = rows_of(CachedEncoder(WordEncoder()))
    texts = [f"number {number}" for number in range(5000)]
    entered = rows.enter(texts)
    near = rows.products([texts[4500], texts[3]])
    assert near.argmax(axis=1).tolist() == [entered[4500], entered[3]]
    assert np.allclose(near[0, entered[[3, 4999]]], rows.some_products(texts[4500], entered[[3, 4999]]), atol=1e-6)
