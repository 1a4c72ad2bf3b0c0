"""Looks a store over beneath what it promises, and repairs it: the log is the truth, all else is made from it again.

Nothing ever leaves the log but a row that stands in it twice to the letter, and that is kept in a file.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rememberer.errors import StoreError
from rememberer.events import EpisodeStarted, Event, Imported, Observed, new_id
from rememberer.learning import Learner
from storage.folder import ASIDE
from storage.opening import UNFORGOTTEN
from storage.schema import fingerprint, log_rows, records, to_json, vectors_of
from storage.store import LanceStore
from storage.view import among

VERSIONS = 100
"""Versions of a table after which compacting has not kept up."""
_CHUNK = 5_000
_NAMED = 3
_COPIES = "copies-of-events.jsonl"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `mend` repairs it, and returns what it did; None: that is beyond it."""

    text: str
    mend: "partial[str] | None" = None


def examine(store: LanceStore, tell: Callable[[str], None]) -> list[Finding]:
    """Look everything over and return what is wrong. Reads only; `tell` gets lines on what there is and how far it is.

    Raises `StoreError` when a table cannot be read at all.
    """
    tell(f"embedding model: {store.embedding_model}")
    found = [*_files(store, tell)]
    log = store._log.read(["id", "user", "seq"])
    users = {who: _name(store, log, who) for who in pc.unique(log["user"]).to_pylist()}
    found += _strangers(store, users)
    for who, user in sorted(users.items(), key=lambda each: each[1]):
        numbering = [*_numbering(store, log.filter(pc.equal(log["user"], who)), user)]
        try:
            # Where the log is not in order, neither is what is made from it.
            found += numbering or _derived(store, user, tell)
        except StoreError as problem:
            found.append(Finding(f"{user}: {problem}"))
    return found


def mend(store: LanceStore, findings: Iterable[Finding], tell: Callable[[str], None]) -> None:
    """Repair what can be, once each; `tell` gets a line about everything that was done. Raises `StoreError`."""
    repairs = {(each.mend.func, each.mend.args): each.mend for each in findings if each.mend}
    for repair in repairs.values():
        tell(repair())
    if repairs and _compact not in {func for func, _ in repairs}:
        tell(_compact(store))


def _files(store: LanceStore, tell: Callable[[str], None]) -> Iterator[Finding]:
    stats = store.stats()
    for name in ("log", "states", "values", "vectors"):
        table = getattr(stats, name)
        tell(
            f"{name:8} {table.rows:>10,} rows {table.versions:>6,} versions {table.files:>6,} files "
            f"{table.bytes / 1e6:>10,.1f} MB"
        )
        if table.versions > VERSIONS:
            yield Finding(f"Versions of {name} that were not compacted: {table.versions}", partial(_compact, store))
    if aside := sorted(store.place.names(ASIDE)):
        yield Finding(f"Unreadable files that were set aside: {len(aside)} ({_some(aside)})", partial(_compact, store))
    if store.place.read(UNFORGOTTEN) is not None:
        yield Finding("Something was forgotten and is still in old files", partial(_compact, store))
    if leftover := _leftover(store):
        yield Finding(f"Left over: {_some(leftover)}", partial(_remove, store))


def _leftover(store: LanceStore) -> list[str]:
    """What a killed process or an older program has left and nobody reads."""
    return sorted(name for name in store.place.names() if name.endswith(".part") or name == "experiences.lance")


def _numbering(store: LanceStore, log: pa.Table, user: str) -> Iterator[Finding]:
    seqs, ids = log["seq"].to_pylist(), log["id"].to_pylist()
    mend = partial(_renumber, store, user)
    if twice := [str(seq) for seq, count in sorted(Counter(seqs).items()) if count > 1]:
        yield Finding(f"{user}: numbers of the log that were given twice: {len(twice)} ({_some(twice)})", mend)
    if missing := [str(seq) for seq in sorted({*range(max(seqs) + 1)} - {*seqs})]:
        yield Finding(f"{user}: numbers of the log that are missing: {len(missing)} ({_some(missing)})", mend)
    if again := sum(count - 1 for count in Counter(ids).values()):
        yield Finding(f"{user}: events that are in the log once more: {again}", mend)


def _strangers(store: LanceStore, users: dict[str, str]) -> Iterator[Finding]:
    """Rows of users that have no log."""
    for name, table in (("states", store._view.states), ("values", store._view.values), ("vectors", store._vectors)):
        if table.schema() is None:
            continue
        owners = Counter(table.read(["user"])["user"].to_pylist())
        for who in owners.keys() - users.keys() - {""}:
            yield Finding(
                f"Rows of {name} of somebody who has no log: {owners[who]}",
                partial(_drop_stranger, store, name, who),
            )


def _derived(store: LanceStore, user: str, tell: Callable[[str], None]) -> Iterator[Finding]:
    """The view and the embeddings of a user against their log."""
    events = store.events(user)
    learner = Learner(events)
    keys = {fingerprint(user, state.key): state.key for state in learner.states()}
    tell(f"{user}: events {len(events):,}, experiences {len(keys):,}")
    mend = partial(_rebuild_view, store, user)
    where = f"user = '{fingerprint(user)}'"
    states, values = (table.read(["id"], where)["id"].to_pylist() for table in (store._view.states, store._view.values))
    for name, ids, others, other in (("states", states, values, "values"), ("values", values, states, "a state")):
        if twice := len(ids) - len({*ids}):
            yield Finding(f"{user}: rows of {name} that are there twice: {twice}", mend)
        if orphans := {*ids} - {*others}:
            yield Finding(f"{user}: rows of {name} without {other}: {len(orphans)}", mend)
    if wrong := _differing(store, user, learner, keys, tell):
        with store.alone():  # what others wrote meanwhile is no finding
            learner.apply(store.events(user, after=events[-1].seq))
            keys |= {fingerprint(user, each.key): each.key for each in learner.experiences(learner.touched())}
            again = {fingerprint(user, key) for key in learner.touched()} | wrong.keys()
            wrong = _differing(store, user, learner, {id: key for id, key in keys.items() if id in again}, tell)
    if strange := {*values} - keys.keys():
        yield Finding(f"{user}: rows of the view of nothing that the log knows: {len(strange)}", mend)
    if wrong:
        named = _some(wrong.values())
        yield Finding(f"{user}: experiences that the view has not as the log has them: {len(wrong)} ({named})", mend)
    elif keys and store.view_seq(user) > events[-1].seq:
        yield Finding(f"{user}: the view claims to be ahead of the log", mend)
    known = {text for event in events for text in _texts(event)}
    parts = "\n".join(known)  # of a label sometimes only a part was embedded
    if store._vectors.schema() is not None:
        kept = vectors_of(store._vectors.read(["text", "vector"], where))
        if lost := tuple(text for text in kept if text not in known and text not in parts):
            drop = partial(_drop_vectors, store, user, lost)
            yield Finding(f"{user}: embeddings of texts that the log does not have: {len(lost)}", drop)


def _differing(
    store: LanceStore, user: str, learner: Learner, keys: dict[str, str], tell: Callable[[str], None]
) -> dict[str, str]:
    """Of these experiences, by row id, the keys of those that the view has not as the learner has."""
    wrong: dict[str, str] = {}
    waiting, done = iter(keys.items()), 0
    while chunk := dict(islice(waiting, _CHUNK)):
        right = {each.key: each for each in learner.experiences(chunk.values())}
        there = store._view.read(among(chunk))
        wrong |= {id: key for id, key in chunk.items() if there.get(id) != right.get(key)}
        done += len(chunk)
        if done < len(keys):
            tell(f"{user}: {done:,} of {len(keys):,} compared")
    return wrong


def _texts(event: Event) -> Iterator[str]:
    """All that may have been embedded of an event."""
    if isinstance(event.body, EpisodeStarted | Observed | Imported):
        state = event.body.state
        yield from (state.task, state.observation)
        yield from (action.label for action in state.actions)


def _name(store: LanceStore, log: pa.Table, who: str) -> str:
    own = log.filter(pc.equal(log["user"], who))
    row = store._log.read(["payload"], among([own["id"][pc.index(own["seq"], pc.min(own["seq"])).as_py()].as_py()]))
    return records(Event, row["payload"].to_pylist())[0].user


def _some(names: Iterable[Any]) -> str:
    first = [str(each) for each in islice(names, _NAMED + 1)]
    return ", ".join(first[:_NAMED]) + (" ..." if len(first) > _NAMED else "")


def _compact(store: LanceStore) -> str:
    store.forget_files()
    return "Compacted all tables."


def _remove(store: LanceStore) -> str:
    with store.alone():
        for name in _leftover(store):
            store.place.remove(name)
    return "Removed what was left over."


def _drop_stranger(store: LanceStore, name: str, who: str) -> str:
    tables = {"states": store._view.states, "values": store._view.values, "vectors": store._vectors}
    with store.alone():
        tables[name].delete(f"user = '{who}'")
    return f"Dropped the rows of nobody's from {name}."


def _drop_vectors(store: LanceStore, user: str, texts: tuple[str, ...]) -> str:
    store.drop_vectors(user, texts)
    return f"{user}: dropped the embeddings of texts that the log does not have."


def _rebuild_view(store: LanceStore, user: str) -> str:
    with store.alone():
        events = store.events(user)
        learner = Learner(events)
        store.drop_experiences(user)
        store.put_experiences(user, learner.experiences(), events[-1].seq)
    return f"{user}: made the view anew from the log."


def _renumber(store: LanceStore, user: str) -> str:
    """Number a user's log from 0 in the order that it has, each event once; the view is made anew."""
    with store.alone():
        rows = store._log.read(["id", "user", "seq", "payload"])
        own = rows.filter(pc.equal(rows["user"], fingerprint(user))).sort_by([("seq", "ascending")])
        events: dict[str, Event] = {}
        copies: list[Event] = []
        for event in records(Event, own["payload"].to_pylist()):
            before = events.get(event.id)
            if before and before.model_copy(update={"seq": event.seq}) == event:
                copies.append(event)
                continue
            renamed = event.model_copy(update={"id": new_id()}) if before else event
            events[renamed.id] = renamed
        if copies:
            kept = (store.place.read(_COPIES) or "").splitlines(keepends=True)
            store.place.write(_COPIES, [*kept, *(to_json(event) + "\n" for event in copies)])
        numbered = [event.model_copy(update={"seq": seq}) for seq, event in enumerate(events.values())]
        store._log.replace_rows(f"user = '{fingerprint(user)}'", log_rows(numbered))
        _rebuild_view(store, user)
    kept_in = f"; what was there once more is in {_COPIES} now" if copies else ""
    return f"{user}: numbered the log anew, from 0 to {len(numbered) - 1}{kept_in}."
