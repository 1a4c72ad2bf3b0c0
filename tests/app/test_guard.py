"""What the server refuses before the page sees it."""

import pytest
from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.guard import Guard


async def _hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


@pytest.fixture
def client() -> TestClient:
    app = Starlette(routes=[Route("/", _hello, methods=["GET", "POST"])])
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1"])
    app.add_middleware(Guard)
    return TestClient(app, base_url="http://127.0.0.1:7860")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://127.0.0.1:7860", 200),
        ("http://127.0.0.1:9999", 403),
        ("https://evil.example", 403),
        ("null", 403),
    ],
)
def test_another_site_cannot_make_a_browser_post(client: TestClient, origin: str | None, status: int) -> None:
    headers = {"origin": origin} if origin else {}
    assert client.post("/", headers=headers).status_code == status
    assert client.get("/", headers=headers).status_code == 200


def test_nothing_may_come_from_elsewhere(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy
    assert client.get("/").headers["x-content-type-options"] == "nosniff"


def test_a_name_that_points_here_is_not_enough(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
