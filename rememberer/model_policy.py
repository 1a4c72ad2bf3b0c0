"""The policy that asks a language model, showing it what memory holds of similar states."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rememberer.exemplars import exemplars
from rememberer.model import Answer, Model
from rememberer.policy import RECALLED, Retrieved, Situation
from rememberer.prompt import Message, messages, repair
from rememberer.records import ActionText, Candidate, Evidence, Proposal
from rememberer.reply import Suggestion, parse, reasoning_so_far, resolve, schema


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How the model is asked."""

    exemplars: int = 2
    """Similar states in the prompt, at most (m of the paper)."""
    prompt_tokens: int = 6000
    """Budget of the prompt, by estimate: an exemplar that does not fit is left out."""
    reply_tokens: int = 800
    """Tokens that the model may write."""
    guess: bool = True
    """Whether an exemplar without a good (or poor) action names a random one, marked as a guess."""


class ModelPolicy:
    """Proposes what a language model proposes, held to the available actions.

    A value is never the model's: it is the Q that memory has of the same action in the similar states, or unknown.
    """

    def __init__(self, model: Model, name: str, settings: ModelSettings | None = None) -> None:
        self.name = name
        self._model = model
        self._settings = settings or ModelSettings()

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        """See `Policy.propose`. A reply of no use is asked for once more; then there are no candidates, but a note."""
        settings = self._settings
        listed = situation.state.actions
        said_no = {action.strip().casefold() for action in situation.refused}
        available = tuple(each for each in listed if each.text.casefold() not in said_no)
        if listed and not available:
            return Proposal(candidates=(), policy=self.name, note="Every action was rejected. Choose or type one.")
        drawn = exemplars(retrieved[:RECALLED], seed=situation.seed, guess=settings.guess)
        chat = messages(situation, drawn, k=k, most=settings.exemplars, budget=settings.prompt_tokens)
        first = self._attempt(chat, situation, available, retrieved, k)
        if first.candidates:
            return first
        again = (*chat, *repair(first.reply, first.note, available))
        second = self._attempt(again, situation, available, retrieved, k)
        note = (
            "" if second.candidates else f"{second.note} It was asked twice: choose or type an action, or give a hint."
        )
        return second.model_copy(
            update={
                "note": note,
                "prompt_tokens": first.prompt_tokens + second.prompt_tokens,
                "reply_tokens": first.reply_tokens + second.reply_tokens,
            }
        )

    def _attempt(
        self,
        chat: Sequence[Message],
        situation: Situation,
        available: Sequence[ActionText],
        retrieved: Sequence[Retrieved],
        k: int,
    ) -> Proposal:
        """Ask once. Without candidates, the note says what was wrong, to the model as to a person."""
        tokens = self._settings.reply_tokens
        answer = self._model.answer(
            chat,
            # As many characters as tokens: a quarter of the reply, so that the candidates have room after it.
            schema=schema(available, k=k, reasoning_length=tokens),
            max_tokens=tokens,
            cancelled=situation.cancelled,
            show=lambda text: situation.show(reasoning_so_far(text)),
        )
        reply = parse(answer.text)
        chosen = _chosen(reply.suggestions, available, situation.refused)
        candidates = tuple(_candidate(each, action, available, retrieved) for action, each in chosen.items())
        return Proposal(
            candidates=candidates[:k],
            policy=self.name,
            reasoning=reply.reasoning,
            note="" if candidates else _problem(answer, reply.suggestions, tokens),
            prompt="\n\n".join(f"[{message['role']}]\n{message['content']}" for message in chat),
            reply=answer.text,
            prompt_tokens=answer.prompt_tokens,
            reply_tokens=answer.reply_tokens,
        )


def _chosen(
    suggestions: Iterable[Suggestion], available: Sequence[ActionText], refused: Sequence[str]
) -> dict[str, Suggestion]:
    """Return the suggested actions that can be done and were not rejected, the model's favourite first."""
    said_no = {action.strip().casefold() for action in refused}
    chosen: dict[str, Suggestion] = {}
    for each in sorted(suggestions, key=lambda each: -math.inf if each.value is None else each.value, reverse=True):
        action = resolve(each, available)
        if action is not None and action.casefold() not in said_no:
            chosen.setdefault(action, each)
    return chosen


def _candidate(
    suggestion: Suggestion, action: str, available: Sequence[ActionText], retrieved: Sequence[Retrieved]
) -> Candidate:
    """Make a candidate whose value is what memory knows: the mean Q of this very action, weighted by similarity."""
    known = [
        (each, row)
        for each in retrieved
        if each.used and each.similarity > 0
        for row in each.experience.actions
        if row.visits and row.action.strip().casefold() == action.casefold()
    ]
    reason = " ".join(suggestion.reason.split())
    value = None
    if known:
        value = sum(each.similarity * row.q for each, row in known) / sum(each.similarity for each, _ in known)
    elif suggestion.value is not None:
        # Not evidence, so it must not stand where values stand.
        reason = f"{reason} (The model's own guess: {suggestion.value:g}.)".strip()
    return Candidate(
        action=action,
        label=next((each.label for each in available if each.text == action), action),
        value=value,
        visits=sum(row.visits for _, row in known),
        reason=reason,
        evidence=tuple(
            Evidence(key=each.experience.key, action=row.action, q=row.q, visits=row.visits, weight=each.similarity)
            for each, row in sorted(known, key=lambda one: -one[0].similarity)[:RECALLED]
        ),
    )


def _problem(answer: Answer, suggestions: Sequence[Suggestion], tokens: int) -> str:
    if suggestions:
        named = ", ".join(repr(each.action) for each in suggestions)
        return f"The model proposed only what cannot be done now or was rejected: {named}."
    if answer.cut:
        return f"The model's answer was cut off at {tokens} tokens, before any action. A higher reply limit may help."
    if not answer.text.strip():
        return "The model's answer was empty."
    return "No action could be read from the model's answer."
