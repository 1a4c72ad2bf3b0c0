"""Each quirk ends in a valid proposal or in one plain sentence that names the fix; over real HTTP."""

import json
import logging
import threading
from dataclasses import replace

import pytest

from rememberer.errors import Cancelled, ModelError
from rememberer.model import ChatModel
from rememberer.model_policy import ModelPolicy
from rememberer.quirks import Accepts, found_out
from tests.rememberer.fake_server import (
    FakeServer,
    fail,
    fail_after,
    garbage,
    hang,
    hang_after,
    hang_up_after,
    page,
    say,
    say_at_once,
)
from tests.rememberer.fakes import situation

GOOD = json.dumps({"reasoning": "It is red.", "candidates": [{"action": "click[a]", "value": 0.9, "reason": "red"}]})
HERE = situation("click[a]", "click[b]")
OPENAI_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)


@pytest.fixture(autouse=True)
def _nothing_found_out():
    # Ports are given out again, so a server of another test may have had the same address.
    found_out.clear()


def propose(server, here=HERE, **told):
    model = ChatModel(server.base_url, **{"api_key": "sk-right", "model": "m", "timeout": 30} | told)
    return ModelPolicy(model, "openai").propose(here, [], 3)


@pytest.mark.parametrize(
    "behaviours",
    [
        [say(GOOD)],
        [say(GOOD, usage=False)],
        [say(GOOD, finish="length")],
        [say(GOOD, finish=None)],
        [say(GOOD, finish="whatever")],
        [say(GOOD, thoughts="click[b]? {no}")],
        [say(f"<think>click[b]? {{no}}</think>{GOOD}")],
        [say(f"Here you are:\n```json\n{GOOD}\n```\nBye.")],
        [say(GOOD[:-2], finish="length")],
        [say("Encouraged:\n- click[a] -> 0.9, red\nDiscouraged:\n- click[b] -> 0.0")],
        [say_at_once(GOOD)],
        [hang_up_after(GOOD, finish="stop")],
        [fail(429, "Slow down."), say(GOOD)],
        [fail(500, "Oops."), say(GOOD)],
        [say(""), say(GOOD)],
        [say("I would buy it."), say(GOOD)],
        [say(GOOD.replace("click[a]", "click[z]")), say(GOOD)],
    ],
)
def test_ends_in_a_proposal(behaviours):
    with FakeServer(behaviours) as server:
        proposal = propose(server)
    assert [each.action for each in proposal.candidates] == ["click[a]"]
    assert proposal.note == ""
    assert proposal.prompt_tokens > 0
    assert proposal.reply_tokens > 0


@pytest.mark.parametrize(
    "refuses",
    [
        {"max_tokens": OPENAI_LIMIT},
        {"max_tokens": OPENAI_LIMIT, "max_completion_tokens": "Unknown field: max_completion_tokens."},
        {"temperature": "Unsupported value: 'temperature' does not support 0 with this model."},
        {"stream_options": "Extra inputs are not permitted: stream_options"},
        {"maxLength": "Invalid schema for response_format 'reply': 'maxLength' is not permitted."},
        {"json_schema": "'response_format.type' must be 'json_object'."},
        {"response_format": "unknown field `response_format`, expected one of `temperature`, `max_tokens`, `stream`"},
        {"response_format": "Bad request.", "stream_options": "Bad request.", "temperature": "Bad request."},
    ],
)
def test_what_a_server_refuses_is_left_out_and_remembered(refuses):
    with FakeServer([say(GOOD)], refuses) as server:
        assert propose(server).candidates[0].action == "click[a]"
        asked = len(server.requests)
        assert propose(server).candidates[0].action == "click[a]"
        assert len(server.requests) == asked + 1
        assert server.requests[-1] == server.requests[-2]


def test_only_what_was_refused_is_left_out():
    with FakeServer([say(GOOD)], {"temperature": "No temperature, please."}) as server:
        propose(server)
        assert found_out[server.base_url, "m"] == replace(Accepts(), temperature=False)


def test_a_server_that_cannot_stream_is_not_asked_to_again():
    refusal = "Your organization must be verified to stream this model."
    with FakeServer([say_at_once(GOOD)], {'"stream": true': refusal}) as server:
        propose(server)
        propose(server)
        assert [request["stream"] for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("behaviour", "fixes"),
    [
        (fail(404, "The model `m` does not exist"), ["no model 'm'", "Choose"]),
        (fail(400, "model 'm' not found"), ["no model 'm'", "Choose"]),
        (fail(404, "Not Found"), ["REMEMBERER_BASE_URL", "/v1"]),
        (fail(403, "Not allowed."), ["'m'", "Use another key"]),
        (fail(429, "Slow down.", retry_after="300"), ["Slow down", "Wait for 300 s"]),
        (fail(429, "You exceeded your current quota."), ["quota", "try again"]),
        (fail(500, "Oops."), ["failed", "Oops", "Try again"]),
        (fail(400, "This model's maximum context length is 4096 tokens."), ["too long", "Lower the prompt budget"]),
        (fail(400, "the request exceeds the available context size"), ["too long", "larger context"]),
        (fail(400, "No."), ["refuses", "No", "another model"]),
        (hang_up_after('{"reasoning": "It'), ["closed the connection", "Try again"]),
        (fail_after('{"reasoning": "It', "out of memory"), ["out of memory", "Try again"]),
        (garbage, ["no chat answer", "/v1"]),
        (page, ["no chat answer", "/v1"]),
    ],
)
def test_ends_in_a_sentence_that_names_the_fix(behaviour, fixes):
    with FakeServer([behaviour]) as server, pytest.raises(ModelError) as caught:
        propose(server)
    message = str(caught.value)
    assert [fix for fix in fixes if fix not in message] == []
    assert "\n" not in message


def test_a_request_refused_without_reason_is_not_remembered():
    with FakeServer([fail(400, "No.")]) as server:
        with pytest.raises(ModelError):
            propose(server)
        assert (server.base_url, "m") not in found_out


@pytest.mark.parametrize("reply", ["", "I would buy it.", GOOD.replace("click[a]", "click[z]"), GOOD[:40]])
def test_a_reply_of_no_use_is_asked_for_once_more_and_then_the_person_is_asked(reply):
    with FakeServer([say(reply)]) as server:
        proposal = propose(server)
        assert len(server.requests) == 2
    assert proposal.candidates == ()
    assert "choose or type an action" in proposal.note
    assert proposal.reply_tokens == 2 * 56


@pytest.mark.parametrize("behaviour", [hang, hang_after("{")])
def test_a_server_that_hangs_is_left_after_the_time_limit(behaviour):
    with FakeServer([behaviour]) as server:
        with pytest.raises(ModelError, match=r"within 0\.3 s.*raise the time limit"):
            propose(server, timeout=0.3)
        assert server.left.wait(10)


def test_nobody_at_the_address():
    with FakeServer([hang]) as server:
        pass
    with pytest.raises(ModelError, match=r"cannot be reached\. Start it.*REMEMBERER_BASE_URL"):
        propose(server)


@pytest.mark.parametrize("behaviour", [hang, hang_after("{"), fail(429, "Slow down.", retry_after_ms="100000")])
def test_stop_leaves_at_once_and_hangs_up(behaviour):
    with FakeServer([behaviour]) as server:
        stopped = replace(HERE, cancelled=lambda: bool(server.requests))
        with pytest.raises(Cancelled):
            propose(server, stopped, timeout=3600)
        assert len(server.requests) == 1
        if behaviour is hang:
            assert server.left.wait(10)


def test_stopped_before_it_began():
    with FakeServer([say(GOOD)]) as server, pytest.raises(Cancelled):
        propose(server, replace(HERE, cancelled=lambda: True))


def test_reasoning_is_shown_in_the_callers_thread_while_it_arrives():
    shown = []
    with FakeServer([hang_after('{"reasoning": "It is r')]) as server:
        show = lambda text: shown.append((text, threading.current_thread()))  # noqa: E731
        here = replace(HERE, show=show, cancelled=lambda: any(text for text, _ in shown))
        with pytest.raises(Cancelled):
            propose(server, here)
    assert shown[-1] == ("It is r", threading.current_thread())


def test_the_key_is_told_to_nobody(caplog):
    caplog.set_level(logging.DEBUG)
    key = "sk-wrong-0123456789"
    with FakeServer([say(GOOD)]) as server:
        with pytest.raises(ModelError, match="Check OPENAI_API_KEY") as caught:
            propose(server, api_key=key)
        with pytest.raises(ModelError, match="Set OPENAI_API_KEY"):
            propose(server, api_key="")
        server.key = ""
        server.behaviours = [fail(403, f"The key {key} may not do that.")]
        with pytest.raises(ModelError) as refused:
            propose(server, api_key=key)
    assert caught.value.__cause__ is None
    told = [str(caught.value), str(refused.value), repr(ChatModel(server.base_url, key, "m")), caplog.text]
    assert [text for text in told if key in text] == []


def test_a_password_in_the_address_is_not_shown():
    with FakeServer([fail(500, "Oops.")], key="") as server:
        with pytest.raises(ModelError) as caught:
            propose(server)
        server.base_url = server.base_url.replace("//", "//me:hunter2@")
        with pytest.raises(ModelError) as with_password:
            propose(server)
    assert str(with_password.value) == str(caught.value)
    assert "hunter2" not in repr(ChatModel(server.base_url, "", "m"))


@pytest.mark.parametrize("address", ["", "127.0.0.1:8080/v1", "ftp://x/v1", "http://", "http://x:0/v1", "http://[/v1"])
def test_an_address_that_is_none_is_refused_with_an_example(address):
    with pytest.raises(ModelError, match="http://127"):
        ChatModel(address, "", "m")


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it():
    with pytest.raises(ModelError, match="Copy it again") as caught:
        ChatModel("http://127.0.0.1:1/v1", "schlüssel", "m")
    assert "schl" not in str(caught.value)
    assert ChatModel("http://127.0.0.1:1/v1", " key\n", "m").api_key == "key"


def test_a_server_on_this_machine_is_asked_past_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with FakeServer([say(GOOD)]) as server:
        assert propose(server).candidates
