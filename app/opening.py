"""Where a person's memory is, how it is opened, and how tasks are begun and taken up in it, by the settings."""

from pathlib import Path

import envs
from app.settings import Settings
from rememberer.embedding import Encoder, SentenceEncoder
from rememberer.errors import NoSuchStep, SessionError
from rememberer.events import EpisodeStarted
from rememberer.memory import Memory
from rememberer.policy import Policy
from rememberer.records import FORK, Decision
from rememberer.session import Session
from rememberer.store import Store
from rememberer.transcript import transcript_of
from storage import LanceStore


def open_store(settings: Settings, *, reembed: bool = False) -> LanceStore:
    """Open the store, or make it. Raises `StoreError`, `WrongStore`.

    `reembed`: accept one of another embedding model; its vectors are dropped, and `Memory.rebuild` makes them anew.
    """
    place = settings.memory or settings.home / "memory"
    return LanceStore(place, embedding_model=settings.encoder, reembed=reembed)


def open_encoder(settings: Settings) -> SentenceEncoder:
    """The encoder by the settings; it loads at first use."""
    return SentenceEncoder(settings.encoder, settings.home / "encoders")


def open_memory(store: Store, settings: Settings, user: str, encoder: Encoder) -> Memory:
    """Open a user's memory in a store. Raises `StoreError`."""
    return Memory(store, user, encoder, threshold=settings.threshold, capacity=settings.capacity)


def begin(settings: Settings, memory: Memory, policy: Policy, env: str, task_id: str, *, seed: int = 0) -> Session:
    """Begin a task, and end those that are still open. Raises `EnvError`, with nothing changed, for an unknown one."""
    world = envs.make(env, settings.data)
    world.reset(task_id, seed)
    memory.end_open()
    return _start(settings, memory, policy, world, task_id, seed, str(settings.data or ""))


def take_up(settings: Settings, memory: Memory, policy: Policy, episode: str, *, go_on: bool = False) -> Session:
    """Take up a task where it stands, in the world that it was begun in; with `go_on`, one that was stopped goes on.

    Raises what `Session.resume` raises, and `Session.take_back`.
    """
    started = transcript_of(memory, episode).started
    session = Session.resume(memory, _world(started), episode, policy, candidates=settings.candidates)
    if go_on and session.ended == "stopped":
        session.take_back()
    return session


def fork(settings: Settings, memory: Memory, policy: Policy, episode: str, step: int) -> Session:
    """Begin the task of an episode anew, in the same world, and do again what was done before `step` (from 1).

    Tasks that are still open end. What is done again is learnt from like any step: it led elsewhere this time. Raises
    `NoSuchStep`, and `SessionError` when the world is not what it was or cannot be replayed; then nothing was changed.
    """
    before = transcript_of(memory, episode)
    started, done = before.started, before.actions[: step - 1]
    if not 0 < step <= len(before.actions) + 1:
        raise NoSuchStep(f"There is no step {step} to go on from. Steps 1 to {len(before.actions) + 1} are there.")
    world = _world(started)
    if not world.replayable:
        raise SessionError(f"The world {started.env} cannot be brought back to where it was. Begin the task anew.")
    before.replay(world, step)
    memory.end_open()
    session = _start(settings, memory, policy, world, started.task_id, started.seed, started.data, (episode, step))
    for number, action in enumerate(done, 1):
        session.decide(Decision(step=number, kind="override", action=action, by=FORK))
    return session


def _world(started: EpisodeStarted) -> envs.TextEnv:
    return envs.make(started.env, Path(started.data) if started.data else None)


def _start(
    settings: Settings,
    memory: Memory,
    policy: Policy,
    world: envs.TextEnv,
    task_id: str,
    seed: int,
    data: str,
    forked: tuple[str, int] | None = None,
) -> Session:
    return Session.start(
        memory,
        world,
        task_id,
        policy,
        seed=seed,
        learning=settings.learning,
        step_limit=settings.step_limit,
        candidates=settings.candidates,
        data=data,
        forked=forked,
    )
