"""Run in a process of its own by the tests.

append PATH USER PREFIX FROM TO   appends events PREFIX-FROM ... one by one, and prints each number once it is stored
compact PATH                      appends an event and removes all old files, some dozen times
open                              opens, writes to and closes each store whose path comes on standard input
"""

import sys
from pathlib import Path

from rememberer.records import Event, Labelled, Pinned
from storage import LanceStore


def _append(path: str, user: str, prefix: str, first: str, last: str) -> None:
    store = LanceStore(Path(path), embedding_model="a-model")
    for number in range(int(first), int(last)):
        body = Labelled(step=number, value=0.5, comment="well done " * 20)
        store.append([Event(id=f"{prefix}-{number}", user=user, episode=prefix, body=body)])
        print(number, flush=True)
    store.close()


def _compact(path: str) -> None:
    store = LanceStore(Path(path), embedding_model="a-model")
    for number in range(30):
        store.append([Event(user="me", body=Pinned(key="k"))])
        store.forget_files()
        print(number, flush=True)
    store.close()


def _open() -> None:
    import lancedb  # noqa: F401  # beforehand, so that the race is about the folder

    print("ready", flush=True)
    for line in sys.stdin:
        store = LanceStore(Path(line.strip()), embedding_model="a-model")
        store.append([Event(user="me", body=Pinned(key="k"))])
        store.close()
        print("done", flush=True)


if __name__ == "__main__":
    {"append": _append, "compact": _compact, "open": _open}[sys.argv[1]](*sys.argv[2:])
