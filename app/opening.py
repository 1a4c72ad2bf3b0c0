"""Where a person's memory is, how it is opened, and how tasks are begun and taken up in it, by the settings."""

from pathlib import Path

import envs
from app.settings import Settings
from rememberer.embedding import Encoder, SentenceEncoder
from rememberer.memory import Memory
from rememberer.policy import Policy
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
    return Session.start(
        memory,
        world,
        task_id,
        policy,
        seed=seed,
        learning=settings.learning,
        step_limit=settings.step_limit,
        candidates=settings.candidates,
        data=str(settings.data or ""),
    )


def take_up(settings: Settings, memory: Memory, policy: Policy, episode: str) -> Session:
    """Take up a task where it stands, in the world that it was begun in. Raises what `Session.resume` raises."""
    started = transcript_of(memory, episode).started
    world = envs.make(started.env, Path(started.data) if started.data else None)
    return Session.resume(memory, world, episode, policy, candidates=settings.candidates)
