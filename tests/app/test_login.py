"""Logging in, and that nothing of the page is there before."""

import asyncio
import base64
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from starlette.routing import Mount
from starlette.testclient import TestClient

from app import serve
from app.desk import Desk
from app.desks import Desks
from app.guard import Door, Guard
from app.guest_desk import LOOKING, LookOnly, behind_glass
from app.login import Logins
from app.login_page import login_page
from app.opening import begin, open_memory
from app.settings import load_settings
from app.users import GUEST, Users
from app.view import NO_CARD
from rememberer.errors import RemembererError
from rememberer.labels import WHOLE
from rememberer.records import Decision
from rememberer.store import InMemoryStore
from tests.app.conftest import OFFICIAL, Run
from tests.app.test_render import _Page
from tests.rememberer.encoders import WordEncoder

PASSWORD = "correct horse"
HOME = "http://127.0.0.1:7860"


class House:
    """A page behind the door, with users of its own, and browsers for it.

    The page is one line, who is looking; with `whole` it is the one that is served.
    """

    def __init__(self, home: Path, *, whole: bool = False, **settings: Any) -> None:
        self.store = InMemoryStore()
        self.desks = Desks(load_settings(home=home, data=OFFICIAL, **settings), self.store, WordEncoder())
        self.users = Users(home)
        if whole:
            # In a thread of its own: the browser of other tests has a loop running in this one.
            with ThreadPoolExecutor(1) as thread:
                self.app = thread.submit(asyncio.run, self._whole()).result()
        else:
            self.app = self._small()

    async def _whole(self) -> FastAPI:
        # Gradio makes event loops that it never closes where none is running.
        return serve.build(self.desks, lambda request: "me")

    def _small(self) -> FastAPI:
        app = FastAPI()
        logins = Logins(self.desks.users, lambda request: "me", guests=self.desks.settings.guests)
        app.add_middleware(Door, logins=logins)
        app.add_middleware(Guard)

        def user(request: Request) -> HTMLResponse:
            return HTMLResponse(str(logins.user_of(request)))

        app.add_api_route("/", user)
        return app

    def browser(self, client: str = "10.0.0.1", base_url: str = HOME) -> TestClient:
        return TestClient(self.app, base_url=base_url, follow_redirects=False, client=(client, 5000))

    def inside(self, name: str = "anna", **where: str) -> TestClient:
        browser = self.browser(**where)
        assert _log_in(browser, name) == 303
        return browser


def _log_in(browser: TestClient, name: str, password: str = PASSWORD) -> int:
    return browser.post("/login", data={"name": name, "password": password}).status_code


def _user(browser: TestClient) -> str | None:
    """Who the page says that one is."""
    answer = browser.get("/")
    return answer.text if answer.status_code == 200 else None


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    houses: list[House] = []

    def open_house(*users: str, **settings: Any) -> House:
        houses.append(House(tmp_path, **settings))
        for user in users:
            houses[-1].users.add(user, PASSWORD)
        return houses[-1]

    yield open_house
    for each in houses:
        each.desks.close()


def _addresses(app: FastAPI) -> set[tuple[str, str]]:
    """Every method and path that the page answers, with something in the place of parameters."""
    (page,) = [route.app for route in app.routes if isinstance(route, Mount)]
    assert isinstance(page, FastAPI)
    paths = page.openapi()["paths"]
    return {(method.upper(), re.sub("{.*?}", "x", path)) for path, methods in paths.items() for method in methods}


def test_without_a_login_nothing_is_there(house: Callable[..., House]) -> None:
    shop = house("anna", whole=True)
    browser = shop.browser()
    addresses = _addresses(shop.app)
    assert len(addresses) > 60
    assert {("GET", "/config"), ("POST", "/gradio_api/queue/join"), ("POST", "/gradio_api/upload")} <= addresses
    addresses |= {("GET", f"/gradio_api/file={OFFICIAL}"), ("GET", "/no/such/address"), ("GET", "/login/x")}
    for method, path in sorted(addresses):
        if path in ("/login", "/logout"):
            continue
        assert browser.request(method, path).status_code == 401, (method, path)
        asked = browser.request(method, path, headers={"accept": "text/html"})
        assert asked.status_code == (303 if method in ("GET", "HEAD") else 401), (method, path)
        assert asked.headers.get("location", "/login") == "/login"
        assert "set-cookie" not in asked.headers


def test_nobody_logs_in_where_there_are_no_users(house: Callable[..., House]) -> None:
    shop = house()
    browser = shop.browser()
    assert _user(browser) == "me"
    for answer in (browser.get("/login"), browser.post("/login", data={}), browser.post("/logout")):
        assert answer.status_code == 303
    assert browser.get("/login").headers["location"] == "/"
    assert shop.desks.of("me").view().leave == ""


def test_the_first_user_shuts_the_door_and_the_last_one_leaves_it_shut(house: Callable[..., House]) -> None:
    shop = house()
    browser = shop.browser()
    assert _user(browser) == "me"
    shop.users.add("anna", PASSWORD)
    assert _user(browser) is None
    assert _log_in(browser, "anna") == 303
    assert _user(browser) == "anna"
    assert shop.desks.of("anna").view().leave == "Log out"
    shop.users.remove("anna")
    assert _user(browser) is None
    assert _log_in(browser, "anna") == 401


def test_who_logs_in_is_whom_the_list_says(house: Callable[..., House]) -> None:
    browser = house("Zoë", "anna").browser()
    assert _log_in(browser, " ZOË ") == 303
    assert _user(browser) == "Zoë"
    assert browser.get("/").headers["cache-control"] == "no-store"
    assert browser.get("/login").headers["location"] == "/"


def test_logging_out_takes_the_cookie_away(house: Callable[..., House]) -> None:
    browser = house("anna").inside()
    assert browser.get("/logout").status_code == 405
    left = browser.post("/logout")
    assert (left.status_code, left.headers["location"]) == (303, "/login")
    assert not browser.cookies
    assert _user(browser) is None


@pytest.mark.parametrize("what", ["password", "remove", "again"])
def test_sessions_end_at_once(house: Callable[..., House], what: str) -> None:
    shop = house("anna", "ben")
    anna, ben = shop.inside("anna"), shop.inside("ben")
    if what == "password":
        shop.users.set_password("anna", PASSWORD)
    else:
        shop.users.remove("anna")
    if what == "again":
        shop.users.add("anna", PASSWORD)
    assert _user(anna) is None
    assert _user(ben) == "ben"


def test_what_is_on_its_way_ends_too(house: Callable[..., House]) -> None:
    shop = house("anna")
    browser = shop.inside()
    sent: list[Any] = []

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for text in (b"one", b"two", b"three"):
            await send({"type": "http.response.body", "body": text, "more_body": True})
            if text == b"one":
                shop.users.remove("anna")
        sent.append("all")

    logins = Logins(shop.users, lambda connection: "me")
    listening = TestClient(Door(stream, logins), base_url=HOME, cookies=browser.cookies)
    assert listening.get("/").content == b"one"
    assert sent == ["all"]


def test_a_cookie_cannot_be_made_up_or_carried_elsewhere(house: Callable[..., House], tmp_path: Path) -> None:
    shop = house("anna", "ben")
    browser = shop.inside()
    ((name, cookie),) = browser.cookies.items()
    payload, rest = cookie.split(".", 1)
    known = base64.urlsafe_b64decode(payload + "==").decode()
    assert PASSWORD not in known
    assert shop.users.all()[0].hash not in known
    forged = base64.urlsafe_b64encode(known.replace("anna", "ben").encode()).decode().rstrip("=")
    other = House(tmp_path / "elsewhere")
    other.users.add("anna", PASSWORD)
    for bad in (f"{forged}.{rest}", payload, "", "x", f"{cookie}x", *other.inside().cookies.values()):
        visitor = shop.browser()
        visitor.cookies.set(name, bad)
        assert _user(visitor) is None, bad
    other.desks.close()


def test_a_cookie_is_no_older_than_30_days(house: Callable[..., House], monkeypatch: pytest.MonkeyPatch) -> None:
    browser = house("anna").inside()
    made = time.time()
    monkeypatch.setattr("itsdangerous.timed.TimestampSigner.get_timestamp", lambda self: int(made) + 30 * 86400 - 9)
    assert _user(browser) == "anna"
    monkeypatch.setattr("itsdangerous.timed.TimestampSigner.get_timestamp", lambda self: int(made) + 30 * 86400 + 9)
    assert _user(browser) is None


@pytest.mark.parametrize(
    ("base_url", "headers", "secure"),
    [(HOME, {}, False), ("https://127.0.0.1:7860", {}, True), (HOME, {"x-forwarded-proto": "https"}, True)],
)
def test_the_cookie_is_for_the_server_only(
    house: Callable[..., House], base_url: str, headers: dict[str, str], secure: bool
) -> None:
    browser = house("anna").browser(base_url=base_url)
    answer = browser.post("/login", data={"name": "anna", "password": PASSWORD}, headers=headers)
    told = answer.headers["set-cookie"].lower()
    assert "httponly" in told
    assert "samesite=lax" in told
    assert "max-age=2592000" in told
    assert ("secure" in told) == secure


def test_wrong_names_and_wrong_passwords_are_told_alike(house: Callable[..., House]) -> None:
    browser = house("anna").browser()
    wrong = [
        browser.post("/login", data={"name": name, "password": "wrong word"}) for name in ("anna", "nina", "shared")
    ]
    assert {each.status_code for each in wrong} == {401}
    pages = {each.text.replace("nina", "anna").replace("shared", "anna") for each in wrong}
    assert len(pages) == 1
    assert "This name and this password do not belong together." in pages.pop()
    assert "wrong word" not in wrong[0].text
    assert "set-cookie" not in wrong[0].headers


def test_who_fails_too_often_waits(house: Callable[..., House]) -> None:
    shop = house("anna", "ben")
    browser = shop.browser()
    for spelling in ("anna", "ANNA", " anna", "Anna", "anna "):
        assert _log_in(browser, spelling, "wrong word") == 401
    refused = browser.post("/login", data={"name": "anna", "password": PASSWORD})
    assert refused.status_code == 429
    assert "Wait a minute" in refused.text
    assert "set-cookie" not in refused.headers
    assert _log_in(browser, "ben") == 303
    assert _log_in(shop.browser("10.0.0.2"), "anna") == 303


def test_who_tries_many_names_waits_too(house: Callable[..., House]) -> None:
    shop = house("anna")
    browser = shop.browser()
    for _ in range(6):
        assert _log_in(shop.browser(), "anna") == 303  # what goes well does not count
    for number in range(30):
        assert _log_in(browser, f"name {number}", "wrong word") == 401
    assert _log_in(browser, "anna") == 429
    assert _log_in(shop.browser("10.0.0.2"), "anna") == 303


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_another_site_cannot_log_anybody_in_or_out(house: Callable[..., House], path: str) -> None:
    browser = house("anna").browser()
    sent = {"name": "anna", "password": PASSWORD}
    assert browser.post(path, data=sent, headers={"origin": "https://evil.example"}).status_code == 403
    assert browser.post(path, data=sent, headers={"origin": HOME}).status_code == 303


def test_nobody_is_sent_elsewhere(house: Callable[..., House]) -> None:
    browser = house("anna").browser()
    form = {"name": "anna", "password": PASSWORD, "next": "//evil.example"}
    assert browser.post("/login?next=https://evil.example", data=form).headers["location"] == "/"


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 401), (b"\xff=%ff&name=%00%ff", 401), (b"name=anna&name=ben", 401), (b"name=" + b"a" * 9000, 413)],
)
def test_anything_may_be_sent(house: Callable[..., House], body: bytes, status: int) -> None:
    assert house("anna").browser().post("/login", content=body).status_code == status


def test_a_broken_list_is_told_and_lets_nobody_in(
    house: Callable[..., House], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    browser = house("anna").inside()
    (tmp_path / "users.json").write_text("{")
    for path in ("/", "/login", "/config"):
        answer = browser.get(path)
        assert answer.status_code == 503
        assert str(tmp_path) not in answer.text
    assert "users.json cannot be read" in caplog.text


def test_nothing_secret_is_logged(house: Callable[..., House], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shop = house("anna")
    browser = shop.inside()
    _log_in(browser, "anna", "wrong word")
    for secret in (PASSWORD, "wrong word", "argon2id", *browser.cookies.values()):
        assert secret not in caplog.text


@pytest.mark.parametrize("name", ['"><script>x</script>', "' autofocus onfocus='x", "\0", "\ud800"])
def test_what_was_typed_is_shown_as_text(name: str) -> None:
    page = _Page(login_page(name, name, guests=True).replace("<meta", "<input").replace("<link", "<input"))
    assert "script" not in page.tags
    assert not page.open
    assert not [attribute for attribute, _ in page.attributes if attribute.startswith("on")]
    assert {value for attribute, value in page.attributes if attribute == "action"} == {"/login"}


# Guests


def _taught(shop: House) -> None:
    """Somebody teaches what guests look at: a task that is over, and one under way."""
    memory = open_memory(shop.store, shop.desks.settings, "shared", WordEncoder())
    policy = shop.desks._policies.of(memory.encoder)["memory"]
    for task in ("own:a red scarf", "own:a blue lamp"):
        session = begin(shop.desks.settings, memory, policy, "webshop", task)
        session.decide(Decision(step=1, kind="override", action=f"search[{task[4:]}]"))
        session.propose()
    session.close()


def test_a_guest_sees_what_is_shared(house: Callable[..., House]) -> None:
    shop = house("anna", guests=True)
    _taught(shop)
    browser = shop.browser()
    assert "Look around as a guest" in browser.get("/login").text
    assert browser.post("/login", data={"guest": "1"}).status_code == 303
    assert _user(browser) == GUEST
    desk = shop.desks.of(GUEST)
    assert len(desk.memory) == 2
    view = desk.view()
    assert (view.user, view.leave, view.status) == ("shared", "Log in", "waiting")
    assert view.transcript is not None
    assert view.transcript.started.task == "a blue lamp"
    assert view.recalled is not None


def test_where_there_are_no_guests_nobody_is_one(house: Callable[..., House], tmp_path: Path) -> None:
    open_to_guests = house("anna", guests=True)
    guest = open_to_guests.browser()
    guest.post("/login", data={"guest": "1"})
    shut = house()
    assert "guest" not in shut.browser().get("/login").text
    assert shut.browser().post("/login", data={"guest": "1"}).status_code == 401
    visitor = shut.browser()
    visitor.cookies.update(guest.cookies)
    assert _user(visitor) is None


def test_a_guest_changes_nothing_whatever_they_do(house: Callable[..., House]) -> None:
    shop = house("anna", guests=True)
    _taught(shop)
    before = shop.store.events("shared")
    desk = shop.desks.of(GUEST)
    memory, card = desk.memory, desk.view().card
    key = memory.experiences()[0].key
    acts: dict[str, tuple[Any, ...]] = {
        "start": ("webshop", "0"),
        "approve": (card,),
        "override": (card, "search[x]"),
        "reject": (card,),
        "propose": (),
        "run": (False,),
        "guide": ("be quick",),
        "take_back": (),
        "label": (WHOLE, 1.0),
        "withdraw": (WHOLE,),
        "undo": (),
        "use": ("memory",),
        "forget": (key,),
    }
    writing = {name for name in dir(Desk) if not name.startswith("_")} - set(LOOKING) - {"policies"}
    for name in sorted(writing):
        with pytest.raises(LookOnly, match=r"^Guests can look, not change\. Log in to teach\.$"):
            getattr(desk, name)(*acts.get(name, (NO_CARD,)))
    for act in (
        lambda: memory.forget([memory.experiences()[0].key]),
        memory.end_open,
        lambda: memory.label(card[0], 1, 1.0),
        lambda: behind_glass(shop.store).append([]),
    ):
        with pytest.raises(RemembererError):
            act()
    desk.open()
    desk.stop()
    desk.close()
    assert shop.store.events("shared") == before
    assert len(memory) == 2


def test_a_guest_sends_no_files(house: Callable[..., House]) -> None:
    shop = house("anna", guests=True, whole=True)
    browser = shop.browser()
    browser.post("/login", data={"guest": "1"})
    assert browser.get("/gradio_api/user").json() == GUEST
    for address in ("upload", "upload/", "process_recording", "component_server", "vibe-edit"):
        refused = browser.post(f"/gradio_api/{address}", files={"files": b"much"})
        assert refused.status_code == 403
        assert refused.json()["detail"].startswith("Guests can look")
    assert browser.post("/logout").headers["location"] == "/login"


# Sharing


@pytest.mark.parametrize("option", ["--share", "--guests"])
def test_without_users_nothing_is_shared(run: Run, option: str) -> None:
    code, out, err = run("serve", option)
    assert (code, out) == (1, "")
    assert "rememberer user add NAME" in err


def test_the_link_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[Any, ...]] = []

    def tunnel(*given: Any) -> str:
        asked.append(given)
        return "https://abc.gradio.live"

    monkeypatch.setattr("gradio.networking.setup_tunnel", tunnel)
    serve._share("127.0.0.1", 7860)
    assert "https://abc.gradio.live" in capsys.readouterr().out
    ((host, port, token, *rest),) = asked
    assert (host, port, rest) == ("127.0.0.1", 7860, [None, None])
    assert len(token) >= 32


def test_without_a_network_it_is_said_why_there_is_no_link(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    serve._share("127.0.0.1", 7860)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("There is no link from elsewhere (Could not get share link")


@pytest.mark.parametrize("share", [False, True])
def test_the_page_answers_by_the_name_of_the_link_when_it_is_shared(house: Callable[..., House], share: bool) -> None:
    browser = house("anna", share=share, whole=True).browser(base_url="https://abc.gradio.live")
    assert browser.get("/login").status_code == (200 if share else 400)
    assert browser.get("/login", headers={"host": "evil.example"}).status_code == 400
    if share:
        assert browser.get("/gradio_api/user").status_code == 401
        assert _log_in(browser, "anna") == 303
        assert browser.get("/gradio_api/user").json() == "anna"
        assert browser.get("/", headers={"accept": "text/html"}).status_code == 200
