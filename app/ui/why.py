"""Why an action is proposed, as HTML: what its value rests on, row by row, and what a model was asked and answered."""

from collections.abc import Iterable

from app.ui.render import code, esc, number, times
from app.view import Recollection, View
from rememberer.records import Candidate, Evidence, Proposal, Recalled


def why(view: View, picked: int) -> str:
    """The fold for the picked candidate of the waiting proposal; nothing without one."""
    waiting = view.transcript.turn.waiting if view.transcript else None
    if not waiting or picked >= len(waiting.candidates):
        return ""
    return of_candidate(waiting, waiting.candidates[picked], view.recalled, view.prices)


def of_candidate(
    proposal: Proposal, candidate: Candidate, recalled: Iterable[Recollection], prices: tuple[float, float] | None
) -> str:
    """The fold for a candidate of a proposal. `prices` are dollars for a million tokens of prompt and of reply."""
    known = {each.recalled.key: each for each in recalled}
    if candidate.value is None:
        rests = "<p>Nobody has tried it, or anything like it, in a similar situation: it has no value.</p>"
    else:
        rows = "".join(_row(each, known.get(each.key)) for each in candidate.evidence)
        told = f"The value {number(candidate.value)} is the mean of these, each by its weight and how often it was done"
        rests = f"<p>{told}:</p><ul>{rows}</ul>"
    return (
        f'<details class="card why" data-key="why"><summary>Why {code(candidate.action)}?</summary>'
        f"<p>{esc(candidate.reason)}</p>{rests}{_asked(proposal, prices)}</details>"
    )


def _row(row: Evidence, found: Recollection | None) -> str:
    alike, task, made = "", "an experience that is not among the nearest", ""
    if found:
        alike = f", {_alike(found.recalled)}"
        task = f"“{esc(found.known.state.task)}”" if found.known else "an experience that was forgotten since"
        lines = next((lines for each, lines in found.made_of if each.action == row.action), [])
        made = "".join(f"<li>{esc(each)}</li>" for each in lines)
    told = f"{code(row.action)} {number(row.q)}, done {times(row.visits)}, weight {row.weight:.2f}"
    return f"<li>{told}: in {task} ({esc(row.key[:8])}{alike}){f'<ul>{made}</ul>' if made else ''}</li>"


def _alike(recalled: Recalled) -> str:
    parts = [
        f"{what} {value:.0%}"
        for what, value in (("task", recalled.task), ("what was seen", recalled.observation))
        if value is not None
    ]
    return f"{recalled.similarity:.0%} alike" + (f": {', '.join(parts)}" if parts else "")


def _asked(proposal: Proposal, prices: tuple[float, float] | None) -> str:
    if not proposal.prompt:
        return f'<p class="muted small">No model was asked. It took {proposal.seconds:.2f} s.</p>'
    tokens = proposal.prompt_tokens, proposal.reply_tokens
    told = f"{proposal.policy}: {tokens[0]:,} tokens asked, {tokens[1]:,} answered, {proposal.seconds:.1f} s"
    if prices:
        cost = sum(count * price for count, price in zip(tokens, prices, strict=True)) / 1e6
        told += f", {cost:.4f} dollars"
    return (
        f'<p class="muted small">{esc(told)}</p>'
        '<details data-key="prompt"><summary>What the model was asked</summary>'
        f"<pre>{esc(proposal.prompt)}</pre></details>"
        f'<details data-key="reply"><summary>What it answered</summary><pre>{esc(proposal.reply)}</pre></details>'
    )
