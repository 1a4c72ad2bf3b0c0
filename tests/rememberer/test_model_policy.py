import json
import random
from dataclasses import replace

import pytest

from rememberer.errors import Cancelled, ModelError
from rememberer.model import Answer
from rememberer.model_policy import ModelPolicy, ModelSettings
from rememberer.policy import RECALLED
from rememberer.records import ActionText
from tests.rememberer.fakes import FakeModel, experience, retrieved, row, situation, state

SHOE = ActionText(text="click[b01]", label="Red shoe", kind="open")
HERE = situation("click[b02]", "search[<keywords>]", available=[SHOE])


def reply(*candidates, reasoning="It is red."):
    keys = ("action", "value", "reason", "argument")
    return json.dumps(
        {"reasoning": reasoning, "candidates": [dict(zip(keys, each, strict=False)) for each in candidates]}
    )


def propose(*answers, here=HERE, known=(), k=3, settings=None):
    model = FakeModel(list(answers))
    return ModelPolicy(model, "openai", settings).propose(here, known, k), model


def test_candidates_come_in_the_models_order_with_labels_and_reasons():
    said = reply(("click[b02]", 0.1, "blue"), ("CLICK[B01]", 0.9, "red"), ("search[<keywords>]", -0.2, "", "red shoe"))
    proposal, _ = propose(said)
    assert [each.action for each in proposal.candidates] == ["click[b01]", "click[b02]", "search[red shoe]"]
    assert [each.label for each in proposal.candidates] == ["Red shoe", "click[b02]", "search[red shoe]"]
    assert proposal.candidates[0].reason.startswith("red")
    assert (proposal.policy, proposal.reasoning, proposal.reply) == ("openai", "It is red.", said)
    assert (proposal.prompt_tokens, proposal.reply_tokens) == (100, 10)
    assert "buy a red shoe" in proposal.prompt
    assert proposal.note == ""


def test_a_value_nobody_has_evidence_for_stays_unknown():
    proposal, _ = propose(reply(("click[b01]", 0.9, "red")))
    candidate = proposal.candidates[0]
    assert (candidate.value, candidate.visits, candidate.evidence) == (None, 0, ())
    assert "own guess: 0.9" in candidate.reason


def test_a_value_is_the_q_of_memory_weighted_by_similarity():
    near = experience(state("x"), row("click[b01]", 1.0, 3), row("click[b02]", visits=0, rejections=("no",)))
    far = experience(state("y"), row("Click[B01]", 0.0, 1))
    hidden = experience(state("z"), row("click[b01]", -9.0, 5))
    known = [retrieved(near, 0.9), retrieved(far, 0.3), retrieved(hidden, 0.1, used=False)]
    proposal, _ = propose(reply(("click[b01]", -0.5, "red"), ("click[b02]", -1, "blue")), known=known)
    first, second = proposal.candidates
    assert first.value == pytest.approx(0.75)
    assert (first.visits, first.reason) == (4, "red")
    assert [(each.key, each.action, each.q, each.visits, each.weight) for each in first.evidence] == [
        (near.key, "click[b01]", 1.0, 3, 0.9),
        (far.key, "Click[B01]", 0.0, 1, 0.3),
    ]
    assert second.value is None


def test_what_memory_holds_is_shown_to_the_model_unless_it_is_below_the_threshold():
    shown = experience(state("x", task="buy a blue hat"), row("click[b07]", 1.0, reason="a hat"))
    hidden = experience(state("y", task="buy a sofa"), row("click[b08]", 1.0))
    _, model = propose(reply(("click[b01]", 0.9, "")), known=[retrieved(shown), retrieved(hidden, 0.1, used=False)])
    asked = model.history[0][1]["content"]
    assert "click[b07] -> 1.0 a hat" in asked
    assert "sofa" not in asked


def test_a_prompt_quotes_only_what_the_proposal_will_name():
    long = [experience(state(f"x{n}", observation="word " * 9000), row("click[b07]", 1.0)) for n in range(RECALLED)]
    short = experience(state("y", task="buy a sofa"), row("click[b08]", 1.0))
    for known, quoted in (([*long[1:], short], True), ([*long, short], False)):
        proposal, _ = propose(reply(("click[b01]", 0.9, "")), known=[retrieved(each) for each in known])
        assert ("sofa" in proposal.prompt) == quoted


def test_unavailable_and_repeated_candidates_are_dropped_and_k_is_kept():
    said = reply(("click[b09]", 1, ""), ("click[b01]", 0.5, "one"), ("click[b01]", 0.4, "two"), ("click[b02]", 0.3, ""))
    proposal, model = propose(said, k=1)
    assert [(each.action, each.reason[:3]) for each in proposal.candidates] == [("click[b01]", "one")]
    assert len(model.history) == 1


def test_one_repair_request_says_what_was_wrong():
    proposal, model = propose(reply(("click[b09]", 1, "")), reply(("click[b01]", 1, "")))
    assert [each.action for each in proposal.candidates] == ["click[b01]"]
    asked, answer, problem = model.history[1][1:]
    assert asked == model.history[0][1]
    assert "click[b09]" in answer["content"]
    assert "'click[b09]'" in problem["content"]
    assert "- click[b01]" in problem["content"]
    assert (proposal.note, proposal.prompt_tokens) == ("", 200)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("I like shoes.", "No action could be read"),
        ("", "empty"),
        (Answer('{"reasoning": "It', cut=True), "cut off at 800 tokens"),
        (reply(("click[b09]", 1, "")), "'click[b09]'"),
    ],
)
def test_after_two_useless_replies_the_person_is_asked(answer, says):
    proposal, model = propose(answer, answer)
    assert proposal.candidates == ()
    assert says in proposal.note
    assert "choose or type an action" in proposal.note
    assert len(model.history) == 2


def test_what_the_person_rejected_is_not_proposed_again():
    here = replace(HERE, refused=("click[b01]", "search[red shoe]"), hint="another colour")
    said = reply(("click[b01]", 1, ""), ("search[Red Shoe]", 0.9, ""), ("click[b02]", 0.1, ""))
    proposal, model = propose(said, here=here)
    assert [each.action for each in proposal.candidates] == ["click[b02]"]
    allowed = model.schemas[0]["properties"]["candidates"]["items"]["properties"]["action"]["enum"]
    assert allowed == ["click[b02]", "search[<keywords>]"]
    assert "another colour" in model.history[0][1]["content"]


def test_when_everything_was_rejected_the_model_is_not_bothered():
    here = situation("a", "b", refused=("A", "b"))
    proposal, model = propose(here=here)
    assert proposal.candidates == ()
    assert "rejected" in proposal.note
    assert model.history == []


def test_a_world_without_a_list_takes_what_the_model_says():
    proposal, _ = propose(reply(("say hello", 1, "polite")), here=situation())
    assert proposal.candidates[0].action == "say hello"


def test_the_text_form_is_read_too():
    proposal, _ = propose(
        "<think>Red.</think>Encouraged:\n- click[b01] -> 0.9, red\nDiscouraged:\nclick[b02] -> 0 blue"
    )
    assert [each.action for each in proposal.candidates] == ["click[b01]"]
    assert proposal.reasoning == "Red."


def test_same_seed_same_prompt():
    known = [retrieved(experience(state(*"abcdefgh"), row("z", 1.0)))]
    random.seed(1)
    first, _ = propose(reply(("click[b01]", 1, "")), known=known)
    random.seed(2)
    again, _ = propose(reply(("click[b01]", 1, "")), known=known)
    assert first.prompt == again.prompt


def test_errors_and_stop_go_through():
    with pytest.raises(ModelError):
        propose(ModelError("The key is wrong."))
    with pytest.raises(Cancelled):
        propose("", here=replace(HERE, cancelled=lambda: True))


def test_settings_are_kept():
    known = [retrieved(experience(state("x", task=f"task {n}"), row("click[b07]", 1.0))) for n in range(3)]
    settings = ModelSettings(exemplars=1, reply_tokens=77)
    _, model = propose(reply(("click[b01]", 1, "")), known=known, settings=settings)
    asked = model.history[0][1]["content"]
    assert [f"task {n}" in asked for n in range(3)] == [True, False, False]
    assert model.schemas[0]["properties"]["reasoning"]["maxLength"] == 77
