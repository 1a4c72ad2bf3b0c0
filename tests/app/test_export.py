"""`rememberer memory export`: which file one gets, what is told, and what to do when there is nothing yet."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.app.conftest import Run


@pytest.mark.parametrize(
    ("form", "told", "advice"),
    [
        ("dpo", "0 examples", "Choose or type another action"),
        ("kto", "0 examples", "Reward a step"),
        ("episodes", "0 examples", "Work through a task"),
        ("parquet", "0 rows", "take a step"),
        ("yaml", "0 experiences with 0 actions", "take a step"),
    ],
)
def test_of_an_empty_memory_it_is_told_what_would_make_some(
    run: Run, tmp_path: Path, form: str, told: str, advice: str
) -> None:
    file = tmp_path / "file"
    code, out, err = run("memory", "export", str(file), "--as", form)
    assert (code, err) == (0, "")
    assert out.startswith(f"{told} written to {file}. ")
    assert advice in out
    assert file.exists()


def test_examples_to_train_with_are_written_as_they_were_asked_for(run: Run, tmp_path: Path) -> None:
    run("play", "--own", "a red scarf", typed=("n too red", "search[shawl]", "r 0.5", "s"))
    found = {}
    for form in ("dpo", "kto", "episodes"):
        file = tmp_path / f"{form}.jsonl"
        code, out, _ = run("memory", "export", str(file), "--as", form)
        found[form] = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        count = len(found[form])
        assert (code, out) == (0, f"{count} example{'' if count == 1 else 's'} written to {file}\n")
    assert '"argument": "shawl"' in found["dpo"][0]["chosen"][0]["content"]
    assert '"argument": "red scarf"' in found["dpo"][0]["rejected"][0]["content"]
    assert [each["label"] for each in found["kto"]] == [False, True]
    assert found["episodes"][0]["task"] == "a red scarf"


def test_a_table_or_a_pool_by_the_name_of_the_file(run: Run, tmp_path: Path) -> None:
    run("play", "--own", "a red scarf", typed=("", "+", "s"))
    table, pool = tmp_path / "memory.PARQUET", tmp_path / "memory.yml"
    assert run("memory", "export", str(table))[1] == f"1 row written to {table}\n"
    assert pd.read_parquet(table).action.to_list() == ["search[red scarf]"]
    assert run("memory", "export", str(pool))[1] == f"1 experience with 1 action written to {pool}\n"
    told = "1 new experience with 1 action; now 1 experience\n"
    assert run("memory", "import", str(pool), "--user", "anna")[1] == told
    log = tmp_path / "memory.anything"
    assert "events written to" in run("memory", "export", str(log))[1]
    assert run("memory", "import", str(log), "--user", "bo")[0] == 0


def test_another_format_than_there_are_is_refused(run: Run, tmp_path: Path) -> None:
    code, _, err = run("memory", "export", str(tmp_path / "file"), "--as", "csv")
    assert code == 2
    assert "parquet" in err
    assert not (tmp_path / "file").exists()
