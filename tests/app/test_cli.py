"""The command line, as a person types it."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.opening import open_store
from app.settings import load_settings
from tests.app.conftest import Run

MEMORY = ("stats", "list", "show", "export", "import", "rebuild", "at", "episodes", "quarantine")


def test_every_command_has_help_with_an_example(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("serve", "play", "envs", "doctor", "memory"):
        assert command in out
    commands = [["serve"], ["play"], ["envs"], ["doctor"]]
    commands += [["memory", each] for each in MEMORY]
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


def test_what_is_remembered_is_counted(run: Run) -> None:
    run("play", "--task", "0", typed=("", "+", "2", "click[buy now]"))
    run("play", "--own", "a red scarf", typed=("", "s"))
    run("play", "--own", "a red scarf", "--user", "anna", typed=("", "q"))
    _, out, _ = run("memory", "stats")
    lines = dict(line.split(":", 1) for line in out.splitlines())
    told = {name: words.strip() for name, words in lines.items()}
    assert told["user"] == "me"
    assert told["experiences"] == "4"
    assert told["tasks"] == "2 (1 failed, 1 stopped)"
    assert told["your rewards"] == "1"
    assert told["embedding model"] == "all-MiniLM-L6-v2"
    assert told["schema version"] == "2"
    _, out, _ = run("memory", "stats", "--user", "anna")
    assert "tasks:           1 (1 open)" in out


def test_an_empty_memory_is_no_error(run: Run) -> None:
    assert run("memory", "list") == (0, "0 of 0 experiences\n", "")
    assert "experiences:     0" in run("memory", "stats")[1]
    assert run("memory", "rebuild") == (0, "", "")


def test_experiences_are_listed_newest_first_and_found(run: Run) -> None:
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    run("play", "--own", "an oak table", typed=("n no tables", "s"))
    _, out, _ = run("memory", "list")
    head, newest, oldest, count = out.splitlines()
    assert head.split() == ["key", "value", "tried", "best", "action", "outcome", "task", "page"]
    assert newest.split()[1:3] == ["-", "0x"]
    assert "an oak table" in newest
    assert oldest.split()[1:4] == ["+1.00", "1x", "search[red"]
    assert "stopped" in oldest
    assert oldest.endswith("WebShop Instruction: [Search]")
    assert count == "2 of 2 experiences"
    _, out, _ = run("memory", "list", "--limit", "1")
    assert out.splitlines()[1:] == [newest, "1 of 2 experiences"]
    _, out, _ = run("memory", "list", "--search", "SCARF red")
    assert out.splitlines()[1:] == [oldest, "1 of 1 experience with 'SCARF red'"]
    assert run("memory", "list", "--search", "blue")[1] == "0 of 0 experiences with 'blue'\n"


def test_an_experience_is_shown_with_what_its_values_are_made_of(run: Run) -> None:
    run("play", "--own", "a red scarf", typed=("n too red", "search[shawl]", "r 0.5", "s"))
    key = run("memory", "list")[1].splitlines()[1].split()[0]
    _, out, _ = run("memory", "show", key[:6])
    assert out.startswith(key)
    assert "task: a red scarf" in out
    assert "outcome: stopped" in out
    assert "reached by: the beginning" in out
    assert "[Search]" in out
    made_of = "+0.50 = +0.50, with your reward +0.50 for step 1: step 1 of 'a red scarf' ("
    assert f"+0.50  1x  search[shawl]\n           {made_of}" in out
    assert "    -  0x  search[red scarf]\n           rejected: too red\n" in out


def test_a_key_must_begin_one_experience_only(run: Run) -> None:
    run("play", "--task", "0", typed=("", "2", "q"))
    code, _, err = run("memory", "show", "")
    assert code == 1
    assert "2 experiences begin with ''. See the keys: rememberer memory list" in err


def test_a_memory_is_carried_along(run: Run, tmp_path: Path) -> None:
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    _, listed, _ = run("memory", "list")
    file = tmp_path / "memory.jsonl"
    assert "events written to" in run("memory", "export", str(file))[1]
    assert "now 1 experience\n" in run("memory", "import", str(file), "--user", "anna")[1]
    assert "0 new events; now 1 experience\n" in run("memory", "import", str(file), "--user", "anna")[1]
    assert run("memory", "list", "--user", "anna")[1] == listed


POOL = """
? !!python/tuple ["<p>", "Search an article.", ""]
: action_dict:
    ? !!python/tuple [SCROLL(DOWN), it is below]
    : {qvalue: 1.0}
    ? !!python/tuple [SCROLL(DOWN), it may be below]
    : {qvalue: 0.0}
    ? !!python/tuple [null, null]
    : {qvalue: 0.0}
"""


def test_a_pool_of_the_papers_code_is_imported_and_can_be_looked_at(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pool.txt"
    file.write_text(POOL)
    told = "1 new experience with 1 action (1 merged into another of the same action, 1 left out, without an action)"
    assert run("memory", "import", str(file)) == (0, f"{told}; now 1 experience\n", "")
    told = "0 new experiences with 0 actions (1 merged into another of the same action, 1 left out, without an action, "
    assert run("memory", "import", str(file)) == (0, f"{told}1 known before); now 1 experience\n", "")
    assert "+0.50     2x  SCROLL(DOWN)" in run("memory", "list")[1]


def test_a_broken_pool_is_told_in_a_sentence_with_its_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(POOL.replace("1.0", "!!python/name:os.system ''"))
    code, out, err = run("memory", "import", str(file))
    assert (code, out) == (1, "")
    assert err.startswith("pool.yaml, line 5: ")
    assert err.endswith("Nothing was imported.\n")
    assert "0 of 0 experiences" in run("memory", "list")[1]


def test_rebuilding_is_the_way_out_when_the_embedding_model_was_changed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    run("play", "--own", "a red scarf", "--user", "anna", typed=("", "s"))
    _, listed, _ = run("memory", "list")
    monkeypatch.setenv("REMEMBERER_ENCODER", "another")
    code, _, err = run("memory", "list")
    assert code == 1
    assert "rememberer memory rebuild" in err
    assert run("memory", "rebuild") == (0, "anna: 1 experience\nme: 1 experience\n", "")
    assert run("memory", "list")[1] == listed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["memory", "show", "nothing"], "rememberer memory list"),
        (["memory", "import", "no-such-file"], "no-such-file"),
        (["play", "--task", "999"], "999"),
        (["play", "--policy", "oracle"], "There are: memory"),
        (["play", "--task", "1", "--own", "a scarf"], "Either --task or --own"),
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


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_stops_reading_ends_it_quietly(run: Run, unbuffered: str) -> None:
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "memory", "list"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as listing:
        assert listing.stdout
        assert listing.stderr
        listing.stdout.close()
        assert listing.stderr.read() == ""
    assert listing.returncode == 0


def test_the_doctor_reports_and_mends(run: Run, tmp_path: Path) -> None:
    assert run("doctor")[1].endswith("Nothing to mend.\n")
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    code, out, _ = run("doctor")
    assert code == 0
    assert "me: events 8, experiences 1" in out
    assert out.endswith("Nothing to mend.\n")
    with closing(open_store(load_settings())) as store:
        store.drop_experiences("me")
    code, out, _ = run("doctor")
    assert code == 1
    lines = out.splitlines()
    assert lines[-2].startswith("- me: experiences that the view has not as the log has them: 1 (")
    assert lines[-1] == "To have it repaired: rememberer doctor --fix"
    code, out, _ = run("doctor", "--fix")
    assert code == 0
    assert out.splitlines()[-3:] == [
        "me: made the view anew from the log.",
        "Compacted all tables.",
        "Nothing to mend.",
    ]
    assert run("doctor")[0] == 0
