"""Who may come in: names and password hashes, in a file of the home folder. Without the file nobody has to log in."""

import os
import secrets
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from pydantic import TypeAdapter, ValidationError

from rememberer.errors import RemembererError
from storage.complaints import complain
from storage.durability import write_durably
from storage.locks import Lock

SHARED = "shared"
"""Whose memory guests look at."""
GUEST = "guest"
"""What a guest is called; nobody else can be called that, or `SHARED`."""
LOOK_ONLY = "Guests can look, not change. Log in to teach."
LONGEST_NAME = 64
SHORTEST_PASSWORD = 8


class UsersError(RemembererError):
    """Raised for a name, a password or a list of users that will not do."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may come in."""

    name: str
    hash: str = field(repr=False)
    """Of the password, by argon2id, with its salt and parameters."""
    is_admin: bool = False

    @property
    def fingerprint(self) -> str:
        """Another one after every change of the password; tells nothing of it."""
        return sha256(self.hash.encode()).hexdigest()[:32]


_FILE = TypeAdapter(list[User])


def folded(name: str) -> str:
    """Names are the same when this is: as a person reads them, in capitals or not."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name.strip()).casefold())


class Users:
    """The users of a home folder. All methods may be called from several threads and processes.

    All raise `UsersError` when the list cannot be read, and those that write `StoreError` when it cannot be written.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / "users.json"
        self._hasher = PasswordHasher()
        self._known: tuple[object, Mapping[str, User]] | None = None
        """The file as it was read last: what it looked like from outside, who is in it."""
        self._lock = Lock(home / "users.lock")

    @property
    def is_open(self) -> bool:
        """Whether nobody has to log in, because nobody ever was in the list. Removing everybody opens no door."""
        return self._read() is None

    def all(self) -> list[User]:
        """Everybody, in the order in which they came."""
        return list((self._read() or {}).values())

    def find(self, name: str) -> User | None:
        """Who is called `name`, if anybody."""
        return (self._read() or {}).get(folded(name))

    def check(self, name: str, password: str) -> User | None:
        """Who that is, if the password is right. Takes as long when it is wrong, and for somebody who is not there."""
        decoy, user = self._decoy, self.find(name)
        try:
            self._hasher.verify(user.hash if user else decoy, _bytes(password))
        except (VerificationError, InvalidHashError):
            return None
        return user

    def add(self, name: str, password: str, *, is_admin: bool = False) -> User:
        """Let somebody in. Raises `UsersError` for a name or password that will not do, or a name that is there."""
        user = User(checked_name(name), self._hash(password), is_admin)
        with self._changing() as known:
            if folded(name) in known:
                raise UsersError(f"{known[folded(name)].name} is there already. Another password: user password NAME")
            known[folded(name)] = user
        return user

    def set_password(self, name: str, password: str) -> User:
        """Change a password, which logs its owner out everywhere. Raises `UsersError`."""
        made = self._hash(password)
        with self._changing() as known:
            user = known[folded(name)] = replace(_there(known, name), hash=made)
        return user

    def remove(self, name: str) -> User:
        """Let somebody in no more, and log them out. Their memory stays. Raises `UsersError`."""
        with self._changing() as known:
            user = _there(known, name)
            del known[folded(name)]
        return user

    def secret(self) -> str:
        """The key that logins are signed with, made when it is asked for first."""
        path = self._home / "secret"
        with self._alone():
            if not path.exists():
                _write(path, secrets.token_hex(32))
            if len(secret := path.read_text("utf-8").strip()) < 32:
                raise UsersError(f"The key in {path} is too short to be one. Remove the file: another one is made.")
            return secret

    @cached_property
    def _decoy(self) -> str:
        return self._hasher.hash(secrets.token_bytes(32))

    def _hash(self, password: str) -> str:
        if len(password) < SHORTEST_PASSWORD:
            raise UsersError(f"A password has at least {SHORTEST_PASSWORD} characters. This one has {len(password)}.")
        return self._hasher.hash(_bytes(password))

    def _read(self) -> Mapping[str, User] | None:
        """Everybody by folded name; None when there never was a list. The file is read only when it has changed."""
        known = self._known
        try:
            there = self._path.stat()
            stamp = (there.st_mtime_ns, there.st_size, there.st_ino)
            if known is None or known[0] != stamp:
                users = _FILE.validate_json(self._path.read_bytes())
                self._known = known = (stamp, {folded(user.name): user for user in users})
            return known[1]
        except FileNotFoundError:
            # A list that is gone while the page is served must not open it to everybody.
            return {} if known else None
        except (OSError, ValidationError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "it is no list of users"
            raise UsersError(
                f"{self._path} cannot be read ({why}), so nobody can log in. Bring it back from a backup, or remove it "
                "and add everybody anew: rememberer user add NAME"
            ) from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, User]]:
        """Everybody, to be changed; written when it ends well, while nobody else writes."""
        with self._alone():
            known = dict(self._read() or {})
            yield known
            with complain(self._home):
                _write(self._path, _FILE.dump_json(list(known.values()), indent=1).decode() + "\n")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with complain(self._home):
            self._home.mkdir(parents=True, exist_ok=True)
        with self._lock.held():
            yield


def checked_name(name: str) -> str:
    """The name as it is kept: trimmed, in one spelling. Raises `UsersError` for one that nobody can have."""
    name = unicodedata.normalize("NFC", name.strip())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsersError(f"A name has 1 to {LONGEST_NAME} printable characters, but this is {name!r}. Choose another.")
    if folded(name) in (SHARED, GUEST):
        raise UsersError(f"{name!r} is kept for guests and what they look at. Choose another name.")
    return name


def _there(known: Mapping[str, User], name: str) -> User:
    if user := known.get(folded(name)):
        return user
    raise UsersError(f"There is nobody called {name!r}. See who is there: rememberer user list")


def _bytes(password: str) -> bytes:
    """The same for the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


def _write(path: Path, text: str) -> None:
    """Write a file that nobody but its owner can read, not even while it is written."""
    part = path.with_name(path.name + ".part")  # which `write_durably` writes, and leaves its mode as it is
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    write_durably(path, [text])
