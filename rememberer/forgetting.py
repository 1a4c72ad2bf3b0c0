"""What remains in the log of what was forgotten: numbers, no words.

The rewards of a forgotten step still count for the steps before it, so its events stay; the texts go. A forgotten
state keeps a random stand-in for its key, so that it cannot be recognised by hashing a guess.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from rememberer.errors import SessionError
from rememberer.events import (
    Compared,
    Decided,
    Dropped,
    EpisodeStarted,
    Event,
    Guided,
    Imported,
    Labelled,
    Observed,
    Pinned,
    Proposed,
    Quarantined,
    TakenBack,
    new_id,
)
from rememberer.labels import WHOLE
from rememberer.learning import Learner
from rememberer.records import Candidate, Proposal, State
from rememberer.values import EpisodeTrace

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
        # Made of what was checked before: checking it again would take half of the time that forgetting takes.
        return State.model_construct(
            env=old.env, task="", observation="", kind=old.kind, actions=(), forgotten=stand_ins[old.key]
        )

    def action(key: str, old: str) -> str:
        """The same action in the same state keeps being one action: its targets belong together."""
        return actions.setdefault((key, old), f"forgotten:{new_id()}") if key in keys and old else old

    kept_tasks = {
        each.state.task
        for each in (event.body for event in events)
        if isinstance(each, EpisodeStarted | Observed | Imported) and each.state.key not in keys
    }
    here: dict[str, list[State]] = defaultdict(list)
    """The states that each episode has come through; the last one is where it stands."""
    quoting: set[tuple[str, str]] = set()
    """(episode, reason) of candidates that rest on something forgotten."""
    changed = []
    for event in events:
        key = here[event.episode][-1].key if here[event.episode] else ""
        body, gone = event.body, dict[str, Any]()
        match body:
            case EpisodeStarted():
                here[event.episode] = [body.state]
                if body.state.task not in kept_tasks:
                    # The id as well: an instruction in a person's own words stands in it.
                    gone = {"task": GONE, "task_id": GONE}
                if body.state.key in keys:
                    gone["state"] = state(body.state)
            case Observed():
                here[event.episode].append(body.state)
                if key in keys:
                    gone = {"action": action(key, body.action), "reason": ""}
                if (event.episode, body.reason) in quoting:
                    gone["reason"] = ""
                if body.nearest in keys:
                    gone["nearest"] = stand_ins[body.nearest]
                if body.state.key in keys:
                    gone["state"] = state(body.state)
            case Proposed(proposal=old):
                quoting |= {(event.episode, c.reason) for c in old.candidates if _quotes(old, c, keys)}
                if (new := _proposal(old, key in keys, keys)) is not old:
                    gone["proposal"] = new
            case Decided(decision=old) if key in keys:
                without = {"action": action(key, old.action), "proposed": action(key, old.proposed), "hint": ""}
                gone["decision"] = old.model_copy(update=without)
            case Imported() if body.state.key in keys:
                rows = [
                    row.model_copy(update={"action": action(body.state.key, row.action), "reason": ""})
                    for row in body.actions
                ]
                gone = {"state": state(body.state), "actions": tuple(rows), "history": ()}
            case TakenBack(step=step):
                del here[event.episode][step:]
            case Guided() if key in keys:
                gone["text"] = GONE
            case Compared() if body.key in keys:
                better, worse = (action(body.key, each) for each in (body.better, body.worse))
                gone = {"key": stand_ins[body.key], "better": better, "worse": worse}
            case Pinned() if body.key in keys:
                gone["key"] = stand_ins[body.key]
            case Quarantined() if body.key in keys:
                gone = {"key": stand_ins[body.key], "reason": ""}
            case Dropped() if body.key in keys or body.like in keys:
                gone = {name: stand_ins.get(old, old) for name, old in (("key", body.key), ("like", body.like))}
            case _:
                pass
        if gone:
            changed.append(event.model_copy(update={"body": body.model_copy(update=gone)}))
    return changed + _comments(events, keys), list(stand_ins.values())


def texts_of(state: State) -> set[str]:
    """The texts of a state that may have been encoded."""
    return {state.task, state.observation, *(action.label for action in state.actions)}


def refuse_open(episodes: Iterable[EpisodeTrace], keys: set[str]) -> None:
    """Raises `SessionError` when an open episode needs one of these states."""
    for episode in episodes:
        seen = {episode.state.key, *(each.state.key for each in episode.transitions)}
        if not episode.ended and seen & keys:
            raise SessionError(
                f"This experience belongs to a task that is still open ({episode.task[:60]!r}). Finish that "
                "task or start a new one, then forget it."
            )


def ends_after(learner: Learner, keys: set[str]) -> set[str]:
    """Keys of pages that were only ever the end of an episode, so that they are no experiences of their own.

    They go with the experiences that led to them; where nothing was done at all, with the last of their task.
    """
    known = {state.key: state.task for state in learner.states(out=True)}
    tasks = {known[key] for key in keys} - {task for key, task in known.items() if key not in keys}
    going: set[str] = set()
    staying: set[str] = set()
    for episode in learner.episodes.values():
        last = episode.transitions[-1].state if episode.transitions else None
        led = last.key in keys or last.forgotten if last else episode.state.task in tasks
        (going if episode.ended and led else staying).add(episode.state.key)
    return going - staying - known.keys()


def quoting(learner: Learner, events: Iterable[Event]) -> list[str]:
    """Keys of what was executed in the episodes of rewritten events.

    Only these may quote what was forgotten: in what led to them, and in their reasons.
    """
    told = {event.episode for event in events} & learner.episodes.keys()
    return list({each.state.key: None for episode in told for each in learner.episodes[episode].transitions})


def _proposal(old: Proposal, forgotten: bool, keys: set[str]) -> Proposal:
    """Without what was forgotten: all of it when made in a forgotten state, else what quotes a forgotten one."""
    if forgotten:
        return Proposal(candidates=(), policy=old.policy, note=GONE, seconds=old.seconds)
    shown = {each.key for each in old.recalled} | {row.key for each in old.candidates for row in each.evidence}
    if not shown & keys:
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
    return shown or bool(keys & {each.key for each in candidate.evidence})


def _comments(events: Sequence[Event], keys: set[str]) -> list[Event]:
    """Labels on forgotten steps, and on episodes with one, without the person's words."""
    at: dict[tuple[str, int], set[str]] = defaultdict(set)
    here: dict[str, list[str]] = defaultdict(list)
    for event in events:
        match event.body:
            case EpisodeStarted(state=state):
                here[event.episode] = [state.key]
            case Observed(step=step, state=state) if here[event.episode]:
                at[event.episode, step].add(here[event.episode][-1])
                at[event.episode, WHOLE].add(here[event.episode][-1])
                here[event.episode].append(state.key)
            case TakenBack(step=step):
                del here[event.episode][step:]
    return [
        event.model_copy(update={"body": event.body.model_copy(update={"comment": ""})})
        for event in events
        if isinstance(event.body, Labelled) and event.body.comment and at[event.episode, event.body.step] & keys
    ]
