"""What an answer to a proposal means where an episode stands: checked, and spelled as the world spells it."""

import envs
from rememberer.errors import AlreadyAnswered, NotAvailable, SessionError
from rememberer.records import Decision, State
from rememberer.transcript import Turn


def resolve(decision: Decision, turn: Turn) -> Decision:
    """Check a decision against what is proposed and what can be done, and complete it.

    Raises `NotAvailable`, `SessionError`, and `AlreadyAnswered` when another proposal is meant than the one that waits.
    """
    if decision.kind == "stop":
        return decision
    actions = [each.action for each in turn.waiting.candidates] if turn.waiting else []
    first = actions[0] if actions else ""
    kind, action = decision.kind, decision.action.strip()
    if kind in ("approve", "reject"):
        if not first and kind == "approve":
            raise SessionError("There is no proposal to approve. Type an action, or ask for a proposal.")
        if not turn.waiting or (decision.proposed or action or first) != first:
            raise AlreadyAnswered(f"The proposal of step {turn.step} has been replaced by another; look again.")
        action = first if kind == "approve" else ""
    elif kind == "choose" and action not in actions:
        raise NotAvailable(f"{action!r} is not among the candidates: {'; '.join(actions) or 'there are none'}.")
    elif kind == "override":
        action = available(action, turn.state)
    if action and action == first:
        kind = "approve"
    return decision.model_copy(update={"kind": kind, "action": action, "proposed": first})


def available(action: str, state: State) -> str:
    """Return `action` as the world spells it. Raises `NotAvailable`."""
    listed = [envs.Action(each.text, each.label, each.kind, each.typed) for each in state.actions]
    found = envs.matches(listed, action)
    if found is None:
        legal = "; ".join(each.text for each in listed)
        raise NotAvailable(f"{action!r} cannot be done now. What can be done: {legal}.")
    if not found.typed:
        return found.text
    head, _, rest = found.text.partition("<")
    tail = rest.partition(">")[2]
    spelled = head + action[len(head) : len(action) - len(tail)] + tail
    return spelled if spelled.casefold() == action.casefold() else action
