"""Small worlds, and a policy that says what it is told, for tests of the session."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from envs import Action, Observation, Step, Task, UnknownTask
from rememberer.embedding import Encoder
from rememberer.memory import Memory
from rememberer.policy import Retrieved, Situation
from rememberer.records import Candidate, Decision, DecisionKind, Evidence, Proposal
from rememberer.session import Session
from rememberer.store import InMemoryStore, Store
from tests.rememberer.encoders import WordEncoder


class Corridor:
    """Go on three times for a reward of 1; `say[...]` does nothing but echo.

    `executed` counts the steps that were taken, replay included. `before` is called before each, and may raise or wait.
    """

    name: ClassVar[str] = "corridor"
    replayable: ClassVar[bool] = True
    step_limit: ClassVar[int] = 6
    grammar: ClassVar[str] = "go on | go back | say[<words>]"
    kind_similarity: ClassVar[None] = None
    own_task: ClassVar[bool] = True
    actions: ClassVar[tuple[Action, ...]] = (
        Action("go on", "Onwards", "go"),
        Action("go back", "Back", "go"),
        Action("say[<words>]", "Say", "say", typed=True),
    )

    def __init__(self, before: Callable[[str], None] = lambda action: None, sign: str = "") -> None:
        self.executed: list[str] = []
        self._before = before
        self._sign = sign
        self._at = 0
        self._said = ""

    def tasks(self) -> Sequence[Task]:
        return [Task("through", "walk through")]

    def reset(self, task_id: str, seed: int = 0) -> Observation:
        if task_id != "through" and not task_id.startswith("own:"):
            raise UnknownTask(f"No {task_id!r} here.")
        self._at, self._said = 0, ""
        return self._look()

    def step(self, action: str) -> Step:
        self._before(action)
        self.executed.append(action)
        self._said = action[4:-1] if action.startswith("say[") else ""
        self._at += {"go on": 1, "go back": -1}.get(action, 0)
        through = self._at == 3
        return Step(self._look(), 1.0 if through else 0.0, terminated=through)

    def close(self) -> None:
        pass

    def _look(self) -> Observation:
        return Observation(f"{self._sign}place {self._at} {self._said}", "place", self.actions)


class Once(Corridor):
    """A corridor that cannot be walked again from the start."""

    name: ClassVar[str] = "once"
    replayable: ClassVar[bool] = False


class Scripted:
    """Proposes the same actions in each state, without those refused; `asked` keeps what it was told.

    It waits for `gate` first, calls `think`, and raises `problem` when there is one.
    """

    name = "scripted"

    def __init__(self, *actions: str) -> None:
        self.actions = actions or ("go on", "go back")
        self.asked: list[Situation] = []
        self.gate = threading.Event()
        self.gate.set()
        self.problem: Exception | None = None
        self.think: Callable[[], None] = lambda: None

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        self.asked.append(situation)
        assert self.gate.wait(20)
        self.think()
        if self.problem:
            raise self.problem
        left = [each for each in self.actions if each not in situation.refused]
        return Proposal(
            candidates=tuple(Candidate(action=each, reason=f"why {each}") for each in left), policy="scripted"
        )


def memory_on(store: Store | None = None, user: str = "me", encoder: Encoder | None = None) -> Memory:
    return Memory(store or InMemoryStore(), user, encoder or WordEncoder(), tables=lambda env: None)


def begin(memory: Memory, world: Corridor | None = None, policy: Scripted | None = None, **options: Any) -> Session:
    """A session with its first proposal on the table."""
    session = Session.start(memory, world or Corridor(), "through", policy or Scripted(), **options)
    session.propose()
    return session


def answer(session: Session, kind: DecisionKind, action: str = "", **more: Any) -> None:
    """Answer the step at hand, and have the next one proposed."""
    session.decide(Decision(step=session.turn.step, kind=kind, action=action, **more))
    if not session.ended:
        session.propose()


def kinds(memory: Memory) -> list[str]:
    return [event.body.type for event in memory.store.events(memory.user)]


def resting_on(key: str) -> Evidence:
    """That a value rests on something in the experience `key`."""
    return Evidence(key=key, action="go on", q=1.0, visits=1, weight=1.0)
