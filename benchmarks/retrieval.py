"""How long a person waits for memory at 10,000 experiences, each figure beside its limit, measured in the same run.

    python -m benchmarks.retrieval [FOLDER]

Retrieval for a new state may take 1.5 times one sentence encoding plus one matrix product. A label may take 100 ms
until the values that it moved are on disk and known: in a log of 10,000 events, with full returns and with n = 1, where
values bootstrap from each other. A folder on the disk that counts may be named; a temporary one is made in it.
"""

import os

# Before numpy reads them: one thread is what the limit is measured with, too.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

import numpy as np

from rememberer import (
    ActionText,
    EpisodeStarted,
    Event,
    Imported,
    ImportedAction,
    InMemoryStore,
    LearningSettings,
    Memory,
    Observed,
    SentenceEncoder,
    State,
)
from rememberer.embedding import Matrix
from storage import LanceStore

EXPERIENCES = 10_000
WORDS = ["red", "blue", "cotton", "summer", "shoe", "scarf", "lamp", "small", "large", "price", "buy", "size", "back"]
KINDS = {("search", "search"): 1.0, ("results", "results"): 1.0, ("item", "item"): 1.0}


class Ready:
    """The real model for new texts. What the memory is filled with has random vectors: encoding it would take long."""

    name = "ready"

    def __init__(self) -> None:
        self.model = SentenceEncoder()
        self.chance = np.random.default_rng(0)
        self.filling = True

    def encode(self, texts: list[str]) -> Matrix:
        if not self.filling:
            return self.model.encode(texts)
        rows = self.chance.standard_normal((len(texts), 384)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _words(chance: np.random.Generator, count: int) -> str:
    return " ".join(chance.choice(WORDS, count)) + f" {chance.integers(10**9)}"


def _state(chance: np.random.Generator, task: str) -> State:
    """A page of some hundred words with ten links, about as large as a shop's."""
    links = tuple(
        ActionText(text=f"click[b{chance.integers(10**9)}]", label=_words(chance, 8), kind="open") for _ in range(10)
    )
    kind = str(chance.choice(["search", "results", "item"]))
    return State(env="shop", task=task, observation=_words(chance, 150), kind=kind, actions=links)


def _ms(work: Callable[[], object], count: int) -> list[float]:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _retrieval(kinds: Mapping[tuple[str, str], float] | None) -> None:
    chance, encoder = np.random.default_rng(1), Ready()
    store = InMemoryStore()
    tasks = [_words(chance, 12) for _ in range(EXPERIENCES // 8)]
    imports = [
        Imported(state=state, actions=tuple(ImportedAction(action=each.text, q=0.5) for each in state.actions[:4]))
        for state in (_state(chance, tasks[number // 8]) for number in range(EXPERIENCES))
    ]
    store.append([Event(user="me", body=body) for body in imports])
    memory = Memory(store, encoder=encoder, tables=lambda env: kinds)
    memory.retrieve(imports[0].state)
    encoder.filling = False
    encoder.encode(["the model is loaded now"])
    # What is new: the task where kinds of page are compared, else the next page of a task that is known.
    states = [_state(chance, tasks[0] if kinds is None else _words(chance, 12)) for _ in range(200)]
    texts = [state.observation if kinds is None else state.task for state in states]
    matrix = np.random.default_rng(2).standard_normal((EXPERIENCES, 768)).astype(np.float32)
    vector = matrix[0].copy()
    for limit in (8, 50):
        few, states, new, texts = states[:100], states[100:], texts[:100], texts[100:]
        took, least = [], []
        for state, text in zip(few, new, strict=True):  # in turn, as the machine's mood changes
            least += _ms(lambda text=text: (encoder.encode([text + " "]), matrix @ vector), 1)
            took += _ms(lambda state=state, limit=limit: memory.retrieve(state, limit), 1)
        ratio = median(took) / median(least)
        what = f"retrieve {limit} of {len(memory):,}, " + ("pages compared by text" if kinds is None else "by kind")
        print(f"{what:56} {median(took):7.1f} ms {median(least):9.1f} ms {ratio:7.2f}   limit 1.5")


def _label(folder: Path, n: int | None, pages: int, name: str) -> None:
    chance, store = np.random.default_rng(3), LanceStore(folder, embedding_model="ready")
    with closing(store):
        task = _words(chance, 12)
        known = [_state(chance, task) for _ in range(pages)]
        events: list[Event] = []
        steps: list[tuple[str, int]] = []
        for number in range(EXPERIENCES // 8):
            episode, start = f"e{number}", int(chance.integers(pages))
            walk = [known[(start + step) % pages] for step in range(8)]
            started = EpisodeStarted(env="shop", task_id="t", task=task, learning=LearningSettings(n=n), state=walk[0])
            events.append(Event(user="me", episode=episode, body=started))
            for step in range(1, 8):
                action = walk[step - 1].actions[int(chance.integers(2))].text
                reward = float(step == 7) * float(chance.random())
                observed = Observed(step=step, action=action, reward=reward, state=walk[step], terminated=step == 7)
                events.append(Event(user="me", episode=episode, body=observed))
                steps.append((episode, step))
        store.append(events)
        memory = Memory(store, encoder=Ready(), tables=lambda env: None)
        took, moved = [], []
        for number in [*chance.integers(len(steps), size=20), 0, 6]:
            episode, step = steps[number]
            began = time.perf_counter()
            moved.append(len(memory.label(episode, step, float(chance.uniform(-1, 1)))))
            took.append((time.perf_counter() - began) * 1000)
        p95 = quantiles(took, n=20, method="inclusive")[18]
        what = f"label, n = {n}, {len(events):,} events, {name}"
        print(
            f"{what:56} {median(took):7.1f} ms {p95:8.1f} p95 {max(took):8.1f} max   limit 100"
            f"   moves {median(moved):.0f} values, at most {max(moved)}"
        )


def main() -> None:
    print(f"{'':56} {'p50':>10} {'limit p50':>12} {'ratio':>7}")
    _retrieval(None)
    _retrieval(KINDS)
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        for n in (None, 1):
            _label(Path(folder) / f"many-{n}", n, 8_000, "few revisits")
            _label(Path(folder) / f"some-{n}", n, 400, "each page seen 22 times")
            _label(Path(folder) / f"few-{n}", n, 10, "ten pages, 875 times each")


if __name__ == "__main__":
    main()
