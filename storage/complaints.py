"""What the disk and LanceDB complain about, in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from rememberer.errors import StoreError

_ADVICE = {
    28: "The disk is full: free some space (twice the size of the memory is good), then try again.",
    30: "The disk can only be read. Make it writable, or choose another folder with REMEMBERER_HOME.",
    13: "This user may not write there. Change the permissions, or choose another folder with REMEMBERER_HOME.",
    27: "A file may not grow any further: lift the limit on the size of files (`ulimit -f`), then try again.",
    122: "The disk quota is used up: free some space, then try again.",
}


@contextmanager
def complain(folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong on disk into `StoreError`. LanceDB raises the three classes named here."""
    try:
        yield
    except Timeout:
        raise
    except (OSError, RuntimeError, ValueError) as problem:
        raise StoreError(f"The memory in {folder} cannot be used. {_advice(problem)}") from problem


def _advice(problem: Exception) -> str:
    text = str(problem)
    for number, advice in _ADVICE.items():
        if getattr(problem, "errno", None) == number or f"(os error {number})" in text:
            return advice
    if "failed to fill whole buffer" in text:
        return "A file lacks its end, as when the disk is full or broken: free some space, then try again."
    return f"The disk or its files gave this answer: {text[:300]}"
