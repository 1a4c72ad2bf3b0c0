"""How long a person waits for what is remembered of a new situation, from a thousand experiences to a million.

    python -m benchmarks.retrieval [--save] [SIZE ...]

The limit is one sentence encoding and one exact matrix product over the different texts: nothing could be found with
less. Both in time of this thread, as it waits for nothing, and others on the machine may. A memory is measured up to
100,000; above, only the index and the encoding, as what is learnt from a million steps would fill the machine.
"""

import os

# Before numpy reads them: one thread is what the limit is measured with, too.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from collections.abc import Callable
from functools import partial
from itertools import islice
from time import thread_time

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms, peak, run
from envs import wikihow
from rememberer import CachedEncoder, Event, InMemoryStore, Memory, State
from rememberer.similarity import Comparison, Index, Similarity

SIZES = [1_000, 10_000, 100_000, 1_000_000]
MEMORY = 100_000
"""The largest size at which a whole memory is measured."""
LIMITS = (8, 50)
"""How many are asked for: few and many hits."""
QUERIES = 40
WORLDS: dict[str, tuple[Comparison, Callable[..., State]]] = {
    "pages by text": (None, synthetic.page),
    "pages by kind": (synthetic.KINDS, synthetic.page),
    "screens by element": (wikihow.elements, synthetic.screen),
}


def measure(name: str, figures: Figures, size: int) -> None:
    """Fill a memory and ask it for what is new."""
    compare, make = WORLDS[name]
    chance, encoder = np.random.default_rng(size), synthetic.Encoder()
    retrieve, known = (_memory if size <= MEMORY else _index)(size, compare, make, encoder, chance)
    encoder.timed = True
    encoder.model.encode(["the model is loaded now"])
    # The different texts that embeddings are compared of, as two matrices: of tasks, and of observations.
    parts = [size // synthetic.PAGES_A_TASK] + [size] * (compare is None)
    matrices = [np.ones((rows, synthetic.DIMENSIONS), dtype=np.float32) for rows in parts]
    vector = np.ones(synthetic.DIMENSIONS, dtype=np.float32)
    for limit in LIMITS:
        took, least = [], []
        for _ in range(QUERIES):
            # What is new: the next page of a known task, where pages are compared by text; else the task.
            state = make(chance, known if compare is None else synthetic.words(chance, 12))
            text = state.observation if compare is None else state.task
            # In turn, as the machine's mood changes.
            least += ms(
                lambda text=text: (encoder.encode([text + " "]), [each @ vector for each in matrices]),
                clock=thread_time,
            )
            took += ms(lambda state=state, limit=limit: retrieve(state, limit), clock=thread_time)
        figures.add(f"{limit} {name}", size, took, least)
    print(f"{'':52} {peak()}")


Retrieve = Callable[[State, int], object]


def _memory(
    size: int, compare: Comparison, make: Callable[..., State], encoder: synthetic.Encoder, chance: np.random.Generator
) -> tuple[Retrieve, str]:
    store = InMemoryStore()
    known = [make(chance, task) for task in synthetic.tasks(chance, size)]
    store.append([Event(user="me", body=synthetic.experience(state)) for state in known])
    memory = Memory(store, encoder=encoder, tables=lambda env: compare)
    memory.embed()
    assert len(memory) == size
    return memory.retrieve, known[0].task


def _index(
    size: int, compare: Comparison, make: Callable[..., State], encoder: synthetic.Encoder, chance: np.random.Generator
) -> tuple[Retrieve, str]:
    cached = CachedEncoder(encoder)
    index, tasks = Index(Similarity(cached, compare)), synthetic.tasks(chance, size)
    first = ""
    small = {"size": 20, "links": 0} if make is synthetic.page else {}
    while some := [make(chance, task, **small) for task in islice(tasks, 20_000)]:
        first = first or some[0].task
        index.add(some)
        cached.take_fresh()
    assert len(index) == size
    return index.nearest, first


if __name__ == "__main__":
    run(
        "retrieval",
        "one encoding and one exact product over the different texts",
        SIZES,
        *(partial(measure, name) for name in WORLDS),
    )
