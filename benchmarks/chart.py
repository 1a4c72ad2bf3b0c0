"""Draws how figures grow with the size of a memory: docs/benchmarks/*.csv to *.png.

python -m benchmarks.chart
"""

import csv
from collections import defaultdict
from pathlib import Path

from benchmarks.figures import FOLDER


def draw(path: Path) -> None:
    """One picture of a file: a line for each kind of figure, and its limit where that is not another line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            lines[row["what"]].append((int(row["size"]), float(row["ms"]), float(row["limit_ms"])))
    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for what, points in lines.items():
        sizes, took, limits = zip(*points, strict=True)
        (line,) = axes.plot(sizes, took, marker="o", markersize=4, linewidth=1.5, label=what)
        if path.stem != "others" and limits != took:
            axes.plot(sizes, limits, linestyle=":", linewidth=1, color=line.get_color())
    axes.set(xscale="log", yscale="log", xlabel="experiences", ylabel="ms (median)", title=path.stem.replace("_", " "))
    axes.grid(alpha=0.3)
    axes.legend(
        title="dotted: its limit",
        fontsize=7,
        title_fontsize=7,
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
    )
    figure.savefig(path.with_suffix(".png"), dpi=90, bbox_inches="tight")
    pyplot.close(figure)


def main() -> None:
    for path in sorted(FOLDER.glob("*.csv")):
        draw(path)
        print(path.with_suffix(".png"))


if __name__ == "__main__":
    main()
