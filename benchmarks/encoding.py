"""The encoder that comes along, exported to ONNX, beside the same one in torch: its start, and the encoding.

    python -m benchmarks.encoding [--save]

The limits: a twentieth of what torch takes from the start of a process to its first vector, and half of what it takes
for a text, by its number of words. All in CPU time, each start in a process of its own, in turn. The vectors are
compared, too.
"""

import os

# Before numpy reads them.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import subprocess
import sys
from functools import partial
from time import thread_time

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms
from rememberer import SentenceEncoder

STARTS = 5
TIMES = 20
_FIRST = """
import sys, time
from pathlib import Path
from rememberer.embedding import SentenceEncoder
exported = Path(sys.argv[1]) if len(sys.argv) > 1 else None
began = time.process_time()
SentenceEncoder(exported=exported).encode(["a red shoe"])
most = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(time.process_time(), time.process_time() - began, most)
"""


def _start(*arguments: str) -> list[float]:
    """What a process took: milliseconds of CPU in all, those for the first vector once the package is there, and MB."""
    command = [sys.executable, "-W", "ignore", "-c", _FIRST, *arguments]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    whole, encoder, kilobytes = map(float, said.split())
    return [whole * 1000, encoder * 1000, kilobytes / 1024]


def main() -> None:
    figures, folder = Figures("encoding", "torch's start through 20, its encoding through 2"), str(synthetic.exported())
    starts = [(_start(), _start(folder)) for _ in range(STARTS)]
    for place, what in enumerate(["a whole process to its first vector", "of which the encoder"]):
        figures.add(what, 1, [ours[place] for _, ours in starts], [theirs[place] / 20 for theirs, _ in starts])
    print(f"{'':52} {starts[0][1][2]:.0f} MB, with torch {starts[0][0][2]:.0f} MB")

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
