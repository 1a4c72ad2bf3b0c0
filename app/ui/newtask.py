"""The New task tab: a world, a goal of it or an instruction in one's own words."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

import envs
from app.desks import Desks
from app.ui import render
from app.ui.play import EVENT, PlayTab
from app.ui.window import Shown, attempt, desk_of
from app.view import View
from envs.base import OWN_TASK
from rememberer.errors import RemembererError

LISTED = 1000
"""Goals that the list has at most; any other can be had by its number."""


class NewTaskTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`; `begun` is the tab that play is in."""

    def __init__(self, desks: Desks, play: PlayTab, tabs: gr.Tabs, begun: str) -> None:
        self._desks = desks
        self._play = play
        self._tabs = tabs
        self._begun = begun
        worlds = envs.names()
        gr.HTML(
            '<div class="intro"><h2>What shall we do?</h2><p class="muted">The agent goes one action at a time and '
            "shows why. You approve, choose another, type your own, or give a reward. It remembers.</p></div>",
            apply_default_css=False,
        )
        with gr.Column(elem_id="picker"):
            self.world = gr.Dropdown(worlds, value=worlds[0], label="World", elem_id="world", filterable=False)
            self.split = gr.Radio(
                [("for practice", "train"), ("for testing", "test")], value="train", label="Goals", elem_id="split"
            )
            self.goal = gr.Dropdown(
                label="Goal", info="Type words to find one, or # and a number.", elem_id="goal", allow_custom_value=True
            )
            self.start = gr.Button("Start", variant="primary", elem_id="start")
            self.own = gr.Textbox(
                label="Or in your own words",
                placeholder="i need a warm scarf for less than 20 dollars",
                elem_id="own",
                max_lines=4,
            )
            self.start_own = gr.Button("Start with my words", elem_id="start-own")
            self.told = gr.HTML(elem_id="refused", apply_default_css=False)
        self._wire()

    def goals(self, world: str, split: str) -> tuple[gr.Radio, gr.Dropdown]:
        """The list of goals of a world and split, the first one chosen; of the other split where this one has none.

        Where the world's files are broken, it says so instead.
        """
        try:
            every = self._desks.tasks(world)
        except RemembererError as problem:
            return gr.Radio(value=split), gr.Dropdown(choices=[], value=None, info=str(problem))
        tasks = [task for task in every if task.split == split] or every
        choices = [(f"{task.id} · {task.text}", task.id) for task in tasks[:LISTED]]
        split = tasks[0].split if tasks else split
        return gr.Radio(value=split), gr.Dropdown(choices=choices, value=choices[0][1] if choices else None)

    def _wire(self) -> None:
        listing = EVENT | {"queue": False}
        for each in (self.world, self.split):
            each.input(self.goals, [self.world, self.split], [self.split, self.goal], **listing)
        outputs = [*self._play.outputs, self._tabs, self.own, self.told]
        self.start.click(self._start, [self._play.shown, self.world, self.goal], outputs, **EVENT)
        own = [self._play.shown, self.world, self.own]
        self.start_own.click(self._start_own, own, outputs, **EVENT)
        self.own.submit(self._start_own, own, outputs, **EVENT)

    def _start(self, shown: Shown, world: str, goal: str, request: gr.Request) -> Iterator[dict[Any, Any]]:
        yield from self._begin(shown, world, str(goal).removeprefix("#").strip(), request)

    def _start_own(self, shown: Shown, world: str, own: str, request: gr.Request) -> Iterator[dict[Any, Any]]:
        if own.strip():
            yield from self._begin(shown, world, OWN_TASK + own.strip(), request)
        else:
            yield {self.told: render.wrong("Type what is to be done first.")}

    def _begin(self, shown: Shown, world: str, task_id: str, request: gr.Request) -> Iterator[dict[Any, Any]]:
        desk = desk_of(self._desks, request)
        done = {self._tabs: gr.Tabs(selected=self._begun), self.own: gr.Textbox(value="")}

        def rendered(view: View, shown: Shown) -> dict[Any, Any]:
            return {**self._play.render(view, shown), self.told: render.wrong(shown.error or view.error)}

        yield from attempt(desk, shown, rendered, lambda: desk.start(world, task_id), done)
