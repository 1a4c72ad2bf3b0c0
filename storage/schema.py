"""What the tables hold: their columns, and how records become rows and come back exactly as they were.

The columns of what is derived from the log are in `storage.view`.

Texts come from people and web pages. They never reach a filter: rows are found by `fingerprint`s, which are plain
hexadecimal. What a text really was stands in `payload` (JSON of the whole record), or as bytes beside a vector.
The other columns repeat what a person who opens a table with another tool would sort and filter by.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from rememberer.collector import no_collector
from rememberer.errors import StoreError
from rememberer.events import Event
from rememberer.records import Record
from rememberer.store import Vector

STORE_VERSION = 2
"""Of everything in the folder. Older ones are migrated on opening: see `storage.migrations`."""

TIME = pa.timestamp("us", tz="UTC")

LOG = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # fingerprint of user and event id
        pa.field("user", pa.string(), nullable=False),  # fingerprint
        pa.field("episode", pa.string(), nullable=False),  # fingerprint
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        pa.field("version", pa.int32(), nullable=False),
        pa.field("payload", pa.string(), nullable=False),
    ]
)


def vector_schema(dimension: int) -> pa.Schema:
    """Columns of the table of sentence embeddings with `dimension` numbers each."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),  # fingerprint of user and text
            pa.field("user", pa.string(), nullable=False),  # fingerprint
            pa.field("text", pa.binary(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False),
        ]
    )


def fingerprint(*parts: str) -> str:
    """32 hexadecimal digits that stand for these texts, whatever is in them; (a, bc) and (ab, c) differ."""
    digest = hashlib.sha256()
    for part in parts:
        raw = _bytes(part)
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:32]


def log_rows(events: Iterable[Event]) -> pa.Table:
    """Rows of the log; the events have their `seq`."""
    often = cache(fingerprint)  # many events are of one user, and of one episode
    rows = [
        {
            "id": fingerprint(event.user, event.id),
            "user": often(event.user),
            "episode": often(event.episode),
            "seq": event.seq,
            "type": event.body.type,
            "time": event.time,
            "version": event.version,
            "payload": to_json(event),
        }
        for event in events
    ]
    return pa.Table.from_pylist(rows, LOG)


def vector_rows(user: str, vectors: Mapping[str, Vector]) -> pa.Table:
    """Rows of the embeddings, at least one. Raises `StoreError` when they are not all of one length."""
    lengths = {np.shape(vector) for vector in vectors.values()}
    if len(lengths) > 1 or len(next(iter(lengths))) != 1:
        raise StoreError(f"Embeddings of one model have one length each, but these have {sorted(lengths)}.")
    matrix = np.array(list(vectors.values()), dtype=np.float32)
    columns = [
        pa.array([fingerprint(user, text) for text in vectors]),
        pa.array([fingerprint(user)] * len(vectors)),
        pa.array([_bytes(text) for text in vectors], pa.binary()),
        pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1]),
    ]
    return pa.Table.from_arrays(columns, schema=vector_schema(matrix.shape[1]))


def vectors_of(rows: pa.Table) -> dict[str, Vector]:
    """Embeddings by text, from the columns `text` and `vector`."""
    if not rows.num_rows:
        return {}
    column = rows["vector"].combine_chunks()
    matrix = column.flatten().to_numpy().reshape(rows.num_rows, -1)
    return dict(zip(map(_text, rows["text"].to_pylist()), matrix, strict=True))


def to_json(record: Record, *, without: set[str] | None = None) -> str:
    """One line of JSON that `from_json` turns into an equal record, once it has the fields again that were left out."""
    try:
        return record.model_dump_json(exclude=without)
    except PydanticSerializationError:
        # Pages can hold half of a surrogate pair, which is no UTF-8: Python's own JSON escapes it.
        return json.dumps(record.model_dump(mode="json", exclude=without))


R = TypeVar("R", bound=Record)


def from_json(kind: type[R], line: str) -> R:
    """Read what `to_json` wrote. Raises `ValueError` when it is something else."""
    try:
        return kind.model_validate_json(line)
    except ValidationError:
        if "\\ud" not in line.lower():
            raise
        return kind.model_validate(json.loads(line))


def records(kind: type[R], payloads: Iterable[str]) -> list[R]:
    """Read a column of payloads. Raises `StoreError` when one is not a record of this kind."""
    try:
        with no_collector():
            return [from_json(kind, line) for line in payloads]
    except ValueError as problem:
        raise StoreError(
            f"The memory holds something that is no {kind.__name__.lower()}: {problem}. "
            "It was written by another program or is damaged; import an export of it into a new folder."
        ) from problem


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(raw: Any) -> str:
    return str(raw, "utf-8", "surrogatepass")


def plain(text: str) -> str:
    """The text as UTF-8 can have it: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
