"""What the tables hold: their columns, and how records become rows and come back exactly as they were.

Texts come from people and web pages. They never reach a filter: rows are found by `fingerprint`s, which are plain
hexadecimal. What a text really was stands in `payload` (JSON of the whole record), or as bytes beside a vector.
The other columns repeat what a person who opens a table with another tool would sort and filter by.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from rememberer.collector import no_collector
from rememberer.errors import StoreError
from rememberer.records import Event, Experience, Record
from rememberer.store import Vector

STORE_VERSION = 1
"""Of everything in this module. Another one cannot be read without a migration."""

_TIME = pa.timestamp("us", tz="UTC")

LOG = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # fingerprint of user and event id
        pa.field("user", pa.string(), nullable=False),  # fingerprint
        pa.field("episode", pa.string(), nullable=False),  # fingerprint
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("time", _TIME, nullable=False),
        pa.field("version", pa.int32(), nullable=False),
        pa.field("payload", pa.string(), nullable=False),
    ]
)

EXPERIENCES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # fingerprint of user and key
        pa.field("user", pa.string(), nullable=False),  # fingerprint
        pa.field("env", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("created", _TIME, nullable=False),
        pa.field("updated", _TIME, nullable=False),
        pa.field("q_max", pa.float64()),  # null: nothing was executed there
        pa.field("visits", pa.int64(), nullable=False),
        pa.field("pinned", pa.bool_(), nullable=False),
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
    rows = [
        {
            "id": fingerprint(event.user, event.id),
            "user": fingerprint(event.user),
            "episode": fingerprint(event.episode),
            "seq": event.seq,
            "type": event.body.type,
            "time": event.time,
            "version": event.version,
            "payload": to_json(event),
        }
        for event in events
    ]
    return pa.Table.from_pylist(rows, LOG)


def experience_rows(user: str, experiences: Iterable[Experience]) -> pa.Table:
    """Rows of the view, one a key: of two with the same key the last."""
    rows = {
        each.key: {
            "id": fingerprint(user, each.key),
            "user": fingerprint(user),
            "env": _plain(each.state.env),
            "kind": _plain(each.state.kind),
            "created": each.created,
            "updated": each.updated,
            "q_max": max((row.q for row in each.actions if row.visits), default=None),
            "visits": each.visits,
            "pinned": each.pinned,
            "payload": to_json(each),
        }
        for each in experiences
    }
    return pa.Table.from_pylist(list(rows.values()), EXPERIENCES)


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


def to_json(record: Record) -> str:
    """One line of JSON that `from_json` turns into an equal record."""
    try:
        return record.model_dump_json()
    except PydanticSerializationError:
        # Pages can hold half of a surrogate pair, which is no UTF-8: Python's own JSON escapes it.
        return json.dumps(record.model_dump(mode="json"))


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


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
