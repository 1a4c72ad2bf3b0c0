"""A store in a folder of this machine's: locks of the operating system, and files that are synced after every write."""

import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from rememberer.errors import StoreError, WrongStore
from storage.complaints import complain
from storage.durability import (
    Syncer,
    is_begun,
    mend,
    remove_leftovers,
    remove_old_versions,
    set_aside,
    write_durably,
)
from storage.locks import Lock
from storage.place import OWNER, WRITING, Growth, connect

ASIDE = "set-aside"
_LATE = 86_400  # seconds. LanceDB takes a file without a version for left behind when it is a week old


class Folder:
    """A `storage.place.Place` in the folder `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.owner = Lock(self.path / OWNER)
        self.writing = Lock(self.path / WRITING)

    def __str__(self) -> str:
        return str(self.path)

    def make(self) -> None:
        """See `Place.make`."""
        if self.path.exists() and not self.path.is_dir():
            raise WrongStore(f"{self} is a file; a folder was expected. Choose another with REMEMBERER_MEMORY.")
        with complain(self):
            self.path.mkdir(parents=True, exist_ok=True)

    def names(self, under: str = "") -> set[str]:
        """See `Place.names`."""
        folder = self.path / under
        with complain(self):
            return {path.name for path in folder.iterdir()} if folder.is_dir() else set()

    def read(self, name: str) -> str | None:
        """See `Place.read`."""
        with complain(self):
            return (self.path / name).read_text("utf-8") if (self.path / name).exists() else None

    def write(self, name: str, lines: Iterable[str]) -> None:
        """See `Place.write`."""
        with complain(self):
            write_durably(self.path / name, lines)

    def remove(self, name: str) -> None:
        """See `Place.remove`."""
        entry = self.path / name
        with complain(self):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def files(self, table: str) -> "FolderFiles":
        """See `Place.files`."""
        return FolderFiles(self, table)

    @cached_property
    def connection(self) -> Any:
        """LanceDB on the folder."""
        with complain(self):
            return connect(self.path)


class FolderFiles:
    """The `storage.place.Files` of a table in a folder. Here LanceDB's complaints come out as they are."""

    alone = True  # the system lets go of a lock only when its holder is dead

    def __init__(self, home: Folder, name: str) -> None:
        self.path = home.path / f"{name}.lance"
        self.growth = Growth()
        self._home = home
        self._name = name
        self._opened: Any = None
        self._syncer = Syncer(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def on_time(self) -> bool:
        """See `Files.on_time`."""
        lock = self._home.path / OWNER
        os.utime(lock)  # the file system says when, which may be another machine's
        return abs(lock.stat().st_mtime - time.time()) < _LATE

    def begun(self) -> bool:
        """See `Files.begun`."""
        return is_begun(self.path)

    def lance(self) -> Any:
        """See `Files.lance`."""
        if self._opened is None:
            self._opened = self._home.connection.open_table(self._name)
        return self._opened

    def create(self, schema: pa.Schema) -> None:
        """See `Files.create`."""
        self._home.connection.create_table(self._name, schema=schema)
        self.sync()

    def drop(self) -> None:
        """See `Files.drop`."""
        self._home.connection.drop_table(self._name)
        self._opened = None

    def sync(self) -> None:
        """See `Files.sync`."""
        self.growth.note(*self._syncer.sync())

    def undo_cut(self) -> None:
        """See `Files.undo_cut`."""
        if self._syncer.cut and set_aside(self.path, self._is_readable, self._home.path / ASIDE, fresh=True):
            self._opened = None
            raise StoreError(
                f"The disk has taken only a part of what was written to {self}, as when it is full or broken. "
                "Nothing was changed. Free some space, then try again."
            )

    def mend(self) -> None:
        """See `Files.mend`."""
        mend(self.path, self._is_readable, self._home.path / ASIDE)

    def rewrite(self) -> None:
        """See `Files.rewrite`."""
        lance = self.lance()
        rows = pa.RecordBatchReader.from_batches(lance.schema, lance.search().to_batches())
        lance.add(rows, mode="overwrite")

    def remove_old_versions(self) -> None:
        """See `Files.remove_old_versions`."""
        remove_old_versions(self.path)

    def remove_leftovers(self) -> None:
        """See `Files.remove_leftovers`."""
        remove_leftovers(self.path)

    def sizes(self) -> dict[str, int]:
        """See `Files.sizes`."""
        sizes = {}
        for path in self.path.rglob("*"):
            with suppress(FileNotFoundError):
                if path.is_file():
                    sizes[path.relative_to(self.path).as_posix()] = path.stat().st_size
        return sizes

    def _is_readable(self) -> bool:
        """Whether all files of the newest version can be read."""
        try:
            connect(self._home.path).open_table(self._name).search().select(["id"]).to_arrow()
        except (StoreError, OSError, RuntimeError, ValueError):
            return False
        return True
