"""Draws figures as PNG, for light and dark ground alike. matplotlib is loaded with the first one."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from rememberer.progress import Calibration, Counts, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Gradio asks matplotlib in every event for its backend, which would load all of pyplot to find one.
os.environ.setdefault("MPLBACKEND", "agg")

WIDTH, HEIGHT = 4.4, 3.1
"""Inches of 96 pixels, as shown; drawn with twice as many pixels."""
INK, PLUS, NEAR = "#71809a", "#0d9488", "#6366f1"
"""Those of style.css that stand out from either ground by 3:1, and an ink that does."""

_ALONE = threading.Lock()
"""matplotlib is not made for threads."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A curve over the number of the episode, and the single points that it smooths, if it does."""

    name: str
    curve: Numbers | Counts
    points: Numbers | Counts | None = None
    is_share: bool = False
    """It goes from 0 to 1."""
    is_count: bool = False
    """It begins at 0."""


def curves(panels: Sequence[Panel]) -> bytes:
    """Panels one below the other."""
    with _ALONE:
        figure = _figure()
        for axes, panel, color in zip(
            figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0], panels, (PLUS, NEAR), strict=False
        ):
            numbers = np.arange(1, len(panel.curve) + 1)
            if panel.points is not None:
                axes.plot(numbers, panel.points, ".", color=color, markersize=6, alpha=0.4, markeredgewidth=0)
            # A single episode is a dot.
            axes.plot(numbers, panel.curve, "o" if len(numbers) == 1 else "-", color=color, linewidth=1.8)
            axes.set_ylabel(panel.name)
            if panel.is_share:
                axes.set_ylim(-0.06, 1.06)
            elif panel.is_count:
                top = max(axes.get_ylim()[1], 1)
                axes.set_ylim(-0.06 * top, top)
            _dress(axes)
        axes.set_xlim(0.5, len(panels[0].curve) + 0.5)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("episode")
        return _png(figure)


def diagonal(found: Calibration) -> bytes:
    """Mean return over mean value, by range of values: the larger a dot, the more steps, whose number it has."""
    with _ALONE:
        figure = _figure()
        axes = figure.subplots()
        some = found.count > 0
        value, back, count = found.mean_value[some], found.mean_return[some], found.count[some]
        ends = [min(value.min(), back.min()), max(value.max(), back.max())]
        axes.plot(ends, ends, "--", color=INK, linewidth=1)
        axes.plot(value, back, "-", color=PLUS, linewidth=1, alpha=0.5)
        axes.scatter(value, back, s=20 + 130 * count / count.max(), color=PLUS, zorder=3)
        for x, y, number in zip(value, back, count, strict=True):
            axes.annotate(f"{number:,}", (x, y), (0, 8), textcoords="offset points", ha="center", size=8, color=INK)
        axes.margins(0.08, 0.14)
        axes.set(xlabel="value on screen", ylabel="return that followed")
        _dress(axes)
        return _png(figure)


def _figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, HEIGHT), layout="constrained")


def _dress(axes: "Axes") -> None:
    axes.grid(alpha=0.25, color=INK, linewidth=0.6)
    axes.tick_params(colors=INK, labelsize=9)
    axes.xaxis.label.set(color=INK, size=10)
    axes.yaxis.label.set(color=INK, size=10)
    for side, spine in axes.spines.items():
        spine.set(color=INK, visible=side in ("left", "bottom"))


def _png(figure: "Figure") -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=192, transparent=True)
    return file.getvalue()
