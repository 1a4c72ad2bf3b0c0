"""What is to be labelled or compared, as HTML, with the progress, and how far people agree."""

from collections.abc import Callable

from app.ui import chat
from app.ui.render import card, code, esc, gist, name_of, number, table, times, valued
from rememberer.judged import PERSON
from rememberer.labelling import Agreement
from rememberer.records import Experience
from rememberer.transcript import Transcript

SHOWN = 20
"""Disagreements that are listed."""


def step(transcript: Transcript, number_: int) -> str:
    """A step that nobody watched: what was seen, proposed and done, and what came of it."""
    task = transcript.started.task
    small = f"step {number_} of {len(transcript.actions)} · {esc(transcript.started.env)}"
    after = transcript.turns[number_] if number_ < len(transcript.turns) else None
    led = f'<p><b>It led to</b> <span class="seen">{esc(gist(after.state))}</span></p>' if after else ""
    total = sum(transcript.rewards)
    ended = f"<p>The task ended with return <b>{number(total)}</b>.</p>" if transcript.ended else ""
    return card(task, small, chat.replayed(transcript, {}, number_) + led + ended)


def actions(known: Experience, first: str, second: str) -> str:
    """Two actions of a situation side by side."""
    rows = {row.action: row for row in known.actions}

    def shown(action: str) -> str:
        row = rows.get(action)
        values = table(valued("value", row.q, row.visits)) if row else ""
        return f"<p><b>{esc(name_of(action, known.state))}</b></p><p>{code(action)}</p>{values}"

    seen = f'<pre class="world">{esc(known.state.observation.strip())}</pre>'
    return card(known.state.task, "which action is better here?", seen + _sides(shown(first), shown(second)))


def episodes(first: Transcript, second: Transcript) -> str:
    """Two episodes of a task side by side."""

    def shown(one: Transcript) -> str:
        rows = "".join(f"<li>{code(each)}</li>" for each in one.actions)
        return f"<p><b>return {number(sum(one.rewards))}</b></p><ol>{rows}</ol>"

    return card(first.started.task, "which way is better?", _sides(shown(first), shown(second)))


def progress(by: str, done: int, total: int) -> str:
    """How much somebody has labelled."""
    who = "You have" if by == PERSON else f"{esc(by)} has"
    told = f"{who} done {done:,} of {total:,}"
    return (
        f'<p class="muted" role="status"><progress max="{max(total, 1)}" value="{done}" aria-label="{told}"></progress>'
        f" {told}</p>"
    )


def agreement(found: Agreement, task_of: Callable[[str], str]) -> str:
    """How far people agree, and where they do not; nothing while one person alone labels."""
    if not found.steps:
        return ""
    alpha = "cannot be told yet" if found.alpha is None else f"{found.alpha:.2f}"
    rows = "".join(
        f'<tr><th scope="row">{esc(task_of(each.episode))}, {f"step {each.step}" if each.step else "the whole"}</th>'
        f"<td>{', '.join(f'{esc(by)} {number(value)}' for by, value in each.said)}</td></tr>"
        for each in found.disagreements[:SHOWN]
    )
    caption = '<caption class="hidden">Where they disagree, the widest apart first</caption>'
    listed = f'<table class="values apart">{caption}{rows}</table>' if rows else "<p>They agree on every one.</p>"
    more = len(found.disagreements) - SHOWN
    rest = f'<p class="muted small">{more} more</p>' if more > 0 else ""
    return (
        f'<details class="card" data-key="agreement"><summary>Agreement of {len(found.people)} people on '
        f"{times(found.steps).replace('time', 'step')}: Krippendorff's alpha {alpha} (1: they agree, 0: as by chance)"
        f"</summary>{listed}{rest}</details>"
    )


def _sides(left: str, right: str) -> str:
    sides = "".join(
        f'<div class="side"><p class="muted small">{name}</p>{shown}</div>'
        for name, shown in (("left", left), ("right", right))
    )
    return f'<div class="sides">{sides}</div>'
