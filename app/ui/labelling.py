"""The Label tab: steps that nobody watched, and pairs of which one may be better, one after the other, a key each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import gradio as gr

from app.desk import Desk
from app.desks import Desks
from app.ui import items, render
from app.ui.play import EVENT, KEEP, REWARDS
from app.ui.window import desk_of
from app.view import News
from rememberer.errors import RemembererError
from rememberer.judged import PERSON
from rememberer.labelling import Pair, Step
from rememberer.memory import Memory
from rememberer.records import Change
from rememberer.transcript import transcript_of

Kind = Literal["steps", "actions", "episodes"]

KINDS: list[tuple[str, Kind]] = [
    ("steps it took by itself", "steps"),
    ("pairs of actions", "actions"),
    ("pairs of tasks", "episodes"),
]
DONE = {
    "steps": "Nothing to label: every step that the agent took by itself has your reward. Have it run by itself.",
    "actions": "Nothing to compare: no situation has two actions that were tried and that you have not compared.",
    "episodes": "Nothing to compare: no task was worked through twice in different ways that you have not compared.",
}
BETTER = ["The left one is better", "Equally good", "The right one is better"]
GIVEN = [(name, value) for name, value in REWARDS if not isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class Labelling:
    """Where a window is in a queue: what it has been given and not yet passed, and what it skipped."""

    kind: Kind = "steps"
    by: str = PERSON
    items: tuple[Step | Pair, ...] = ()
    skipped: frozenset[Step | Pair] = field(default_factory=frozenset)
    news: str = ""
    """What the last label did, as HTML."""

    @property
    def item(self) -> Step | Pair | None:
        return next((each for each in self.items if each not in self.skipped), None)


class LabelTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self.place = gr.State(Labelling())
        with gr.Column(elem_id="labelling"):
            with gr.Row(elem_classes=["filters"]):
                self.kind = gr.Radio(KINDS, value="steps", label="What to label")
                self.by = gr.Textbox(
                    label="Who labels", placeholder="your name, if several people do", max_length=64, elem_id="label-by"
                )
            self.progress = gr.HTML(elem_id="label-progress", apply_default_css=False)
            self.item = gr.HTML(elem_id="label-item", js_on_load=KEEP, apply_default_css=False)
            self.comment = gr.Textbox(label="Why", placeholder="why?", max_lines=1, elem_id="label-why")
            with gr.Row(elem_classes=["actions"]):
                self.rewards = [gr.Button(f"{name} ({key})") for key, (name, _) in enumerate(GIVEN, 1)]
                self.better = [gr.Button(f"{name} ({key})") for key, name in enumerate(BETTER, 1)]
                self.skip = gr.Button("Skip (s)")
                self.undo = gr.Button("Undo (u)")
            self.news = gr.HTML(elem_id="label-news", js_on_load=KEEP, apply_default_css=False)
            self.agreement = gr.HTML(elem_id="agreement", js_on_load=KEEP, apply_default_css=False)
        self.inputs = [self.kind, self.by]
        self.outputs = [
            self.place,
            self.progress,
            self.item,
            self.comment,
            *self.rewards,
            *self.better,
            self.skip,
            self.undo,
            self.news,
            self.agreement,
        ]
        self._wire()

    def show(self, kind: Kind, by: str, request: gr.Request) -> Iterator[dict[Any, Any]]:
        """What the tab shows when it is chosen, or another queue or name is: the first of what is to be labelled."""
        desk = desk_of(self._desks, request)
        if desk.view().status == "reading":
            yield {self.progress: render.status("Opening your memory…")}
        try:
            yield self._render(desk.memory, Labelling(kind, " ".join(by.split()) or PERSON))
        except RemembererError as problem:
            yield {self.progress: render.wrong(str(problem))}

    def _wire(self) -> None:
        for chosen in (self.kind.input, self.by.change):
            chosen(self.show, self.inputs, self.outputs, **EVENT | {"trigger_mode": "always_last"})
        given = {"inputs": [self.place, self.comment], "outputs": self.outputs, **EVENT}
        for button, (_, value) in zip(self.rewards, GIVEN, strict=True):
            button.click(self._giver(value), **given)
        for button, sign in zip(self.better, (1, 0, -1), strict=True):
            button.click(self._comparer(sign), **given)
        self.skip.click(self._skip, **given)
        self.undo.click(self._undo, **given)

    def _giver(self, value: float) -> Callable[..., dict[Any, Any]]:
        def give(place: Labelling, comment: str, request: gr.Request) -> dict[Any, Any]:
            desk, item = desk_of(self._desks, request), place.item

            def act() -> list[Change]:
                assert isinstance(item, Step)
                return desk.said(item.episode, item.step, value, by=place.by, comment=comment.strip())

            return self._do(desk, place, f"Reward {render.number(value)}", act)

        return give

    def _comparer(self, sign: int) -> Callable[..., dict[Any, Any]]:
        def compare(place: Labelling, comment: str, request: gr.Request) -> dict[Any, Any]:
            desk, item = desk_of(self._desks, request), place.item

            def act() -> list[Change]:
                assert isinstance(item, Pair)
                two = (item.first, item.second) if sign >= 0 else (item.second, item.first)
                return desk.compared(*two, key=item.key, equal=sign == 0, by=place.by)

            return self._do(desk, place, "Compared", act)

        return compare

    def _skip(self, place: Labelling, comment: str, request: gr.Request) -> dict[Any, Any]:
        memory = desk_of(self._desks, request).memory
        skipped = place.skipped | {place.item} if place.item else frozenset()
        return self._render(memory, replace(place, skipped=skipped, news=""))

    def _undo(self, place: Labelling, comment: str, request: gr.Request) -> dict[Any, Any]:
        desk = desk_of(self._desks, request)
        return self._do(desk, replace(place, items=()), "Undone", lambda: desk.undone(by=place.by))

    def _do(self, desk: Desk, place: Labelling, told: str, act: Callable[[], list[Change]]) -> dict[Any, Any]:
        try:
            news = render.happened(News(told, tuple(act())), desk.settings.learning)
        except RemembererError as problem:
            news = render.wrong(str(problem))
        return self._render(desk.memory, replace(place, news=news))

    def _render(self, memory: Memory, place: Labelling) -> dict[Any, Any]:
        """The one function from a place in a queue to everything on the tab."""
        queue = memory.to_label(place.by, place.kind)
        # What is left of the old order, if it is still to be done; so that a label does not shuffle what comes next.
        there = {_what(each) for each in queue.items}
        place = replace(place, items=tuple(each for each in place.items if _what(each) in there) or queue.items)
        item, undoable = place.item, memory.can_undo(place.by)[0]
        if item is None and place.skipped:
            shown = render.status("You have skipped all that is left. Skip once more to see it again.")
        elif item is None:
            shown = render.status(DONE[place.kind])
        else:
            shown = _shown(memory, item)
        rewarding, comparing = isinstance(item, Step), isinstance(item, Pair)
        return {
            self.place: place,
            self.progress: items.progress(place.by, queue.done, queue.total),
            self.item: shown,
            self.comment: gr.Textbox(value="", visible=rewarding),
            **{each: gr.Button(visible=rewarding) for each in self.rewards},
            **{each: gr.Button(visible=comparing) for each in self.better},
            self.skip: gr.Button(visible=item is not None or bool(place.skipped)),
            self.undo: gr.Button(interactive=undoable),
            self.news: place.news,
            self.agreement: items.agreement(memory.agreement(), lambda each: memory.trace(each).task),
        }


def _what(item: Step | Pair) -> tuple[str, ...]:
    """An item without its margin, which every label moves."""
    return (item.episode, str(item.step)) if isinstance(item, Step) else (item.key, item.first, item.second)


def _shown(memory: Memory, item: Step | Pair) -> str:
    """What a person sees of an item, to judge it."""
    if isinstance(item, Step):
        return items.step(transcript_of(memory, item.episode), item.step)
    if item.key:
        return items.actions(memory.experience(item.key), item.first, item.second)
    return items.episodes(transcript_of(memory, item.first), transcript_of(memory, item.second))
