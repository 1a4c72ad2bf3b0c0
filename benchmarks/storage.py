"""How long the store takes, each figure beside a limit measured in the same run.

    python -m benchmarks.storage [FOLDER]

The limit of writing is a plain file that the same bytes are appended to and synced; of reading, `json.loads` of the
same lines. A folder on the disk that counts may be named; a temporary one is made in it and removed.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles

import numpy as np

from benchmarks import synthetic
from rememberer.events import Decided, Event, Observed
from rememberer.records import ActionValue, Decision, Experience
from storage import LanceStore


def _events(chance: np.random.Generator, count: int) -> list[Event]:
    events = []
    for number in range(count):
        decided = Decided(decision=Decision(step=1, kind="approve", action="click[buy]", proposed="click[buy]"))
        observed = Observed(step=1, action="click[buy]", reward=0.5, state=synthetic.page(chance, "a task"))
        events.append(Event(user="me", episode=str(number // 30), body=observed if number % 3 == 2 else decided))
    return events


def _experiences(chance: np.random.Generator, count: int) -> list[Experience]:
    now = datetime.now(UTC)
    rows = (ActionValue(action="click[buy]", q=0.5, visits=1, reason="it fits the task"),)
    return [
        Experience(state=synthetic.page(chance, "a task"), actions=rows, created=now, updated=now) for _ in range(count)
    ]


def _times(work: Callable[..., object], count: int) -> list[float]:
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return times


def _report(what: str, times: list[float], limit: str, least: list[float]) -> None:
    def of(values: list[float]) -> tuple[float, float]:
        ranks = quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
        return ranks[9] * 1000, ranks[18] * 1000

    (p50, p95), (least50, _) = of(times), of(least)
    print(f"{what:34} {p50:9.1f} {p95:9.1f}   {least50:9.1f} {p50 / least50:7.1f}   {limit}")


def main() -> None:
    print(f"{'':34} {'p50 ms':>9} {'p95 ms':>9}   {'limit ms':>9} {'ratio':>7}")
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        plain = Path(folder) / "plain"

        def sync(lines: str) -> None:
            with plain.open("a") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())

        with closing(LanceStore(Path(folder) / "memory", embedding_model="none")) as store:
            for rows in (10_000, 100_000):
                _measure_log(store, rows, sync)
            _measure_view(store, sync)
            print(f"\n{store.stats()}")


def _measure_log(store: LanceStore, rows: int, sync: Callable[[str], None]) -> None:
    chance = np.random.default_rng(rows)
    store.append(_events(chance, rows - len(store.events("me"))))
    for count in (1, 100):
        batches = iter([_events(chance, count) for _ in range(60)])
        lines = "".join(each.model_dump_json() + "\n" for each in _events(chance, count))
        appended = _times(lambda batches=batches: store.append(next(batches)), 60)
        written = _times(lambda lines=lines: sync(lines), 60)
        _report(f"append {count} to {rows:,}", appended, "the same lines to a synced file", written)
    logged = [each.model_dump_json() for each in store.events("me")]
    parsed = _times(lambda: [json.loads(line) for line in logged], 3)
    _report(f"read all of {rows:,}", _times(lambda: store.events("me"), 3), "json.loads of the same lines", parsed)
    last = _times(lambda: store.events("me", after=len(logged) - 11), 20)
    _report(f"read the last 10 of {rows:,}", last, "json.loads of all lines", parsed)


def _measure_view(store: LanceStore, sync: Callable[[str], None]) -> None:
    chance = np.random.default_rng(1)
    view = _experiences(chance, 10_000)
    text = "".join(each.model_dump_json() + "\n" for each in view)
    vectors = {each.state.observation: chance.standard_normal(384).astype(np.float32) for each in view}
    store.put_experiences("me", view, 0)
    store.put_vectors("me", vectors)
    five = iter([view[number : number + 5] for number in range(0, 200, 5)])
    changed = _times(lambda: store.put_experiences("me", next(five), 1), 40)
    plain = _times(lambda: sync(text[: len(text) // 2000]), 40)
    _report("change 5 of 10,000 experiences", changed, "the same lines to a synced file", plain)
    copied = _times(lambda: np.array(list(vectors.values())), 5)
    _report("read 10,000 vectors", _times(lambda: store.vectors("me"), 5), "a copy of the matrix", copied)


if __name__ == "__main__":
    main()
