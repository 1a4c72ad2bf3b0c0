"""The states of a user's experiences, one index an environment, kept in step with what is learnt."""

from collections.abc import Callable, Collection, Iterable

from rememberer.embedding import CachedEncoder
from rememberer.events import Dropped
from rememberer.records import State
from rememberer.similarity import Comparison, Index, Similarity


class Retrieval:
    """Finds the experiences most like a state. `tables` says by what observations are compared, by environment.

    What was written is indexed later, with the next search: writing never waits for a model. Not safe for several
    threads at once, but for `encode`.
    """

    def __init__(self, encoder: CachedEncoder, tables: Callable[[str], Comparison]) -> None:
        self._encoder = encoder
        self._tables = tables
        self._similarities: dict[str, Similarity] = {}
        self.reset()

    def reset(self) -> None:
        """Start over with nothing."""
        self._indexes: dict[str, Index] = {}
        self._waiting: dict[str, tuple[State, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._indexes.values())) + len(self._waiting)

    def follow(self, touched: Iterable[str], known: Iterable[tuple[State, int]]) -> None:
        """Take in what was learnt: of the `touched` keys those that are `known`, with their visits; others leave."""
        gone = dict.fromkeys(touched)
        for state, visits in known:
            del gone[state.key]
            index = self._indexes.get(state.env)
            if index is not None and state.key in index:
                index.set_visits(state.key, visits)
            else:
                self._waiting[state.key] = (state, visits)
        for key in gone:
            self._waiting.pop(key, None)
        for index in self._indexes.values():
            index.remove(gone)

    def waiting(self) -> list[State]:
        """What is not indexed yet."""
        return [state for state, _ in self._waiting.values()]

    def encode(self, states: Iterable[State]) -> None:
        """Have the texts of states encoded, in one batch an environment."""
        for env, of_env in _by_env(states).items():
            self._similarity(env).encode(of_env)

    def index(self) -> None:
        """Index what waits. Encodes what `encode` was not given."""
        for env, states in _by_env(self.waiting()).items():
            index = self._indexes.setdefault(env, Index(self._similarity(env)))
            index.add(states)
            for state in states:
                index.set_visits(state.key, self._waiting.pop(state.key)[1])

    def nearest(self, state: State, limit: int) -> list[tuple[str, float, float, float]]:
        """See `Index.nearest`, among the states of the same environment that are indexed."""
        index = self._indexes.get(state.env)
        return index.nearest(state, limit) if index is not None else []

    def make_room(self, capacity: int, pinned: Collection[str]) -> list[Dropped]:
        """Take out, of the two most alike of all, the one that is needed less, until `capacity` are left.

        Returns what left, in that order; it is less than asked for where too many are `pinned`. What waits is indexed.
        """
        self.index()
        left: list[Dropped] = []
        while len(self) > capacity:
            pairs = [pair for index in self._indexes.values() if (pair := index.least_needed(pinned))]
            if not pairs:
                break
            key, like, f = max(pairs, key=lambda pair: pair[2])
            left.append(Dropped(key=key, like=like, similarity=f))
            self.follow([key], ())
        return left

    def _similarity(self, env: str) -> Similarity:
        if env not in self._similarities:
            self._similarities[env] = Similarity(self._encoder, self._tables(env))
        return self._similarities[env]


def _by_env(states: Iterable[State]) -> dict[str, list[State]]:
    found: dict[str, list[State]] = {}
    for state in states:
        found.setdefault(state.env, []).append(state)
    return found
