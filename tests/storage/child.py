"""Run in a process of its own by the tests.

append PLACE USER PREFIX FROM TO  appends events PREFIX-FROM ... one by one, and prints each number once it is stored
compact PLACE                     appends an event and removes all old files, some dozen times
sleep PLACE                       halts in the midst of appending until it gets a line, and says how that ended; twice
open                              opens, writes to and closes each store whose path comes on standard input
"""

import sys

from rememberer.errors import StoreError
from rememberer.events import Event, Labelled, Pinned
from storage import LanceStore, lease
from storage.table import Table

lease.EXPIRY = 1.0  # a killed process is missed sooner


def _append(path: str, user: str, prefix: str, first: str, last: str) -> None:
    store = LanceStore(path, embedding_model="a-model")
    for number in range(int(first), int(last)):
        body = Labelled(step=number, value=0.5, comment="well done " * 20)
        store.append([Event(id=f"{prefix}-{number}", user=user, episode=prefix, body=body)])
        print(number, flush=True)
    store.close()


def _compact(path: str) -> None:
    store = LanceStore(path, embedding_model="a-model")
    for number in range(30):
        store.append([Event(user="me", body=Pinned(key="k"))])
        store.forget_files()
        print(number, flush=True)
    store.close()


def _sleep(path: str) -> None:
    store = LanceStore(path, embedding_model="a-model")
    add = Table.add

    def halt(table: Table, rows: object) -> None:
        print("about to write", flush=True)
        sys.stdin.readline()
        add(table, rows)

    Table.add = halt  # type: ignore[method-assign, assignment]
    for _ in range(2):
        try:
            (stored,) = store.append([Event(id="of the sleeper", user="me", body=Pinned(key="k"))])
            print(f"stored as {stored.seq}", flush=True)
        except StoreError as problem:
            print(problem, flush=True)
    store.close()


def _open() -> None:
    import lancedb  # noqa: F401  # beforehand, so that the race is about the folder

    print("ready", flush=True)
    for line in sys.stdin:
        store = LanceStore(line.strip(), embedding_model="a-model")
        store.append([Event(user="me", body=Pinned(key="k"))])
        store.close()
        print("done", flush=True)


if __name__ == "__main__":
    {"append": _append, "compact": _compact, "sleep": _sleep, "open": _open}[sys.argv[1]](*sys.argv[2:])
