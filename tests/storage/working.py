"""A process that works with a memory until it is killed, and says what it does and what it has done.

It is forked from a server that has imported LanceDB and never used it: so a life costs a tenth of a second.
"""

import os
import random
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import lancedb  # noqa: F401  # for all that are forked from here

import storage.table
from rememberer.memory import Memory
from rememberer.policy import Retrieved, Situation
from rememberer.records import Candidate, Decision, DecisionKind, Proposal
from rememberer.session import Session
from storage import LanceStore, export_log, import_log
from tests.rememberer.encoders import WordEncoder
from tests.rememberer.worlds import Corridor, Once, resting_on

warnings.filterwarnings("ignore", "lancedb fork support")

MODELS = ("words", "other words")


@dataclass(frozen=True)
class Life:
    """What a process is told. `alone`: nobody else has the folder open, so everything may be embedded anew."""

    name: str
    user: str
    folder: Path
    number: int
    alone: bool

    @property
    def executed(self) -> Path:
        """Where a world that cannot be replayed notes every step: `episode step action`."""
        return self.folder.with_name("executed")

    @property
    def gift(self) -> Path:
        """An exported memory."""
        return self.folder.with_name("gift.jsonl")


class Reminded:
    """Proposes with the words of all that it was reminded of."""

    name = "reminded"

    def propose(self, situation: Situation, retrieved: Sequence[Retrieved], k: int) -> Proposal:
        found = retrieved[:4]
        words = "; ".join(each.experience.state.task for each in found)
        rows = (
            Candidate(
                action="go on",
                reason=f"as in {words}",
                evidence=tuple(resting_on(each.experience.key) for each in found),
            ),
            Candidate(action="go back", reason="or not"),
        )
        left = tuple(row for row in rows if row.action not in situation.refused)
        return Proposal(candidates=left, policy=self.name, prompt=words, reply=words)


def encoder(model: str) -> WordEncoder:
    words = WordEncoder()
    words.name = model
    return words


def model_of(folder: Path) -> str:
    """The embedding model of a store; the first one for a new one."""
    mark = folder / "store.json"
    return MODELS[mark.exists() and f'"{MODELS[1]}"' in mark.read_text()]


class Worker:
    def __init__(self, life: Life, say: Callable[..., None]) -> None:
        self.life = life
        self.say = say
        self.chance = random.Random(f"{life.name} {life.number}")
        self.session: Session | None = None
        self.open(model_of(life.folder))

    def open(self, model: str) -> None:
        self.store = LanceStore(self.life.folder, embedding_model=model, reembed=True)
        self.memory = Memory(self.store, self.life.user, encoder(model), tables=lambda env: None)

    def own(self) -> list[str]:
        """Episodes that this worker has begun, also in an earlier life, unless they were forgotten."""
        return [each.id for each in self.memory.episodes() if each.task.startswith(self.life.name)]

    def resume(self) -> None:
        for each in self.memory.episodes():
            if not each.ended and each.task.startswith(self.life.name):
                world = Once if each.env == "once" else Corridor
                self.session = Session.resume(self.memory, self._noting(world), each.id, Reminded())

    def play(self) -> None:
        if self.session is None or self.session.ended:
            world = self.chance.choice([Corridor, Once])
            once = f"{self.life.name} only {self.life.number} {self.chance.randrange(10**6)}"
            task = self.chance.choice([f"{self.life.name} again", once])
            self.session = Session.start(self.memory, self._noting(world), f"own:{task}", Reminded())
            self.say("begun", self.session.episode, task)
        session = self.session
        offered = [each.action for each in session.propose().candidates]
        answers: list[tuple[DecisionKind, str]] = [("approve", ""), ("override", "say[hello]"), ("override", "go on")]
        if "go back" in offered[1:]:
            answers += [("choose", "go back"), ("reject", "")]
        if self.chance.random() < 0.1:
            answers = [("stop", "")]
        kind, action = self.chance.choice(answers)
        step = session.turn.step
        self.say("deciding", session.episode, step, kind)
        observed = session.decide(Decision(step=step, kind=kind, action=action, hint="no")).observed
        task = session.transcript.started.task
        self.say("decided", session.episode, step, observed.action if observed else None, task)

    def label(self) -> None:
        steps = [(each, done.step) for each in self.own() for done in self.memory.trace(each).transitions]
        if not steps:
            return
        episode, step = self.chance.choice(steps)
        value = self.chance.choice([-1.0, -0.5, 0.5, 1.0, None])
        if value is None and step not in self.memory.labels(episode):
            return
        self.say("labelling", episode, step, value)
        if value is None:
            self.memory.withdraw(episode, step)
        else:
            self.memory.label(episode, step, value)
        self.say("labelled", episode, step, value)

    def pin(self) -> None:
        keys = [each.key for each in self.memory.experiences() if each.state.task.startswith(self.life.name)]
        if keys:
            key, pinned = self.chance.choice(keys), self.chance.random() < 0.7
            self.say("pinning", key, pinned)
            self.memory.pin(key, pinned)
            self.say("pinned", key, pinned)

    def forget(self) -> None:
        """All of a task that was done once and is over."""
        mine = [each for each in self.memory.episodes() if each.task.startswith(f"{self.life.name} only")]
        tasks = {each.task for each in mine if each.ended and each.transitions}
        known = {each.key: each.state.task for each in self.memory.experiences() if each.state.task in tasks}
        if known:
            task = self.chance.choice(sorted(known.values()))
            self.say("forgetting", task)
            self.memory.forget([key for key, of in known.items() if of == task])
            self.say("forgotten", task)

    def rebuild(self) -> None:
        self.memory.rebuild()

    def compact(self) -> None:
        self.store.forget_files()

    def carry(self) -> None:
        import_log(self.store, self.life.user, self.life.gift)
        export_log(self.store, self.life.user, self.life.folder.with_name(f"{self.life.name}.jsonl"))

    def reopen(self) -> None:
        self.store.close()
        model = model_of(self.life.folder)
        other = self.life.alone and self.chance.random() < 0.5
        self.open(MODELS[model == MODELS[0]] if other else model)
        self.session = None
        self.resume()

    def _noting(self, world: type[Corridor]) -> Corridor:
        def note(action: str) -> None:
            if world is Once and self.session:
                line = f"{self.session.episode} {self.session.turn.step} {action}\n"
                with self.life.executed.open("ab", buffering=0) as file:
                    file.write(line.encode())

        return world(note)


DOES: list[Callable[[Worker], None]] = [
    Worker.play,
    Worker.label,
    Worker.pin,
    Worker.forget,
    Worker.rebuild,
    Worker.compact,
    Worker.carry,
    Worker.reopen,
]


def work(life: Life, pipe: Connection) -> None:
    """Do this and that without end, and one of it more often than the others."""
    os.environ["LANCEDB_LOG"] = "error"
    # As if the tables were long already: so that it is killed while it compacts, too.
    storage.table.MANY = 10
    pipe.send(("up",))
    try:
        worker = Worker(life, lambda *words: pipe.send(words))
        worker.resume()
        pipe.send(("opened",))
        often = worker.chance.choice(DOES)
        while True:
            does = worker.chance.choice([Worker.play, often, worker.chance.choice(DOES)])
            pipe.send(("does", does.__name__))
            does(worker)
    except BaseException:
        pipe.send(("broke", traceback.format_exc()))
