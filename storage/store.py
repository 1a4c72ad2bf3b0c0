"""The memory on disk: the event log, what is derived from it, and how both outlive kill -9 and power cuts."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from rememberer.errors import StoreError, WrongStore
from rememberer.events import Event
from rememberer.records import Experience
from rememberer.store import Page, Vector
from storage import opening
from storage.bucket import Bucket
from storage.durability import Damaged
from storage.folder import ASIDE, Folder
from storage.maintenance import Maintenance
from storage.migrations import migrate
from storage.place import Place
from storage.schema import LOG, fingerprint, log_rows, records, vector_rows, vectors_of
from storage.table import Table, TableStats
from storage.view import View, among

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stats:
    """How large the memory on disk is, by table. `values` has one row more than experiences for each user."""

    log: TableStats
    states: TableStats
    values: TableStats
    vectors: TableStats


class LanceStore:
    """A `rememberer.store.Store` in a folder, or in a bucket (`s3://bucket/prefix`, see `storage.bucket`).

    Any number of threads and processes may use it at once. Opening makes the folder if need be, and sets aside what a
    power cut has torn (with a warning in the program's log), and migrates what an older version of the program wrote.
    Raises `WrongStore` for a place that is something else, of a newer schema version, or of another embedding model;
    then nothing there was changed. `reembed=True` takes over a store of another model: the embeddings are dropped, and
    made again by `Memory.rebuild`. Raises `StoreError` when the disk or the network does not play along.

    There: `store.json` says what the place is; four LanceDB tables, `log`, `states`, `values`, `vectors`; locks; in a
    folder `set-aside/` when there was something to set aside.
    """

    def __init__(self, place: Path | str, *, embedding_model: str, reembed: bool = False) -> None:
        self.place = _at(place)
        self.embedding_model = embedding_model
        opening.check(self.place)
        self._owner, self._writing = self.place.owner, self.place.writing
        self._closed = False
        self._tables = [Table(self.place, name) for name in ("log", "states", "values", "vectors")]
        self._log, states, values, self._vectors = self._tables
        self._view = View(states, values)
        with self._owner.held(), self._writing.held():
            identity = opening.identify(self.place, embedding_model, reembed)
            self._mend()
            if identity.embedding_model != embedding_model:
                self._vectors.drop()
                identity = identity.model_copy(update={"embedding_model": embedding_model})
                opening.write(self.place, identity)
            migrate(self.place, identity)
            self._log.create(LOG)
            self._view.create()
            if self._half_forgotten():
                try:
                    self._purge()
                except StoreError as problem:
                    log.warning("What was forgotten is still in old files until the next try: %s", problem)
        self._next_seq: dict[str, int] = {}
        self._maintenance = Maintenance(self._tables, self._owner, self._writing)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """See `Store.alone`."""
        with self._writing.held():
            yield

    def append(self, events: Sequence[Event]) -> list[Event]:
        """See `Store.append`. The disk has it on return."""
        if not events:
            return []
        with self._write(self._log) as log:
            stored = self._append(log, events)
        return [stored[fingerprint(event.user, event.id)] for event in events]

    def events(self, user: str, *, after: int = -1, episode: str | None = None) -> list[Event]:
        """See `Store.events`. Sees what other processes have written."""
        where = f"user = '{fingerprint(user)}' AND seq > {int(after)}"
        if episode is not None:
            where += f" AND episode = '{fingerprint(episode)}'"
        rows = self._open(self._log).read(["seq", "payload"], where)
        return records(Event, [payload for _, payload in sorted(_pairs(rows, "seq", "payload"))])

    def replace(self, user: str, events: Sequence[Event], record: Event) -> None:
        """See `Store.replace`. Raises `StoreError` for an event that the log does not have; then none is replaced."""
        with self._write(self._log) as log:
            seqs = dict(_pairs(log.read(["id", "seq"], f"user = '{fingerprint(user)}'"), "id", "seq"))
            keys = [fingerprint(user, event.id) for event in events]
            if missing := [event.id for event, key in zip(events, keys, strict=True) if key not in seqs]:
                raise StoreError(f"The log has no event {missing[0]!r} to replace. Nothing was replaced.")
            seq = max(seqs.values(), default=-1) + 1
            self.place.write(opening.UNFORGOTTEN, [*self._half_forgotten(), f"{fingerprint(user)} {seq}\n"])
            numbered = [_numbered(event, seqs[key]) for event, key in zip(events, keys, strict=True)]
            log.overwrite(log_rows([*numbered, _numbered(record, seq)]), insert=True)

    def put_experiences(self, user: str, experiences: Iterable[Experience], seq: int) -> None:
        """See `Store.put_experiences`."""
        with self._write(self._view) as view:
            view.put(user, experiences, seq)

    def drop_experiences(self, user: str, keys: Sequence[str] | None = None) -> None:
        """See `Store.drop_experiences`."""
        with self._write(self._view) as view:
            view.drop(user, keys)

    def view_seq(self, user: str) -> int:
        """See `Store.view_seq`."""
        return self._open(self._view).seq(user)

    def experiences(self, user: str) -> list[Experience]:
        """See `Store.experiences`."""
        return self._open(self._view).experiences(user)

    def page(self, user: str, *, words: Iterable[str] = (), key: str = "", offset: int = 0, limit: int = 50) -> Page:
        """See `Store.page`."""
        return self._open(self._view).page(user, words, key, offset, limit)

    def put_vectors(self, user: str, vectors: Mapping[str, Vector]) -> None:
        """See `Store.put_vectors`. Raises `WrongStore` when they are of another length than those that are there."""
        if not vectors:
            return
        rows = vector_rows(user, vectors)
        with self._write(self._vectors) as table:
            opening.identify(self.place, self.embedding_model)
            table.create(rows.schema)
            if table.schema() != rows.schema:
                raise WrongStore(
                    f"The memory in {self.place} holds embeddings of another length than the {rows['vector'].type} "
                    f"that {self.embedding_model!r} makes now. `rememberer memory rebuild` embeds it anew."
                )
            table.add_missing(rows)

    def vectors(self, user: str) -> dict[str, Vector]:
        """See `Store.vectors`. The arrays cannot be written to."""
        table = self._open(self._vectors)
        opening.identify(self.place, self.embedding_model)
        if table.schema() is None:
            return {}
        return vectors_of(table.read(["text", "vector"], f"user = '{fingerprint(user)}'"))

    def drop_vectors(self, user: str, texts: Sequence[str] | None = None) -> None:
        """See `Store.drop_vectors`."""
        with self._write(self._vectors) as table:
            if texts is None:
                table.delete(f"user = '{fingerprint(user)}'")
            elif texts:
                table.delete(among(fingerprint(user, text) for text in texts))

    def forget_files(self) -> None:
        """See `Store.forget_files`. Takes the time of writing the changed tables anew; others wait meanwhile.

        Where that fails, or a process dies between `replace` and this, the next one that opens the store does it.
        """
        self._open(self._log)
        try:
            with self._owner.held(), self._writing.held():
                self._purge()
        except StoreError as problem:
            if not self._half_forgotten():
                raise
            raise StoreError(
                "It is forgotten, but still in its old files, which could not be removed now. They will be when the "
                f"memory is opened the next time. {problem}"
            ) from problem

    def users(self) -> list[str]:
        """See `Store.users`."""
        first = self._open(self._log).read(["payload"], "seq = 0")
        return sorted(event.user for event in records(Event, first["payload"].to_pylist()))

    def stats(self) -> Stats:
        """Rows, versions, files and bytes of each table."""
        return Stats(*(self._open(table).stats() for table in self._tables))

    def close(self) -> None:
        """See `Store.close`. After it everything raises `StoreError`."""
        self._closed = True
        with suppress(StoreError), self._writing.held():
            pass  # whoever is writing has finished now
        self._maintenance.wait()

    def _open(self, part: T) -> T:
        if self._closed:
            raise StoreError(f"The memory in {self.place} was closed. Open it again.")
        return part

    @contextmanager
    def _write(self, part: T) -> Iterator[T]:
        with self._writing.held():
            yield self._open(part)
        self._maintenance.wake()

    def _append(self, log: Table, events: Sequence[Event]) -> dict[str, Event]:
        """Number and append the events that are not there, and return all in their stored form."""
        wanted = {fingerprint(event.user, event.id) for event in events}
        users = {event.user: fingerprint(event.user) for event in events}
        following = {user: self._next_seq.get(user, 0) for user in users.values()}
        # In one look: what of this is there already, and what other processes have appended since.
        since = [f"user = '{user}' AND seq >= {seq}" for user, seq in following.items()]
        there = log.read(["id", "user", "seq"], " OR ".join([*since, among(wanted)]))
        known = wanted & set(there["id"].to_pylist())
        for user, seq in _pairs(there, "user", "seq"):
            following[user] = max(following[user], seq + 1)
        stored: dict[str, Event] = {}
        for event in events:
            key, user = fingerprint(event.user, event.id), users[event.user]
            if key not in known and key not in stored:
                stored[key] = _numbered(event, following[user])
                following[user] += 1
        if stored:
            log.add(log_rows(stored.values()))
        self._next_seq |= following
        if known:
            before = log.read(["payload"], among(known))["payload"].to_pylist()
            stored |= {fingerprint(event.user, event.id): event for event in records(Event, before)}
        return stored

    def _half_forgotten(self) -> list[str]:
        """Lines of a user's fingerprint and the `seq` of the record of what they forgot."""
        return (self.place.read(opening.UNFORGOTTEN) or "").splitlines(keepends=True)

    def _mend(self) -> None:
        """Set aside what a power cut has torn. A damaged table is made anew where the log has all that it held."""
        self._log.mend()
        for tables in ((self._view.states, self._view.values), (self._vectors,)):
            try:
                for table in tables:
                    table.mend()
            except Damaged as problem:
                log.warning("%s It is made again from the log.", problem)
                for table in tables:
                    table.drop()

    def _purge(self) -> None:
        for line in self._half_forgotten():
            # Who died between the log and the view left there what is forgotten. It is made again from the log.
            who, seq = line.split()
            self._view.drop_before(who, int(seq))
        for table in self._tables:
            table.purge()
        self.place.remove(ASIDE)
        self.place.remove(opening.UNFORGOTTEN)


def _at(place: Path | str) -> Place:
    return Bucket(place) if isinstance(place, str) and "://" in place else Folder(Path(place))


def _numbered(event: Event, seq: int) -> Event:
    return event if event.seq == seq else event.model_copy(update={"seq": seq})


def _pairs(rows: pa.Table, key: str, value: str) -> Iterator[tuple[Any, Any]]:
    return zip(rows[key].to_pylist(), rows[value].to_pylist(), strict=True)
