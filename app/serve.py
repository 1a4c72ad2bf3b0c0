"""Serves the page. Everything slow is loaded after it is there."""

import importlib
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.settings import Settings
from app.users import Users
from rememberer.embedding import Encoder
from rememberer.errors import RemembererError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import HTTPConnection

    from app.desks import Desks

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TUNNELS = "*.gradio.live"
"""What shared links are called."""

log = logging.getLogger(__name__)


class CannotServe(RemembererError):
    """Raised when the page cannot be served at the address that was asked for."""


def serve(settings: Settings) -> None:
    """Serve the page until interrupted; prints its address. Opens the store.

    Raises `CannotServe` for an address that cannot be had, and for a page that is shared without anybody who can log
    in; `StoreError` when the memory cannot be opened.
    """
    if (settings.share or settings.guests) and not Users(settings.home).all():
        what = "be shared" if settings.share else "let guests in"
        raise CannotServe(
            f"The page cannot {what} before there is somebody who can log in: without users, whoever comes may change "
            "everything. Add one: rememberer user add NAME"
        )
    listening = _listen(settings.host, settings.port)
    # Nothing calls home. Set before Gradio and the hub's client are imported, which read them then.
    os.environ.update(GRADIO_ANALYTICS_ENABLED="False", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    import uvicorn

    from app.desks import Desks
    from app.opening import open_encoder, open_store

    store = open_store(settings)
    encoder = open_encoder(settings)
    desks = Desks(settings, store, encoder)
    try:
        if desks.users.is_open:
            desks.of(settings.user)  # begins to open their memory
        app = build(desks, lambda request: settings.user)
        threading.Thread(target=_warm_up, args=(desks, encoder), name="warm-up", daemon=True).start()
        host, port = listening.getsockname()[:2]
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        print(f"Rememberer is at http://{shown}:{port} (Ctrl+C stops it; nothing is lost)", flush=True)
        if settings.share:
            threading.Thread(target=_share, args=(shown, port), name="share", daemon=True).start()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        desks.close()
        store.close()


def build(desks: "Desks", user_of: "Callable[[HTTPConnection], str | None]") -> "FastAPI":
    """The web application: the page, behind its guards.

    `user_of` says whose memory a request is about where nobody logs in.
    """
    import gradio as gr
    from fastapi import FastAPI
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from app.guard import Door, Guard
    from app.login import Logins
    from app.ui.page import HERE, page
    from app.ui.theme import theme

    # Gradio imports it in every event, and two that do so at once get half of it. Its cache is to lie in our folder.
    os.environ.setdefault("MPLCONFIGDIR", str(desks.settings.home / "matplotlib"))
    importlib.import_module("matplotlib")
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    logins = Logins(desks.users, user_of, guests=desks.settings.guests)
    app.add_middleware(Door, logins=logins)
    if desks.settings.host in LOOPBACK:
        # Another site's name that was pointed at this machine must not reach the memory of whoever sits here.
        tunnels = [TUNNELS] if desks.settings.share else []
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]", *tunnels])
    app.add_middleware(Guard)
    blocks = page(desks)
    blocks.queue(default_concurrency_limit=None, max_size=200)
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        auth_dependency=logins.user_of,
        theme=theme(),
        css_paths=[HERE / "style.css"],
        head=f"<script>{(HERE / 'page.js').read_text('utf-8')}</script>",
        footer_links=[],
        run_history=False,
        show_error=False,
        mcp_server=False,
        ssr_mode=False,
        pwa=False,
    )
    return mounted


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise CannotServe(
            f"The page cannot be served at {host}, port {port} ({problem.strerror or problem}). Is it running already? "
            "Another port: rememberer serve --port 7861"
        ) from None


def _share(host: str, port: int) -> None:
    """Print a link to the page that works from anywhere, or why there is none."""
    from gradio import networking

    try:
        link = networking.setup_tunnel(host, port, secrets.token_urlsafe(32), None, None)
    except Exception as problem:
        why = " ".join(str(problem).split())
        print(f"There is no link from elsewhere ({why}); the page goes on here.", flush=True)
    else:
        print(f"From anywhere: {link} (who has the link must log in, too)", flush=True)


def _warm_up(desks: "Desks", encoder: Encoder) -> None:
    """Load what the first proposal and the first purchase would wait for."""
    try:
        encoder.encode(["warm"])
        from envs.webshop.reward import nouns

        nouns("warm scarf")
    except Exception:
        # Whoever needs it next gets the same problem, and is told.
        log.warning("Warming up failed", exc_info=True)
