"""The Memory tab: all experiences, to search, to open, to forget."""

from typing import Any

import gradio as gr

from app.desks import Desks
from app.explained import explained
from app.ui import render
from app.ui.play import EVENT, KEEP
from app.ui.window import desk_of
from rememberer.errors import RemembererError
from rememberer.records import Experience

HEADERS = ["Task", "What was seen", "Best action", "Value", "Outcome", "Key"]
LISTED = 2000
"""Rows that the table has at most, the newest."""


class MemoryTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self.key = gr.State("")
        with gr.Row(elem_id="memory"):
            with gr.Column(elem_id="memlist"):
                self.search = gr.Textbox(
                    label="Search", placeholder="words of a task, a page or an action", elem_id="search"
                )
                self.count = gr.HTML(elem_id="count", apply_default_css=False)
                self.table = gr.Dataframe(
                    headers=HEADERS,
                    datatype="str",
                    interactive=False,
                    max_height=560,
                    elem_id="experiences",
                    buttons=[],
                    max_chars=90,
                    column_widths=[190, 190, 150, 70, 90, 110],
                )
            with gr.Column(elem_id="memone"):
                self.one = gr.HTML(elem_id="experience", js_on_load=KEEP, apply_default_css=False)
                self.delete = gr.Button("Delete", elem_id="delete", visible=False)
                self.really = gr.Button("Delete for good", variant="stop", elem_id="really", visible=False)
        self.outputs = [self.table, self.count]
        opened = [self.key, self.one, self.delete, self.really]
        quick = EVENT | {"queue": False}
        self.search.change(self.list, [self.search], self.outputs, **quick | {"trigger_mode": "always_last"})
        self.table.select(self._open, None, opened, **quick)
        self.delete.click(lambda: (gr.Button(visible=False), gr.Button(visible=True)), None, opened[2:], **quick)
        self.really.click(self._forget, [self.key, self.search], [*self.outputs, *opened], **EVENT)

    def list(self, search: str, request: gr.Request) -> tuple[Any, ...]:
        """The table of the experiences that have all words of `search`, newest first."""
        known = desk_of(self._desks, request).memory.experiences()
        words = search.casefold().split()
        found = (
            [each for each in reversed(known) if all(word in _text(each) for word in words)] if words else known[::-1]
        )
        rows = [_row(each) for each in found[:LISTED]]
        told = f"{len(found)} of {len(known)} experiences" if words else f"{len(known)} experiences"
        return gr.Dataframe(value=rows), f'<p class="muted" role="status">{told}</p>'

    def _open(self, event: gr.SelectData, request: gr.Request) -> tuple[Any, ...]:
        short = str(event.row_value[-1])
        memory = desk_of(self._desks, request).memory
        known = next((each for each in memory.experiences() if each.key.startswith(short)), None)
        if known is None:
            return (
                "",
                '<p class="muted">This experience is gone.</p>',
                gr.Button(visible=False),
                gr.Button(visible=False),
            )
        made_of = [(row, explained(memory, known.key, row.action)) for row in known.actions]
        return known.key, render.experience(known, made_of), gr.Button(visible=True), gr.Button(visible=False)

    def _forget(self, key: str, search: str, request: gr.Request) -> tuple[Any, ...]:
        said = "Forgotten: it is gone from the memory and from its files."
        try:
            desk_of(self._desks, request).forget(key)
        except RemembererError as problem:
            said = str(problem)
        told = f'<p class="news" role="status">{render.esc(said)}</p>'
        return *self.list(search, request), "", told, gr.Button(visible=False), gr.Button(visible=False)


def _text(known: Experience) -> str:
    state = known.state
    return " ".join([state.task, state.observation, *(row.action for row in known.actions)]).casefold()


def _row(known: Experience) -> list[str]:
    best = known.actions[0]
    return [
        known.state.task,
        render.gist(known.state, 120),
        best.action,
        render.value_of(best.q if best.visits else None),
        render.outcome_words(known),
        known.key[:12],
    ]
