"""Who can propose, by the settings."""

import threading
from pathlib import Path
from typing import Any

import pytest

from app.policies import Policies
from app.settings import BadSettings, load_settings
from rememberer.errors import ModelError
from rememberer.local_model import LocalServer
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.fake_server import FakeServer, say
from tests.rememberer.fakes import situation

REPLY = '{"candidates": [{"action": "click[b01]", "value": 0.5, "reason": "It is red."}]}'


class Child:
    """Stands for the process that runs a model file: it is loaded when `gate` opens, or ended."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.calls: list[str] = []
        self.loading = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def start(self, server: LocalServer) -> None:
        self.calls.append("start")
        self.loading.set()
        assert self.gate.wait(20)
        if self.calls[-1] == "stop":
            raise ModelError("It was ended.")
        server.base_url = self.url

    def stop(self, server: LocalServer) -> None:
        self.calls.append("stop")
        self.gate.set()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF and more")
    return file


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Any:
    with FakeServer([say(REPLY)], key="") as server:
        child = Child(server.base_url)
        monkeypatch.setattr(LocalServer, "start", lambda self: child.start(self))
        monkeypatch.setattr(LocalServer, "stop", lambda self: child.stop(self))
        yield child


@pytest.mark.parametrize(
    ("told", "names", "default"),
    [
        ({}, ["memory"], "memory"),
        ({"model": "m"}, ["memory", "openai"], "openai"),
        ({"model": "m", "base_url": "http://127.0.0.1:1/v1"}, ["memory", "openai"], "openai"),
        ({"local_model": "file"}, ["memory", "local"], "local"),
        ({"model": "m", "local_model": "file"}, ["memory", "openai", "local"], "openai"),
    ],
)
def test_what_is_configured_can_be_chosen_and_is_used(
    told: dict[str, Any], names: list[str], default: str, file: Path
) -> None:
    policies = Policies(load_settings(**told | ({"local_model": file} if "local_model" in told else {})))
    by_name = policies.of(WordEncoder())
    assert list(by_name) == names
    assert [each.name for each in by_name.values()] == names
    assert policies.default == default


def test_a_server_without_a_model_is_told_what_is_missing() -> None:
    with pytest.raises(BadSettings, match=r"http://127\.0\.0\.1:1/v1.*REMEMBERER_MODEL.*--model"):
        Policies(load_settings(base_url="http://127.0.0.1:1/v1"))


def test_a_file_that_is_no_model_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("milk, bread")
    with pytest.raises(ModelError, match=r"notes\.txt"):
        Policies(load_settings(local_model=file))


def test_the_server_gets_the_key_and_the_name_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    with FakeServer([say(REPLY)]) as server:
        policies = Policies(load_settings(model="big", base_url=server.base_url))
        proposal = policies.of(WordEncoder())["openai"].propose(situation("click[b01]"), [], 3)
    assert [each.action for each in proposal.candidates] == ["click[b01]"]
    assert server.requests[0]["model"] == "big"


def test_a_model_file_is_loaded_when_it_is_first_asked_and_ends_with_the_program(child: Child, file: Path) -> None:
    policies = Policies(load_settings(local_model=file))
    local = policies.of(WordEncoder())["local"]
    assert child.calls == []
    proposal = local.propose(situation("click[b01]"), [], 3)
    assert [each.action for each in proposal.candidates] == ["click[b01]"]
    assert child.calls == ["start"]
    policies.close()
    assert child.calls == ["start", "stop"]


def test_all_users_share_a_model(child: Child, file: Path) -> None:
    policies = Policies(load_settings(local_model=file))
    one, other = (policies.of(WordEncoder()) for _ in range(2))
    assert one["memory"] is not other["memory"]
    for each in (one, other):
        each["local"].propose(situation("click[b01]"), [], 3)
    policies.close()
    assert child.calls.count("stop") == 1


def test_the_program_ends_also_while_a_model_is_being_loaded(child: Child, file: Path) -> None:
    child.gate.clear()
    policies = Policies(load_settings(local_model=file))
    told: list[str] = []

    def ask() -> None:
        try:
            policies.of(WordEncoder())["local"].propose(situation("click[b01]"), [], 3)
        except ModelError as problem:
            told.append(str(problem))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert child.loading.wait(20)
    closing = threading.Thread(target=policies.close, daemon=True)
    closing.start()
    closing.join(20)
    asking.join(20)
    assert not closing.is_alive()
    assert told == ["It was ended."]
