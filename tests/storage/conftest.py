"""What the tests of the store share: episodes made to order, stores, child processes, a disk of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest

from rememberer.events import Body, Decided, EpisodeStarted, Event, Labelled, Observed, Pinned, new_id
from rememberer.records import ActionText, ActionValue, Decision, Experience, State
from rememberer.store import InMemoryStore, Store
from storage import LanceStore

ROOT = Path(__file__).parents[2]
MODEL = "a-model"

NASTY = [
    "a' OR '1'='1",
    "'; drop table log; --",
    "\\') OR (1=1) --",
    'quote " and \\ backslash',
    "买一双红色的鞋",
    "یک کفش قرمز بخر",
    "Größe 42 für Mädchen",
    "🦊👩‍👩‍👧",
    "line\nbreak\r\nand\ttab\u2028and\u0085more",
    "NUL \x00 inside",
    "half a pair \ud83e alone",
    "x" * 20_000,
    " ",
    "",
]


def event(user: str = "me", *, body: Body | None = None, episode: str = "", id: str | None = None) -> Event:
    """An event of no importance."""
    return Event(id=new_id() if id is None else id, user=user, episode=episode, body=body or Pinned(key="k"))


def state(observation: str = "a page", task: str = "buy a red shoe", env: str = "nowhere", kind: str = "page") -> State:
    return State(
        env=env,
        task=task,
        observation=observation,
        kind=kind,
        actions=(ActionText(text="click[buy]", label="Buy", kind="buy"),),
    )


def episode(user: str = "me", name: str = "e", task: str = "buy a red shoe", steps: int = 2) -> list[Event]:
    """An episode as a session writes it: started, then decided and observed for each step, the first step labelled."""
    here = [state(f"page {step}", task) for step in range(steps + 1)]
    bodies: list[Body] = [EpisodeStarted(env="nowhere", task_id="t", task=task, state=here[0])]
    for step in range(1, steps + 1):
        bodies.append(Decided(decision=Decision(step=step, kind="approve", action="click[buy]")))
        bodies.append(Observed(step=step, action="click[buy]", reward=0.5, state=here[step], terminated=step == steps))
    bodies.append(Labelled(step=1, value=-0.5, comment="not that one"))
    return [Event(user=user, episode=name, body=body) for body in bodies]


def experience(
    observation: str = "a page", *, day: int = 1, q: float = 0.5, task: str = "buy a red shoe"
) -> Experience:
    then = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
    return Experience(
        state=state(observation, task),
        actions=(ActionValue(action="click[buy]", q=q, visits=1, reason="it is red"),),
        created=then,
        updated=then,
        visits=1,
    )


def open_store(place: Path | str) -> LanceStore:
    return LanceStore(place, embedding_model=MODEL)


def in_eight_threads(work: Callable[[int], object]) -> None:
    """Do it at once in eight threads, with the thread's number; what one of them raises is raised."""
    together = threading.Barrier(8)

    def start(number: int) -> None:
        together.wait()
        work(number)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(start, number) for number in range(8)]:
            done.result()


@pytest.fixture(params=["memory", "folder", "bucket"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """All stores in turn: what holds of one holds of the others."""
    if request.param == "memory":
        yield InMemoryStore()
    elif request.param == "folder":
        with closing(open_store(request.getfixturevalue("tmp_path") / "memory")) as opened:
            yield opened
    else:
        with closing(open_store(request.getfixturevalue("bucket"))) as opened:
            yield opened


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Address of a server that speaks S3's language."""
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name("s3_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield says(server)


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place for a memory in an empty bucket, and the environment that a person would set."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "AKIDOFNOBODY",
        "AWS_SECRET_ACCESS_KEY": "a-secret-of-nobody",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"memories-{uuid4().hex[:12]}"
    urlopen(Request(f"{s3}/{name}", method="PUT")).close()
    return f"s3://{name}/of/mine"


@pytest.fixture
def lance(tmp_path: Path) -> Iterator[LanceStore]:
    with closing(open_store(tmp_path / "memory")) as opened:
        yield opened


Child = subprocess.Popen[str]


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    """Start another Python process that does something with a store: see `child.py`."""
    started: list[Child] = []

    def start(*arguments: object) -> Child:
        script = Path(__file__).with_name("child.py")
        process = subprocess.Popen(
            [sys.executable, script, *map(str, arguments)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def tell(process: Child, line: object) -> None:
    """Write a line to a child process."""
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def says(process: Child) -> str:
    """The next whole line from a child process; empty when it has ended."""
    assert process.stdout
    line = process.stdout.readline()
    return line[:-1] if line.endswith("\n") else ""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB of its own. `remount` changes it."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"only root can make a small disk to fill: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def remount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", place], check=True)
