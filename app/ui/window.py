"""One browser window: what it shows of a desk, and how a handler answers it. Nothing of value lives in a window."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.desk import Desk
from app.desks import Desks
from app.view import NO_CARD, Card, View
from rememberer.errors import RemembererError
from rememberer.labels import WHOLE

if TYPE_CHECKING:
    import gradio as gr

LOOK_EVERY = 10.0
"""Seconds after which a window that follows a desk looks again, even when nothing was said to have moved."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a window has on screen: version and card, which candidate and which step are picked, and what this window
    alone has been told of what it asked for in vain."""

    version: int = -1
    card: Card = NO_CARD
    picked: int = 0
    rewarded: int = WHOLE
    running: bool = False
    """Whether the agent goes on by itself: what is typed is told to it then."""
    error: str = ""
    told_at: int = 0
    """The step at which `error` was told."""

    def at(self, view: View) -> "Shown":
        """The same window with `view` on screen: picks fall back to the first candidate and the last step on a new
        card."""
        steps, picked = view.steps, self.rewarded
        is_there = 0 < picked <= steps or (picked == WHOLE and view.has_ended)
        same_step = self.card[:2] == view.card[:2]
        return Shown(
            version=view.version,
            card=view.card,
            picked=self.picked if self.card == view.card else 0,
            rewarded=picked if same_step and is_there else steps,
            running=view.status == "running",
            # Until the person does something else, or the task has gone on without them.
            error=self.error if self.card[0] == view.card[0] and view.card[1] <= self.told_at + 1 else "",
            told_at=self.told_at,
        )


Render = Callable[[View, Shown], dict[Any, Any]]


def desk_of(desks: Desks, request: "gr.Request") -> Desk:
    """The desk of whoever sent the request: their name comes from the server, never from the page."""
    assert request.username is not None
    return desks.of(request.username)


def follow(desk: Desk, shown: Shown, render: Render) -> Iterator[dict[Any, Any]]:
    """Render what is on the table until nothing is under way any more. May be left at any time."""
    while True:
        view = desk.view()
        shown = shown.at(view)
        yield render(view, shown)
        if not view.busy:
            return
        desk.wait(view.version, LOOK_EVERY)


def attempt(
    desk: Desk, shown: Shown, render: Render, act: Callable[[], object], done: Mapping[Any, Any] | None = None
) -> Iterator[dict[Any, Any]]:
    """Do something on the desk, and follow what comes of it. What it refuses is told in this window.

    `done` are further updates for the window when it was not refused.
    """
    error = ""
    try:
        act()
    except RemembererError as problem:
        error = str(problem)
    # Told at the step that is on the table by now, which may be another one than the window knew.
    shown = shown.at(desk.view())
    shown = replace(shown, error=error, told_at=shown.card[1])
    for update in follow(desk, shown, render):
        yield update if error else update | dict(done or {})
        done = None
