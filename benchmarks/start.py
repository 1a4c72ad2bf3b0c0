"""How long a person waits for a memory of some size to be there: it is opened, listed, searched; the page is served.

    python -m benchmarks.start [SIZE ...] [--save]

The limits: of opening, `json.loads` of the lines of the log; of a list, one sort of as many times; of a search, `in` on
all texts, held in this process; of the served page, the same page with nothing in the memory. The log has an episode
for each eight experiences.
"""

import os

# Before numpy reads them.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms, peak
from rememberer import EpisodeStarted, Event, Memory, Observed
from rememberer.embedding import DEFAULT_ENCODER
from rememberer.learning import Learner
from storage import LanceStore

SIZES = [1_000, 10_000, 100_000]
_BATCH = 20_000
_LIMIT = "the log's lines as JSON; one sort; `in` on all texts; the page of an empty memory"


def fill(home: Path, size: int) -> None:
    """Write a log of so many experiences, and the view of it."""
    chance, events = np.random.default_rng(size), list[Event]()
    with closing(LanceStore(home / "memory", embedding_model=DEFAULT_ENCODER)) as store:
        for number in range(max(size // synthetic.PAGES_A_TASK, 1)):
            task = synthetic.words(chance, 12)
            walk = [synthetic.page(chance, task) for _ in range(synthetic.PAGES_A_TASK + 1)]
            started = EpisodeStarted(env="shop", task_id="t", task=task, state=walk[0])
            events.append(Event(user="me", episode=f"e{number}", body=started))
            for step, (here, there) in enumerate(pairwise(walk), 1):
                over = step == synthetic.PAGES_A_TASK
                done = Observed(
                    step=step, action=here.actions[0].text, reward=float(over), state=there, terminated=over
                )
                events.append(Event(user="me", episode=f"e{number}", body=done))
            if len(events) > _BATCH:
                store.append(events)
                events = []
        store.append(events)
        Memory(store, encoder=synthetic.Encoder(), tables=lambda env: None)


def measure(home: Path, size: int, save: bool) -> None:
    """Open and look at what `fill` wrote. In a process of its own, so that its memory can be told."""
    figures = Figures("start", _LIMIT)
    with closing(LanceStore(home / "memory", embedding_model=DEFAULT_ENCODER)) as store:
        opened: list[Memory] = []
        took = ms(lambda: opened.append(Memory(store, encoder=synthetic.Encoder(), tables=lambda env: None)))
        print(f"{'':52} once it is open: {peak()}")
        memory = opened[0]
        lines = store._log.read(["payload"])["payload"].to_pylist()
        read = ms(lambda: [json.loads(line) for line in lines])
        figures.add("open the memory", size, took, read)
        figures.add("of which reading the log", size, ms(lambda: store.events("me")), read)
        events = store.events("me")
        figures.add("of which learning from it", size, ms(lambda: Learner(events)), read)
        times = np.random.default_rng(0).random(size)
        figures.add("first page of the list", size, ms(memory.page, 9), ms(lambda: np.argsort(times), 9))
        texts = [f"{each.task}\n{each.observation}".casefold() for each in memory._learner.states()]
        for word in ("ing", texts[0].rsplit(maxsplit=1)[1]):
            found = ms(lambda word=word: memory.page(words=[word]), 9)
            figures.add(f"a search that finds {memory.page(words=[word]).total:,}", size, found, _scan(word, texts))
    empty = [_served(home / "empty") for _ in range(3)]
    figures.add("rememberer serve, until its page is there", size, [_served(home) for _ in range(3)], empty)
    if save:
        figures.save()


def _scan(word: str, texts: list[str]) -> list[float]:
    return ms(lambda: [word in text for text in texts], 9)


def _served(home: Path) -> float:
    """Milliseconds from the start of the command until its page is there."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--home", home]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout
        try:
            urllib.request.urlopen(serving.stdout.readline().split()[3]).read()
            return (time.perf_counter() - began) * 1000
        finally:
            serving.terminate()


def main() -> None:
    if len(sys.argv) > 3 and sys.argv[1] in ("fill", "measure"):
        what, home, size, *save = sys.argv[1:]
        fill(Path(home), int(size)) if what == "fill" else measure(Path(home), int(size), bool(save))
        return
    for size in [int(each) for each in sys.argv[1:] if each.isdigit()] or SIZES:
        with tempfile.TemporaryDirectory() as home:
            for step in ("fill", "measure"):
                command = [sys.executable, "-m", "benchmarks.start", step, home, str(size)]
                subprocess.run([*command, *(["--save"] * ("--save" in sys.argv))], check=True)


if __name__ == "__main__":
    main()
