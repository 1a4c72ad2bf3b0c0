"""What LanceDB leaves to the operating system: that a commit outlives a power cut, and what to do when one did not.

LanceDB writes a new data file and then a new manifest, the list of files that make up a version, but never calls
fsync. A power cut can leave the newest of them empty or full of zeros. So new files are synced after every commit, and
on opening a version that did not reach the disk is set aside: it was never acknowledged.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rememberer.errors import StoreError

log = logging.getLogger(__name__)

_MAGIC = {".lance": b"LANC", ".manifest": b"LANC", ".arrow": b"ARROW1"}
"""The last bytes of complete files: with data, of a version, with what is deleted of a data file."""
_AT_MOST = 3  # versions to set aside. A writer makes one, and who compacts meanwhile two. More is another damage
_TORN = 2  # data files that they leave torn: one the writer, one who compacts


class Damaged(StoreError):
    """Raised for a table that has lost more than an interrupted write can have left undone."""


class Syncer:
    """Syncs what a table's folder has got since the last time."""

    def __init__(self, folder: Path) -> None:
        self.cut = False
        """Whether a new file lacks its end. LanceDB takes no notice when the last of a file cannot be written."""
        self._folder = folder
        self._known: frozenset[str] = frozenset()

    def sync(self) -> tuple[int, int]:
        """Sync new files and the folders that they are in. Return how many versions there are, and bytes."""
        sizes: dict[str, int] = {}
        for entry in [entry for place in _places(self._folder) for entry in os.scandir(place)]:
            with suppress(FileNotFoundError):
                if entry.is_file():
                    sizes[entry.path] = entry.stat().st_size
        here = frozenset(sizes)
        fresh = here - self._known
        for path in fresh:
            _sync(path)
        for place in {os.path.dirname(path) for path in fresh}:
            _sync(place)
        if not self._known:
            _sync(self._folder)
            _sync(self._folder.parent)
        cut = {path for path in fresh if _torn(Path(path))}
        # Only now: another thread that syncs at the same time must not take for done what is not.
        self._known, self.cut = here - cut, bool(cut)
        return sum(path.endswith(".manifest") for path in here), sum(sizes.values())


@contextmanager
def durably(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is at `path` at the end of the block wholly, or not at all, power cut or not."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sync(path.parent)


def write_durably(path: Path, lines: Iterable[str]) -> None:
    """Write a text file like that. Lines bring their line end."""
    with durably(path) as file:
        file.writelines(line.encode("utf-8") for line in lines)


def mend(folder: Path, readable: Callable[[], bool], aside: Path) -> None:
    """Make a table readable again that a power cut has torn. Nobody else may use it meanwhile.

    Manifests of versions that did not reach the disk are moved to `aside`, with a warning in the program's log. Raises
    `StoreError` when that does not help; then nothing is moved. A table that is whole is left alone.
    """
    remove_leftovers(folder)
    if moved := set_aside(folder, readable, aside):
        log.warning(
            "The last write to %s did not reach the disk, as after a power cut. It was never acknowledged. "
            "The version before it is used; the unreadable one was moved to %s.",
            folder,
            ", ".join(map(str, moved)),
        )


def set_aside(folder: Path, readable: Callable[[], bool], aside: Path, *, fresh: bool = False) -> list[Path]:
    """Move the manifests of unreadable newest versions to `aside` and return where they are. Nobody else may write.

    `fresh`: this process has just seen them written; torn files of earlier such writes may lie beside them. Raises
    `StoreError` when there are more than an interrupted write can have left; then nothing is moved.
    """
    moved: list[tuple[Path, Path]] = []
    torn = sum(map(_torn, folder.glob("data/*.lance")))
    at_most = _AT_MOST if fresh or torn <= _TORN else _TORN
    while (manifests := _manifests(folder)) and (_torn(manifests[0]) or (_any_torn(folder) and not readable())):
        if len(manifests) == 1 or len(moved) == at_most:
            for kept, place in moved:
                kept.replace(place)
            raise Damaged(
                f"The table in {folder} is damaged beyond its newest versions, so nothing was changed. "
                "Restore the folder from a backup, or import an export into a new one."
            )
        aside.mkdir(exist_ok=True)
        kept = aside / f"{folder.stem}-{manifests[0].name}"
        manifests[0].replace(kept)
        moved.append((kept, manifests[0]))
    if moved:
        _sync(aside)
        _sync(folder / "_versions")
    return [kept for kept, _ in moved]


def is_begun(folder: Path) -> bool:
    """Whether a table's folder has content: one that was killed while it was created has none."""
    return bool(_manifests(folder)) or any(folder.glob("data/*.lance"))


def remove_leftovers(folder: Path) -> None:
    """Remove half-written files of killed processes: LanceDB renames them when they are whole, and never looks back.

    Nobody may be writing meanwhile.
    """
    for place in _places(folder):
        for entry in os.scandir(place):
            if entry.name.startswith(".tmp") or "#" in entry.name:
                os.unlink(entry.path)


def remove_old_versions(folder: Path) -> None:
    """Remove the lists of files of all versions but the newest. Nobody may be writing meanwhile."""
    for manifest in _manifests(folder)[1:]:
        manifest.unlink()


def _places(folder: Path) -> list[str]:
    return [entry.path for entry in os.scandir(folder) if entry.is_dir()] if folder.is_dir() else []


def _manifests(folder: Path) -> list[Path]:
    """Newest first: their names count down."""
    return sorted(folder.glob("_versions/*.manifest"))


def _any_torn(folder: Path) -> bool:
    return any(_torn(path) for place in _places(folder) for path in Path(place).iterdir())


def _torn(path: Path) -> bool:
    """Whether a file lacks its end. Files that are still being written have other names."""
    magic = _MAGIC.get(path.suffix)
    if not magic:
        return False
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - len(magic), 0))
            return file.read() != magic
    except FileNotFoundError:
        return False  # cleaned away meanwhile


def _sync(path: str | Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return  # renamed or cleaned away meanwhile, so it belongs to no commit that waits for this
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
