"""The Play tab: the conversation, the candidates, what is remembered, and the bar to answer with."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from app.desk import Desk
from app.desks import Desks
from app.ui import chat, render
from app.ui.why import why
from app.ui.window import Shown, attempt, desk_of
from app.view import View
from rememberer.errors import SessionError
from rememberer.labels import WHOLE

REWARDS: list[tuple[str, float | str]] = [
    ("−1", -1.0),
    ("−½", -0.5),
    ("0", 0.0),
    ("+½", 0.5),
    ("+1", 1.0),
    ("none", "none"),
]
EVENT: dict[str, Any] = {
    "show_progress": "hidden",
    "trigger_mode": "once",
    "concurrency_limit": None,
    "api_visibility": "private",
}

Updates = Iterator[dict[Any, Any]]

PICK = """
element.addEventListener('change', e => { if (e.target.name === 'cand') trigger('select', {picked: e.target.value}); });
watch('value', () => rememberer.restore(element));
"""
# Read when the button is pressed: what the person sees then is what is meant, whatever the server has heard by then.
SEND_PICKED = "(shown, _) => [shown, rememberer.picked()]"
KEEP = "rememberer.keep(element); watch('value', () => rememberer.restore(element));"
SCROLL = "rememberer.keep(element); watch('value', () => { rememberer.restore(element); rememberer.follow(element); });"


class PlayTab:
    """Components of the tab, and what their events do. Made inside `gr.Blocks`."""

    def __init__(self, desks: Desks, header: gr.HTML) -> None:
        self._desks = desks
        self.header = header
        self.shown = gr.State(Shown())
        with gr.Row(elem_id="stage"):
            with gr.Column(elem_id="chatcol"):
                self.chat = gr.HTML(elem_id="chat", js_on_load=SCROLL, apply_default_css=False)
            with gr.Column(elem_id="side"):
                self.cards = gr.HTML(elem_id="cards", js_on_load=PICK, apply_default_css=False)
                self.why = gr.HTML(elem_id="why", js_on_load=KEEP, apply_default_css=False)
                with gr.Row(elem_id="others"):
                    self.hint = gr.Textbox(label="Hint", placeholder="a hint, if you like", elem_id="hint", max_lines=1)
                    self.reject = gr.Button("Propose others", elem_id="reject")
                    self.policy = gr.Dropdown(label="Who proposes", elem_id="policy", filterable=False)
                self.memories = gr.HTML(elem_id="memories", js_on_load=KEEP, apply_default_css=False)
        with gr.Column(elem_id="foot"):
            self.news = gr.HTML(elem_id="news", js_on_load=KEEP, apply_default_css=False)
            with gr.Row(elem_id="bar"):
                self.approve = gr.Button("Approve", variant="primary", elem_id="approve")
                self.picked = gr.Textbox(visible="hidden")
                self.override = gr.Textbox(
                    label="Another action", placeholder="or type another action", elem_id="override", max_lines=1
                )
                self.step = gr.Dropdown(label="Step to reward", elem_id="rstep", filterable=False)
                self.reward = gr.Radio(REWARDS, label="Reward", elem_id="reward")
                self.ask = gr.Checkbox(True, label="ask when unsure", elem_id="ask")
                self.auto = gr.Button("Auto-run", elem_id="auto")
                self.stop = gr.Button("Stop", variant="stop", elem_id="stop")
            with gr.Row(elem_id="teach"):
                self.comment = gr.Textbox(label="Why this reward", placeholder="why?", elem_id="comment", max_lines=1)
                self.amount = gr.Textbox(
                    label="Another amount, from −1 to 1", placeholder="±0.5", elem_id="amount", max_lines=1
                )
                self.undo = gr.Button("Undo", elem_id="undo")
                self.redo = gr.Button("Redo", elem_id="redo")
                self.back = gr.Button("Take back", elem_id="back")
        self.outputs = [
            self.shown,
            self.header,
            self.chat,
            self.cards,
            self.why,
            self.memories,
            self.news,
            self.approve,
            self.override,
            self.step,
            self.reward,
            self.auto,
            self.stop,
            self.reject,
            self.hint,
            self.policy,
            self.comment,
            self.amount,
            self.undo,
            self.redo,
            self.back,
        ]
        self._wire()

    def render(self, view: View, shown: Shown) -> dict[Any, Any]:
        """The one function from a view to everything on screen."""
        transcript = view.transcript
        is_open = transcript is not None and not transcript.ended and view.status != "opening"
        waiting = transcript.turn.waiting if is_open and transcript else None
        candidates = waiting.candidates if waiting else ()
        picked = candidates[shown.picked] if shown.picked < len(candidates) else None
        done = [(f"Reward step {step}", step) for step in range(1, view.steps + 1)]
        if done and view.has_ended:
            done.append(("Reward whole task", WHOLE))
        running = view.status == "running"
        can_answer = is_open and not view.busy
        can_stop = view.busy and view.status not in render.BEFORE
        if picked:
            told = f"Approve: {' '.join(render.shown_label(picked).split())}"
        else:
            told = {"done": "Task is over", "waiting": "Nothing proposed"}.get(view.status, "Working…")
        return {
            self.shown: shown,
            self.header: render.header(view),
            self.chat: chat.conversation(view),
            self.cards: render.candidates(view, shown.picked),
            self.why: why(view, shown.picked),
            self.memories: render.memories(view),
            self.news: render.news(view, shown.error),
            self.approve: gr.Button(
                told if view.status not in ("empty", *render.BEFORE) else "No task yet",
                interactive=can_answer and bool(picked),
            ),
            self.override: gr.Textbox(
                interactive=is_open,
                label="Tell the agent" if running else "Another action",
                placeholder="tell the agent something" if running else "or type another action",
            ),
            self.step: gr.Dropdown(choices=done or [("Reward…", WHOLE)], value=shown.rewarded, interactive=bool(done)),
            self.reward: gr.Radio(value=_given(view, shown.rewarded), interactive=bool(done)),
            self.auto: gr.Button(interactive=can_answer, visible=not can_stop),
            self.stop: gr.Button(visible=can_stop),
            self.reject: gr.Button("Propose others" if candidates else "Propose again", interactive=can_answer),
            self.hint: gr.Textbox(interactive=can_answer),
            self.policy: gr.Dropdown(
                choices=list(view.policies), value=view.policy, interactive=len(view.policies) > 1
            ),
            self.comment: gr.Textbox(interactive=bool(done)),
            self.amount: gr.Textbox(interactive=bool(done)),
            self.undo: gr.Button(interactive=view.undoable[0]),
            self.redo: gr.Button(interactive=view.undoable[1]),
            self.back: gr.Button(
                "Go on" if view.stopped else "Take back", interactive=view.stopped or (bool(done) and not running)
            ),
        }

    def _wire(self) -> None:
        answer = {"inputs": [self.shown], "outputs": self.outputs, **EVENT}
        self.approve.click(self._approve, **answer | {"inputs": [self.shown, self.picked], "js": SEND_PICKED})
        self.override.submit(self._override, **answer | {"inputs": [self.shown, self.override]})
        self.reject.click(self._reject, **answer | {"inputs": [self.shown, self.hint]})
        self.cards.select(self._pick, [self.shown], [self.shown, self.approve, self.why], **EVENT | {"queue": False})
        self.auto.click(self._auto, **answer | {"inputs": [self.shown, self.ask]})
        self.stop.click(self._stop, **answer | {"queue": False})
        # Not once, like the others: the last reward counts, and must not be lost while one before is on its way.
        reward = {"inputs": [self.shown, self.step, self.reward, self.comment], "trigger_mode": "multiple"}
        self.reward.input(self._reward, **answer | reward)
        self.comment.submit(self._reward, **answer | reward)
        self.amount.submit(self._amount, **answer | {"inputs": [self.shown, self.step, self.amount, self.comment]})
        self.undo.click(self._undo, **answer)
        self.redo.click(self._redo, **answer)
        self.back.click(self._back, **answer)
        self.hint.submit(self._reject, **answer | {"inputs": [self.shown, self.hint]})
        self.step.input(self._step, [self.shown, self.step], [self.shown, self.reward], **EVENT | {"queue": False})
        self.policy.input(self._use, **answer | {"inputs": [self.shown, self.policy]})

    def _attempt(
        self, shown: Shown, desk: Desk, act: Callable[[], object], done: Mapping[Any, Any] | None = None
    ) -> Updates:
        yield from attempt(desk, shown, self.render, act, done)

    def _approve(self, shown: Shown, sent: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, lambda: desk.approve(*render.picked(sent)))

    def _override(self, shown: Shown, text: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        done = {self.override: gr.Textbox(value="")}
        act = (lambda: desk.guide(text)) if shown.running else (lambda: desk.override(shown.card, text))
        yield from self._attempt(shown, desk, act, done)

    def _reject(self, shown: Shown, hint: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        view = desk.view()
        proposed = view.transcript and view.transcript.turn.waiting and view.transcript.turn.waiting.candidates
        act = (lambda: desk.reject(shown.card, hint.strip())) if proposed else desk.propose
        yield from self._attempt(shown, desk, act, {self.hint: gr.Textbox(value="")})

    def _auto(self, shown: Shown, ask: bool, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, lambda: desk.run(ask))

    def _stop(self, shown: Shown, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, desk.stop)

    def _reward(self, shown: Shown, step: int, value: float | str | None, comment: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)

        def act() -> None:
            if value is None:
                raise SessionError("Pick a reward, or type an amount, and Enter: your words go with it.")
            if isinstance(value, str):
                desk.withdraw(step)
            else:
                desk.label(step, value, comment.strip())

        done = {self.comment: gr.Textbox(value="")}
        yield from self._attempt(replace(shown, rewarded=step), desk, act, done)

    def _amount(self, shown: Shown, step: int, amount: str, comment: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)

        def act() -> None:
            desk.label(step, _number(amount), comment.strip())

        done = {self.amount: gr.Textbox(value=""), self.comment: gr.Textbox(value="")}
        yield from self._attempt(replace(shown, rewarded=step), desk, act, done)

    def _undo(self, shown: Shown, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, desk.undo)

    def _redo(self, shown: Shown, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, lambda: desk.undo(again=True))

    def _back(self, shown: Shown, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, desk.take_back)

    def _use(self, shown: Shown, policy: str, request: gr.Request) -> Updates:
        desk = desk_of(self._desks, request)
        yield from self._attempt(shown, desk, lambda: desk.use(policy))

    def _pick(self, shown: Shown, event: gr.EventData, request: gr.Request) -> dict[Any, Any]:
        view = desk_of(self._desks, request).view()
        card, place = render.picked(str(event.picked))
        shown = shown.at(view)
        update = self.render(view, replace(shown, picked=place) if card == view.card else shown)
        return {part: update[part] for part in (self.shown, self.approve, self.why)}

    def _step(self, shown: Shown, step: int, request: gr.Request) -> dict[Any, Any]:
        view = desk_of(self._desks, request).view()
        return {self.shown: replace(shown, rewarded=step), self.reward: gr.Radio(value=_given(view, step))}


def _given(view: View, step: int) -> float | None:
    """The reward in force on a step, or on the whole task; no button shows one of another amount."""
    label = view.labels.get(step)
    return label.value if label else None


def _number(text: str) -> float:
    try:
        return float(text.strip().replace("\N{MINUS SIGN}", "-").replace(",", "."))
    except ValueError:
        raise SessionError(f"A reward is a number from -1 to 1, such as 0.25, but it was {text!r}.") from None
