"""A store in a bucket, for any number of processes on any number of machines.

There is no lock that an operating system would release, so a holder may have lost it without noticing (see
`storage.lease`). What it writes must come to nothing then. LanceDB commits a version only if it agrees with all that
came after the version that the writer has looked at, and nothing agrees with a restored version. So a holder writes
through tables that stay as they were when it took the lock, and whoever takes over from it restores every table to
what it is already: that costs one small file each, and shuts the door on whatever was begun before.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import pyarrow as pa

from rememberer.errors import StoreError
from storage.complaints import complain
from storage.lease import Lease, unlocked
from storage.objects import Objects
from storage.place import WRITING, Growth, connect


class Bucket:
    """A `storage.place.Place` at `url`, as s3://bucket/prefix. There is one lock: who compacts lets others wait."""

    def __init__(self, url: str) -> None:
        self.objects = Objects(url)
        self.owner = self.writing = Lease(self.objects, WRITING, self._prepare)
        self._files: list[BucketFiles] = []

    def __str__(self) -> str:
        return str(self.objects)

    def make(self) -> None:
        """See `Place.make`. An empty place is tried out: whether two can write the same object without noticing."""
        with complain(self):
            if self.objects.names() or not (tag := self.objects.swap(WRITING, unlocked(), None)):
                return
            if self.objects.swap(WRITING, unlocked(), None) or self.objects.swap(WRITING, unlocked(), f"{tag}?"):
                raise StoreError(
                    f"The server of {self} overwrites objects that it was asked not to, so several processes would "
                    "lose each other's work. A server with conditional writes (If-None-Match, If-Match) is needed."
                )

    def names(self, under: str = "") -> set[str]:
        """See `Place.names`."""
        with complain(self):
            return self.objects.names(under)

    def read(self, name: str) -> str | None:
        """See `Place.read`."""
        with complain(self):
            found = self.objects.read(name)
        return found[0].decode() if found else None

    def write(self, name: str, lines: Iterable[str]) -> None:
        """See `Place.write`."""
        with complain(self):
            self.writing.confirm()
            self.objects.write(name, "".join(lines).encode())

    def remove(self, name: str) -> None:
        """See `Place.remove`."""
        with complain(self):
            self.writing.confirm()
            inside = [f"{name}/{each}" for each in self.objects.sizes(name)]
            self.objects.remove(inside or ([name] if self.objects.read(name) else []))

    def files(self, table: str) -> "BucketFiles":
        """See `Place.files`."""
        self._files.append(BucketFiles(self, table))
        return self._files[-1]

    @cached_property
    def fresh(self) -> Any:
        """LanceDB on the bucket, with what others write."""
        return connect(str(self))

    @cached_property
    def fixed(self) -> Any:
        """LanceDB on the bucket, whose tables stay as they were opened but for what they write themselves."""
        return connect(str(self), fresh=False)

    def _prepare(self, shut: bool) -> None:
        with ThreadPoolExecutor(len(self._files)) as pool:
            list(pool.map(lambda files: files.fix(shut), self._files))


class BucketFiles:
    """The `storage.place.Files` of a table in a bucket. LanceDB's complaints come out as they are."""

    alone = False  # who has lost the lock without noticing may be about to commit the file that it has just written

    def __init__(self, home: Bucket, name: str) -> None:
        self.path = f"{name}.lance"
        self.growth = Growth()
        self._home = home
        self._name = name
        self._begun = False
        self._fresh: Any = None
        self._fixed: Any = None

    def __str__(self) -> str:
        return f"{self._home}/{self.path}"

    def on_time(self) -> bool:
        """See `Files.on_time`. It does not matter: who compacts has the one lock, and nobody writes."""
        return True

    def begun(self) -> bool:
        """See `Files.begun`."""
        self._begun = self._begun or bool(self._home.objects.names(f"{self.path}/_versions"))
        return self._begun

    def lance(self) -> Any:
        """See `Files.lance`. The holder of the lock sees what the table was when it took it, and what it wrote."""
        if self._home.writing.mine():
            return self._fixed
        if self._fresh is None:
            self._fresh = self._home.fresh.open_table(self._name)
        return self._fresh

    def fix(self, shut: bool) -> None:
        """Have what the holder of the lock sees be what there is now; with `shut` nobody commits what was begun before.

        The caller holds the lock, and makes sure afterwards that it still does.
        """
        if not self.begun():
            return
        if self._fixed is None:
            self._fixed = self._home.fixed.open_table(self._name)
        self._fixed.checkout_latest()
        if shut:
            self._fixed.checkout(self._fixed.version)
            self._fixed.restore()

    def create(self, schema: pa.Schema) -> None:
        """See `Files.create`."""
        self._fixed = self._home.fixed.create_table(self._name, schema=schema)
        self._home.writing.confirm()
        self.sync()

    def drop(self) -> None:
        """See `Files.drop`."""
        self._home.writing.confirm()
        self._home.fixed.drop_table(self._name)
        self._fixed = self._fresh = None
        self._begun = False

    def sync(self) -> None:
        """See `Files.sync`. There is nothing to do: who wrote an object has the server's word that it is there."""
        sizes = self.sizes()
        self.growth.note(sum(name.endswith(".manifest") for name in sizes), sum(sizes.values()))

    def undo_cut(self) -> None:
        """See `Files.undo_cut`. An object is there wholly or not at all."""

    def mend(self) -> None:
        """See `Files.mend`. An object is there wholly or not at all."""

    def rewrite(self) -> None:
        """See `Files.rewrite`. Overwriting the table would not be refused to who has lost the lock."""
        self.lance().update(values_sql={"id": "id"})

    def remove_old_versions(self) -> None:
        """See `Files.remove_old_versions`."""
        old = self._manifests()[1:]
        self._home.writing.confirm()
        self._home.objects.remove(old)

    def remove_leftovers(self) -> None:
        """See `Files.remove_leftovers`. Files of data that the newest version does not name."""
        there = [name for name in self.sizes() if name.startswith("data/")]
        self._home.writing.confirm()  # so nobody else was writing when those were there
        newest = self._home.objects.read(self._manifests()[0])
        named = [name for name in there if newest and name.removeprefix("data/").encode() in newest[0]]
        if named or not self.lance().count_rows():
            self._home.objects.remove(f"{self.path}/{name}" for name in there if name not in named)

    def sizes(self) -> dict[str, int]:
        """See `Files.sizes`."""
        return self._home.objects.sizes(self.path)

    def _manifests(self) -> list[str]:
        """Newest first: their names count down."""
        return sorted(f"{self.path}/_versions/{name}" for name in self._home.objects.sizes(f"{self.path}/_versions"))
