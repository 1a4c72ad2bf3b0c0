"""Writes a store as version 1 of the program did: one table of experiences with all that is known of each."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from rememberer.events import Event
from rememberer.records import Experience
from rememberer.store import Vector
from storage.place import connect
from storage.schema import fingerprint, log_rows, vector_rows

EXPERIENCES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("user", pa.string(), nullable=False),
        pa.field("env", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("created", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("updated", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("q_max", pa.float64()),
        pa.field("visits", pa.int64(), nullable=False),
        pa.field("pinned", pa.bool_(), nullable=False),
        pa.field("payload", pa.string(), nullable=False),
    ]
)


def write_version_1(
    folder: Path,
    model: str,
    user: str,
    events: Iterable[Event],
    view: Iterable[Experience],
    vectors: Mapping[str, Vector],
) -> None:
    """Make a folder of version 1 with one user's memory, in which two commits were made to each table."""
    folder.mkdir()
    (folder / "store.json").write_text(
        f'{{\n  "program": "rememberer",\n  "schema_version": 1,\n  "embedding_model": "{model}"\n}}\n'
    )
    rows = [
        {
            "id": fingerprint(user, each.key),
            "user": fingerprint(user),
            "env": each.state.env,
            "kind": each.state.kind,
            "created": each.created,
            "updated": each.updated,
            "q_max": max(row.q for row in each.actions),
            "visits": each.visits,
            "pinned": each.pinned,
            "payload": each.model_dump_json(),
        }
        for each in view
    ]
    connection = connect(folder)
    for name, table in (
        ("log", log_rows(events)),
        ("experiences", pa.Table.from_pylist(rows, EXPERIENCES)),
        ("vectors", vector_rows(user, vectors)),
    ):
        connection.create_table(name, data=table.slice(0, 1))
        connection.open_table(name).add(table.slice(1))
    for name in ("maintenance.lock", "writing.lock"):
        (folder / name).touch()
