"""Which available action a text is an instance of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import Action, matches

BUY = Action("click[buy now]", "Buy Now", "buy")
SEARCH = Action("search[<keywords>]", "Search", "search", typed=True)
SAY = Action("<anything>", "Say", "say", typed=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("click[buy now]", BUY),
        ("  CLICK[Buy Now] \n", BUY),
        ("search[red shoe]", SEARCH),
        ("Search[a[b]]", SEARCH),
        ("search[<keywords>]", SEARCH),
        ("search[]", None),
        ("search[  ]", None),
        ("search[", None),
        ("search", None),
        ("click[buy]", None),
        ("", None),
    ],
)
def test_an_action_is_found_whatever_its_capitals(text: str, expected: Action | None) -> None:
    assert matches([BUY, SEARCH], text) == expected


def test_nothing_matches_where_nothing_can_be_done() -> None:
    assert matches([], "search[red shoe]") is None


@given(st.text())
def test_a_typed_action_takes_every_argument_that_is_not_blank(argument: str) -> None:
    found = matches([BUY, SEARCH], f"search[{argument}]")
    assert found == (SEARCH if argument.casefold().strip() else None)


@given(st.text())
def test_free_speech_takes_every_text_that_is_not_blank(text: str) -> None:
    assert matches([SAY], text) == (SAY if text.strip() else None)
