"""What people did and said, as examples to train a language model with: each is a line that TRL's trainers read.

    dpo       prompt, chosen, rejected                              DPOTrainer: two actions in a state
    kto       prompt, completion, label                             KTOTrainer: an action, and whether it was good
    episodes  messages, env, task, outcome, return, source          SFTTrainer: whole episodes

A prompt is what `rememberer.prompt` asks, without anything that happened to be retrieved; so a reply gives no reason,
as reasons tell of what was retrieved. What is quarantined, was taken back or forgotten is in no example, nor is an
action that `rememberer.reply` would not read back as it was. No example says who somebody was.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import dropwhile
from math import fsum
from typing import Any, Literal

import envs
from rememberer.errors import UnknownExperience
from rememberer.events import Compared, EpisodeStarted, Event, Labelled
from rememberer.forgetting import GONE
from rememberer.labels import Labels
from rememberer.memory import Memory
from rememberer.policy import Situation
from rememberer.prompt import LAST, Message, messages
from rememberer.records import FORK, MACHINES, ActionText, State
from rememberer.reply import VALUES, parse, resolve
from rememberer.searches import argument
from rememberer.transcript import Transcript, Turn
from rememberer.values import EpisodeTrace

Kind = Literal["dpo", "kto", "episodes"]
Example = dict[str, Any]

HOW_TO_GET_SOME: dict[Kind, str] = {
    "dpo": "Choose or type another action than the first that is proposed, reject it and then decide yourself, or say "
    "which of two actions is better: each makes a pair.",
    "kto": "Reward a step above or below 0, or reject what is proposed: each makes an example.",
    "episodes": "Work through a task to its end, or stop it after a step: each makes an example.",
}
"""What a person can do so that there are examples."""

SINGLY = 8
"""Episodes that are read one by one."""
_MACHINES = ("", FORK, *MACHINES)
"""Who took a decision that is nobody's word (`Decision.by`)."""


def examples(memory: Memory, kind: Kind) -> Iterator[Example]:
    """The examples of a kind, in the order of the episodes; those of comparisons last.

    Nothing is read before the first is asked for, and for the first ones little. Writes nothing. Raises `StoreError`.
    """
    memory.refresh()
    void = set(memory.quarantined())
    telling = [each for each in memory.episodes() if not each.void and _may_tell(memory, each, kind)]
    for trace, events in _read(memory, telling):
        steps = [each for each in _steps(trace, events) if each[0].state.key not in void]
        if kind == "dpo":
            yield from _preferences(memory, steps)
        elif kind == "kto":
            yield from _verdicts(memory, trace.id, steps)
        else:
            yield from _whole(memory, trace, steps)
    if kind == "dpo":
        yield from _comparisons(memory)


def completion(state: State, action: str, q: float | None = None) -> str | None:
    """The reply that proposes `action` in `state`, as JSON; with its Q, if known, as one of the values of a reply.

    None for an action that would not be read back from it as it is: it is not available there, or no UTF-8.
    """
    value = {} if q is None else {"value": VALUES[min(max(round(10 * q) + 10, 0), len(VALUES) - 1)]}
    for fields in _ways(action, state.actions):
        reply = {"reasoning": "", "candidates": [{**fields, **value, "reason": ""}]}
        text = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
        if [resolve(each, state.actions) for each in parse(text).suggestions] == [action]:
            return text
    return None


def _may_tell(memory: Memory, trace: EpisodeTrace, kind: Kind) -> bool:
    """Whether an episode can have an example, told without reading it."""
    if kind == "episodes":
        return bool(trace.ended)
    said = any(each.by not in _MACHINES for each in trace.transitions) if kind == "dpo" else memory.labels(trace.id)
    return bool(said or trace.rejections)


def _read(memory: Memory, traces: Sequence[EpisodeTrace]) -> Iterator[tuple[EpisodeTrace, list[Event]]]:
    """Episodes with their events: some one by one, for whoever wants a few; then the log once, as that is quicker."""
    for trace in traces[:SINGLY]:
        yield trace, memory.store.events(memory.user, episode=trace.id)
    if left := traces[SINGLY:]:
        found: dict[str, list[Event]] = {each.id: [] for each in left}
        for event in memory.store.events(memory.user):
            if event.episode in found:
                found[event.episode].append(event)
        for trace in left:
            yield trace, found.pop(trace.id)


def _steps(trace: EpisodeTrace, events: Sequence[Event]) -> Iterator[tuple[Turn, Situation]]:
    """The turns of an episode whose texts are there, and what a policy was told in each when it first proposed."""
    # An imported log may reward an episode before it begins.
    transcript = Transcript(dropwhile(lambda event: not isinstance(event.body, EpisodeStarted), events))
    grammar = _grammar(trace.env)
    done: list[str] = []
    rewards: list[float] = []
    told: list[str] = []
    for turn in transcript.turns:
        told += [text for text in turn.guided if text != GONE]
        last, total = rewards[-1] if rewards else 0.0, sum(rewards)
        if not turn.state.forgotten:
            yield turn, Situation(turn.state, grammar, tuple(done[-LAST:]), last, total, hint="\n".join(told))
        if turn.outcome:
            rewards.append(turn.outcome.reward)
            done += [] if turn.state.forgotten else [turn.outcome.action]


def _preferences(memory: Memory, steps: Sequence[tuple[Turn, Situation]]) -> Iterator[Example]:
    """What a person did at a step before the first candidates that they passed over there."""
    for turn, situation in steps:
        decision = turn.decision
        if turn.outcome and decision and decision.by not in _MACHINES:
            passed = [each.proposed for each in turn.rejections if each.by not in _MACHINES]
            passed += [decision.proposed] if decision.kind in ("choose", "override") else []
            for rejected in dict.fromkeys(passed):
                yield from _pair(memory, situation, turn.outcome.action, rejected)


def _comparisons(memory: Memory) -> Iterator[Example]:
    """What people said of two actions in a state that is still an experience; of each person the last word."""
    labels = Labels()
    for event in memory.store.events(memory.user, episode=""):
        labels.apply(event)
    last: dict[tuple[str, str, frozenset[str]], Compared] = {}
    for said in labels.said():
        if isinstance(said.body, Compared) and said.body.key and said.counts:
            last[said.body.by, said.body.key, frozenset((said.body.better, said.body.worse))] = said.body
    for body in last.values():
        if not body.equal:
            try:
                met = memory.experience(body.key)
            except UnknownExperience:
                continue
            grammar, rewards = _grammar(met.state.env), (met.mean_last_reward, met.mean_total_reward)
            situation = Situation(met.state, grammar, met.history, *rewards)
            yield from _pair(memory, situation, body.better, body.worse)


def _verdicts(memory: Memory, episode: str, steps: Sequence[tuple[Turn, Situation]]) -> Iterator[Example]:
    """The first candidates that people rejected, and the steps that they rewarded: the step, not the whole episode."""
    for turn, situation in steps:
        rejected = dict.fromkeys(each.proposed for each in turn.rejections if each.by not in _MACHINES)
        judged = [(action, -1.0) for action in rejected]
        if turn.outcome:
            judged.append((turn.outcome.action, _label(memory, episode, turn.outcome.step)))
        for action, label in judged:
            reply = completion(situation.state, action, _q(memory, situation.state, action))
            if label and reply:
                yield {"prompt": _prompt(situation), "completion": [_said(reply)], "label": label > 0}


def _whole(memory: Memory, trace: EpisodeTrace, steps: Sequence[tuple[Turn, Situation]]) -> Iterator[Example]:
    """An episode as a conversation, of the steps that can be told."""
    chat: list[Message] = []
    for turn, situation in steps:
        action = turn.outcome.action if turn.outcome else ""
        if reply := completion(situation.state, action, _q(memory, situation.state, action)):
            system, asked = _prompt(situation)
            chat += [asked, _said(reply)] if chat else [system, asked, _said(reply)]
    if chat:
        yield {
            "messages": chat,
            "env": trace.env,
            "task": trace.task,
            "outcome": trace.outcome,
            "return": trace.environment_return,
            "source": trace.source,
        }


def _pair(memory: Memory, situation: Situation, chosen: str, rejected: str) -> Iterator[Example]:
    """One pair, or none. It tells values where both are known: else having one would be what tells the two apart."""
    state = situation.state
    q, other = _q(memory, state, chosen), _q(memory, state, rejected)
    if q is None or other is None:
        q = other = None
    good, bad = completion(state, chosen, q), completion(state, rejected, other)
    if good and bad and chosen != rejected:
        yield {"prompt": _prompt(situation), "chosen": [_said(good)], "rejected": [_said(bad)]}


def _prompt(situation: Situation) -> list[Message]:
    return list(messages(situation, (), k=1, most=0, budget=0))


def _said(reply: str) -> Message:
    return {"role": "assistant", "content": reply}


def _label(memory: Memory, episode: str, step: int) -> float:
    """More than 0 where people hold a step for good, less where for bad: of each the last word."""
    last = {said.body.by: said.body for said in memory.history(episode, step) if said.counts}
    return fsum(body.value for body in last.values() if isinstance(body, Labelled))


def _q(memory: Memory, state: State, action: str) -> float | None:
    try:
        return memory.explain(state.key, action).q
    except UnknownExperience:
        return None  # nothing was executed there, or it has left a memory that was full


def _ways(action: str, available: Sequence[ActionText]) -> Iterator[dict[str, str]]:
    """The fields of a candidate: an entry of the list and what stands for its `<...>`; or the whole action."""
    for each in available:
        if each.typed and (typed := argument(each, action)):
            yield {"action": each.text, "argument": typed}
    yield {"action": action}


@cache
def _grammar(env: str) -> str:
    """What a world says of itself; nothing where there is no such world, or it cannot be made without its data."""
    try:
        world = envs.make(env)
    except Exception:  # of a world that somebody else wrote
        return ""
    world.close()
    return world.grammar
