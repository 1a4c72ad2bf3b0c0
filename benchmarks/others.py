"""Adding to a memory and searching it, beside what others do with the same states and the same encoder.

    python -m benchmarks.others [--save] [SIZE ...]

Beside ours: retrieval that encodes every record anew for each search, as the paper's released code does it; a plain
loop over LanceDB; one over Chroma; and mem0 with a local Qdrant, told to extract nothing, so that it asks no language
model. What is not installed is left out: `pip install chromadb mem0ai`, in an environment of its own. Each is filled in
the quickest way that it has, and then asked in the one that its users have. Ours is the limit.
"""

import os

# Before they are imported: no telemetry, one thread for all.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", ANONYMIZED_TELEMETRY="False", MEM0_TELEMETRY="False")

import logging
import tempfile
import uuid
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms, run
from rememberer import Memory, State
from rememberer.embedding import Matrix
from storage import LanceStore

SIZES = [1_000, 10_000]
HITS = 8
TIMES = 20


class Other(Protocol):
    """A memory in a folder."""

    def fill(self, states: Sequence[State]) -> None: ...

    def add(self, state: State) -> None: ...

    def search(self, state: State) -> object: ...


def _text(state: State) -> str:
    return f"{state.task}\n{state.observation}"


class Ours:
    def __init__(self, folder: Path, encoder: synthetic.Encoder) -> None:
        self._memory = Memory(LanceStore(folder, embedding_model="made up"), encoder=encoder, tables=lambda env: None)

    def fill(self, states: Sequence[State]) -> None:
        self._memory.write([synthetic.experience(state) for state in states])
        self._memory.embed()

    def add(self, state: State) -> None:
        self._memory.write([synthetic.experience(state)])
        self._memory.embed()

    def search(self, state: State) -> object:
        return self._memory.retrieve(state, HITS)


class Lance:
    def __init__(self, folder: Path, encoder: synthetic.Encoder) -> None:
        import lancedb

        self._encoder, self._table, self._database = encoder, None, lancedb.connect(folder)

    def fill(self, states: Sequence[State]) -> None:
        vectors = self._encoder.encode([_text(state) for state in states])
        rows = [{"vector": row, "record": state.model_dump_json()} for row, state in zip(vectors, states, strict=True)]
        self._table = self._database.create_table("memory", rows)

    def add(self, state: State) -> None:
        self._table.add([{"vector": self._encoder.encode([_text(state)])[0], "record": state.model_dump_json()}])

    def search(self, state: State) -> object:
        return self._table.search(self._encoder.encode([_text(state)])[0]).limit(HITS).to_list()


class Chroma:
    def __init__(self, folder: Path, encoder: synthetic.Encoder) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        self._encoder, self._collection = encoder, client.create_collection("memory", embedding_function=None)

    def fill(self, states: Sequence[State]) -> None:
        for start in range(0, len(states), 1000):
            some = states[start : start + 1000]
            self._collection.add(
                ids=[state.key for state in some],
                embeddings=self._encoder.encode([_text(state) for state in some]),
                documents=[state.model_dump_json() for state in some],
            )

    def add(self, state: State) -> None:
        self.fill([state])

    def search(self, state: State) -> object:
        return self._collection.query(query_embeddings=self._encoder.encode([_text(state)]), n_results=HITS)


class Mem0:
    def __init__(self, folder: Path, encoder: synthetic.Encoder) -> None:
        import mem0

        logging.disable(logging.WARNING)  # it tells with each text that it could do more with a spaCy model
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": synthetic.DIMENSIONS, "on_disk": True}
        no_model = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(folder / "history.db"),
                "llm": no_model,
                "embedder": no_model,
            }
        )
        self._encoder = self._memory.embedding_model = _Mem0Encoder(encoder)

    def fill(self, states: Sequence[State]) -> None:
        texts = [_text(state) for state in states]
        payloads = [{"data": text, "user_id": "me"} for text in texts]
        ids = [str(uuid.uuid4()) for _ in texts]
        self._memory.vector_store.insert(self._encoder.embed_batch(texts), payloads=payloads, ids=ids)

    def add(self, state: State) -> None:
        self._memory.add(_text(state), user_id="me", infer=False, metadata={"record": state.model_dump_json()})

    def search(self, state: State) -> object:
        return self._memory.search(_text(state), filters={"user_id": "me"}, top_k=HITS)


class _Mem0Encoder:
    def __init__(self, encoder: synthetic.Encoder) -> None:
        self._encoder, self.config = encoder, None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        rows: list[list[float]] = self._encoder.encode(texts).tolist()
        return rows


class EncodeAnew:
    """A list. The query is compared with one record after the other, whose texts are encoded for that."""

    def __init__(self, states: Sequence[State], encoder: synthetic.Encoder) -> None:
        self._encoder, self._states = encoder, states

    def search(self, state: State) -> object:
        now = self._parts(state)
        alike = [float((self._parts(each) * now).sum()) for each in self._states]
        return np.argsort(alike)[-HITS:]

    def _parts(self, state: State) -> Matrix:
        return np.stack([self._encoder.encode([text])[0] for text in (state.task, state.observation)])


OTHERS: dict[str, tuple[type[Any], str]] = {
    "LanceDB, a plain loop": (Lance, "lancedb"),
    "Chroma, a plain loop": (Chroma, "chromadb"),
    "mem0": (Mem0, "mem0"),
}


def measure(figures: Figures, size: int) -> None:
    """Fill each memory, and add to it and search it."""
    chance = np.random.default_rng(size)
    states = [synthetic.page(chance, task) for task in synthetic.tasks(chance, size)]
    # Further pages of a known task.
    new = [synthetic.page(chance, states[0].task) for _ in range(4 * TIMES)]
    ours = _times(Ours, states, new)
    for what, took in ours.items():
        figures.add(f"ours, {what}", size, took, took)
    for name, (kind, package) in OTHERS.items():
        if find_spec(package) is None:
            print(f"{package} is not installed: pip install {package}")
            continue
        for what, took in _times(kind, states, new).items():
            figures.add(f"{name}, {what}", size, took, ours[what])
    # All of it would take minutes a search; but each record takes as long as any other.
    some = 20
    encoder = synthetic.Encoder()
    anew = EncodeAnew(states[:some], encoder)
    encoder.timed = True
    took = [each * size / some for state in new[:3] for each in ms(lambda state=state: anew.search(state))]
    figures.add(f"all encoded anew, search (from {some} records)", size, took, ours["search"])


def _times(kind: type[Other], states: Sequence[State], new: Sequence[State]) -> dict[str, list[float]]:
    """Milliseconds of adding a state, and of searching for one."""
    encoder = synthetic.Encoder()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        memory = kind(Path(folder), encoder)  # type: ignore[call-arg]
        memory.fill(states)
        memory.add(states[0].model_copy(update={"observation": "not counted: the first time takes longer"}))
        left = iter(new)
        for encoded, suffix in ((True, ""), (False, ", encoding left out")):
            encoder.timed = encoded
            memory.search(states[0])
            for what, work in (("add", memory.add), ("search", memory.search)):
                some = list(islice(left, TIMES))
                found[what + suffix] = [
                    each for state in some for each in ms(lambda state=state, work=work: work(state))
                ]
    return found


if __name__ == "__main__":
    run("others", "what ours takes, of a new page of a known task", SIZES, measure)
