"""A user's log as a file that people can read, carry to another machine and bring back: one JSON object a line.

The first line says what the file is and how many events follow. All else that a memory holds is learnt from them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from rememberer.errors import StoreError
from rememberer.events import (
    SCHEMA_VERSION,
    Asked,
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Guided,
    Observed,
    Proposed,
    Quarantined,
    TakenBack,
)
from rememberer.records import Record
from rememberer.store import Store
from storage.complaints import complain
from storage.durability import write_durably
from storage.schema import R, from_json, to_json

_OF_EPISODES = (Proposed, Decided, Observed, EpisodeEnded, TakenBack, Guided, Asked)


class _Header(Record):
    format: Literal["rememberer log"] = "rememberer log"
    version: int = SCHEMA_VERSION
    user: str
    events: int = Field(ge=0)


def export_log(store: Store, user: str, path: Path) -> int:
    """Write the whole log of `user` to `path` and return the number of events.

    Which file an event was imported from is left out, so that the file tells the same wherever it has been, unless a
    quarantine needs to know. The file is replaced as a whole, in UTF-8. Raises `StoreError` when it cannot be written;
    then it is as it was.
    """
    events = store.events(user)
    told = _quarantined(events)
    lines = (each if each.source in told else each.model_copy(update={"source": ""}) for each in events)
    with complain(path.parent):
        write_durably(path, (to_json(line) + "\n" for line in (_Header(user=user, events=len(events)), *lines)))
    return len(events)


def import_log(store: Store, user: str, path: Path) -> int:
    """Append what `export_log` wrote to the log of `user`, whoever's it was, and return the number of new events.

    The name of the file becomes their `source`, by which they can be put in quarantine. Events that the log has already
    are left out, so importing twice changes nothing. Raises `StoreError` with the number of the first line that is
    broken; then nothing was imported.
    """
    events = list(_read(path))
    source = _unused(path.name, _quarantined(events))
    known = {event.id for event in store.events(user)}
    fresh = [
        event.model_copy(update={"user": user, "source": event.source or source})
        for event in events
        if event.id not in known
    ]
    store.append(fresh)
    return len(fresh)


def is_log(path: Path) -> bool:
    """Whether a file begins like one of `export_log`, whatever it is called. Raises `StoreError` without a file."""
    with complain(path.parent), path.open("rb") as file:
        return file.read(2) == b'{"'


def _quarantined(events: Iterable[Event]) -> set[str]:
    """The sources that these events put in quarantine, now or once."""
    return {event.body.source for event in events if isinstance(event.body, Quarantined)}


def _unused(name: str, taken: set[str]) -> str:
    """A name for a file that is no other file's: what is in quarantine may have come from one of the same name."""
    source, number = name, 2
    while source in taken:
        source, number = f"{name} ({number})", number + 1
    return source


def _read(path: Path) -> Iterator[Event]:
    with complain(path.parent):
        lines = path.read_bytes().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    header = _line(path, _Header, lines, 1)
    if header.version != SCHEMA_VERSION:
        raise _broken(path, 1, f"it is of version {header.version}, and this program reads {SCHEMA_VERSION}")
    ids: set[str] = set()
    episodes: set[str] = set()
    for number in range(2, max(len(lines), header.events + 1) + 1):
        event = _line(path, Event, lines, number)
        if event.seq != number - 2 or number > header.events + 1:
            raise _broken(path, number, f"event {number - 2} of {header.events} was expected, not {event.seq}")
        if event.id in ids:
            raise _broken(path, number, f"the event {event.id!r} was there before")
        if isinstance(event.body, EpisodeStarted):
            episodes.add(event.episode)
        elif isinstance(event.body, _OF_EPISODES) and event.episode not in episodes:
            raise _broken(path, number, f"the episode {event.episode!r} was never started")
        ids.add(event.id)
        yield event


def _line(path: Path, kind: type[R], lines: list[bytes], number: int) -> R:
    if number > len(lines):
        raise _broken(path, number, "the file ends before it; the rest is missing")
    try:
        return from_json(kind, lines[number - 1].decode("utf-8"))
    except UnicodeDecodeError:
        raise _broken(path, number, "it is not UTF-8 text") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _broken(path, number, f"{where + ': ' if where else ''}{first['msg']}") from None
    except (ValueError, RecursionError):
        raise _broken(path, number, "it is no JSON") from None


def _broken(path: Path, number: int, what: str) -> StoreError:
    return StoreError(
        f"{path.name}, line {number}: {what}. A file that `rememberer memory export` wrote was expected. "
        "Nothing was imported."
    )
