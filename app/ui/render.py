"""Records as HTML. Everything from outside goes through `esc`; nothing but this module, `chat`, `why` and
`items` makes HTML."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from app.view import NO_CARD, Card, News, View
from rememberer.records import (
    FORK,
    ActionValue,
    Candidate,
    Change,
    Experience,
    LearningSettings,
    Proposal,
    Recalled,
    State,
)
from rememberer.transcript import Transcript
from rememberer.values import EpisodeTrace

STATUS = {
    "reading": ("opening your memory", "run"),
    "shut": ("memory not open", "wait"),
    "empty": ("no task", ""),
    "opening": ("opening", "run"),
    "thinking": ("thinking", "run"),
    "running": ("running this task by itself", "run"),
    "waiting": ("waiting for you", "wait"),
    "done": ("done", "ok"),
}
BY_ITSELF = {"auto": "Ran by itself", "confidence": "Ran by itself, being sure", FORK: "Done again"}
"""Who decides when the person does not, and how that is told."""
BEFORE = {
    "reading": "Your memory is being opened. A large one takes a while.",
    "shut": "Nothing can be done before your memory is open.",
}
"""What is said instead of a card before the memory is open."""
SHOWN_ROWS = 6
"""Rows of an experience's table on its card; the Memory tab has them all."""


MadeOf = Sequence[tuple[ActionValue, Sequence[str]]]
"""Actions with a line for everything that their value is the average of."""


def esc(text: object) -> str:
    """Escape text for HTML, attributes included; characters that HTML cannot hold become visible."""
    return escape(str(text).encode("utf-8", "replace").decode().replace("\0", "\N{SYMBOL FOR NULL}"))


def code(text: str) -> str:
    """An action as it is executed, on one line."""
    return f"<code>{esc(' '.join(text.split()))}</code>"


def quote(text: str) -> str:
    """What a person said, on one line."""
    return f'<q class="said">{esc(" ".join(text.split()))}</q>'


def number(value: float) -> str:
    """A value or reward with its sign and two decimals."""
    return f"{value:+.2f}".replace("-", "−") if abs(value) >= 0.005 else "0.00"


def value_of(value: float | None) -> str:
    """A value, or that nobody knows it."""
    return "new" if value is None else number(value)


def bar(value: float | None) -> str:
    """A bar that diverges from 0 within -1 to 1; hatched when the value is unknown. The number stands beside it."""
    if value is None:
        return '<span class="bar unknown" aria-hidden="true"></span>'
    width = min(abs(value), 1) * 50
    left = 50 if value >= 0 else 50 - width
    side = "plus" if value >= 0 else "minus"
    place = f"left:{left:.1f}%;width:{width:.1f}%"
    return f'<span class="bar" aria-hidden="true"><b class="{side}" style="{place}"></b></span>'


def times(visits: int) -> str:
    """How often something was tried."""
    return f"{visits} time{'' if visits == 1 else 's'}"


def header(view: View) -> str:
    """The line above the tabs: mark, task, chips."""
    told, kind = STATUS[view.status]
    task, chips = "", [f'<span class="chip {kind}" id="status" role="status">{told}</span>']
    if view.transcript:
        started, step = view.transcript.started, view.transcript.turn.step
        task = (
            f'<div class="task" title="{esc(started.task)}"><span class="muted">Task</span> {esc(started.task)}</div>'
        )
        if view.transcript.ended:
            step -= 1
        total = sum(view.transcript.rewards)
        chips += [
            f'<span class="chip" id="step">step {step} of {started.step_limit}</span>',
            f'<span class="chip" id="return">return {number(total)}</span>',
        ]
        if share := _share(view.transcript):
            chips.append(f'<span class="chip" id="share">{share}</span>')
    chips.append(f'<span class="chip user" title="Whose memory it is">{esc(view.user)}</span>')
    if view.leave:
        leave = f'<button id="logout" class="chip" style="cursor:pointer">{esc(view.leave)}</button>'
        chips.append(f'<form method="post" action="/logout">{leave}</form>')
    return (
        '<div class="top"><div class="brand"><span class="mark" aria-hidden="true"></span><h1>Rememberer</h1></div>'
        f'{task}<div class="chips">{"".join(chips)}'
        '<button type="button" id="help" class="chip" aria-label="Keys" title="Keys (?)">?</button>'
        '<button type="button" id="theme" class="chip" aria-label="Light or dark">◐</button></div></div>'
    )


def _share(transcript: Transcript) -> str:
    """How many of the steps a person decided, and how often the agent asked."""
    decided = [turn.decision for turn in transcript.turns if turn.outcome and turn.decision]
    decided = [each for each in decided if each.by != FORK]
    if not decided:
        return ""
    by_person = sum(each.by not in BY_ITSELF for each in decided)
    asked = f" · asked {transcript.questions}×" if transcript.questions else ""
    return f"you decided {by_person} of {len(decided)}{asked}"


def candidates(view: View, picked: int) -> str:
    """The card of candidates, one of them picked."""
    turn = view.transcript.turn if view.transcript else None
    if not turn or (view.transcript and view.transcript.ended):
        before = BEFORE.get(view.status, "Start a task first.")
        said = "This task is over. Reward any of its steps, or start a new one." if turn else before
        return card("Next action", "", f'<p class="muted">{said}</p>')
    if not turn.waiting:
        said = "Thinking…" if view.busy else "Nothing is proposed. Type an action, or ask again."
        return card("Next action", f"step {turn.step}", f'<p class="muted">{said}</p>')
    proposal = turn.waiting
    rows = "".join(
        _candidate(each, view.card, place, place == picked) for place, each in enumerate(proposal.candidates)
    )
    note = f'<p class="note">{esc(proposal.note)}</p>' if proposal.note else ""
    body = f'<fieldset class="cands"><legend class="hidden">Candidate actions</legend>{rows}</fieldset>' if rows else ""
    return card("Next action", f"step {turn.step} · estimated value", body + note)


def pick(card: Card, place: int) -> str:
    """What a window sends back for the candidate at a place of a card; `picked` reads it."""
    return ":".join(map(str, (*card, place)))


def picked(sent: str) -> tuple[Card, int]:
    """The card and the place that `pick` wrote; no card when it is anything else."""
    try:
        episode, step, proposals, place = sent.split(":")
        return (episode, int(step), int(proposals)), max(int(place), 0)
    except ValueError:
        return NO_CARD, 0


def shown_label(candidate: Candidate) -> str:
    """What a person reads of a candidate: its label, or the action where the label says no more than that."""
    said, done = (set(re.findall(r"\w+", text.casefold())) for text in (candidate.label, candidate.action))
    return candidate.action if said <= done else candidate.label.strip()


def name_of(action: str, state: State) -> str:
    """What a person reads of an action of a state."""
    label = next((each.label for each in state.actions if each.text == action), "")
    return shown_label(Candidate(action=action, label=label))


def _candidate(each: Candidate, card: Card, place: int, picked: bool) -> str:
    name = shown_label(each)
    under = code(each.action) if name != each.action else ""
    tried = f"{each.visits}×" if each.value is not None else ""
    spoken = (
        f"value {number(each.value)}, tried {times(each.visits)}"
        if each.value is not None
        else "never tried, value unknown"
    )
    return (
        f'<label class="cand" title="{esc(each.reason)}">'
        f'<input type="radio" name="cand" value="{esc(pick(card, place))}"{" checked" if picked else ""}>'
        f'<span class="key" aria-hidden="true">{place + 1}</span><span class="what">{esc(name)}{under}</span>'
        f'<span class="hidden">{spoken}</span>'
        f'<span class="value" aria-hidden="true">{value_of(each.value)}</span>{bar(each.value)}'
        f'<span class="visits" aria-hidden="true">{tried}</span></label>'
    )


def proposed(proposal: Proposal) -> str:
    """The candidates of a proposal with the values that they had then."""
    return table("".join(valued(shown_label(each), each.value, each.visits) for each in proposal.candidates))


def memories(view: View) -> str:
    """The card of retrieved experiences, the first one open, those below the threshold greyed."""
    title = "What the agent remembers"
    turn = view.transcript.turn if view.transcript else None
    if not turn or not turn.waiting:
        known = "" if view.status in BEFORE else f"{view.memories:,} experiences"
        return card(title, known, "")
    if not any(each.recalled.used for each in view.recalled):
        empty = '<p class="muted" id="nothing-similar">No similar experience.</p>'
    else:
        empty = ""
    cards = "".join(
        _memory(each.recalled, each.known, each.made_of, place == 0 and each.recalled.used)
        for place, each in enumerate(view.recalled)
        if each.known
    )
    return card(title, f"{len(view.recalled)} nearest of {view.memories:,}", empty + cards)


def _memory(recalled: Recalled, known: Experience, made_of: MadeOf, is_open: bool) -> str:
    percent = round(max(recalled.similarity, 0) * 100)
    rows = "".join(_row(row, known.state) for row in known.actions[:SHOWN_ROWS])
    more = len(known.actions) - SHOWN_ROWS
    rest = f'<p class="muted small">{more} more in the Memory tab</p>' if more > 0 else ""
    unused = "" if recalled.used else '<span class="tag">not used</span>'
    kind = "mem" if recalled.used else "mem unused"
    return (
        f'<details class="{kind}" data-key="mem-{esc(known.key)}"{" open" if is_open else ""}>'
        f'<summary><span class="sim"><span class="hidden">similarity </span>{percent}%'
        f'<span class="simbar" aria-hidden="true"><b style="width:{percent}%"></b></span></span>'
        f'<span class="memtask">{esc(known.state.task)}</span>{unused}{outcome(known)}</summary>'
        f'<p class="seen">{esc(gist(known.state))}</p>{table(rows)}{rest}{_made(known.key, made_of)}'
        f'<p class="muted small">{esc(known.key[:8])} · {age(known.updated)}</p></details>'
    )


def _row(row: ActionValue, state: State) -> str:
    """One action of an experience. One that was only rejected has no value."""
    value = row.q if row.visits else None
    marks = f' <span class="tag bad">rejected {times(len(row.rejections))}</span>' if row.rejections else ""
    marks += f' <span class="tag">rewarded {", ".join(map(number, row.labels))}</span>' if row.labels else ""
    marks += "".join(f" {quote(each)}" for each in row.comments)
    return valued(name_of(row.action, state), value, row.visits, marks, "–")


def valued(name: str, value: float | None, visits: int, marks: str = "", unknown: str = "new") -> str:
    """A row of a table of values; `marks` is HTML."""
    return (
        f'<tr><th scope="row">{esc(name)}{marks}</th><td class="value">{unknown if value is None else number(value)}'
        f'</td><td>{bar(value)}</td><td class="visits">{visits}×</td></tr>'
    )


def table(rows: str) -> str:
    """Rows of actions with their values."""
    return f'<table class="values"><caption class="hidden">Actions, values, times tried</caption>{rows}</table>'


def outcome_words(known: Experience) -> str:
    """How the last task through here ended. One that was not solved is told by its return: not all have a goal."""
    ended = f"return {number(known.outcome_return)}" if known.outcome == "failed" else known.outcome
    return ended or ("" if known.origin == "episode" else known.origin)


def outcome(known: Experience) -> str:
    """The same as a tag, with the number of steps."""
    steps = f" · {known.outcome_steps} steps" if known.outcome not in ("", "open") else ""
    kind, words = "ok" if known.outcome == "solved" else "", outcome_words(known)
    return f'<span class="tag {kind}">{esc(words)}{steps}</span>' if words else ""


def gist(state: State, length: int = 240) -> str:
    """A line of what a state shows, without the task that stands above it anyway."""
    words = " ".join(state.observation.replace(state.task, " ").split())
    return words if len(words) <= length else words[: length - 1] + "…"


def age(time: datetime) -> str:
    """How long ago, roughly."""
    seconds = (datetime.now(UTC) - time).total_seconds()
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def news(view: View, error: str = "") -> str:
    """The quiet line: what the last decision or reward did, or what went wrong, here (`error`) or for all windows."""
    if error or view.error:
        return wrong(error or view.error)
    if not view.news or not view.transcript:
        return ""
    return happened(view.news, view.transcript.started.learning)


def wrong(text: str) -> str:
    """What went wrong, for somebody who has just asked for it; nothing for no text."""
    return f'<p class="news wrong" role="alert">{esc(text)}</p>' if text else ""


def status(text: str) -> str:
    """What a list holds, or why it holds nothing."""
    return f'<p class="muted" role="status">{esc(text)}</p>'


def said(text: str) -> str:
    """What was done, for somebody who has just asked for it."""
    return f'<p class="news" role="status">{esc(text)}</p>'


def rule(learning: LearningSettings) -> str:
    """How values are made, in a sentence."""
    reach = "all rewards to the end of the task" if learning.n is None else f"the next {learning.n} rewards"
    bootstrap = "" if learning.n is None else " and the value of where they led"
    fade = f", each step on counting {learning.gamma:g} of the one before" if learning.gamma != 1 else ""
    average = (
        "the mean over all tries"
        if learning.alpha is None
        else f"an average that gives the last try {learning.alpha:g}"
    )
    yours = "is added to the world's" if learning.labels == "add" else "stands for the world's"
    return f"A value is {average} of {reach}{bootstrap}{fade}. Your reward {yours}."


def happened(told: News, learning: LearningSettings) -> str:
    """What a decision or a reward did: which values moved, and the rule by which they did."""
    return f'<div class="news" role="status">{_told(told, learning)}</div>'


def _told(told: News, learning: LearningSettings) -> str:
    if not told.changes:
        return f"{esc(told.text)}; no value moved."
    first, *others = told.changes
    line = f"{esc(told.text)}: {code(first.action)} {_moved(first)}"
    if others:
        line += f"; <u>{len(others)} other value{'' if len(others) == 1 else 's'} moved</u>"
    rows = "".join(f"<li>{code(each.action)} {_moved(each)}</li>" for each in others)
    return (
        f'<details data-key="news"><summary>{line}</summary>'
        f'{f"<ul>{rows}</ul>" if rows else ""}<p class="muted small">{rule(learning)}</p></details>'
    )


def _moved(change: Change) -> str:
    new = "no value" if change.new is None else number(change.new)
    return (
        f'<b class="moved">{value_of(change.old)} → {new}</b> <span class="muted">({times(change.visits)} tried)</span>'
    )


def experience(known: Experience, made_of: MadeOf) -> str:
    """All of an experience, with what each value is the average of."""
    rows = "".join(_row(row, known.state) for row in known.actions)
    unlisted = f'<p class="muted small">{known.unlisted} more tried, all seldomer</p>' if known.unlisted else ""
    history = " → ".join(known.history) or "the beginning"
    return card(
        known.state.task,
        f"{esc(known.key[:8])} · {times(known.visits)} visited · {age(known.updated)}",
        f'{outcome(known)}<pre class="world">{esc(known.state.observation.strip())}</pre>{table(rows)}{unlisted}'
        f'<p class="muted small">Reached by: {esc(history)}</p>' + _made(known.key, made_of),
    )


def episode(trace: EpisodeTrace, transcript: Transcript) -> str:
    """What an episode was, above its steps."""
    began = f"{trace.time.astimezone():%Y-%m-%d %H:%M}" if trace.time else ""
    told = [began, trace.env, f"proposed by {trace.policy}" if trace.policy else "", trace.id[:8], trace.source]
    if transcript.started.forked:
        told.append("begun again from step {1} of {0:.8}".format(*transcript.started.forked))
    return card(trace.task, esc(" · ".join(each for each in told if each)), "")


def _made(key: str, made_of: MadeOf) -> str:
    made = "".join(_explained(row, lines) for row, lines in made_of if lines)
    return (
        f'<details class="made" data-key="made-{esc(key)}"><summary>What the values are made of</summary>'
        f"{made}</details>"
        if made
        else ""
    )


def _explained(row: ActionValue, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{esc(line)}</li>" for line in lines)
    return f"<p>{code(row.action)} {number(row.q)}, the average of</p><ul>{items}</ul>"


def card(title: str, small: str, body: str) -> str:
    """A card with a title; `small` beside it and `body` are HTML."""
    return f'<section class="card"><h2>{esc(title)} <small>{small}</small></h2>{body}</section>'
