"""How actions look from their task: the numbers that the memory policy compares."""

from collections.abc import Sequence

import numpy as np
import pytest

from rememberer.embedding import Matrix
from rememberer.keywords import content
from rememberer.looks import EDGE, LEAD, Look, looks
from rememberer.records import ActionText, State

TASK = "i want a red cotton scarf in large, and price lower than 20.00 dollars"


class SameEncoder:
    """Every label has the cosine 0.6 to every task."""

    name = "same"

    def encode(self, texts: Sequence[str]) -> Matrix:
        return np.array([(1, 0)] + [(0.6, 0.8)] * (len(texts) - 1), dtype=np.float32)


def seen(*actions: tuple[str, str], page: str = "", trail: Sequence[str] = ()) -> dict[str, Look]:
    """The looks by label of actions (kind, label), whose text is what follows the label's colon."""
    offered = [ActionText(text=label.split(": ")[-1].split(" (")[0], label=label, kind=kind) for kind, label in actions]
    state = State(env="shop", task=TASK, observation=page, kind="page", actions=tuple(offered))
    return {each.action.label: each for each in looks(state, content(TASK), trail, SameEncoder())}


def test_a_label_fits_by_its_words_and_its_meaning() -> None:
    found = seen(("option", "size: large"), ("option", "size: very small"), ("open", "Red scarf · $9.00"))
    assert found["size: large"].words == 1
    assert found["size: very small"].words == 0
    assert found["Red scarf · $9.00"].words == 1
    assert found["size: large"].meaning == pytest.approx(0.6)
    assert found["size: large"].fit == pytest.approx(0.8)


def test_a_button_fits_as_well_as_its_page_without_the_task_itself() -> None:
    found = seen(("buy", "Buy Now"), page=f"Instruction: {TASK} [Buy Now] cotton scarf")
    assert found["Buy Now"].fit == 0.5  # of red, cotton, scarf, large


def test_a_list_of_things_to_open_is_judged_by_none_of_them() -> None:
    assert seen(("back", "Back"), ("open", "Blue hat"), page="[Back] Blue hat")["Back"].fit == 1


def test_the_edge_is_over_the_best_rival_of_the_group() -> None:
    found = seen(("option", "size: large"), ("option", "size: large red hat"), ("option", "color: blue"))
    assert found["size: large"].edge == pytest.approx((1 - 2 / 3) / 2)
    assert found["size: large red hat"].edge == pytest.approx(-(1 - 2 / 3) / 2)
    assert found["color: blue"].edge == EDGE
    wide = seen(("open", "Red scarf"), ("open", "Blue hat"))
    assert (wide["Red scarf"].edge, wide["Blue hat"].edge) == (EDGE, -EDGE)


def test_a_button_looks_at_what_is_still_to_be_chosen() -> None:
    actions = ("buy", "Buy Now"), ("option", "size: large"), ("option", "color: blue")
    assert seen(*actions)["Buy Now"].edge == pytest.approx(0.8)
    chosen = seen(actions[0], ("option", "size: large (chosen)"), actions[2])
    assert chosen["Buy Now"].edge == pytest.approx(0.3)
    assert seen(actions[0])["Buy Now"].edge == 0


def test_what_is_chosen_settles_its_group() -> None:
    found = seen(("option", "size: large (chosen)"), ("option", "size: small"), ("option", "color: red"))
    assert [look.spent for look in found.values()] == [True, True, False]


def test_only_what_was_done_on_this_very_page_is_done() -> None:
    actions = ("option", "size: large"), ("option", "color: red")
    assert [each.spent for each in seen(*actions, trail=["large"]).values()] == [True, False]
    assert [each.spent for each in seen(*actions, trail=["large", "elsewhere"]).values()] == [False, False]


def test_who_stands_first_on_the_page_leads_unless_it_costs_too_much() -> None:
    actions = ("open", "Hat · $5.00"), ("open", "Scarf · $7.00"), ("open", "Sock · $90.00"), ("open", "Shoe · $1.00")
    found = seen(*actions, page="Sock $90.00 Scarf $7.00 Hat $5.00")
    assert {label: (look.lead, look.dear) for label, look in found.items()} == {
        "Sock · $90.00": (0, True),
        "Scarf · $7.00": (LEAD, False),
        "Hat · $5.00": (LEAD / 2, False),
        "Shoe · $1.00": (0, False),
    }
