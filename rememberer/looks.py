"""How the available actions of a state look, seen from its task: what the memory policy compares them by."""

from collections.abc import Sequence
from dataclasses import dataclass

from rememberer.embedding import Encoder
from rememberer.keywords import content, overlap, price, price_limit, share, words
from rememberer.records import ActionText, State

BACK, OPEN, OPTION = "back", "open", "option"
"""Kinds with a meaning of their own here. Of options, one is chosen in each group; their labels are "group: value"."""
BUTTONS = frozenset({"buy", "page", BACK, "detail"})
"""Kinds whose labels say nothing about the task: such an action fits it as well as its page does."""
EDGE = 0.2
"""Most that fitting better, or worse, than the rivals counts."""
LEAD = 0.3
"""What being first on a page counts, as against fitting in everything."""
_CHOSEN = " (chosen)"


@dataclass(frozen=True, slots=True)
class Look:
    """An action as the task sees it; numbers from 0 to 1.

    `words`: overlap of the words of label and task; of a button, the share of the task's words on its page.
    `meaning`: cosine of the sentence embeddings of label and task; of a button, the same as `words`.
    `edge`: how far it fits better than its best rival (of its kind, or of its group of options), within +-`EDGE`; of a
    button, the best fit of what is still to be chosen. So the best product looks different from the second best, and
    "buy" with a wanted option still open from "buy" when all is set.
    `lead`: how early it stands on the page among things to open that are not `dear`: `LEAD`, `LEAD` / 2, `LEAD` / 3 ...
    The text of the page tells, not the order of the actions; 0 where it does not.
    `spent`: it, or another of its group, is chosen already. `dear`: it costs more than the task allows.
    """

    action: ActionText
    words: float
    meaning: float
    edge: float = 0.0
    lead: float = 0.0
    spent: bool = False
    dear: bool = False

    @property
    def fit(self) -> float:
        """How well it fits the task, all in all."""
        return (self.words + self.meaning) / 2


def looks(state: State, wanted: Sequence[str], trail: Sequence[str], encoder: Encoder) -> list[Look]:
    """Return the look of every available action of `state`, in their order; `trail` are the actions that led there."""
    actions = state.actions
    if not actions:
        return []
    groups = [(action.kind, _group(action)) for action in actions]
    fits = _fits(state, wanted, encoder)
    means = [(one + other) / 2 for one, other in fits]
    here = _done_here(actions, trail)
    done = [action.label.endswith(_CHOSEN) or action.text in here for action in actions]
    settled = {group for group, is_done in zip(groups, done, strict=True) if is_done and group[1]}
    spent = [group in settled if group[1] else is_done for group, is_done in zip(groups, done, strict=True)]
    choices = [n for n, each in enumerate(actions) if not (spent[n] or each.typed or each.kind in BUTTONS)]
    left = max((means[n] for n in choices), default=0.0)
    limit = price_limit(state.task)

    def edge(n: int) -> float:
        if actions[n].kind in BUTTONS:
            return left
        rival = max((means[m] for m, group in enumerate(groups) if m != n and group == groups[n]), default=0.0)
        return min(max(means[n] - rival, -EDGE), EDGE)

    def dear(n: int) -> bool:
        cost = price(actions[n].label)
        return limit is not None and cost is not None and cost > limit

    shown = sorted(
        (at, n)
        for n, each in enumerate(actions)
        if each.kind == OPEN and not dear(n) and (at := state.observation.find(_name(each))) >= 0
    )
    lead = {n: LEAD / place for place, (_, n) in enumerate(shown, 1)}
    return [Look(each, *fits[n], edge(n), lead.get(n, 0.0), spent[n], dear(n)) for n, each in enumerate(actions)]


def _fits(state: State, wanted: Sequence[str], encoder: Encoder) -> list[tuple[float, float]]:
    """`words` and `meaning` of each action."""
    names = [_name(action) for action in state.actions]
    vectors = encoder.encode([state.task, *names])
    wanted = words(" ".join(wanted))
    cosines = (max(float(vector @ vectors[0]), 0.0) for vector in vectors[1:])
    # Whether a page of things to open has what is wanted shows when they are opened.
    is_list = any(each.kind == OPEN for each in state.actions)
    on_page = 1.0 if is_list else share(wanted, words(" ".join([state.observation.replace(state.task, " "), *names])))
    return [
        (on_page, on_page)
        if each.kind in BUTTONS
        else (overlap(wanted, words(" ".join(content(name)) or name)), cosine)
        for each, name, cosine in zip(state.actions, names, cosines, strict=True)
    ]


def _group(action: ActionText) -> str:
    group, colon, _ = action.label.partition(": ")
    return group if colon and action.kind == OPTION else ""


def _name(action: ActionText) -> str:
    """What a label says besides the group, the price and the mark of what is chosen."""
    name = action.label.removesuffix(_CHOSEN)
    if _group(action):
        return name.partition(": ")[2]
    return name.rpartition(" · ")[0] if price(name) is not None else name


def _done_here(actions: Sequence[ActionText], trail: Sequence[str]) -> set[str]:
    """The last actions that can all be done again: they were done on this very page."""
    available = {action.text for action in actions}
    here: set[str] = set()
    for text in reversed(trail):
        if text not in available:
            break
        here.add(text)
    return here
