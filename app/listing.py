"""Experiences and episodes as lines for a terminal."""

from collections.abc import Iterable, Sequence

from app.terminal import one_line, signed
from app.ui.render import gist, outcome_words
from rememberer.records import ActionValue, Experience
from rememberer.values import EpisodeTrace


def rows(known: Sequence[Experience]) -> list[str]:
    """A table of experiences with its heads, a line each; nothing of none."""
    table = [_row("key", "value", "tried", "best action", "outcome", "task", "page")] if known else []
    for each in known:
        best = each.actions[0]
        value, tried = (signed(best.q), f"{best.visits}x") if best.visits else ("-", "0x")
        table.append(_row(each.key, value, tried, best.action, outcome_words(each), each.state.task, gist(each.state)))
    return table


def action_lines(row: ActionValue, made_of: Iterable[str]) -> list[str]:
    """An action of an experience: its value, why it was done or rejected, what its value is made of."""
    lines = [f"{signed(row.q) if row.visits else '-':>5}  {row.visits}x  {row.action}"]
    below = [f"because: {one_line(row.reason, 160)}"] if row.reason else []
    below += [f"rejected{f': {one_line(words, 160)}' if words else ''}" for words in row.rejections]
    below += [line.replace("−", "-") for line in made_of]
    return lines + [f"           {line}" for line in below]


def episode_rows(episodes: Sequence[EpisodeTrace]) -> list[str]:
    """A table of episodes with its heads, a line each; nothing of none."""
    table = [_episode("episode", "began", "outcome", "return", "steps", "task", "from")] if episodes else []
    for each in episodes:
        began = f"{each.transitions[0].time.astimezone():%Y-%m-%d %H:%M}" if each.transitions else "-"
        outcome = "quarantined" if each.void else each.outcome
        steps = str(len(each.transitions))
        table.append(_episode(each.id, began, outcome, signed(each.environment_return), steps, each.task, each.source))
    return table


def _row(key: str, value: str, tried: str, action: str, outcome: str, task: str, page: str) -> str:
    action, outcome, task = one_line(action, 28), one_line(outcome, 12), one_line(task, 40)
    return f"{key[:12]:12}  {value:>5}  {tried:>5}  {action:28}  {outcome:12}  {task:40}  {one_line(page, 50)}".rstrip()


def _episode(id: str, began: str, outcome: str, total: str, steps: str, task: str, source: str) -> str:
    task = one_line(task, 40)
    return f"{id[:12]:12}  {began:16}  {outcome:11}  {total:>6}  {steps:>5}  {task:40}  {one_line(source, 40)}".rstrip()
