"""The Learning tab: how episode went after episode, who decided, what was rewarded, and whether values come true."""

import base64
import csv
import math
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from app import plots
from app.desks import Desks
from app.plots import Panel
from app.terminal import counted
from app.ui.play import EVENT, KEEP
from app.ui.render import esc
from app.ui.window import desk_of
from rememberer.collector import no_collector
from rememberer.errors import RemembererError
from rememberer.events import Forgotten
from rememberer.memory import Memory
from rememberer.progress import Calibration, Foreseen, Progress, calibration, progress, smoothed
from rememberer.values import EpisodeTrace

WINDOW = 10
"""Episodes that a curve is the mean of, at first."""
LISTED = 100
"""Rows of a table on the page, the last ones; the CSV has all."""
KEPT_SECONDS = 24 * 3600
"""How long a file lies ready to be downloaded, at least."""
FILES = "rememberer-figures-"
NOTHING = "Nothing to show yet: finish a task under Play."
ALL = ("all", "")

Cell = str | float


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in every form that it is shown in."""

    says: str
    """What it shows, in words."""
    png: bytes
    headers: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def html(self, key: str) -> str:
        """The picture, its words, and its numbers folded away."""
        source = base64.b64encode(self.png).decode()
        head = "".join(f'<th scope="col">{esc(each)}</th>' for each in self.headers)
        rows = "".join(
            f"<tr>{''.join(f'<td>{esc(_shown(cell))}</td>' for cell in row)}</tr>" for row in self.rows[-LISTED:]
        )
        count = len(self.rows)
        which = f"The last {LISTED} of {count:,} rows; the CSV has all" if count > LISTED else "The same in numbers"
        return (
            f'<img src="data:image/png;base64,{source}" alt="{esc(self.says)}">'
            f'<p class="muted small" aria-hidden="true">{esc(self.says)}</p>'
            f'<details data-key="plot-{esc(key)}"><summary>Numbers</summary><div class="scroll" tabindex="0"><table>'
            f"<caption>{which}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
        )

    def csv(self) -> str:
        """All rows; what is not known is empty, and no text is taken for a formula."""
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.headers)
        writer.writerows([_written(cell) for cell in row] for row in self.rows)
        return file.getvalue()


class Card:
    """A figure on the page, with its downloads. Made inside `gr.Blocks`."""

    def __init__(self, key: str, title: str) -> None:
        self.key, self.title = key, title
        with gr.Column(elem_classes="plot card", elem_id=f"plot-{key}"):
            self.html = gr.HTML(js_on_load=KEEP, apply_default_css=False)
            with gr.Row(elem_classes="files"):
                self.png, self.csv = (
                    gr.DownloadButton(f"{key.capitalize()}, {kind}", size="sm", visible=False)
                    for kind in ("PNG", "CSV")
                )
        self.outputs = [self.html, self.png, self.csv]

    def show(self, figure: Figure | str) -> dict[Any, Any]:
        """Updates that show a figure, or say why there is none. Writes its files."""
        head = f"<h2>{esc(self.title)}</h2>"
        if isinstance(figure, str):
            said = f'{head}<p class="muted" role="status">{esc(figure)}</p>'
            return {self.html: said, **{each: gr.DownloadButton(visible=False) for each in (self.png, self.csv)}}
        # A name that nobody guesses: who has it can have the file, whoever they are.
        folder = Path(self.png.GRADIO_CACHE, FILES + secrets.token_hex(16))
        folder.mkdir(mode=0o700, parents=True)
        png, table = folder / f"{self.key}.png", folder / f"{self.key}.csv"
        png.write_bytes(figure.png)
        table.write_text(figure.csv(), "utf-8")
        return {
            self.html: head + figure.html(self.key),
            self.png: gr.DownloadButton(value=png, visible=True),
            self.csv: gr.DownloadButton(value=table, visible=True),
        }


class LearningTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._logs: WeakKeyDictionary[Memory, _Log] = WeakKeyDictionary()
        # What matplotlib notes of the fonts that there are lies with everything else that is written.
        os.environ.setdefault("MPLCONFIGDIR", str(desks.settings.home / "matplotlib"))
        with gr.Column(elem_id="learning"):
            with gr.Row(elem_id="which"):
                self.env = gr.Dropdown([ALL], value="", label="Environment", elem_id="by-env", filterable=False)
                self.policy = gr.Dropdown([ALL], value="", label="Who proposed", elem_id="by-policy", filterable=False)
                self.window = gr.Slider(1, 50, WINDOW, step=1, label="Mean of the last … episodes", elem_id="window")
            self.told = gr.HTML(elem_id="learning-told", apply_default_css=False)
            with gr.Row(elem_id="plots"):
                self.score = Card("score", "Score and success")
                self.human = Card("people", "Steps that people decide")
                self.labels = Card("rewards", "Rewards that people gave")
            # The log is read for this one, which takes a while where much has happened.
            with gr.Accordion("Do the values come true?", open=False, elem_id="calibrated") as fold:
                self.calibration = Card("values", "Values and returns")
        self.opened = gr.State(False)
        self.inputs = [self.env, self.policy, self.window, self.opened]
        cards = (self.score, self.human, self.labels, self.calibration)
        self.outputs = [self.env, self.policy, self.told, *(each for card in cards for each in card.outputs)]
        last = EVENT | {"trigger_mode": "always_last"}
        for chosen in (self.env, self.policy):
            chosen.input(self.show, self.inputs, self.outputs, **last)
        self.window.change(self.show, self.inputs, self.outputs, **last)
        fold.expand(self._unfold, self.inputs, [*self.calibration.outputs, self.opened], **EVENT)
        fold.collapse(lambda: False, None, [self.opened], **EVENT)

    def show(self, env: str, policy: str, window: int, opened: bool, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """What the tab shows when it is chosen, once the memory is open; the calibration last, if it is unfolded."""
        desk = desk_of(self._desks, request)
        if desk.view().status == "reading":
            yield {self.told: _status("Opening your memory…")}
        try:
            memory = desk.memory
            memory.refresh()
        except RemembererError as problem:
            yield {self.told: _status(str(problem))}
            return
        every = [each for each in memory.episodes() if not each.void]
        envs, policies = ({getattr(each, of) for each in every} for of in ("env", "policy"))
        env, policy = env if env in envs else "", policy if policy in policies else ""
        chosen = _chosen(every, env, policy)
        _sweep(Path(self.score.png.GRADIO_CACHE))
        went = progress(chosen, memory.labels)
        yield {
            self.env: gr.Dropdown(choices=_choices(envs), value=env),
            self.policy: gr.Dropdown(choices=_choices(policies), value=policy),
            self.told: "",
            **self.score.show(_score(went, window)),
            **self.human.show(_people(went, window)),
            **self.labels.show(_rewards(went)),
        }
        if opened:
            yield from self._calibrate(memory, chosen)

    def _unfold(
        self, env: str, policy: str, window: int, opened: bool, request: gr.Request
    ) -> Iterator[dict[Any, Any]]:
        yield {self.opened: True}
        with suppress(RemembererError):  # the tab has told it
            memory = desk_of(self._desks, request).memory
            yield from self._calibrate(memory, _chosen(memory.episodes(), env, policy))

    def _calibrate(self, memory: Memory, chosen: Sequence[EpisodeTrace]) -> Iterator[dict[Any, Any]]:
        log = self._logs.setdefault(memory, _Log())
        if log.is_new:
            yield self.calibration.show("Reading what was shown so far…")
        try:
            yield self.calibration.show(_values(log.calibration(memory, chosen)))
        except RemembererError as problem:
            yield self.calibration.show(str(problem))


class _Log:
    """What a memory's log says of the values on screen, read once, and after that only what is new."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._foreseen = Foreseen()

    @property
    def is_new(self) -> bool:
        return self._foreseen.seq < 0

    def calibration(self, memory: Memory, chosen: Sequence[EpisodeTrace]) -> Calibration:
        """Raises `StoreError`."""
        with self._lock, no_collector():
            fresh = memory.store.events(memory.user, after=self._foreseen.seq)
            if not self.is_new and any(isinstance(each.body, Forgotten) for each in fresh):
                self._foreseen, fresh = Foreseen(), memory.store.events(memory.user)
            self._foreseen.apply(fresh)
            return calibration(chosen, self._foreseen)


def _chosen(episodes: Sequence[EpisodeTrace], env: str, policy: str) -> list[EpisodeTrace]:
    return [each for each in episodes if env in ("", each.env) and policy in ("", each.policy)]


def _choices(names: set[str]) -> list[tuple[str, str]]:
    return [ALL, *((each, each) for each in sorted(names) if each)]


def _score(went: Progress, window: int) -> Figure | str:
    rows = np.flatnonzero(~np.isnan(went.score))
    if not len(rows):
        return NOTHING
    score, solved = went.score[rows], went.solved[rows]
    means, shares = smoothed(score, window), smoothed(solved, window)
    return Figure(
        f"Score and share of tasks solved, {counted(len(rows), 'episode')}. {_last(window, rows)}: score "
        f"{means[-1]:.2f}, {shares[-1]:.0%} solved.",
        plots.curves([Panel("score", means, score), Panel("solved", shares, solved, is_share=True)]),
        (*NAMES, "outcome", "score", "solved", "score, mean", "solved, mean"),
        _table(went, rows, [each.outcome for each in went.episodes], score, solved.astype(int), means, shares),
    )


def _people(went: Progress, window: int) -> Figure | str:
    rows = np.flatnonzero(~np.isnan(went.human) | (went.questions > 0))
    if not len(rows):
        return "Nothing to show yet: decide a step under Play."
    human, questions = went.human[rows], went.questions[rows]
    shares, means = smoothed(human, window), smoothed(questions, window)
    share = "no" if math.isnan(shares[-1]) else f"{shares[-1]:.0%} of the"
    return Figure(
        f"Share of steps that people decided and questions that the agent asked, {counted(len(rows), 'episode')}. "
        f"{_last(window, rows)}: {share} steps, {means[-1]:.2f} questions.",
        plots.curves(
            [Panel("people", shares, human, is_share=True), Panel("questions", means, questions, is_count=True)]
        ),
        (*NAMES, "steps", "share decided by people", "questions", "share, mean", "questions, mean"),
        _table(went, rows, [len(each.transitions) for each in went.episodes], human, questions, shares, means),
    )


def _rewards(went: Progress) -> Figure | str:
    rows = np.arange(len(went.labels))
    given = np.diff(went.labels, prepend=0)
    if not given.any():
        return "No reward was given yet: give one to a step under Play, now or days later."
    return Figure(
        f"Rewards that people gave, added up, {counted(len(rows), 'episode')}: "
        f"{counted(int(went.labels[-1]), 'reward')} in all.",
        plots.curves([Panel("rewards in all", went.labels, is_count=True)]),
        (*NAMES, "outcome", "rewards", "rewards in all"),
        _table(went, rows, [each.outcome for each in went.episodes], given, went.labels),
    )


def _values(found: Calibration) -> Figure | str:
    left_out = f"{counted(found.without, 'step')} had no value on screen" if found.without else ""
    if not len(found.values):
        told = f" So far {left_out}." if left_out else ""
        return f"Nothing to show yet: do a task under Play that is like one before, and finish it.{told}"
    columns = (found.edges[:-1], found.edges[1:], found.count, found.mean_value, found.mean_return)
    return Figure(
        f"Mean return by value on screen, {counted(len(found.values), 'step')} of tasks that are over; on the dashed "
        f"line they are the same. On average value and return are {found.error:.2f} apart."
        + (f" {left_out} and are left out." if left_out else ""),
        plots.diagonal(found),
        ("value from", "value to", "steps", "mean value", "mean return"),
        list(zip(*(each.tolist() for each in columns), strict=True)),
    )


NAMES = ("episode", "began (UTC)", "environment", "policy")
"""What each row about an episode begins with."""


def _table(
    went: Progress, rows: NDArray[np.intp], told: Sequence[Cell], *columns: NDArray[Any]
) -> list[tuple[Cell, ...]]:
    """Rows that name their episode, and what is `told` of it."""
    named = [(went.episodes[row], told[row]) for row in rows.tolist()]
    return [
        (place, f"{each.time:%Y-%m-%d %H:%M:%S}" if each.time else "", each.env, each.policy, what, *numbers)
        for place, ((each, what), *numbers) in enumerate(
            zip(named, *(column.tolist() for column in columns), strict=True), 1
        )
    ]


def _last(window: int, rows: Sized) -> str:
    return f"Mean of the last {min(window, len(rows))}"


def _shown(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    return "–" if math.isnan(cell) else f"{cell:,}" if isinstance(cell, int) else f"{cell:.2f}"


def _written(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
    return "" if math.isnan(cell) else repr(cell)


def _sweep(cache: Path) -> None:
    """Remove files that nobody has downloaded for long, those of servers before this one included."""
    for folder in cache.glob(f"{FILES}*"):
        with suppress(OSError):  # another server sweeps, too
            if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(folder)


def _status(told: str) -> str:
    return f'<p class="muted" role="status">{esc(told)}</p>'
