"""What a value is made of, in lines of text: for the page and for the terminal."""

from app.ui.render import number
from app.view import Recollection
from rememberer.errors import UnknownExperience
from rememberer.events import ImportedAction
from rememberer.memory import Memory
from rememberer.records import Recalled
from rememberer.values import Import, Target


def recollected(memory: Memory, recalled: Recalled) -> Recollection:
    """What memory knows now of something that was retrieved before."""
    try:
        known = memory.experience(recalled.key)
        made_of = tuple((row, explained(memory, known.key, row.action)) for row in known.actions)
        return Recollection(recalled, known, made_of)
    except UnknownExperience:
        return Recollection(recalled, None)


def explained(memory: Memory, key: str, action: str) -> list[str]:
    """A line for everything that Q(key, action) is the average of, in order of time; imports stand first.

    Raises `UnknownExperience`.
    """
    found = memory.explain(key, action)
    return [_imported(came, row) for came, row in found.imports] + [_target(memory, each) for each in found.targets]


def _imported(came: Import, row: ImportedAction) -> str:
    times = "once" if row.visits == 1 else f"{row.visits} times"
    return f"{number(row.q)}, counted {times}: imported from {came.source or 'a file'} on {came.time:%Y-%m-%d}"


def _target(memory: Memory, target: Target) -> str:
    sum_of = [number(each) for each in target.rewards]
    if target.bootstrap_key:
        sum_of.append(f"{number(target.bootstrap)} (value of where it led, experience {target.bootstrap_key[:8]})")
    labels = [
        f"{number(label)} for step {step}" for step, label in enumerate(target.labels, target.step) if label is not None
    ]
    parts = [f"{number(target.value)} = {' + '.join(sum_of)}"]
    parts += [f"with your reward {', '.join(labels)}"] if labels else []
    parts += [f"said: {', '.join(map(repr, target.words))}"] if target.words else []
    parts += [] if target.settled else ["so far"]
    table = "" if target.table is None else f", table {target.table + 1} of 2"
    episode = memory.trace(target.episode)
    return f"{', '.join(parts)}: step {target.step} of {episode.task!r} ({target.episode[:8]}{table})"
