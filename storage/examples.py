"""Examples for training as a file: one JSON object a line, as `datasets` and TRL read them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from storage.complaints import complain
from storage.durability import write_durably
from storage.schema import plain


def export_examples(examples: Iterable[dict[str, Any]], path: Path) -> int:
    """Write examples as they come, and return how many there were.

    The file is replaced as a whole, in UTF-8; half of a surrogate pair becomes a question mark. Raises `StoreError`
    when it cannot be written; then it is as it was.
    """
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for each in examples:
            count += 1
            yield plain(json.dumps(each, ensure_ascii=False)) + "\n"

    with complain(path.parent):
        write_durably(path, lines())
    return count
