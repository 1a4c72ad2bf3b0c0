"""An episode as a conversation: what the world shows, what the agent thinks and proposes, what the person said."""

from collections.abc import Mapping

from app.ui.render import BY_ITSELF, code, esc, name_of, number, proposed, quote, shown_label, times
from app.view import View
from rememberer.events import Labelled
from rememberer.judged import PERSON
from rememberer.labels import WHOLE
from rememberer.records import Decision, Proposal, State
from rememberer.transcript import Transcript, Turn

SHOWN_TURNS = 15
"""Older turns are folded away: a browser is slow on long pages."""

UNTOLD = {
    "reading": "Opening your memory…",
    "shut": "Your memory could not be opened. Below it says why; load the page again to have it tried again.",
    "empty": "No task yet. Choose one under New task.",
}
"""What is said where there is no conversation."""

DECIDED = {"approve": "Approved", "choose": "Chose", "override": "Did instead"}


def conversation(view: View) -> str:
    """The conversation of the task on the table; what the world shows now is open, what it showed before is folded."""
    transcript = view.transcript
    if not transcript:
        said = UNTOLD.get(view.status, "Opening…")
        return f'<div class="chat" role="log" aria-label="Conversation"><p class="muted empty">{said}</p></div>'
    turns = transcript.turns
    folded = max(len(turns) - SHOWN_TURNS, 0)
    parts = [f'<p class="muted">{times(folded).replace("time", "earlier step")} folded away.</p>'] if folded else []
    for turn in turns[folded:]:
        last = turn is turns[-1]
        parts.append(_world(turn.step, turn.state, is_open=last and not transcript.ended))
        if not (last and transcript.ended):
            parts += _said(turn, view.labels)
    if transcript.ended:
        parts.append(_end(transcript, view.labels))
    elif view.draft:
        parts.append(f'<div class="thought"><p class="draft">{esc(view.draft)}</p></div>')
    elif view.busy and not turns[-1].waiting:
        parts.append('<p class="bubble agent dots" aria-label="thinking"><i></i><i></i><i></i></p>')
    return f'<div class="chat" role="log" aria-label="Conversation">{"".join(parts)}</div>'


def replayed(transcript: Transcript, labels: Mapping[int, Labelled], step: int) -> str:
    """One step of an episode as it was then, what was proposed with its values too; after the last one, its end."""
    turn = transcript.turns[step - 1]
    parts = [_world(step, turn.state, is_open=True)]
    if transcript.ended and turn is transcript.turn:
        parts.append(_end(transcript, labels))
    else:
        parts += _said(turn, labels, whole=True)
    return f'<div class="chat" role="region" aria-label="Step {step}">{"".join(parts)}</div>'


def _world(step: int, state: State, is_open: bool) -> str:
    return (
        f'<details class="thought" data-key="world-{step}"{" open" if is_open else ""}>'
        f'<summary><b>World</b> <span class="muted">{esc(state.kind)}</span></summary>'
        f'<pre class="world">{esc(state.observation.strip())}</pre></details>'
    )


def _said(turn: Turn, labels: Mapping[int, Labelled], whole: bool = False) -> list[str]:
    """What was said in a step; with `whole`, all that was proposed."""
    parts = []
    rejections = list(turn.rejections)
    for number_, proposal in enumerate(turn.proposals):
        is_last = number_ == len(turn.proposals) - 1
        parts += _proposal(turn.step, number_, proposal)
        if whole:
            parts.append(proposed(proposal))
        if not is_last and rejections:
            parts.append(_rejection(rejections.pop(0)))
    parts += [_told(each) for each in turn.guided]
    parts += [f'<p class="bubble agent asks"><b>I ask you.</b> {esc(why)}</p>' for why in turn.asked]
    if turn.decision is None:
        parts += [_rejection(each) for each in rejections]
    else:
        parts.append(_decision(turn, turn.decision, labels.get(turn.step)))
    return parts


def _proposal(step: int, number_: int, proposal: Proposal) -> list[str]:
    used = sum(each.used for each in proposal.recalled)
    first = proposal.candidates[0] if proposal.candidates else None
    why = [each for each in (proposal.reasoning, first.reason if first else "", proposal.note) if each]
    count = f"{used} memor{'y' if used == 1 else 'ies'}"
    if proposal.prompt_tokens:
        count += f", {proposal.prompt_tokens} + {proposal.reply_tokens} tokens"
    thought = (
        f'<details class="thought" data-key="why-{step}-{number_}">'
        f"<summary><b>Step {step} · reasoning</b> "
        f'<span class="muted">{count}, {proposal.seconds:.1f} s, {esc(proposal.policy)}</span></summary>'
        f"{''.join(f'<p>{esc(each)}</p>' for each in why) or '<p>No reason was given.</p>'}</details>"
    )
    if first is None:
        return [thought, f'<p class="bubble agent">I have nothing to propose. {esc(proposal.note)}</p>']
    known = "never tried" if first.value is None else f"value {number(first.value)}, tried {times(first.visits)}"
    return [thought, f'<p class="bubble agent">I propose {_named(shown_label(first), first.action)} — {known}</p>']


def _rejection(decision: Decision) -> str:
    hint = f": {esc(decision.hint)}" if decision.hint else ""
    return f'<p class="bubble person">None of these{hint}</p>'


def _told(text: str) -> str:
    return f'<p class="bubble person">To the agent: {esc(text)}</p>'


def _reward(label: Labelled | None) -> str:
    """A person's reward with what they said, or nothing."""
    if label is None:
        return ""
    who = "your reward" if label.by == PERSON else f"reward of {esc(label.by)}"
    said = f" {quote(label.comment)}" if label.comment else ""
    return f" · {who} <b>{number(label.value)}</b>{said}"


def _decision(turn: Turn, decision: Decision, label: Labelled | None) -> str:
    how = BY_ITSELF.get(decision.by, DECIDED[decision.kind])
    parts = [f"{how} {_named(name_of(decision.action, turn.state), decision.action)}"]
    outcome = turn.outcome
    if outcome is None:
        parts.append("not finished yet")
    elif outcome.outcome_unknown:
        parts.append("outcome unknown: the program stopped meanwhile")
    elif outcome.reward:
        parts.append(f"reward <b>{number(outcome.reward)}</b>")
    return f'<p class="bubble person">{" · ".join(parts)}{_reward(label)}</p>'


def _named(name: str, action: str) -> str:
    return code(action) if name == action else f"{esc(name)} {code(action)}"


def _end(transcript: Transcript, labels: Mapping[int, Labelled]) -> str:
    ended, steps = transcript.ended, len(transcript.actions)
    total = sum(transcript.rewards)
    said = {
        "terminated": "Done",
        "truncated": "Cut short: the limit of steps is reached",
        "stopped": "Stopped: another task was begun",
    }[ended]
    count = f"{steps} step{'' if steps == 1 else 's'}"
    told = f"{said} after {count}, return <b>{number(total)}</b>{_reward(labels.get(WHOLE))}"
    return f'<p class="bubble agent end" id="end">{told}</p>'
