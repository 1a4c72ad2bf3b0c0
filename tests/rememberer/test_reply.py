import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememberer.reply import Suggestion, parse, reasoning_so_far, resolve, schema
from tests.rememberer.fakes import actions

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens/rlem/parser.json").read_text())
JSON = '{"reasoning": "It is red.", "candidates": [{"action": "click[a]", "value": 0.9, "reason": "red"}]}'


@pytest.mark.parametrize("case", GOLDENS, ids=range(len(GOLDENS)))
def test_goldens(case):
    suggestions = parse(case["response"]).suggestions
    first = [suggestions[0].action, suggestions[0].reason] if suggestions else None
    assert first == case["expected"]


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"Sure, here it is: {JSON} I hope it helps {{really}}.",
        f"<think>click[b]? {{no}}\nEncouraged:\nclick[b] -> 1.0</think>\n{JSON}",
        f"click[b] could do.</think>{JSON}",
        JSON.replace("It is red.", "It is\nred."),
        f'{{"candidates": []}} No, better: {JSON}',
        JSON[:-3],
        JSON[:-8],
        '{"action": "click[a]", "value": "0.9"}',
        '{"candidates": [{"action": "click[a]", "argument": null, "value": null, "reason": null, "more": 1}]}',
        "**Encouraged:**\n1. `click[a]` -> 0.9, red",
        "### Encouraged actions:\n* click[a] → +.9; red\n\nDiscouraged actions:\n* click[b] -> -1 blue",
        "The best is encouraged: see below.\n\nEncouraged:\n```\nclick[a] -> 0.9\n```\nDiscouraged: click[b] -> 0",
        "I compare a -> 1.0 and b.\n\nEncouraged: click[a] -> 9e-1: red\nDiscouraged:\nclick[b] -> 0.0",
        "Encouraged:\r\nclick[a] -> 0.9 red\r\nDiscouraged:\r\nclick[b] -> 0.0\r\n",
        "Encouraged (best first):\nclick[a] -> 0.9 red\nDiscouraged (worst first):\nclick[b] -> 0.0",
        "__Encouraged__:\nclick[a] -> 0.9\n__Discouraged__:\nclick[b] -> 0.0",
        "ENCOURAGED\n---\nclick[a] -> 0.9\n\nDISCOURAGED\n---\nclick[b] -> 0.0",
        "Discouraged:\nclick[b] -> 0.0\nEncouraged:\nclick[a] -> 0.9",
        "> Encouraged:\n> - click[a] -> 0.9 red",
        "```text\nEncouraged:\nclick[a] -> 0.9 red\nDiscouraged:\nclick[b] -> 0.0\n```",
    ],
)
def test_whatever_stands_around_it_the_action_is_found(text):
    assert [each.action for each in parse(text).suggestions] == ["click[a]"]


@pytest.mark.parametrize(
    "line",
    [
        *(f"{bullet} click[a] -> 0.9 red" for bullet in ("-", "*", "+", "•", "–", "1.", "2)", "(3)", "b)", "> -")),
        *(f"click[a] {arrow} 0.9 red" for arrow in ("->", "-->", "=>", "==>", "→", "⇒")),
        *(f"click[a] -> 0.9{mark} red" for mark in (",", ";", ":", "\t", ".")),
        *(f"click[a] -> {mark}0.9{mark} red" for mark in ("*", "**", "_", "`")),
        *(f"{mark}click[a]{mark} -> 0.9 red" for mark in ("*", "**", "`", "'", '"')),
        "click[a] -> (0.9) red",
        "click[a]->0.9 red",
        "click[a] -> +.9 red",
        "click[a] -> 9e-1 red",
    ],
)
def test_a_line_is_read_however_it_is_decorated(line):
    (read,) = parse(f"Encouraged:\n{line}\nDiscouraged:\nclick[b] -> 0").suggestions
    assert (read.action, read.value, read.reason) == ("click[a]", 0.9, "red")


def test_a_minus_is_a_minus_also_in_fine_print():
    assert parse("Encouraged:\nclick[a] -> −0.5").suggestions[0].value == -0.5


@pytest.mark.parametrize(
    "line",
    [
        "click[a]",
        *(f"click[a] -> {value}".rstrip() for value in ("", "high", "nan", "-inf", "Infinity", "1e999")),
        # A part of a number is another number.
        *(f"click[a] -> {value}" for value in ("0.9/1.0", "0,9", "90%", "1.2.3")),
    ],
)
def test_a_line_without_a_value_that_can_be_read_is_passed_over_and_the_others_count(line):
    for text in (f"Encouraged:\n{line}\n\nclick[b] -> 0.5 y", f"Encouraged:\nclick[b] -> 0.5 y\n\n{line}"):
        assert [(each.action, each.value) for each in parse(text).suggestions] == [("click[b]", 0.5)]


def test_what_is_discouraged_is_never_suggested_and_headings_inside_actions_are_none():
    text = (
        "Encouraged:\nsearch[Discouraged: a novel] -> 0.9\nclick[Discovery toy] -> 0.8\nDiscouraged:\nclick[b] -> 1.0"
    )
    assert [each.action for each in parse(text).suggestions] == ["search[Discouraged: a novel]", "click[Discovery toy]"]


def test_truncated_json_gives_what_is_complete():
    text = '{"reasoning": "r", "candidates": [{"action": "click[a]", "value": 0.9, "reason": "x"}, {"action": "click[b'
    reply = parse(text)
    assert [each.action for each in reply.suggestions] == ["click[a]"]
    assert reply.reasoning == "r"
    several = (
        '{"candidates": [{"action": "a", "value": 1, "reason": ""}, {"action": "b", "value": 0, "reason": ""}, {"ac'
    )
    assert [each.action for each in parse(several).suggestions] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        "[]",
        "null",
        "{" * 3000,
        '{"candidates": 3}',
        '{"candidates": ["click[a]"]}',
        "<think>click[a] -> 1.0",
    ],
)
def test_no_suggestion_in_what_says_none(text):
    assert parse(text).suggestions == ()


def test_values_that_are_not_finite_are_refused_in_json_too():
    listed = '{"action": "a", "value": NaN}, {"action": "b", "value": -Infinity}, {"action": "c", "value": 1}'
    text = f'{{"candidates": [{listed}]}}'
    assert [each.action for each in parse(text).suggestions] == ["c"]


def test_several_lines_with_reasons_over_lines():
    reply = parse(
        "<think>Hm.</think>Encouraged:\nopen a -> 1 because\nof b\n- open c -> 0.5\n\nGood luck!\nDiscouraged:\nx -> 0"
    )
    assert [(each.action, each.value, each.reason) for each in reply.suggestions] == [
        ("open a", 1.0, "because of b"),
        ("open c", 0.5, ""),
    ]
    assert reply.reasoning == "Hm."


def test_arrows_before_numbers_inside_an_action():
    assert parse("search[5 -> 7 cm] -> 0.5 from -> 1 to").suggestions[0].action == "search[5 -> 7 cm]"


def test_odd_line_separators_do_not_end_a_line():
    assert parse("Encouraged:\nclick[a\u2028b] -> 1.0 x\u2029y").suggestions[0].action == "click[a\u2028b]"


@given(st.text(alphabet=st.sampled_from(list('{}[]":,->1.0nainf \n`*</thk>EDencouraged')), max_size=200) | st.text())
def test_never_raises_and_never_lets_an_infinite_value_through(text):
    for each in parse(text).suggestions:
        assert each.action
        assert each.value is None or math.isfinite(each.value)
    reasoning_so_far(text)


def test_schema_holds_to_the_available_actions():
    made = schema(actions("click[a]", "click[b]"), k=2, reasoning_length=99)
    candidates = made["properties"]["candidates"]
    assert candidates["maxItems"] == 2
    assert candidates["items"]["properties"]["action"]["enum"] == ["click[a]", "click[b]"]
    assert "argument" not in candidates["items"]["properties"]
    assert made["properties"]["reasoning"]["maxLength"] == 99


def test_schema_asks_for_an_argument_where_one_is_typed():
    items = schema(actions("click[a]", "search[<keywords>]"), k=1, reasoning_length=9)["properties"]["candidates"][
        "items"
    ]
    assert items["required"] == ["action", "argument", "value", "reason"]
    assert (
        "enum" not in schema((), k=1, reasoning_length=9)["properties"]["candidates"]["items"]["properties"]["action"]
    )


@pytest.mark.parametrize(
    ("action", "argument", "meant"),
    [
        (" CLICK[a] ", "", "click[A]"),
        ("click[a]", "ignored", "click[A]"),
        ("search[red shoe]", "", "search[red shoe]"),
        ("search[<Keywords>]", " red shoe ", "search[red shoe]"),
        ("search[<keywords>]", "", None),
        ("search[]", "", None),
        ("click[c]", "", None),
        ("", "", None),
    ],
)
def test_actions_are_matched_as_the_world_spells_them(action, argument, meant):
    available = actions("click[A]", "search[<keywords>]")
    assert resolve(Suggestion(action=action, argument=argument), available) == meant


def test_a_world_that_lists_nothing_takes_anything_but_nothing():
    assert resolve(Suggestion(action=" look "), ()) == "look"
    assert resolve(Suggestion(action=" "), ()) is None


def test_reasoning_is_shown_while_it_is_written():
    assert reasoning_so_far('{"reasoning": "It is r') == "It is r"
    assert reasoning_so_far("<think>Let me se") == "Let me se"
    assert reasoning_so_far('{"rea') == ""
    assert reasoning_so_far(JSON) == "It is red."
