"""What the server refuses before the page sees it, and the headers that it sends with everything."""

import logging
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from app.login import LOGIN, LOGOUT, Logins
from app.users import GUEST, LOOK_ONLY, UsersError

READING = ("GET", "HEAD")
GUESTS_POST = ("/gradio_api/queue/join", "/gradio_api/run/", "/gradio_api/cancel", "/gradio_api/reset")
"""How a window asks for what it shows. Gradio takes files as well, from whoever sends some."""

log = logging.getLogger(__name__)

# Gradio writes scripts and styles into the page and compiles templates. Nothing may come from elsewhere or go there.
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'none'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


class Guard:
    """ASGI middleware: refuses what another site makes a browser send, and adds `HEADERS` to every response.

    Plain ASGI, because events are streamed through it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if scope["method"] not in (*READING, "OPTIONS") and origin and urlsplit(origin).netloc != headers.get("host"):
            await PlainTextResponse("Refused: this request comes from another site.", 403)(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_guarded)


class Door:
    """ASGI middleware: nobody comes in, to whatever address, whom `logins` does not know; it answers /login itself.

    Who is logged out or removed meanwhile hears no more, also of what was already on its way.
    """

    def __init__(self, app: ASGIApp, logins: Logins) -> None:
        self._app = app
        self._logins = logins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await WebSocketClose()(scope, receive, send)  # the page has none
        else:
            try:
                answer = self._answer(scope, send)
            except UsersError as problem:
                log.error("%s", problem)
                answer = PlainTextResponse("Nobody can log in: the list of users cannot be read.", 503), send
            app, send = answer
            await app(scope, receive, send)

    def _answer(self, scope: Scope, send: Send) -> tuple[ASGIApp, Send]:
        """Who answers, and what they answer through."""
        connection = HTTPConnection(scope)
        user = self._logins.user_of(connection)
        if scope["path"] in (LOGIN, LOGOUT):
            return self._logins.routes, send
        if user is None:
            if scope["method"] in READING and "text/html" in connection.headers.get("accept", ""):
                return RedirectResponse(LOGIN, 303), send
            return _refusal(401, "You are logged out. Load the page again to log in."), send
        if user == GUEST and scope["method"] not in READING and not scope["path"].startswith(GUESTS_POST):
            return _refusal(403, LOOK_ONLY), send
        over = False

        async def send_while_in(message: Message) -> None:
            nonlocal over
            if over:
                return
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    # Going back in the browser must not show the page of somebody who has logged out.
                    headers.setdefault("cache-control", "no-store")
            elif message.get("more_body") and self._logins.user_of(connection) != user:
                message, over = {"type": "http.response.body"}, True
            await send(message)

        return self._app, send_while_in


def _refusal(status: int, why: str) -> ASGIApp:
    """As Gradio tells of errors: a window that is still open shows it."""
    return JSONResponse({"detail": why}, status)
