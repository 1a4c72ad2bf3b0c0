"""The values of one user: of each state what is known of its actions, ready to be read, and what of it has moved."""

from collections.abc import Iterable, Iterator

from rememberer.records import Change, Experience, State
from rememberer.values import ACTIONS, Cell, Entry, EpisodeTrace, Explanation, Import

_MADE = 10_000
"""Experiences that are kept ready at most."""


class Table:
    """What `rememberer.learning` fills.

    `limit` is how many actions an experience has at most: of more, the least visited with the lowest Q are left out.
    """

    def __init__(self, limit: int = ACTIONS) -> None:
        self._limit = limit
        self._records: dict[str, Entry] = {}
        self._pinned: set[str] = set()
        self._before: dict[tuple[str, str], tuple[float | None, int]] | None = None
        """What the values were that are moving; None: nobody wants to know."""
        self._touched: dict[str, None] = {}
        self._made: dict[str, Experience] = {}
        """What was asked for by key, until it is touched."""

    def _begin(self) -> None:
        """From now on what is touched, and what moves, is noted anew."""
        self._before, self._touched = {}, {}

    def _moved(self) -> list[Change]:
        """The values that moved since `_begin`, in order of first touch."""
        changes = []
        for (key, action), (old, old_visits) in (self._before or {}).items():
            new, visits = self._shown(key, action)
            if (new, visits) != (old, old_visits):
                changes.append(Change(key=key, action=action, old=old, new=new, visits=visits))
        return changes

    def _drop_made(self) -> None:
        """Nothing that was touched is ready any more."""
        for key in self._touched if len(self._made) < _MADE else list(self._made):
            self._made.pop(key, None)

    def touched(self) -> list[str]:
        """Keys of the records that the last `apply` wrote to, moved values or not; new ones oldest first."""
        return list(self._touched)

    def experiences(self, keys: Iterable[str] | None = None) -> Iterator[Experience]:
        """Experiences by key (all, oldest first, when None). Keys without anything known are left out."""
        for key, record in self._known(keys):
            made = self._made.get(key) or record.experience(key in self._pinned, self._limit)
            if keys is not None:
                self._made[key] = made
            yield made

    def counts(self, keys: Iterable[str] | None = None) -> Iterator[tuple[State, int]]:
        """The states of these experiences, and how often their actions were executed. Quicker than `experiences`."""
        for _, record in self._known(keys):
            yield record.state, sum(cell.visits() for cell in record.cells.values())

    def states(self, *, out: bool = False) -> list[State]:
        """The states of all experiences; with `out` those too that left a full memory or are quarantined."""
        if out:
            return [record.state for record in self._records.values() if record.cells and not record.state.forgotten]
        return [record.state for _, record in self._known(None)]

    def explain(self, key: str, action: str) -> Explanation:
        """What makes up Q(key, action); empty when nothing is known of it."""
        record = self._records.get(key)
        return ((record.cells.get(action) if record else None) or Cell()).explanation()

    def margin(self, key: str, action: str) -> tuple[float, int]:
        """How far Q(key, action) is from the best of the others there, 0 where none was tried; and its visits."""
        record = self._records.get(key)
        cells = record.cells if record else {}
        known = {other: q for other, cell in cells.items() if (q := cell.q()) is not None}
        q = known.pop(action, 0.0)
        return abs(q - max(known.values(), default=0.0)), cells[action].visits() if action in cells else 0

    def rivals(self) -> Iterator[tuple[str, tuple[str, str], float]]:
        """Of each experience with several actions that were tried, key, the best two, and how far they are apart."""
        for key, record in self._known(None):
            if len(record.cells) > 1:
                known = sorted((-q, action) for action, cell in record.cells.items() if (q := cell.q()) is not None)
                if len(known) > 1:
                    yield key, (known[0][1], known[1][1]), known[1][0] - known[0][0]

    def is_out(self, key: str) -> bool:
        """Whether a record left a full memory and was not met again, or is quarantined."""
        return key in self._records and self._records[key].is_out()

    def quarantined(self) -> list[str]:
        """Keys of the experiences that count for nothing."""
        return [key for key, record in self._records.items() if record.void]

    def pinned(self) -> set[str]:
        """Keys of what stays however full the memory is."""
        return set(self._pinned)

    def v(self, key: str) -> float | None:
        """V of a recorded state, from settled targets; None for a state without any."""
        record = self._records.get(key)
        return record.v(limit=self._limit) if record else None

    def _known(self, keys: Iterable[str] | None) -> Iterator[tuple[str, Entry]]:
        for key in list(self._records) if keys is None else keys:
            record = self._records.get(key)
            if record and record.is_known():
                yield key, record

    def _switch(self, key: str, moment: int, met_by: EpisodeTrace | Import | None) -> None:
        """Have a record leave the memory, or come back because of what met it."""
        self._touch_all([key])
        self._records[key].switches.append((moment, met_by))

    def _v(self, key: str, before: float, table: int | None) -> float | None:
        record = self._records.get(key)
        return record.v(before, table, self._limit) if record else None

    def _record(self, state: State) -> Entry:
        self._touched[state.key] = None
        record = self._records.get(state.key)
        if record is None:
            record = self._records[state.key] = Entry(state)
        return record

    def _cell(self, state: State, action: str) -> Cell:
        cells = self._record(state).cells
        if action not in cells:
            cells[action] = Cell()
        self._touch(state.key, action)
        return cells[action]

    def _touch(self, key: str, action: str) -> None:
        self._touched[key] = None
        if self._before is not None and (key, action) not in self._before:
            self._before[key, action] = self._shown(key, action)

    def _touch_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            for action in self._records[key].cells:
                self._touch(key, action)

    def _shown(self, key: str, action: str) -> tuple[float | None, int]:
        """Q and visits of an action as a person sees them."""
        record = self._records[key]
        return (None, 0) if record.is_out() else (record.cells[action].q(), record.cells[action].visits())
