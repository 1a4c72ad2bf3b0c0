"""What learning costs: a label, and learning a whole log anew, each beside a limit measured in the same run.

    python -m benchmarks.learning_cost [--save] [STEPS ...]

A label may cost what writing its event and the rows that it moves costs, whatever the size of the memory. It is given
in an episode of 15 steps: with full returns, where it moves the values of all steps before, and with n = 1, where
values bootstrap from each other. Learning anew may cost what reading the same log as JSON costs. How long an import
takes is in `benchmarks.importing`.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import synthetic
from benchmarks.figures import Figures, ms, peak, run
from rememberer import EpisodeStarted, Event, Labelled, Learner, LearningSettings, Memory, Observed
from storage import LanceStore

SIZES = [1_000, 10_000, 100_000]
EPISODE = 15
LABELS = 20


def log(steps: int, n: int | None) -> Iterator[Event]:
    """Episodes of 15 steps. Each third page was seen by the episode before."""
    chance = np.random.default_rng(steps)
    before = None
    for number in range(steps // EPISODE):
        task, episode = synthetic.words(chance, 12), f"episode {number}"
        pages = [synthetic.page(chance, task, size=30, links=4) for _ in range(EPISODE + 1)]
        if before:
            pages[2::3] = before[1::3]
        before = pages
        settings = LearningSettings(n=n)
        started = EpisodeStarted(env="shop", task_id="0", task=task, learning=settings, state=pages[0])
        yield Event(user="me", episode=episode, body=started)
        for step in range(1, EPISODE + 1):
            action = pages[step - 1].actions[int(chance.integers(2))].text
            last = step == EPISODE
            observed = Observed(step=step, action=action, reward=float(last), state=pages[step], terminated=last)
            yield Event(user="me", episode=episode, body=observed)


def measure(n: int | None, figures: Figures, steps: int) -> None:
    """Learn a log, and label steps of it."""
    events = list(log(steps, n))
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(LanceStore(Path(folder), embedding_model="made up")) as store,
    ):
        for start in range(0, len(events), 20_000):
            store.append(events[start : start + 20_000])
        memory = Memory(store, encoder=synthetic.Encoder(), tables=lambda env: None)
        chance, took, least = np.random.default_rng(1), list[float](), list[float]()
        for number in range(LABELS):
            episode = f"episode {chance.integers(steps // EPISODE)}"
            label = Event(user="me", episode=episode, body=Labelled(step=EPISODE, value=0.5))
            rows = [memory.experience(key) for key in {each.state.key for each in memory.trace(episode).transitions}]
            # In turn, as the machine's mood changes. The limit first writes what is there already.
            least += ms(lambda label=label, rows=rows: store.put_experiences("me", rows, store.append([label])[0].seq))
            memory.refresh()
            value = -1.0 if number % 2 else 1.0
            took += ms(lambda episode=episode, value=value: memory.label(episode, EPISODE, value))
        figures.add(f"a label, n = {n or 'none'}", steps, took, least)
    lines = [event.model_dump_json() for event in events]
    parsed = ms(lambda: [json.loads(line) for line in lines], 3)
    figures.add(f"learn anew, n = {n or 'none'}", steps, ms(lambda: Learner(events), 3), parsed)
    print(f"{'':52} {peak()}")


if __name__ == "__main__":
    run(
        "learning_cost",
        "of a label, the same writes to the store alone; of a log, json.loads of it",
        SIZES,
        *(partial(measure, n) for n in (None, 1)),
    )
