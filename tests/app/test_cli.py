"""The command line, as a person types it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app import cli
from rememberer.embedding import SentenceEncoder
from tests.rememberer.encoders import WordEncoder

OFFICIAL = Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, with lines typed at its prompt, a home of its own, and a quick encoder."""
    monkeypatch.setenv("REMEMBERER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMEMBERER_DATA", str(OFFICIAL))
    words = WordEncoder()
    monkeypatch.setattr(SentenceEncoder, "encode", lambda self, texts: words.encode(texts))

    def command(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        lines = iter(typed.split("\n") if typed else [])

        def read(prompt: str = "") -> str:
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", read)
        monkeypatch.setattr(sys, "argv", ["rememberer", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return command


def test_every_command_has_help_with_an_example(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("serve", "play", "envs", "memory"):
        assert command in out
    commands = [["serve"], ["play"], ["envs"]]
    commands += [["memory", each] for each in ("stats", "list", "show", "export", "import", "rebuild")]
    for each in commands:
        code, out, _ = run(*each, "--help")
        assert code == 0
        assert f"Example: rememberer {' '.join(each)}" in " ".join(out.split())


def test_the_version_is_told_by_the_installed_command() -> None:
    done = subprocess.run([Path(sys.executable).parent / "rememberer", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("rememberer 0.")


def test_worlds(run: Run) -> None:
    code, out, _ = run("envs")
    assert code == 0
    assert "webshop" in out
    assert "0 to practise, 10 to test; 15 steps at most" in out


def test_a_task_in_the_terminal(run: Run) -> None:
    code, out, err = run("play", "--task", "0", typed="\nfly away\n2\nclick[buy now]")
    assert code == 0
    assert "No similar experience." in out
    assert "cannot be done now" in err
    assert "The task is over (terminated): 3 steps" in out
    assert "new -> " in out
    code, out, _ = run("memory", "stats")
    assert "me: 3 experiences" in out
    assert "tasks: 1" in out


def test_an_open_task_is_taken_up_where_it_stands(run: Run) -> None:
    run("play", "--own", "a red scarf", typed="\nq")
    code, out, _ = run("play", typed="+\nr -0.5 1\ns")
    assert code == 0
    assert "Task: a red scarf" in out
    assert "--- step 2 ---" in out
    assert "0.00 -> +1.00" in out
    assert "+1.00 -> -0.50" in out
    assert "The task is over (stopped): 1 steps" in out
    _, out, _ = run("play", "--own", "a blue lamp", typed="q")
    assert "Task: a blue lamp" in out
    assert "--- step 1 ---" in out


def test_the_end_of_input_leaves_the_task_open(run: Run) -> None:
    code, out, _ = run("play", "--own", "a red scarf")
    assert code == 0
    assert "stays open" in out


def test_experiences_are_listed_shown_and_carried_along(run: Run, tmp_path: Path) -> None:
    run("play", "--own", "a red scarf", typed="\n+\ns")
    _, listed, _ = run("memory", "list")
    assert "1 of 1 experiences" in listed
    key = listed.split()[0]
    _, shown, _ = run("memory", "show", key[:6])
    assert "task: a red scarf" in shown
    assert "+1.00 = +1.00, your reward +1.00" in shown
    _, none, _ = run("memory", "list", "--search", "blue")
    assert "0 of 0 experiences with 'blue'" in none

    file = tmp_path / "memory.jsonl"
    run("memory", "export", str(file))
    _, out, _ = run("memory", "import", str(file), "--user", "anna")
    assert "now 1 experiences" in out
    _, out, _ = run("memory", "import", str(file), "--user", "anna")
    assert "0 events were new" in out
    assert run("memory", "list", "--user", "anna")[1] == listed
    _, out, _ = run("memory", "rebuild")
    assert out.splitlines() == ["anna: 1 experiences", "me: 1 experiences"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["memory", "show", "nothing"], "rememberer memory list"),
        (["memory", "import", "no-such-file"], "no-such-file"),
        (["play", "--task", "999"], "999"),
        (["play", "--policy", "oracle"], "There are: memory"),
        (["play", "--env", "moon"], "webshop"),
        (["play", "--base-url", "http://127.0.0.1:1/v1"], "REMEMBERER_MODEL"),
        (["play", "--local-model", "no-such-file"], "no-such-file"),
        (["serve", "--data", "no-such-folder"], "no-such-folder"),
        (["serve", "--host", "256.1.1.1"], "256.1.1.1"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(run: Run, arguments: list[str], told: str) -> None:
    code, out, err = run(*arguments)
    assert code == 1
    assert told in err
    assert "Traceback" not in out + err


def test_what_nobody_foresaw_leaves_a_report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(settings: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("app.serve.serve", broken)
    code, _, err = run("serve")
    assert code == 2
    assert "Traceback" not in err
    (report,) = (tmp_path / "home" / "reports").iterdir()
    assert str(report) in err
    assert "of all things" in report.read_text()
