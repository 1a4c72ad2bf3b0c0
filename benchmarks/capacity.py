"""What a full memory costs: for each new state, finding out which one is needed least.

    python -m benchmarks.capacity [--save] [SIZE ...]

The limit is one exact product over the different texts: without it nobody knows what the new one is like. The first
time all are compared with all.
"""

import os

# Before numpy reads them: one thread is what the limit is measured with, too.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from functools import partial
from itertools import islice
from time import thread_time

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms, peak, run
from rememberer import CachedEncoder
from rememberer.similarity import Comparison, Index, Similarity

SIZES = [500, 10_000, 100_000]
NEW = 40
WORLDS: dict[str, Comparison] = {"pages by text": None, "pages by kind": synthetic.KINDS}


def measure(name: str, figures: Figures, size: int) -> None:
    """Fill an index, and have one leave for each that comes."""
    compare, chance = WORLDS[name], np.random.default_rng(size)
    encoder = CachedEncoder(synthetic.Encoder())
    index, tasks = Index(Similarity(encoder, compare)), synthetic.tasks(chance, size + NEW)
    while len(index) < size:
        some = [synthetic.page(chance, task, size=20, links=0) for task in islice(tasks, min(size, 20_000))]
        index.add(some[: size - len(index)])
        encoder.take_fresh()
    parts = [size // synthetic.PAGES_A_TASK] + [size] * (compare is None)
    matrices = [np.ones((rows, synthetic.DIMENSIONS), dtype=np.float32) for rows in parts]
    vector = np.ones(synthetic.DIMENSIONS, dtype=np.float32)
    product = ms(lambda: [each @ vector for each in matrices], NEW, clock=thread_time)
    figures.add(f"the first time, {name}", size, ms(index.least_needed, clock=thread_time), product)
    took = []
    for task in tasks:
        index.add([synthetic.page(chance, task, size=20, links=0)])
        found = []
        took += ms(lambda found=found: found.append(index.least_needed()), clock=thread_time)
        index.remove([found[0][0]])
    figures.add(f"each new one, {name}", size, took, product)
    print(f"{'':52} at most {max(took):.0f} ms; {peak()}")


if __name__ == "__main__":
    run("capacity", "one exact product over the different texts", SIZES, *(partial(measure, name) for name in WORLDS))
