"""The whole program in this process, its memory in a folder, and one real Chromium that looks at it."""

import asyncio
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app.desks import Desks
from app.opening import open_store
from app.serve import build
from app.settings import load_settings
from rememberer.embedding import Encoder, SentenceEncoder
from rememberer.memory import Memory

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
OFFICIAL = Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"

expect.set_options(timeout=20_000)


@dataclass
class House:
    """The page on a port of its own. Stopped and started again it finds its memory, and its address, as they were."""

    home: Path
    encoder: Encoder
    data: Path | None = None
    port: int = 0
    _running: list[tuple[uvicorn.Server, threading.Thread, Desks, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def desks(self) -> Desks:
        return self._running[0][2]

    def memory(self, user: str = "me") -> Memory:
        return self.desks.of(user).memory

    def events(self, kind: str, user: str = "me") -> int:
        """How many events of a kind the log has."""
        memory = self.memory(user)
        return sum(event.body.type == kind for event in memory.store.events(user))

    def start(self) -> None:
        listening = socket.create_server(("127.0.0.1", self.port))
        self.port = listening.getsockname()[1]
        settings = load_settings(home=self.home, data=self.data)
        store = open_store(settings)
        desks = Desks(settings, store, self.encoder)
        # Who is asking is a header here; nobody logs in yet.
        app = build(desks, lambda request: request.headers.get("x-user", "me"))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        self._running.append((server, thread, desks, store))

    def stop(self) -> None:
        server, thread, desks, store = self._running.pop()
        server.should_exit = True
        thread.join(timeout=30)
        assert not thread.is_alive()
        desks.close()
        store.close()

    def restart(self) -> None:
        self.stop()
        self.start()


@pytest.fixture(scope="session")
def encoder(exported: Path) -> Encoder:
    """The real one, loaded once."""
    return SentenceEncoder(exported=exported)


@pytest.fixture
def house(tmp_path: Path, encoder: Encoder) -> Iterator[Callable[..., House]]:
    """Open a house; `data` is a folder of official files, None our own catalogue."""
    houses: list[House] = []

    def open_house(data: Path | None = OFFICIAL) -> House:
        houses.append(House(tmp_path / "home", encoder, data))
        houses[-1].start()
        return houses[-1]

    yield open_house
    for each in houses:
        each.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open the page in a browser of its own, as `user`. Whatever it asks of another server, or complains of, fails the
    test at its end."""
    contexts = []
    wrong: list[str] = []

    def open_page(house: House, user: str = "me", **options: Any) -> Page:
        context = chromium.new_context(extra_http_headers={"x-user": user}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((house.url, "data:", "blob:")) else wrong.append(asked.url),
        )
        page.on("pageerror", lambda error: wrong.append(f"pageerror: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}") if _bad(said.type, said.text) else None)
        page.goto(house.url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


# What the page says when a stream of events ends with the server, or with the page that a reload leaves.
_BROKEN_OFF = (
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED",
    "ERR_EMPTY",
    "AbortError",
    "Connection errored out",
)


def _bad(kind: str, text: str) -> bool:
    return kind == "error" and not any(each in text for each in _BROKEN_OFF)
