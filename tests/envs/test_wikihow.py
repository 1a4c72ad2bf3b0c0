"""Kinds of instruction, and that a world which has only these is not offered."""

import pytest

from envs import UnknownEnv, kind_similarity, make, names
from envs.wikihow import KIND_SIMILARITY, elements, kind_of


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        ("", "search"),
        (" \n", "search"),
        ("Search an article to learn how to clean a pan.", "search"),
        ('Access the article "How to Clean a Pan"', "article"),
        ("access  the article\n", "article"),
        ("Check the author page of Trudi Griffin, LPC, MS.", "author"),
        ("Access the page of category Email", "category"),
        ("Check the reference list", "reference"),
        ("Access the about page to learn why people trust wikihow.", "about"),
        ("Rate the article", "unknown"),
        ("the reference list", "unknown"),
    ],
)
def test_an_instruction_has_a_kind(instruction: str, kind: str) -> None:
    assert kind_of(instruction) == kind


def test_every_kind_but_the_unknown_is_in_the_table_both_ways() -> None:
    kinds = {"search", "article", "author", "category", "reference", "about"}
    assert {kind for pair in KIND_SIMILARITY for kind in pair} == kinds
    assert all(KIND_SIMILARITY[other, one] == value for (one, other), value in KIND_SIMILARITY.items())


def test_it_can_be_compared_and_not_entered() -> None:
    assert kind_similarity("wikihow") == KIND_SIMILARITY
    assert "wikihow" not in names()
    with pytest.raises(UnknownEnv, match="'wikihow'"):
        make("wikihow")


def test_an_element_of_a_screen_is_its_tag_with_class_and_alt() -> None:
    screen = """<button alt="Open navigation drawer" id="0" clickable="true"></button>
<img class="search button" alt="Search" id="1" clickable="true">
<img alt="Search" class="search button" id="2"/>
<p id="3" clickable="true">&lt;</p>
a < b and c > d
<input class="banner" type="text" id="4" value="x">"""
    search = 'img alt="Search" class="search button"'
    assert elements(screen) == ['button alt="Open navigation drawer"', search, search, "p", 'input class="banner"']
    assert elements("") == elements("words only") == []
