"""Figures of the Learning tab in every form: picture, words, table, file."""

import csv
import os
import re
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from app import plots
from app.ui.learning import FILES, KEPT_SECONDS, LISTED, Figure, _sweep
from rememberer.progress import BINS, Calibration

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n"


def test_a_figure_says_what_it_shows_and_what_comes_from_outside_is_text() -> None:
    figure = Figure('said "<b>"', b"picture", ("environment", "score"), [("<script>x</script>", 0.5), ("鞋", np.nan)])
    html = figure.html("score")
    assert 'alt="said &quot;&lt;b&gt;&quot;"' in html
    assert 'src="data:image/png;base64,cGljdHVyZQ=="' in html
    assert "<script>" not in html
    assert "<td>&lt;script&gt;x&lt;/script&gt;</td><td>0.50</td>" in html
    assert "<td>鞋</td><td>–</td>" in html


def test_a_long_table_shows_its_end_and_the_file_has_all() -> None:
    figure = Figure("", b"", ("episode",), [(each,) for each in range(1, 1501)])
    html = figure.html("score")
    assert html.count("<td>") == LISTED
    assert "<td>1,500</td>" in html
    assert "<td>1,400</td>" not in html
    assert f"The last {LISTED} of 1,500 rows" in html
    assert figure.csv().split() == ["episode", *map(str, range(1, 1501))]


def test_a_file_holds_exact_numbers_and_no_formulas() -> None:
    row = ("=HYPERLINK(1)", '鞋, "red"', 1 / 3, -2.0, float("nan"), 7)
    written = list(csv.reader(StringIO(Figure("", b"", ("a",) * 6, [row]).csv())))
    assert written[1] == ["'=HYPERLINK(1)", '鞋, "red"', repr(1 / 3), "-2.0", "", "7"]


@pytest.mark.parametrize("count", [1, 2, 5000])
def test_curves_are_drawn_of_any_number_of_episodes(count: int) -> None:
    numbers = np.arange(count, dtype=float)
    numbers[0] = np.nan
    panels = [plots.Panel("score", numbers, numbers), plots.Panel("questions", np.zeros(count), is_count=True)]
    assert plots.curves(panels).startswith(PNG)


def test_a_calibration_of_a_single_value_is_drawn() -> None:
    means = np.full(BINS, np.nan)
    means[5] = 0.5
    count = np.where(np.isnan(means), 0, 3)
    edges = np.linspace(0, 1, BINS + 1)
    assert plots.diagonal(Calibration(means, means, 0, edges, count, means, means)).startswith(PNG)


@pytest.mark.parametrize("color", [plots.INK, plots.PLUS, plots.NEAR])
def test_a_figure_can_be_read_on_light_and_on_dark_cards(color: str) -> None:
    style = (ROOT / "app" / "ui" / "style.css").read_text("utf-8")
    grounds = re.findall(r"--card: (#\w{6})", style)
    assert len(grounds) == 2
    for ground in grounds:
        light, dark = sorted((_luminance(color), _luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_drawing_is_loaded_with_the_first_figure_and_never_a_window() -> None:
    code = (
        "import sys, numpy as np\nfrom app import plots\nassert 'matplotlib' not in sys.modules\n"
        "plots.curves([plots.Panel('score', np.ones(3))])\nassert 'matplotlib.pyplot' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_files_that_were_offered_long_ago_are_removed(tmp_path: Path) -> None:
    for name, age in ((f"{FILES}old", KEPT_SECONDS + 60), (f"{FILES}new", 60), ("another's", 2 * KEPT_SECONDS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "score.csv").touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    _sweep(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {f"{FILES}new", "another's"}
