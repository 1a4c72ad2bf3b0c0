"""A part of a bucket, by the names of the objects in it: read, written, and written only if nobody was quicker.

The connection is set by the usual environment variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`,
and for other servers than Amazon's `AWS_ENDPOINT_URL` (with `AWS_ALLOW_HTTP=true` unless it is https).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from rememberer.errors import WrongStore

_PATIENCE = timedelta(seconds=10)  # of retries, for one request


class Objects:
    """The objects of `url`, as s3://bucket/prefix. What goes wrong comes out as `OSError`, in the server's words."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.netloc or {"@", "?", "#"} & {*url}:
            raise WrongStore(
                f"{parts.scheme}://{parts.netloc.rpartition('@')[2]} is no place for a memory. Expected s3://bucket/"
                "prefix; keys belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Change REMEMBERER_MEMORY."
            )
        self.url = f"s3://{parts.netloc}{parts.path.rstrip('/')}"
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self._opened: Any = None

    def __str__(self) -> str:
        return self.url

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Content and tag (which changes with the content) of an object; None when there is none."""
        with _answers():
            import obstore

            try:
                found = obstore.get(self._store(), name)
                return bytes(found.bytes()), str(found.meta["e_tag"])
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write an object, whether or not there is one."""
        with _answers():
            import obstore

            obstore.put(self._store(), name, content, use_multipart=False)

    def swap(self, name: str, content: bytes, tag: str | None) -> str | None:
        """Write an object if it has still this tag, or with None if there is none. Return its new tag, or None if not.

        No two contents may be equal. Where the server's answer was lost, it is found out whether it was written.
        """
        with _answers():
            import obstore
            from obstore.exceptions import AlreadyExistsError, PreconditionError

            try:
                mode: Any = {"e_tag": tag} if tag else "create"
                return str(obstore.put(self._store(), name, content, mode=mode, use_multipart=False)["e_tag"])
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                found = self.read(name)
                return found[1] if found and found[0] == content else None

    def sizes(self, under: str) -> dict[str, int]:
        """Bytes of all objects in a folder and its folders, by their names in it, in the order of those."""
        with _answers():
            import obstore

            found = obstore.list(self._store(), under).collect()
            return {each["path"].removeprefix(under + "/"): each["size"] for each in found}

    def names(self, under: str = "") -> set[str]:
        """Names of the objects and folders in a folder."""
        with _answers():
            import obstore

            found = obstore.list_with_delimiter(self._store(), under or None)
            paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
            return {path.rstrip("/").rpartition("/")[2] for path in paths}

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects that are there."""
        with _answers():
            import obstore

            if there := list(names):
                obstore.delete(self._store(), there)

    def _store(self) -> Any:
        if self._opened is None:
            from obstore.store import S3Store

            retries: Any = {"max_retries": 5, "retry_timeout": _PATIENCE}
            self._opened = S3Store(self._bucket, prefix=self._prefix or None, retry_config=retries)
        return self._opened


@contextmanager
def _answers() -> Iterator[None]:
    from obstore.exceptions import BaseError

    try:
        yield
    except BaseError as problem:
        # What follows is the same once more as a dump of the library's own structures.
        raise OSError(str(problem).partition("\n\nDebug source:")[0]) from problem
