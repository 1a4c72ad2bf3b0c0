"""Logging in: the cookie that says who somebody is, and the two addresses /login and /logout."""

import asyncio
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from urllib.parse import parse_qsl

from itsdangerous import BadSignature, URLSafeTimedSerializer
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from app.login_page import login_page
from app.users import GUEST, LONGEST_NAME, Users, folded

LOGIN, LOGOUT = "/login", "/logout"
DAYS = 30
"""After which one has to log in again."""
LARGEST_FORM = 8192
OF_A_NAME = RateLimitItemPerMinute(5)
"""Failures with one name from one address."""
OF_AN_ADDRESS = RateLimitItemPerMinute(30)

WRONG = "This name and this password do not belong together."
TOO_OFTEN = "That went wrong too often. Wait a minute, then try again."

Who = Callable[[HTTPConnection], str | None]


class Logins:
    """Who is asking, and the page where they say so. `unasked` says it where nobody has to log in."""

    def __init__(self, users: Users, unasked: Who, *, guests: bool = False) -> None:
        self.users = users
        self._guests = guests
        self._unasked = unasked
        self._limiter = MovingWindowRateLimiter(MemoryStorage())
        self._one = asyncio.Lock()
        self.routes = Starlette(
            routes=[
                Route(LOGIN, self._show, methods=["GET"]),
                Route(LOGIN, self._log_in, methods=["POST"]),
                Route(LOGOUT, self._log_out, methods=["POST"]),
            ]
        )

    def user_of(self, connection: HTTPConnection) -> str | None:
        """The name of whoever sent a request; None for nobody that we know. Raises `UsersError`."""
        if self.users.is_open:
            return self._unasked(connection)
        try:
            name, fingerprint = self._signer.loads(connection.cookies.get(self._cookie, ""), DAYS * 86400)
        except (BadSignature, ValueError, TypeError):
            return None
        if name == GUEST:
            return GUEST if self._guests else None
        user = self.users.find(name)
        return user.name if user and user.fingerprint == fingerprint else None

    async def _show(self, request: Request) -> Response:
        if self.user_of(request):
            return RedirectResponse("/", 303)
        return self._page()

    async def _log_in(self, request: Request) -> Response:
        if self.users.is_open:
            return RedirectResponse("/", 303)
        sent = b""
        async for chunk in request.stream():
            sent += chunk
            if len(sent) > LARGEST_FORM:
                return PlainTextResponse("Too much was sent.", 413)
        form = dict(parse_qsl(sent.decode("utf-8", "replace"), keep_blank_values=True))
        if GUEST in form and self._guests:
            return self._enter(request, GUEST, "")
        name, client = form.get("name", ""), request.client.host if request.client else ""
        limits = [(OF_A_NAME, (client, folded(name)[:LONGEST_NAME])), (OF_AN_ADDRESS, (client,))]
        # One at a time: each takes 64 MB, and one that failed counts before the next is looked at.
        async with self._one:
            if not all(self._limiter.test(limit, *of) for limit, of in limits):
                return self._page(name, TOO_OFTEN, 429)
            user = await run_in_threadpool(self.users.check, name, form.get("password", ""))
            if user is None:
                for limit, of in limits:
                    self._limiter.hit(limit, *of)
                return self._page(name, WRONG, 401)
        return self._enter(request, user.name, user.fingerprint)

    async def _log_out(self, request: Request) -> Response:
        response = RedirectResponse(LOGIN, 303)
        if not self.users.is_open:
            response.delete_cookie(self._cookie)
        return response

    def _enter(self, request: Request, name: str, fingerprint: str) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self._cookie,
            self._signer.dumps([name, fingerprint]),
            max_age=DAYS * 86400,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https" or request.headers.get("x-forwarded-proto", "").startswith("https"),
        )
        return response

    def _page(self, name: str = "", error: str = "", status: int = 200) -> Response:
        return HTMLResponse(login_page(name, error, self._guests), status, {"cache-control": "no-store"})

    @cached_property
    def _signer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.users.secret(), salt="login")

    @cached_property
    def _cookie(self) -> str:
        """Named after its key: browsers do not tell two servers on one machine apart."""
        return f"rememberer-{sha256(self.users.secret().encode()).hexdigest()[:8]}"
