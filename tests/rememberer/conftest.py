"""What the tests of the agent share: a memory on LanceDB, in a folder of the test's own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rememberer.memory import Memory
from storage import LanceStore
from tests.rememberer.worlds import memory_on


def open_store(path: Path) -> LanceStore:
    return LanceStore(path, embedding_model="words")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LanceStore]:
    with closing(open_store(tmp_path / "memory")) as opened:
        yield opened


@pytest.fixture
def memory(store: LanceStore) -> Memory:
    return memory_on(store)
