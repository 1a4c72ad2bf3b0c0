"""How long it takes to forget for good: out of the log, the view, the embeddings and the files.

    python -m benchmarks.forgetting [SIZE ...] [--save]

The limit: the lines of the log read as JSON, written as JSON, and on the disk, once.
"""

import json
import os
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks import figures, synthetic
from benchmarks.start import fill
from rememberer import Memory
from rememberer.embedding import DEFAULT_ENCODER
from storage import LanceStore


def _measure(sheet: figures.Figures, size: int) -> None:
    for what, count in (("forget one", 1), ("forget at most 10,000", 10_000)):
        with tempfile.TemporaryDirectory() as home:
            fill(Path(home), size)
            with closing(LanceStore(Path(home) / "memory", embedding_model=DEFAULT_ENCODER)) as store:
                memory = Memory(store, encoder=synthetic.Encoder(), tables=lambda env: None)
                memory.embed()
                lines = [event.model_dump_json() for event in store.events("me")]
                limit = figures.ms(lambda lines=lines, home=home: _rewrite(lines, Path(home) / "lines"))
                going = [each.key for each in memory.experiences()][:count]
                sheet.add(what, size, figures.ms(lambda memory=memory, going=going: memory.forget(going)), limit)


def _rewrite(lines: list[str], file: Path) -> None:
    with file.open("w") as opened:
        opened.writelines(json.dumps(json.loads(line)) + "\n" for line in lines)
        opened.flush()
        os.fsync(opened.fileno())


if __name__ == "__main__":
    figures.run("forgetting", "the log's lines read as JSON and written to a synced file", [1_000, 10_000], _measure)
