"""Where a person's memory is, and how it is opened."""

from app.settings import Settings
from rememberer.embedding import Encoder
from rememberer.memory import Memory
from rememberer.store import Store
from storage import LanceStore


def open_store(settings: Settings, *, reembed: bool = False) -> LanceStore:
    """Open the store under `settings.home`, or make it. Raises `StoreError`, `WrongStore`.

    `reembed`: accept one of another embedding model; its vectors are dropped, and `Memory.rebuild` makes them anew.
    """
    return LanceStore(settings.home / "memory", embedding_model=settings.encoder, reembed=reembed)


def open_memory(store: Store, settings: Settings, user: str, encoder: Encoder) -> Memory:
    """Open a user's memory in a store. Raises `StoreError`."""
    return Memory(store, user, encoder, threshold=settings.threshold)
