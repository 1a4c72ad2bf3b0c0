"""A task in the terminal: what a person sees after what they type."""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import envs
from app.opening import open_memory, open_store
from app.settings import load_settings
from envs.errors import EnvError
from envs.webshop.shop import WebShop
from rememberer.memory_policy import MemoryPolicy
from rememberer.records import Candidate, Decision, Proposal
from rememberer.session import Session
from tests.app.conftest import OFFICIAL, Run
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.fake_server import FakeServer, fail, say

ROOT = Path(__file__).parents[2]
SCARF = ("play", "--own", "a red scarf")


def _reply(action: str, argument: str = "") -> str:
    return json.dumps({"candidates": [{"action": action, "argument": argument, "value": 0.5, "reason": "why not"}]})


def _model(server: FakeServer) -> tuple[str, ...]:
    return ("--model", "m", "--base-url", server.base_url)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")


def test_from_the_instruction_to_the_purchase(run: Run) -> None:
    code, out, err = run("play", "--task", "0", typed=("", "2", "click[buy now]"))
    assert (code, err) == (0, "")
    assert "No similar experience." in out
    assert "1    new       search[" in out
    assert "--- step 3 of 15, return 0.00 ---" in out
    assert "Step 3 done" in out
    assert "The task is over (terminated): 3 steps" in out
    assert run("memory", "list")[1].splitlines()[-1] == "3 of 3 experiences"


def test_what_was_learnt_is_shown_the_next_time(run: Run) -> None:
    run(*SCARF, typed=("", "+", "s"))
    _, out, _ = run(*SCARF)
    assert "100%  a red scarf · stopped" in out
    assert "      +1.00  1x  search[red scarf]" in out
    assert "1  +1.00  1x   search[red scarf]" in out
    assert "No similar experience." not in out


def test_what_is_unlike_is_shown_as_not_used(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*SCARF, typed=("", "+", "s"))
    monkeypatch.setenv("REMEMBERER_THRESHOLD", "0.999")
    _, out, _ = run("play", "--own", "an oak table")
    assert "No similar experience." in out
    assert "a red scarf · not used" in out
    assert "+1.00" not in out


def test_rewards_for_the_last_step_and_for_any(run: Run) -> None:
    _, out, _ = run(*SCARF, typed=("", "+", "1", "r -0.5", "r 1 0.25", "-", "q"))
    assert "Reward +1.00 for step 1: search[red scarf]  0.00 -> +1.00 (1x)\n" in out
    assert "Reward -0.50 for step 2: click[" in out
    assert "new -> -0.50" not in out
    assert " 0.00 -> -0.50 (1x); 1 other value moved\n" in out
    assert "Reward +0.25 for step 1: search[red scarf]  +0.50 -> -0.25 (1x)\n" in out
    assert "Reward -1.00 for step 2: " in out


def test_the_value_told_is_that_of_the_rewarded_step_when_a_page_was_seen_twice(run: Run) -> None:
    back = ("search[scarf]", "click[back to search]", "search[scarf]")
    _, out, _ = run(*SCARF, typed=(*back, "r 3 1", "q"))
    assert "Reward +1.00 for step 3: search[scarf]  0.00 -> +1.00 (2x); 1 other value moved\n" in out


def test_the_steps_of_a_task_that_is_over_can_still_be_rewarded(run: Run) -> None:
    code, out, err = run(*SCARF, typed=("", "s", "+", "click[back to search]", "r 2 1", ""))
    assert code == 0
    assert out.index("The task is over (stopped): 1 step, return 0.00.") < out.index("Reward +1.00 for step 1")
    assert "This task is over" in err
    assert "There is no step 2 to reward." in err
    assert "stays open" not in out


@pytest.mark.parametrize("typed", ["r", "r much", "r 0.5 1", "r 1 2 3", "+ 2", "- click"])
def test_a_reward_that_is_none_is_told_how_it_goes(run: Run, typed: str) -> None:
    code, out, err = run(*SCARF, typed=("", typed, "+"))
    assert code == 0
    assert f"'{typed}' is no reward. Like this: + or - or r 0.5 for the last step, r 2 -1 for step 2." in err
    assert "0.00 -> +1.00" in out


@pytest.mark.parametrize("typed", ["r 2", "r nan", "r 7 1", "r 0 1"])
def test_a_reward_that_cannot_be_changes_nothing(run: Run, typed: str) -> None:
    code, out, err = run(*SCARF, typed=("", typed))
    assert code == 0
    assert err
    assert "Reward" not in out


@pytest.mark.parametrize("typed", ["fly away", "!fly away", "9", "0", "²", "!", "!s"])
def test_what_cannot_be_done_is_told_what_can_and_the_proposal_waits_on(run: Run, typed: str) -> None:
    code, out, err = run(*SCARF, typed=(typed, ""))
    assert code == 0
    assert "cannot be done now. What can be done: search[<keywords>]." in err
    assert "Step 1 done: search[red scarf]" in out
    assert out.count("--- step 1 ") == 1


def test_another_action_is_typed_as_it_is_or_behind_a_mark(run: Run) -> None:
    _, out, _ = run(*SCARF, typed=("search[scarf]", "! click[back to search] ", "q"))
    assert "Step 1 done: search[scarf]  new -> 0.00 (1x)" in out
    assert "Step 2 done: click[back to search]  new -> 0.00 (1x)" in out
    _, shown, _ = run("memory", "show", _key_of(run, "search[scarf]"))
    assert "    -  0x  search[red scarf]\n           rejected\n" in shown


def test_the_log_tells_how_each_action_came_about(run: Run, tmp_path: Path) -> None:
    typed = ("n", "search[red scarf]", "", "1", "2", "r 1 1", "click[back to search]", "s")
    run("play", "--own", "a red scarf", typed=typed)
    run("memory", "export", str(tmp_path / "log"))
    lines = [json.loads(line) for line in (tmp_path / "log").read_text("utf-8").splitlines()]
    decided = [line["body"]["decision"] for line in lines if line.get("body", {}).get("type") == "decided"]
    kinds = [each["kind"] for each in decided]
    assert kinds == ["reject", "override", "approve", "approve", "choose", "override", "stop"]
    assert {each["by"] for each in decided} == {"person"}


def test_none_of_these_with_a_hint_brings_another_proposal(run: Run) -> None:
    _, out, err = run("play", "--task", "0", typed=("", "n something cheaper", "q"))
    before, after = (_candidates(part) for part in out.split("--- step 2 ")[1:])
    assert err == ""
    assert before[0] not in after
    _, shown, _ = run("memory", "show", _key_of(run, before[0]))
    assert f"0x  {before[0]}\n           rejected: something cheaper\n" in shown


def test_an_open_task_is_taken_up_where_it_stands(run: Run) -> None:
    _, out, _ = run(*SCARF, typed=("", "q", "s"))
    assert out.endswith("The task stays open. Go on: rememberer play\n")
    _, out, _ = run("play", typed=("s", "q", "+"))
    assert "Going on with the open task" in out
    assert "Task: a red scarf" in out
    assert "--- step 2 " in out
    assert "--- step 1 " not in out
    assert "The task is over (stopped)" in out
    assert "Reward" not in out


def test_another_task_stops_the_open_one_and_says_so(run: Run) -> None:
    run(*SCARF, typed=("", "q"))
    _, out, _ = run("play", "--new")
    assert "Stopped, to begin another: a red scarf" in out
    _, out, _ = run("play", "--own", "a blue lamp")
    assert "Task: a blue lamp" in out
    assert "tasks:           3 (2 stopped, 1 open)" in run("memory", "stats")[1]


@pytest.mark.parametrize("wrong", [("--task", "999"), ("--own", "  "), ("--env", "moon", "--new")])
def test_a_task_that_cannot_be_begun_leaves_the_open_one(run: Run, wrong: tuple[str, ...]) -> None:
    run(*SCARF, typed=("", "q"))
    code, _, err = run("play", *wrong)
    assert code == 1
    assert err
    assert "--- step 2 " in run("play")[1]


@pytest.mark.parametrize("end", [EOFError(), KeyboardInterrupt()])
def test_the_end_of_input_and_ctrl_c_leave_the_task_open(run: Run, end: BaseException) -> None:
    code, out, err = run(*SCARF, typed=("", end))
    assert (code, err) == (0, "")
    assert out.endswith("The task stays open. Go on: rememberer play\n")
    assert "--- step 2 " in run("play")[1]


def test_a_model_that_fails_is_asked_again_only_by_the_person(run: Run) -> None:
    wanted = say(_reply("search[<keywords>]", "scarf")), fail(401, "no"), say(_reply("click[back to search]"))
    with FakeServer([*wanted]) as server:
        asked: list[int] = []

        def fly() -> str:
            asked.append(len(server.requests))
            return "fly"

        code, out, err = run(*SCARF, *_model(server), typed=("", fly, fly, "", fly, "", "q"))
    assert code == 0
    assert asked == [2, 2, 3]
    assert err.count("does not accept the key") == 1
    assert "'fly' cannot be done now" in err
    assert "Step 1 done: search[scarf]" in out
    assert out.index("--- step 2 ") < out.index("Enter asks again. You can also type an action.")
    assert "Step 2 done: click[back to search]" in out


def test_without_its_model_a_person_can_go_on(run: Run) -> None:
    with FakeServer([fail(401, "no")]) as server:
        code, out, err = run(*SCARF, *_model(server), typed=("search[scarf]", "+", "n", "s"))
    assert code == 0
    assert err.count("does not accept the key") == 3
    assert "Step 1 done: search[scarf]" in out
    assert "0.00 -> +1.00" in out
    assert "The task is over (stopped): 1 step" in out


def test_what_was_answered_elsewhere_meanwhile_is_not_done_twice(run: Run) -> None:
    def elsewhere() -> str:
        """Somebody else, with the same memory open, answers first."""
        settings = load_settings()
        with closing(open_store(settings)) as store:
            memory = open_memory(store, settings, "me", WordEncoder())
            world, policy = envs.make("webshop", OFFICIAL), MemoryPolicy(memory.encoder)
            session = Session.resume(memory, world, memory.episodes()[-1].id, policy)
            session.decide(Decision(step=1, kind="override", action="search[shoes]"))
        return ""

    code, out, err = run(*SCARF, typed=(elsewhere, "+", "q"))
    assert code == 0
    assert "answered already" in err
    assert "Step 1 done" not in out
    assert "--- step 2 " in out
    assert "Reward +1.00 for step 1: search[shoes]  0.00 -> +1.00 (1x)" in out


def test_a_world_that_fails_is_tried_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    step, broken = WebShop.step, [True]

    def once(self: WebShop, action: str) -> object:
        if broken.pop() if broken else False:
            raise EnvError("The shop is shut.")
        return step(self, action)

    monkeypatch.setattr(WebShop, "step", once)
    code, out, err = run(*SCARF, typed=("", "", "q"))
    assert code == 0
    assert err.count("The shop is shut.") == 1
    assert "--- step 2 " in out


def test_words_from_outside_do_not_steer_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = "\x1b[2J\x9b1A\x07\r\ud800"
    proposal = Proposal(candidates=(Candidate(action="search[x]", label=evil, reason=evil),), note=evil)
    monkeypatch.setattr("rememberer.memory_policy.MemoryPolicy.propose", lambda *_: proposal)
    code, out, err = run("play", "--own", f"a scarf {evil}", typed=(f"fly {evil}", "", "+", "q"))
    _, listed, _ = run("memory", "list")
    _, shown, _ = run("memory", "show", _key_of(run, "search[x]"))
    assert code == 0
    assert "What can be done" in err
    for told in (out, listed, shown):
        assert "�[2J�1A�" in told
    for told in (out, err, listed, shown):
        assert not [each for each in told if each not in "\n\t" and not each.isprintable()]


def test_through_a_pipe_with_everything_real(tmp_path: Path) -> None:
    (tmp_path / "encoders").touch()  # so that nothing can be exported there, which is no failure
    command = [sys.executable, "-m", "app.cli", "play", "--own", "a red scarf", "--home", str(tmp_path)]
    command += ["--data", str(OFFICIAL)]
    done = subprocess.run(command, input="nonsense\n\n+\n", capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "'nonsense' cannot be done now." in done.stderr
    assert "Loading" not in done.stderr
    assert "Reward +1.00 for step 1: search[red scarf]  0.00 -> +1.00 (1x)" in done.stdout
    assert done.stdout.endswith("The task stays open. Go on: rememberer play\n")


def _key_of(run: Run, action: str) -> str:
    """The key of the experience whose best action it is."""
    lines = run("memory", "list")[1].splitlines()
    return next(line.split()[0] for line in lines if action in line)


def _candidates(shown: str) -> list[str]:
    """The actions proposed in what was shown."""
    return re.findall(r"^\d +(?:new|[+-]?\d\.\d\d) +(?:\d+x)? +(\w+\[.*?\])", shown, re.M)
