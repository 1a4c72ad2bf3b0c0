"""The Episodes tab: all tasks that were worked through, to replay step by step, to go on with, to branch off from."""

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

import envs
from app.desk import Desk
from app.desks import Desks
from app.terminal import counted
from app.ui import chat, render
from app.ui.play import EVENT, KEEP, PlayTab
from app.ui.window import Shown, attempt, desk_of
from app.view import View
from rememberer.errors import RemembererError
from rememberer.memory import Memory
from rememberer.transcript import transcript_of
from rememberer.values import EpisodeTrace

HEADERS = ["Task", "Outcome", "Return", "Steps", "Rewards", "Began", "World", "Key"]
ROWS = 50
"""Episodes on a page."""
ALL = "all worlds"


class EpisodesTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`; `played` is the tab that play is in."""

    def __init__(self, desks: Desks, play: PlayTab, tabs: gr.Tabs, played: str) -> None:
        self._desks = desks
        self._play = play
        self._tabs = tabs
        self._played = played
        self.episode = gr.State("")
        self.first = gr.State(0)
        with gr.Row(elem_classes=["browse"]):
            with gr.Column(elem_classes=["list"]):
                with gr.Row(elem_classes=["filters"]):
                    self.search = gr.Textbox(label="Search", placeholder="words of a task", elem_id="episode-search")
                    self.world = gr.Dropdown([ALL, *envs.names()], value=ALL, label="World", filterable=False)
                with gr.Row(elem_classes=["pages"]):
                    self.count = gr.HTML(elem_classes=["count"], apply_default_css=False)
                    self.newer = gr.Button("Newer", size="sm", visible=False)
                    self.older = gr.Button("Older", size="sm", visible=False)
                self.table = gr.Dataframe(
                    headers=HEADERS,
                    datatype="str",
                    interactive=False,
                    max_height=560,
                    elem_id="episodes",
                    buttons=[],
                    max_chars=90,
                    column_widths=[240, 90, 70, 60, 80, 150, 90, 110],
                )
            with gr.Column(elem_classes=["detail"]):
                self.told = gr.HTML(apply_default_css=False)
                self.title = gr.HTML(elem_id="episode", apply_default_css=False)
                self.step = gr.Slider(1, 2, step=1, label="Step", visible=False, elem_id="replay-step")
                with gr.Row(elem_classes=["actions"]):
                    self.open = gr.Button(visible=False, size="sm")
                    self.fork = gr.Button(visible=False, size="sm")
                    self.void = gr.Button(visible=False, size="sm")
                self.replay = gr.HTML(elem_id="replay", js_on_load=KEEP, apply_default_css=False)
        self.inputs = [self.search, self.world, self.first]
        self.outputs = [self.table, self.count, self.first, self.newer, self.older]
        self._wire()

    def show(self, search: str, world: str, first: int, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """What the tab shows when it is chosen: the page that it showed before, once the memory is open."""
        if desk_of(self._desks, request).view().status == "reading":
            yield gr.skip(), render.status("Opening your memory…"), gr.skip(), gr.skip(), gr.skip()
        yield self.list(search, world, first, request)

    def list(self, search: str, world: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        """A page of the episodes whose task has all words of `search`, the newest first, from number `first` on."""
        try:
            memory = desk_of(self._desks, request).memory
        except RemembererError as problem:
            return gr.skip(), render.status(str(problem)), gr.skip(), gr.skip(), gr.skip()
        memory.refresh()
        words = search.casefold().split()
        found = [
            each
            for each in reversed(memory.episodes())
            if world in (ALL, each.env) and all(word in each.task.casefold() for word in words)
        ]
        first = min(first, max(len(found) - 1, 0) // ROWS * ROWS)
        page = found[first : first + ROWS]
        told = counted(len(found), "task") if found or words else "No task yet. Start one under New task."
        if len(found) > ROWS:
            told = f"{first + 1:,}–{first + len(page):,} of {told}"
        several = len(found) > ROWS
        return (
            gr.Dataframe(value=[_row(memory, each) for each in page]),
            render.status(told),
            first,
            gr.Button(visible=several, interactive=first > 0),
            gr.Button(visible=several, interactive=first + ROWS < len(found)),
        )

    def _wire(self) -> None:
        quick = EVENT | {"queue": False}
        filters = {"inputs": [self.search, self.world], "outputs": self.outputs, "trigger_mode": "always_last"}
        self.search.change(self._filter, **quick | filters)
        self.world.input(self._filter, **quick | filters)
        self.newer.click(self._newer, self.inputs, self.outputs, **quick)
        self.older.click(self._older, self.inputs, self.outputs, **quick)
        opened = [self.episode, self.told, self.title, self.step, self.replay, self.open, self.fork, self.void]
        self.table.select(self._open, None, opened, **quick)
        shown = {"inputs": [self.episode, self.step], "outputs": [self.replay, self.fork]}
        self.step.change(self._replay, **quick | shown | {"trigger_mode": "always_last"})
        self.void.click(self._void, [self.episode], opened, **EVENT).then(self.list, self.inputs, self.outputs, **EVENT)
        played = [*self._play.outputs, self._tabs, self.told]
        self.open.click(self._put, [self._play.shown, self.episode], played, **EVENT)
        self.fork.click(self._fork, [self._play.shown, self.episode, self.step], played, **EVENT)

    def _filter(self, search: str, world: str, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, world, 0, request)

    def _newer(self, search: str, world: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, world, max(first - ROWS, 0), request)

    def _older(self, search: str, world: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, world, first + ROWS, request)

    def _open(self, event: gr.SelectData, request: gr.Request) -> tuple[Any, ...]:
        return self._opened(desk_of(self._desks, request).memory, str(event.row_value[-1]))

    def _opened(self, memory: Memory, key: str, told: str = "") -> tuple[Any, ...]:
        """What is shown of an episode whose id begins with `key`, from its first step on."""
        trace = next((each for each in memory.episodes() if key and each.id.startswith(key)), None)
        if trace is None:
            gone = render.wrong("This task is not in your memory any more.")
            return "", gone, "", *[gr.update(visible=False)] * 2, *[gr.Button(visible=False)] * 3
        transcript = transcript_of(memory, trace.id)
        last = len(transcript.turns)
        label = {"stopped": "Go on under Play", "": "Go on under Play"}.get(transcript.ended, "Open under Play")
        return (
            trace.id,
            told,
            render.episode(trace, transcript),
            gr.Slider(1, max(last, 2), value=1, step=1, visible=last > 1, label=f"Step (1 to {last})"),
            gr.update(value=chat.replayed(transcript, memory.said(trace.id), 1), visible=True),
            gr.Button(label, visible=True),
            gr.Button("Begin again from step 1", visible=True),
            gr.Button("Have it count again" if trace.void else "Have it count for nothing", visible=True),
        )

    def _replay(self, episode: str, step: int, request: gr.Request) -> tuple[Any, ...]:
        memory = desk_of(self._desks, request).memory
        try:
            transcript = transcript_of(memory, episode)
        except RemembererError as problem:
            return render.wrong(str(problem)), gr.Button(visible=False)
        step = min(max(int(step), 1), len(transcript.turns))
        replayed = chat.replayed(transcript, memory.said(episode), step)
        return replayed, gr.Button(f"Begin again from step {step}")

    def _void(self, episode: str, request: gr.Request) -> tuple[Any, ...]:
        desk = desk_of(self._desks, request)
        try:
            void = not desk.memory.trace(episode).void
            moved = counted(len(desk.quarantine(episode=episode, on=void)), "value")
            told = render.said(f"It counts {'for nothing' if void else 'again'}: {moved} moved.")
        except RemembererError as problem:
            told = render.wrong(str(problem))
        return self._opened(desk.memory, episode, told)

    def _put(self, shown: Shown, episode: str, request: gr.Request) -> Iterator[dict[Any, Any]]:
        desk = desk_of(self._desks, request)
        yield from self._playing(desk, shown, lambda: desk.put(episode, go_on=True))

    def _fork(self, shown: Shown, episode: str, step: int, request: gr.Request) -> Iterator[dict[Any, Any]]:
        desk = desk_of(self._desks, request)
        yield from self._playing(desk, shown, lambda: desk.fork(episode, int(step)))

    def _playing(self, desk: Desk, shown: Shown, act: Callable[[], None]) -> Iterator[dict[Any, Any]]:
        def rendered(view: View, shown: Shown) -> dict[Any, Any]:
            return {**self._play.render(view, shown), self.told: render.wrong(shown.error or view.error)}

        yield from attempt(desk, shown, rendered, act, {self._tabs: gr.Tabs(selected=self._played)})


def _row(memory: Memory, trace: EpisodeTrace) -> list[str]:
    return [
        trace.task,
        "counts for nothing" if trace.void else trace.outcome,
        render.number(trace.environment_return),
        str(len(trace.transitions)),
        str(len(memory.labels(trace.id)) or ""),
        f"{trace.time.astimezone():%Y-%m-%d %H:%M}" if trace.time else "",
        trace.env,
        trace.id[:12],
    ]
