"""What tests of policies need: a model with a queue of answers, and short ways to make situations and experiences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rememberer.errors import Cancelled
from rememberer.model import Answer
from rememberer.policy import Retrieved, Situation
from rememberer.prompt import Message
from rememberer.records import ActionText, ActionValue, Experience, State


@dataclass
class FakeModel:
    """Gives the queued answers in turn and keeps what it was asked. An exception in the queue is raised."""

    answers: list[str | Answer | Exception] = field(default_factory=list)
    history: list[list[Message]] = field(default_factory=list)
    schemas: list[Mapping[str, Any]] = field(default_factory=list)
    model: str = "fake"

    def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        show: Callable[[str], None] = lambda text: None,
    ) -> Answer:
        if cancelled():
            raise Cancelled("Stopped.")
        self.history.append(list(messages))
        self.schemas.append(schema)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = Answer(answer, prompt_tokens=100, reply_tokens=10)
        show(answer.text)
        return answer


def actions(*texts: str) -> tuple[ActionText, ...]:
    """Available actions; one with `<...>` in its text is typed."""
    return tuple(ActionText(text=text, label=text, kind="any", typed="<" in text) for text in texts)


def state(
    *texts: str, task: str = "buy a red shoe", observation: str = "a page", available: Iterable[ActionText] = ()
) -> State:
    """A state of an environment that is nobody's, with available actions by their texts or as they are."""
    listed = (*actions(*texts), *available)
    return State(env="nowhere", task=task, observation=observation, kind="page", actions=listed)


def situation(*texts: str, observation: str = "a page", available: Iterable[ActionText] = (), **told: Any) -> Situation:
    """A situation with these available actions; `told` are further fields of `Situation`."""
    return Situation(state=state(*texts, observation=observation, available=available), **told)


def experience(where: State, *rows: ActionValue, **known: Any) -> Experience:
    """An experience of a state; rows as `ActionValue`, best first as the memory keeps them."""
    then = datetime(2026, 1, 1, tzinfo=UTC)
    kept = tuple(sorted(rows, key=lambda row: (row.visits == 0, -row.q)))
    return Experience(state=where, actions=kept, created=then, updated=then, **known)


def retrieved(what: Experience, similarity: float = 0.9, *, used: bool = True) -> Retrieved:
    """An experience as memory hands it to a policy."""
    return Retrieved(experience=what, similarity=similarity, task=similarity, observation=similarity, used=used)


def row(action: str, q: float = 0.0, visits: int = 1, **known: Any) -> ActionValue:
    """A row of an experience's table."""
    return ActionValue(action=action, q=q, visits=visits, **known)
