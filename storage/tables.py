"""A memory as a Parquet file, for pandas, DuckDB and whatever else reads tables: a row an action of an experience."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from rememberer.records import ActionValue, Experience
from storage.complaints import complain
from storage.durability import durably
from storage.schema import TIME, plain

_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()

Cell = Callable[[Experience, ActionValue], Any]
COLUMNS: dict[str, tuple[pa.DataType, Cell]] = {
    "key": (_TEXT, lambda known, row: plain(known.key)),
    "env": (_TEXT, lambda known, row: plain(known.state.env)),
    "task": (_TEXT, lambda known, row: plain(known.state.task)),
    "observation": (_TEXT, lambda known, row: plain(known.state.observation)),
    "kind": (_TEXT, lambda known, row: plain(known.state.kind)),
    "action": (_TEXT, lambda known, row: plain(row.action)),
    "label": (_TEXT, lambda known, row: plain(_label(known, row.action))),
    "q": (_REAL, lambda known, row: row.q if row.visits else None),
    "visits": (_WHOLE, lambda known, row: row.visits),
    "mean_reward": (_REAL, lambda known, row: row.mean_reward if row.visits else None),
    "reason": (_TEXT, lambda known, row: plain(row.reason)),
    "rejections": (pa.list_(_TEXT), lambda known, row: [plain(each) for each in row.rejections]),
    "labels": (pa.list_(_REAL), lambda known, row: row.labels),
    "comments": (pa.list_(_TEXT), lambda known, row: [plain(each) for each in row.comments]),
    "pinned": (pa.bool_(), lambda known, row: known.pinned),
    "origin": (_TEXT, lambda known, row: plain(known.origin)),
    "created": (TIME, lambda known, row: known.created),
    "updated": (TIME, lambda known, row: known.updated),
    "outcome": (_TEXT, lambda known, row: plain(known.outcome)),
    "outcome_return": (_REAL, lambda known, row: known.outcome_return),
    "outcome_steps": (_WHOLE, lambda known, row: known.outcome_steps),
    "state_visits": (_WHOLE, lambda known, row: known.visits),
    "history": (pa.list_(_TEXT), lambda known, row: [plain(each) for each in known.history]),
    "mean_last_reward": (_REAL, lambda known, row: known.mean_last_reward),
    "mean_total_reward": (_REAL, lambda known, row: known.mean_total_reward),
    "episodes": (pa.list_(_TEXT), lambda known, row: [plain(each) for each in known.episodes]),
}
"""Types and contents, named as in `rememberer.records`; `state_visits` are the visits of the experience.

`q` and `mean_reward` are null where an action was only ever rejected. `label` is empty where the world does not list
the action as it is. Half of a surrogate pair becomes a question mark.
"""

_CHUNK = 5_000  # experiences whose columns are in memory at once


def export_table(experiences: Iterable[Experience], path: Path) -> int:
    """Write experiences as a table and return the number of its rows.

    The file is replaced as a whole. Raises `StoreError` when it cannot be written; then it is as it was.
    """
    import pyarrow.parquet as pq

    schema = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
    count, waiting = 0, iter(experiences)
    with complain(path.parent), durably(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as table:
        while chunk := list(islice(waiting, _CHUNK)):
            rows = [(known, row) for known in chunk for row in known.actions]
            columns = [pa.array([cell(*each) for each in rows], kind) for kind, cell in COLUMNS.values()]
            table.write_batch(pa.record_batch(columns, schema=schema))
            count += len(rows)
    return count


def _label(known: Experience, action: str) -> str:
    return next((each.label for each in known.state.actions if each.text == action), "")
