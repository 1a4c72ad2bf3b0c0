"""What a benchmark measures: printed as it comes, each figure beside its limit, and kept as a file if wanted."""

import csv
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"


@dataclass(frozen=True)
class Figure:
    """How long something takes at a size, and its limit, measured in the same run. Medians."""

    what: str
    size: int
    ms: float
    limit_ms: float
    ratio: float


class Figures:
    """Collects figures of one benchmark."""

    def __init__(self, name: str, limit: str) -> None:
        self._name = name
        self._rows: list[Figure] = []
        print(f"limit: {limit}\n{'':52} {'size':>9} {'ms':>10} {'limit ms':>10} {'ratio':>7}", flush=True)

    def add(self, what: str, size: int, took: list[float], least: list[float]) -> None:
        """Take in the milliseconds that were measured."""
        ms, limit = median(took), median(least)
        self._rows.append(Figure(what, size, round(ms, 3), round(limit, 3), round(ms / limit, 3)))
        print(f"{what:52} {size:9,} {ms:10.2f} {limit:10.2f} {ms / limit:7.2f}", flush=True)

    def save(self) -> None:
        """Write them to docs/benchmarks, for `python -m benchmarks.chart`; what else was measured there stays."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        path, rows = FOLDER / f"{self._name}.csv", {}
        if path.exists():
            with path.open(newline="") as file:
                rows = {(row["what"], int(row["size"])): row for row in csv.DictReader(file)}
        rows |= {(each.what, each.size): asdict(each) for each in self._rows}
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(Figure.__annotations__), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[key] for key in sorted(rows))


def run(name: str, limit: str, sizes: Sequence[int], *measures: Callable[[Figures, int], object]) -> None:
    """Measure at the sizes that the command line names, else at `sizes`; with --save the figures are kept."""
    figures = Figures(name, limit)
    for size in [int(each) for each in sys.argv[1:] if each.isdigit()] or sizes:
        for measure in measures:
            measure(figures, size)
    if "--save" in sys.argv:
        figures.save()


def ms(work: Callable[[], object], count: int = 1, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """How many milliseconds it took, each time."""
    times = []
    for _ in range(count):
        began = clock()
        work()
        times.append((clock() - began) * 1000)
    return times


def peak() -> str:
    """The most memory that this process has had so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB at most"
