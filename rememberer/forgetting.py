"""What remains in the log of what was forgotten: numbers, no words.

The rewards of a forgotten step still count for the steps before it, so its events stay; the texts go. A forgotten
state keeps a random stand-in for its key, so that it cannot be recognised by hashing a guess.
"""

from collections.abc import Sequence

from rememberer.records import (
    Candidate,
    Decided,
    EpisodeStarted,
    Event,
    Imported,
    Labelled,
    Observed,
    Pinned,
    Proposal,
    Proposed,
    State,
    new_id,
)

GONE = "(forgotten)"


def redact(events: Sequence[Event], keys: set[str]) -> tuple[list[Event], list[str]]:
    """Return the events of a user's log that have to be rewritten to forget `keys`, and the stand-in keys.

    `events` is the user's whole log in order. The task text of an episode goes with the last state that has it.
    """
    stand_ins = {key: f"forgotten:{new_id()}" for key in keys}
    actions: dict[tuple[str, str], str] = {}

    def state(old: State) -> State:
        if old.key not in keys:
            return old
        return State(env=old.env, task="", observation="", kind=old.kind, forgotten=stand_ins[old.key])

    def action(key: str, old: str) -> str:
        """The same action in the same state keeps being one action: its targets belong together."""
        return actions.setdefault((key, old), f"forgotten:{new_id()}") if key in keys and old else old

    kept_tasks = {
        each.state.task
        for each in (event.body for event in events)
        if isinstance(each, EpisodeStarted | Observed | Imported) and each.state.key not in keys
    }
    here: dict[str, State] = {}
    quoting: set[tuple[str, str]] = set()
    """(episode, reason) of candidates that rest on something forgotten."""
    changed = []
    for event in events:
        now = here.get(event.episode)
        key = now.key if now else ""
        body = event.body
        match body:
            case EpisodeStarted():
                here[event.episode] = body.state
                # The id as well: an instruction in a person's own words stands in it.
                gone = {} if body.state.task in kept_tasks else {"task": GONE, "task_id": GONE}
                body = body.model_copy(update={"state": state(body.state), **gone})
            case Observed():
                here[event.episode] = body.state
                gone = {"action": action(key, body.action), "reason": ""} if key in keys else {}
                if (event.episode, body.reason) in quoting:
                    gone["reason"] = ""
                near = stand_ins.get(body.nearest, body.nearest)
                body = body.model_copy(update={"state": state(body.state), "nearest": near, **gone})
            case Proposed():
                quoting |= {
                    (event.episode, c.reason) for c in body.proposal.candidates if _quotes(body.proposal, c, keys)
                }
                body = body.model_copy(update={"proposal": _proposal(body.proposal, key in keys, keys)})
            case Decided(decision=decision) if key in keys:
                gone = {
                    "action": action(key, decision.action),
                    "proposed": action(key, decision.proposed),
                    "hint": "",
                }
                body = Decided(decision=decision.model_copy(update=gone))
            case Imported() if body.state.key in keys:
                rows = [
                    row.model_copy(update={"action": action(body.state.key, row.action), "reason": ""})
                    for row in body.actions
                ]
                body = body.model_copy(update={"state": state(body.state), "actions": tuple(rows), "history": ()})
            case Pinned() if body.key in keys:
                body = body.model_copy(update={"key": stand_ins[body.key]})
            case _:
                pass
        if body != event.body:
            changed.append(event.model_copy(update={"body": body}))
    return changed + _comments(events, keys), list(stand_ins.values())


def _proposal(old: Proposal, forgotten: bool, keys: set[str]) -> Proposal:
    """Without what was forgotten: all of it when made in a forgotten state, else what quotes a forgotten one."""
    if forgotten:
        return Proposal(candidates=(), policy=old.policy, note=GONE, seconds=old.seconds)
    if not any(each.key in keys for each in old.recalled) and not any(keys & {*c.evidence} for c in old.candidates):
        return old
    candidates = tuple(
        each.model_copy(update={"reason": "", "evidence": ()}) if _quotes(old, each, keys) else each
        for each in old.candidates
    )
    recalled = tuple(each for each in old.recalled if each.key not in keys)
    gone = {"candidates": candidates, "recalled": recalled, "prompt": "", "reply": "", "reasoning": ""}
    return old.model_copy(update=gone)


def _quotes(proposal: Proposal, candidate: Candidate, keys: set[str]) -> bool:
    """Whether a reason may say something of what is forgotten: a model that was shown it may say so anywhere."""
    shown = bool(proposal.prompt) and any(each.key in keys for each in proposal.recalled)
    return shown or bool(keys & {*candidate.evidence})


def _comments(events: Sequence[Event], keys: set[str]) -> list[Event]:
    """Labels on forgotten steps, without the person's words."""
    at: dict[tuple[str, int], str] = {}
    here: dict[str, str] = {}
    for event in events:
        if isinstance(event.body, EpisodeStarted):
            here[event.episode] = event.body.state.key
        elif isinstance(event.body, Observed):
            at[event.episode, event.body.step] = here[event.episode]
            here[event.episode] = event.body.state.key
    return [
        event.model_copy(update={"body": event.body.model_copy(update={"comment": ""})})
        for event in events
        if isinstance(event.body, Labelled) and event.body.comment and at.get((event.episode, event.body.step)) in keys
    ]
