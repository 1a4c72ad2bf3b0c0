"""The Memory tab: all experiences, page by page, to search, to open, to forget."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from app.desks import Desks
from app.explained import explained
from app.terminal import counted
from app.ui import render
from app.ui.play import EVENT, KEEP
from app.ui.window import desk_of
from rememberer.errors import RemembererError
from rememberer.records import Experience

HEADERS = ["Task", "What was seen", "Best action", "Value", "Outcome", "Key"]
ROWS = 50
"""Experiences on a page."""


class MemoryTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self.key = gr.State("")
        self.first = gr.State(0)
        with gr.Row(elem_classes=["browse"]):
            with gr.Column(elem_classes=["list"]):
                self.search = gr.Textbox(
                    label="Search", placeholder="words of a task, a page or an action", elem_id="search"
                )
                with gr.Row(elem_classes=["pages"]):
                    self.count = gr.HTML(elem_id="count", elem_classes=["count"], apply_default_css=False)
                    self.previous = gr.Button(f"Previous {ROWS}", elem_id="previous", size="sm", visible=False)
                    self.next = gr.Button(f"Next {ROWS}", elem_id="next", size="sm", visible=False)
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
            with gr.Column(elem_classes=["detail"]):
                self.one = gr.HTML(elem_id="experience", js_on_load=KEEP, apply_default_css=False)
                self.delete = gr.Button("Delete", elem_id="delete", visible=False)
                self.really = gr.Button("Delete for good", variant="stop", elem_id="really", visible=False)
        self.inputs = [self.search, self.first]
        self.outputs = [self.table, self.count, self.first, self.previous, self.next]
        opened = [self.key, self.one, self.delete, self.really]
        quick = EVENT | {"queue": False}
        last = quick | {"trigger_mode": "always_last"}
        self.search.change(self._search, [self.search], self.outputs, **last)
        self.previous.click(self._back, self.inputs, self.outputs, **quick)
        self.next.click(self._on, self.inputs, self.outputs, **quick)
        self.table.select(self._open, None, opened, **quick)
        self.delete.click(lambda: (gr.Button(visible=False), gr.Button(visible=True)), None, opened[2:], **quick)
        self.really.click(self._forget, [self.key, *self.inputs], [*self.outputs, *opened], **EVENT)

    def show(self, search: str, first: int, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """What the tab shows when it is chosen: the page that it showed before, once the memory is open."""
        if desk_of(self._desks, request).view().status == "reading":
            yield gr.skip(), render.status("Opening your memory…"), gr.skip(), gr.skip(), gr.skip()
        yield self.list(search, first, request)

    def list(self, search: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        """A page of the experiences that have all words of `search`, last changed first, from number `first` on."""
        try:
            memory = desk_of(self._desks, request).memory
        except RemembererError as problem:
            return gr.skip(), render.status(str(problem)), gr.skip(), gr.skip(), gr.skip()
        words = search.split()
        page = memory.page(words=words, offset=first, limit=ROWS)
        if first and first >= page.total:  # the last ones were forgotten meanwhile
            first = max(page.total - 1, 0) // ROWS * ROWS
            page = memory.page(words=words, offset=first, limit=ROWS)
        told = f"{page.total:,} of {counted(len(memory), 'experience')}" if words else counted(page.total, "experience")
        if page.total > ROWS:
            told = f"{first + 1:,}–{first + len(page.experiences):,} of {told}"
        several = page.total > ROWS
        return (
            gr.Dataframe(value=[_row(each) for each in page.experiences]),
            render.status(told),
            first,
            gr.Button(visible=several, interactive=first > 0),
            gr.Button(visible=several, interactive=first + ROWS < page.total),
        )

    def _search(self, search: str, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, 0, request)

    def _back(self, search: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, max(first - ROWS, 0), request)

    def _on(self, search: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        return self.list(search, first + ROWS, request)

    def _open(self, event: gr.SelectData, request: gr.Request) -> tuple[Any, ...]:
        memory = desk_of(self._desks, request).memory
        found = memory.page(key=str(event.row_value[-1]), limit=1).experiences
        if not found:
            gone = '<p class="muted">This experience is gone.</p>'
            return "", gone, gr.Button(visible=False), gr.Button(visible=False)
        (known,) = found
        made_of = [(row, explained(memory, known.key, row.action)) for row in known.actions]
        return known.key, render.experience(known, made_of), gr.Button(visible=True), gr.Button(visible=False)

    def _forget(self, key: str, search: str, first: int, request: gr.Request) -> tuple[Any, ...]:
        told = render.said("Forgotten: it is gone from the memory and from its files.")
        try:
            desk_of(self._desks, request).forget(key)
        except RemembererError as problem:
            told = render.wrong(str(problem))
        return *self.list(search, first, request), "", told, gr.Button(visible=False), gr.Button(visible=False)


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
