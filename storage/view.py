"""The view that is derived from the log: experiences, to be read by key and by page without folding anything.

Two tables, so that a step rewrites only small rows: `states` has the texts, each row inserted once; `values` has what
is known of a state, and is overwritten. One more row of `values` for each user, under no user's name, says up to which
event the user's rows are right. It is written in the same commit as they are.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rememberer.records import Experience, State
from rememberer.store import Page
from storage.schema import TIME, fingerprint, plain, records, to_json
from storage.table import Table

STATES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # fingerprint of user and key
        pa.field("user", pa.string(), nullable=False),  # fingerprint
        pa.field("env", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("search", pa.string(), nullable=False),  # task and observation, folded
        pa.field("payload", pa.string(), nullable=False),  # JSON of the state
    ]
)

VALUES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # as in `states`; where the row says how far, as `user` elsewhere
        pa.field("user", pa.string(), nullable=False),  # fingerprint; empty where the row says how far
        pa.field("key", pa.string(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),  # of the last event that the row reflects
        pa.field("created", TIME),
        pa.field("updated", TIME),
        pa.field("q_max", pa.float64()),  # null: nothing was executed there
        pa.field("visits", pa.int64(), nullable=False),
        pa.field("pinned", pa.bool_(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("best", pa.string(), nullable=False),  # the first action
        pa.field("search", pa.string(), nullable=False),  # all actions, folded
        pa.field("payload", pa.string(), nullable=False),  # JSON of the experience but for its state
    ]
)

_CHUNK = 5_000  # states whose texts are in memory at once


class View:
    """The tables `states` and `values`. Who writes holds the store's writing lock."""

    def __init__(self, states: Table, values: Table) -> None:
        self.states = states
        self.values = values

    def create(self) -> None:
        """Make the tables unless they are there."""
        self.states.create(STATES)
        self.values.create(VALUES)

    def put(self, user: str, experiences: Iterable[Experience], seq: int) -> None:
        """See `Store.put_experiences`."""
        who, waiting = fingerprint(user), iter(experiences)
        rows = {who: _up_to(who, seq)}
        # The texts first, so that whoever sees a row of values finds its state.
        while chunk := {fingerprint(user, each.key): each for each in islice(waiting, _CHUNK)}:
            there = set(self.states.read(["id"], among(chunk))["id"].to_pylist())
            if missing := [_state(id, who, each.state) for id, each in chunk.items() if id not in there]:
                self.states.add(pa.Table.from_pylist(missing, STATES))
            rows |= {id: _values(id, who, each, seq) for id, each in chunk.items()}
        # Nobody puts an old row over a new one, however late they come.
        newer = "source.seq >= target.seq"
        self.values.overwrite(pa.Table.from_pylist(list(rows.values()), VALUES), insert=True, only=newer)

    def drop(self, user: str, keys: Sequence[str] | None) -> None:
        """See `Store.drop_experiences`."""
        who = fingerprint(user)
        if keys is None:
            self._drop_all(who)
        elif keys:
            going = {fingerprint(user, key) for key in keys}
            # Quicker than ten thousand names, and nobody forgets more than all.
            everything = going.issuperset(self.states.read(["id"], _of(who))["id"].to_pylist())
            where = _of(who) if everything else among(going)
            self.values.delete(where)
            self.states.delete(where)

    def drop_before(self, who: str, seq: int) -> None:
        """Remove all rows of a user (by fingerprint) unless they reflect the event `seq`."""
        if self._seq(who) < seq:
            self._drop_all(who)

    def seq(self, user: str) -> int:
        """See `Store.view_seq`."""
        return self._seq(fingerprint(user))

    def experiences(self, user: str) -> list[Experience]:
        """See `Store.experiences`."""
        return sorted(self.read(_of(fingerprint(user))).values(), key=lambda each: (each.created, each.key))

    def page(self, user: str, words: Iterable[str], key: str, offset: int, limit: int) -> Page:
        """See `Store.page`. Of all rows only columns are read; only those on the page become experiences."""
        who = fingerprint(user)
        found = self.values.read(["id", "key", "updated", "search"], _of(who))
        found = found.filter(pc.starts_with(found["key"], plain(key)))
        for word in map(_folded, words):
            seen = self.states.containing(word, "search", who)
            found = found.filter(pc.or_(pc.match_substring(found["search"], word), pc.is_in(found["id"], seen)))
        order = [("updated", "descending"), ("id", "ascending")]
        first = pc.select_k_unstable(found, min(offset + limit, found.num_rows), order)
        ids = found["id"].take(first)[offset:].to_pylist()
        there = self.read(among(ids)) if ids else {}
        return Page([there[id] for id in ids if id in there], found.num_rows)

    def read(self, where: str) -> dict[str, Experience]:
        """Experiences by row id. Where one of the two rows is lost, it is none."""
        states, values = (_payloads(table.read(["id", "payload"], where)) for table in (self.states, self.values))
        ids = [id for id in values if id in states]
        return dict(zip(ids, records(Experience, (_whole(states[id], values[id]) for id in ids)), strict=True))

    def _seq(self, who: str) -> int:
        seqs = self.values.read(["seq"], f"id = '{who}'")["seq"].to_pylist()
        return int(seqs[0]) if seqs else -1

    def _drop_all(self, who: str) -> None:
        self.values.delete(f"{_of(who)} OR id = '{who}'")
        self.states.delete(_of(who))


def among(ids: Iterable[str]) -> str:
    """SQL for the rows with these ids, which are fingerprints."""
    return f"id IN ({', '.join(map(repr, ids))})"


def _of(who: str) -> str:
    return f"user = '{who}'"


def _payloads(rows: pa.Table) -> dict[str, str]:
    return dict(zip(rows["id"].to_pylist(), rows["payload"].to_pylist(), strict=True))


def _whole(state: str, values: str) -> str:
    """JSON of an experience, from that of its state and that of the rest."""
    return f'{{"state":{state},{values[1:]}'


def _folded(text: str) -> str:
    return plain(text).casefold()


def _state(id: str, who: str, state: State) -> dict[str, Any]:
    return {
        "id": id,
        "user": who,
        "env": plain(state.env),
        "kind": plain(state.kind),
        "search": _folded(f"{state.task}\n{state.observation}"),
        "payload": to_json(state),
    }


def _values(id: str, who: str, known: Experience, seq: int) -> dict[str, Any]:
    return {
        "id": id,
        "user": who,
        "key": plain(known.key),
        "seq": seq,
        "created": known.created,
        "updated": known.updated,
        "q_max": max((row.q for row in known.actions if row.visits), default=None),
        "visits": known.visits,
        "pinned": known.pinned,
        "outcome": plain(known.outcome),
        "best": plain(known.actions[0].action) if known.actions else "",
        "search": _folded("\n".join(row.action for row in known.actions)),
        "payload": to_json(known, without={"state"}),
    }


def _up_to(who: str, seq: int) -> dict[str, Any]:
    texts = dict.fromkeys(("user", "key", "outcome", "best", "search", "payload"), "")
    return {"id": who, "seq": seq, "visits": 0, "pinned": False, **texts}
