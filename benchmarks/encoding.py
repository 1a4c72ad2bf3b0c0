"""The encoder that comes along, exported to ONNX, beside the same one in torch: its start, and the encoding.

    python -m benchmarks.encoding [--save]

The limits: a twentieth of what torch takes from the start of a process to its first vector, and half of what it takes
for a text, by its number of words. All in CPU time, each start in a process of its own, in turn. The vectors are
compared, too.
"""

import os

# Before numpy reads them.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from time import thread_time

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms
from rememberer import SentenceEncoder

STARTS = 5
TIMES = 20
_FIRST = (
    "import sys; from pathlib import Path; from rememberer.embedding import SentenceEncoder;"
    "SentenceEncoder(exported=Path(sys.argv[1]) if len(sys.argv) > 1 else None).encode(['a red shoe'])"
)


def _start(arguments: Sequence[str], code: str = _FIRST) -> float:
    """Milliseconds of CPU that a process took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, *arguments], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    figures, folder = Figures("encoding", "torch's start through 20, its encoding through 2"), str(synthetic.exported())
    starts: dict[str, list[float]] = {"torch": [], "exported": [], "nothing": []}
    for _ in range(STARTS):
        starts["torch"].append(_start([]))
        starts["exported"].append(_start([folder]))
        starts["nothing"].append(_start([], "import rememberer.embedding"))
    figures.add("start to the first vector", 1, starts["exported"], [each / 20 for each in starts["torch"]])
    figures.add("of which Python and this package", 1, starts["nothing"], [each / 20 for each in starts["torch"]])

    chance, models = np.random.default_rng(0), (SentenceEncoder(exported=synthetic.exported()), SentenceEncoder())
    for model in models:
        model.encode(["it is loaded now"])
    furthest = 1.0
    for count, size in ((1, 12), (1, 60), (1, 200), (64, 60)):
        took: tuple[list[float], list[float]] = ([], [])
        for _ in range(TIMES if count == 1 else 3):
            texts = [synthetic.words(chance, size) for _ in range(count)]
            for model, times in zip(models, took, strict=True):
                times += ms(partial(model.encode, texts), clock=thread_time)
            exported, with_torch = (model.encode(texts) for model in models)
            furthest = min(furthest, float((exported * with_torch).sum(axis=1).min()))
        figures.add(f"{count} of {size} words", count, took[0], [each / 2 for each in took[1]])
    print(f"the cosine of the two vectors of a text is {furthest:.7f} at least")
    if "--save" in sys.argv:
        figures.save()


if __name__ == "__main__":
    main()
