"""How long it takes until a memory from a file can be asked, each figure beside a limit measured in the same run.

    python -m benchmarks.importing [EXPERIENCES ...]

The files are made up: pages of a shop, each with two actions that were tried. The limit of reading YAML is PyYAML's own
parser in C, which makes nothing of what it reads; of JSON lines, `json.loads`; of embedding, the encoder alone.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

from rememberer.embedding import SentenceEncoder
from rememberer.memory import Memory
from storage import LanceStore, export_log, import_log, import_pool

PAGES_A_TASK = 40


def _records(count: int) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """(observation, task, available actions) and what was learnt there, as the paper's code keeps it."""
    buttons = ["back to search", "< prev", "description", "features", "reviews", "buy now"]
    sizes = [f"size {number}" for number in range(8)]
    for number in range(count):
        task = f"i want scarf number {number // PAGES_A_TASK} in red, and price lower than 30.00 dollars"
        options = "".join(f"[{size}]" for size in sizes)
        page = (
            f"\nInstruction: \n{task} \n[Back to Search]\n[< Prev]\nsize {options}\nScarf {number} " + "of wool " * 20
        )
        page += "\nPrice: $12.0 \nRating: N.A. \n[Description]\n[Features]\n[Reviews]\n[Buy Now]"
        table = {
            (f"click[{sizes[number % 8]}]", f"The size fits, for reason {number}."): 0.1 * (number % 11),
            ("click[buy now]", "All options are chosen."): -0.5,
        }
        way = [("search[red scarf]", ""), (f"click[b{number:09d}]", "It is the cheapest of those that are red.")]
        yield (
            (page, f"Instruction: {task}", "\n".join(buttons + sizes)),
            {
                "action_dict": {key: {"number": 2, "qvalue": q, "reward": 0.0} for key, q in table.items()},
                "other_info": {"action_history": way, "last_reward": 0.0, "number": 2, "total_reward": 0.0},
                "id": number,
            },
        )


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _report(what: str, seconds: float, limit: str, least: float) -> None:
    print(f"{what:34} {seconds:8.2f} {least:8.2f} {seconds / least:7.1f}   {limit}")


def measure(count: int) -> None:
    """Import `count` experiences from YAML and from JSON lines, open the memory, and embed it."""
    with tempfile.TemporaryDirectory() as folder:
        pool, log = Path(folder, "pool.yaml"), Path(folder, "log.jsonl")
        pool.write_text(yaml.dump(dict(_records(count)), Dumper=getattr(yaml, "CDumper", yaml.Dumper)), "utf-8")
        text, loader = pool.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        parsed = _time(lambda: yaml.compose(text, Loader=loader))
        with closing(LanceStore(Path(folder, "one"), embedding_model="none")) as store:
            _report(
                f"{count:,} from YAML", _time(lambda: import_pool(store, "me", pool)), "PyYAML's parser alone", parsed
            )
            export_log(store, "me", log)
            lines = log.read_text("utf-8").splitlines()
            encoder = SentenceEncoder()
            encoder.encode(["it is loaded"])
            tasks = list({task for (_, task, _), _ in _records(count)})
            alone = _time(lambda: encoder.encode(tasks))
            opened: list[Memory] = []
            folded = _time(lambda: opened.append(Memory(store, "me", encoder)))
            _report("open it, with the view to be made", folded, "PyYAML's parser alone", parsed)
            _report(f"embed {len(tasks)} tasks", _time(opened[0].embed), "the encoder alone", alone)
        with closing(LanceStore(Path(folder, "two"), embedding_model="none")) as store:
            least = _time(lambda: [json.loads(line) for line in lines])
            taken = _time(lambda: import_log(store, "me", log))
            _report(f"{count:,} from JSON lines", taken, "json.loads of the lines", least)


def main() -> None:
    print(f"{'':34} {'s':>8} {'limit s':>8} {'ratio':>7}")
    for count in [int(each) for each in sys.argv[1:]] or [1_000, 3_000, 10_000]:
        measure(count)


if __name__ == "__main__":
    main()
