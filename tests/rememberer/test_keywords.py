"""What the memory policy reads from a task in plain words."""

import pytest

from rememberer.keywords import beginning, content, overlap, price, price_limit, share, terms, words


def test_words_are_letters_or_numbers() -> None:
    assert words("X-Large, 6ft, 9.5 Men’s") == ["x", "large", "6", "ft", "9.5", "men's"]


def test_terms_stay_as_people_write_them() -> None:
    assert terms("X-Large, 16x16 (9.5) Men’s [1080p].") == ["x-large", "16x16", "9.5", "men's", "1080p"]


def test_what_is_wanted_is_left_of_a_task() -> None:
    task = "Hi, I'm looking for a red cotton scarf, red please, and price lower than 20.00 dollars"
    assert content(task) == ["red", "cotton", "scarf"]


def test_the_first_words_stop_where_details_begin() -> None:
    assert beginning("i want running shoes with a rubber sole for men") == ["running", "shoes"]


@pytest.mark.parametrize(
    ("task", "limit"),
    [
        ("a lamp, and price lower than 40.00 dollars", 40.0),
        ("a lamp under $30", 30.0),
        ("a lamp for less than 1,200.50 bucks", 1200.5),
        ("a lamp for no more than 25 dollars please", 25.0),
        ("a lamp for 40 dollars", None),
        ("a lamp under 2 feet", None),
        ("a lamp", None),
    ],
)
def test_how_much_it_may_cost(task: str, limit: float | None) -> None:
    assert price_limit(task) == limit
    assert content(task)[0] == "lamp"


@pytest.mark.parametrize(
    ("label", "dollars"),
    [
        ("Red lamp · $12.50", 12.5),
        ("Red lamp · $9.00 to $1,019.00", 1019.0),
        ("A $5 lamp", None),
        ("Red lamp", None),
    ],
)
def test_what_a_label_says_it_costs(label: str, dollars: float | None) -> None:
    assert price(label) == dollars


def test_other_spellings_and_endings_count_a_little_less() -> None:
    exact, misspelt, ending, other = (share([word], ["scarf"]) for word in ("scarf", "scraf", "scarfs", "shoes"))
    assert exact == 1
    assert other == 0
    assert 0.5 < misspelt < 1
    assert 0.5 < ending < 1


def test_numbers_and_short_words_must_be_the_same() -> None:
    assert share(["10"], ["100"]) == 0
    assert share(["xs"], ["xl"]) == 0
    assert share(["38mm"], ["38"]) == 0


def test_overlap_counts_the_shorter_side() -> None:
    assert overlap(["red"], ["red", "cotton", "scarf"]) == 1
    assert overlap(["a", "long", "red", "title"], ["red", "scarf"]) == 0.5
    assert overlap([], ["red"]) == 0
