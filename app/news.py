"""What the quiet line says of something that was done: which values moved, the one it is about first."""

from app.view import News
from rememberer.events import Compared
from rememberer.labels import Said
from rememberer.records import Change
from rememberer.session import Outcome
from rememberer.transcript import Transcript


def of_step(outcome: Outcome) -> News | None:
    """Of a decision; None when nothing was executed."""
    done = outcome.observed
    if done is None:
        return None
    reward = f", reward {done.reward:+.2f}" if done.reward else ""
    return News(f"Step {done.step} done{reward}", _first(outcome.changes, done.action))


def of_label(transcript: Transcript, step: int, told: str, changes: list[Change]) -> News:
    """Of what was said of a step (0: the whole task); `told` has `{}` where the step is to be named."""
    action = next((each.outcome.action for each in transcript.turns if each.step == step and each.outcome), "")
    return News(told.format(f"step {step}" if step else "the whole task"), _first(changes, action))


def of_said(said: Said, episode: str, again: bool) -> tuple[int, str]:
    """The step that something undone (or done again) was said of, and how that is told on the desk of `episode`."""
    done = "given again" if again else "undone"
    if isinstance(said.body, Compared):
        return 0, f"Comparison {done}"
    where = "" if said.event.episode == episode else " of another task"
    return said.body.step, f"Reward of {{}}{where} {done}"


def _first(changes: list[Change], action: str) -> tuple[Change, ...]:
    """The change that the news is about before the others."""
    return tuple(sorted(changes, key=lambda each: each.action != action))
