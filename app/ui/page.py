"""The page: header, tabs, and what happens when a window opens or has been left alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from app.desks import Desks
from app.ui.episodes import EpisodesTab
from app.ui.labelling import LabelTab
from app.ui.learning import LearningTab
from app.ui.memory import MemoryTab
from app.ui.newtask import NewTaskTab
from app.ui.play import EVENT, PlayTab
from app.ui.window import Shown, desk_of, follow

HERE = Path(__file__).parent
LOOK_SECONDS = 3
"""How often a window looks whether another one has done something."""


def page(desks: Desks) -> gr.Blocks:
    """Build the page."""
    blocks = gr.Blocks(title="Rememberer", fill_width=True, analytics_enabled=False)
    with blocks:
        header = gr.HTML(elem_id="header", apply_default_css=False)
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Play", id="play"):
                play = PlayTab(desks, header)
            with gr.Tab("New task", id="new"):
                new = NewTaskTab(desks, play, tabs, "play")
            with gr.Tab("Episodes", id="episodes") as episodes_tab:
                episodes = EpisodesTab(desks, play, tabs, "play")
            with gr.Tab("Label", id="label") as label_tab:
                label = LabelTab(desks)
            with gr.Tab("Memory", id="memory") as memory_tab:
                memory = MemoryTab(desks)
            with gr.Tab("Learning", id="learning") as learning_tab:
                learning = LearningTab(desks)

        def load(request: gr.Request) -> Iterator[dict[Any, Any]]:
            desk = desk_of(desks, request)
            first: dict[Any, Any] = dict(
                zip([new.split, new.goal], new.goals(new.world.value, new.split.value), strict=True)
            )
            desk.open()
            reading = True
            for update in follow(desk, Shown(), play.render):
                if reading and (status := desk.view().status) != "reading":
                    reading = False
                    if status == "empty":
                        first[tabs] = gr.Tabs(selected="new")
                yield update | first
                first = {}

        def look(shown: Shown, request: gr.Request) -> dict[Any, Any]:
            view = desk_of(desks, request).view()
            if view.version == shown.version:
                return {play.shown: gr.skip()}
            return play.render(view, shown.at(view))

        blocks.load(load, None, [*play.outputs, tabs, new.split, new.goal], **EVENT)
        gr.Timer(LOOK_SECONDS).tick(look, [play.shown], play.outputs, **EVENT)
        episodes_tab.select(episodes.show, episodes.inputs, episodes.outputs, **EVENT)
        label_tab.select(label.show, label.inputs, label.outputs, **EVENT)
        memory_tab.select(memory.show, memory.inputs, memory.outputs, **EVENT)
        learning_tab.select(learning.show, learning.inputs, learning.outputs, **EVENT)
    return blocks
