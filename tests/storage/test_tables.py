"""A memory as a Parquet file: what pandas reads of it is what the memory knows; and files that are there wholly."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rememberer.approval import Auto
from rememberer.errors import StoreError
from rememberer.records import Experience
from rememberer.store import InMemoryStore
from storage import export_examples, export_table
from storage.schema import plain
from storage.tables import COLUMNS
from tests.rememberer.worlds import answer, begin, memory_on
from tests.storage.conftest import NASTY, experience
from tests.storage.strategies import experiences


def test_pandas_reads_what_the_memory_knows(tmp_path: Path) -> None:
    memory, file = memory_on(InMemoryStore()), tmp_path / "memory.parquet"
    session = begin(memory)
    answer(session, "override", "say[你好\n\0]")
    session.label(1, 0.5, by="Ignatia Quux", comment="nice")
    answer(session, "reject", hint="not on")
    session.run(Auto())
    known = memory.experiences()
    assert export_table(known, file) == sum(len(each.actions) for each in known)
    found = pd.read_parquet(file)
    assert list(found.columns) == list(COLUMNS)
    assert {each.compression for each in _chunks(file)} == {"ZSTD"}
    said = found[found.action == "say[你好\n\0]"].iloc[0]
    (first,) = [each for each in known if each.key == said.key]
    assert (said.env, said.task, said.kind, said.observation) == ("corridor", "walk through", "place", "place 0 ")
    assert (said.q, said.visits, said.mean_reward, said.label) == (first.actions[0].q, 1, 0.5, "")
    assert (list(said.labels), list(said.comments), list(said.rejections)) == ([0.5], ["nice"], [])
    assert (said.outcome, said.outcome_return, said.origin) == (first.outcome, first.outcome_return, "episode")
    assert (said.created, said.updated) == (first.created, first.updated)
    passed = found[found.rejections.map(lambda each: "not on" in each)].iloc[0]
    assert (passed.action, passed.label) == ("go on", "Onwards")
    assert "Quux" not in str(found.to_dict())


def _chunks(file: Path) -> Iterator[object]:
    group = pq.ParquetFile(file).metadata.row_group(0)
    return (group.column(number) for number in range(group.num_columns))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(experiences, max_size=3))
def test_any_memory_is_a_table(tmp_path: Path, known: list[Experience]) -> None:
    file = tmp_path / "memory.parquet"
    pairs = [(each, row) for each in known for row in each.actions]
    assert export_table(known, file) == len(pairs)
    found = pq.read_table(file).to_pylist()
    assert [each["observation"] for each in found] == [plain(known.state.observation) for known, _ in pairs]
    assert [(each["action"], each["q"], each["visits"]) for each in found] == [
        (plain(row.action), row.q if row.visits else None, row.visits) for _, row in pairs
    ]
    assert [(each["created"], each["updated"]) for each in found] == [(kn.created, kn.updated) for kn, _ in pairs]


def test_a_large_memory_is_written_piece_by_piece(tmp_path: Path) -> None:
    one, file = experience(), tmp_path / "memory.parquet"
    assert export_table((one for _ in range(12_000)), file) == 12_000
    assert pq.ParquetFile(file).metadata.num_row_groups == 3


def test_examples_are_lines_of_json_whatever_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    assert export_examples(({"prompt": [{"role": "user", "content": text}]} for text in NASTY), file) == len(NASTY)
    lines = file.read_text("utf-8").split("\n")
    assert lines.pop() == ""
    assert [json.loads(line)["prompt"][0]["content"] for line in lines] == [plain(text) for text in NASTY]
    assert "买一双红色的鞋" in lines[4]


@pytest.mark.parametrize("kind", ["table", "examples"])
def test_a_file_is_there_wholly_or_as_it_was(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "file"
    file.write_text("as it was")

    def until_it_breaks() -> Iterator[Experience]:
        yield experience()
        raise OSError(28, "No space left on device")

    def export() -> int:
        if kind == "table":
            return export_table(until_it_breaks(), file)
        return export_examples((each.model_dump(mode="json") for each in until_it_breaks()), file)

    with pytest.raises(StoreError, match="The disk is full"):
        export()
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "as it was"
