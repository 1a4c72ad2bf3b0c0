"""A memory in a bucket: as good as one in a folder, with workers on any number of machines, some of which die or sleep.

What every store does is in `test_contract.py`, for this one too.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from app.cli import main
from rememberer.embedding import DEFAULT_ENCODER
from rememberer.errors import StoreError, WrongStore
from rememberer.events import Forgotten
from rememberer.session import Session
from storage import LanceStore, doctor, export_log, import_log
from storage.objects import Objects
from storage.schema import fingerprint
from tests.rememberer.worlds import Corridor, memory_on
from tests.storage.conftest import Child, episode, event, experience, open_store, says, tell
from tests.storage.test_kills import Yes
from tests.storage.working import Reminded

SECRET = "Rosenholz-Schatulle 4711"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process is missed sooner."""
    monkeypatch.setattr("storage.lease.EXPIRY", 1.0)


def _objects_with(place: str, text: str) -> list[str]:
    objects, raw = Objects(place), text.encode()
    return [name for name in objects.sizes("") if raw in (objects.read(name) or (b"", ""))[0]]


def test_it_is_there_when_it_is_opened_again_and_moves_to_a_folder_and_back(bucket: str, tmp_path: Path) -> None:
    with closing(open_store(bucket)) as store:
        stored = store.append(episode())
        store.put_experiences("me", [experience()], len(stored) - 1)
    with closing(open_store(bucket)) as store, closing(open_store(tmp_path / "memory")) as folder:
        assert store.events("me") == stored
        assert store.experiences("me") == [experience()]
        export_log(store, "me", tmp_path / "log.jsonl")
        import_log(folder, "me", tmp_path / "log.jsonl")
        assert [each.body for each in folder.events("me")] == [each.body for each in stored]
    with pytest.raises(WrongStore, match=r"embedded with 'a-model'.*'another'"):
        LanceStore(bucket, embedding_model="another")
    with closing(LanceStore(bucket, embedding_model="another", reembed=True)) as store:
        assert store.events("me") == stored


def test_a_task_is_done_rewarded_and_found_again(bucket: str) -> None:
    with closing(open_store(bucket)) as store:
        memory = memory_on(store)
        session = Session.start(memory, Corridor(), "own:task", Reminded())
        session.run(Yes())
        memory.label(session.episode, 1, -1.0)
        values = memory.experiences()
        assert store.experiences("me") == values
    with closing(open_store(bucket)) as store:
        assert memory_on(store).experiences() == values
        told = list[str]()
        assert doctor.examine(store, told.append) == []


def test_the_command_line_finds_it_by_the_setting(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(LanceStore(bucket, embedding_model=DEFAULT_ENCODER)) as store:
        store.append(episode())
    monkeypatch.setenv("REMEMBERER_MEMORY", bucket)
    monkeypatch.setattr("sys.argv", ["rememberer", "memory", "stats"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    told = capsys.readouterr().out
    assert "tasks:           1" in told
    assert f"for all users, in {bucket}" in told


def test_several_workers_write_at_once(bucket: str, child: Callable[..., Child]) -> None:
    names = ["one", "two", "three"]
    running = [child("append", bucket, "me", name, 0, 12) for name in names]
    said = [process.communicate()[0] for process in running]
    assert [text.split() for text in said] == [[str(number) for number in range(12)]] * 3
    with closing(open_store(bucket)) as store:
        events = store.events("me")
    assert [each.seq for each in events] == list(range(36))
    for name in names:
        assert [each.id for each in events if each.episode == name] == [f"{name}-{number}" for number in range(12)]


def test_what_was_acknowledged_outlives_kill_9_and_others_go_on(bucket: str, child: Callable[..., Child]) -> None:
    acknowledged = 0
    with closing(open_store(bucket)) as store:
        for kill in range(3):
            worker = child("append", bucket, "me", "worker", acknowledged, 10_000)
            for _ in range(2 + kill):
                acknowledged = int(says(worker)) + 1
            worker.kill()
            while said := says(worker):
                acknowledged = int(said) + 1
            store.append([event()])
        events = store.events("me")
    assert [each.seq for each in events] == list(range(len(events)))
    done = [each.id for each in events if each.episode == "worker"]
    assert done[:acknowledged] == [f"worker-{number}" for number in range(acknowledged)]
    assert len(done) <= acknowledged + 1


def test_who_slept_in_the_midst_of_a_write_cannot_finish_it_once_others_have_gone_on(
    bucket: str, child: Callable[..., Child], caplog: pytest.LogCaptureFixture
) -> None:
    sleeper = child("sleep", bucket)
    assert says(sleeper) == "about to write"
    os.kill(sleeper.pid, signal.SIGSTOP)
    with closing(open_store(bucket)) as store:
        first = store.append([event(), event()])
        assert "taken over" in caplog.text
        os.kill(sleeper.pid, signal.SIGCONT)
        tell(sleeper, "go on")
        assert "taken over" in says(sleeper)  # it would have been the third with the number 0
        assert store.events("me") == first
        assert says(sleeper) == "about to write"
        tell(sleeper, "go on")
        assert says(sleeper) == "stored as 2"
        assert [each.id for each in store.events("me", after=1)] == ["of the sleeper"]


def test_who_only_takes_long_keeps_the_lock(bucket: str, child: Callable[..., Child]) -> None:
    slow = child("sleep", bucket)
    assert says(slow) == "about to write"
    with closing(open_store(bucket.replace("/mine", "/yours"))) as other:
        other.append([event()])  # nobody waits for another memory
    opened = list[LanceStore]()
    waiting = threading.Thread(target=lambda: opened.append(open_store(bucket)))
    waiting.start()
    waiting.join(3.0)
    assert not opened
    tell(slow, "go on")
    assert says(slow) == "stored as 0"
    waiting.join()
    with closing(opened[0]) as store:
        assert [each.id for each in store.events("me")] == ["of the sleeper"]


def test_what_was_forgotten_is_in_no_object(bucket: str) -> None:
    ones = np.ones(3, np.float32)
    with closing(open_store(bucket)) as store:
        others = [experience(str(number)) for number in range(5)]
        with_secret = experience(SECRET, task=SECRET).model_copy(update={"history": (SECRET,)})
        stored = store.append(episode(task=SECRET))
        theirs = store.append(episode("you"))
        store.put_experiences("me", [with_secret, *others], 0)
        store.put_vectors("me", {SECRET: ones, "text": ones})
        tables = {name.split(".")[0] for name in _objects_with(bucket, SECRET)}
        assert tables == {"log", "states", "values", "vectors"}
        # As a killed process leaves it: written, and in no version.
        Objects(bucket).write("log.lance/data/leftover.lance", SECRET.encode())
        redacted = episode(task="(forgotten)")
        instead = [new.model_copy(update={"id": old.id}) for old, new in zip(stored, redacted, strict=True)]
        store.replace("me", instead, event(body=Forgotten(stand_ins=("forgotten:1",))))
        store.drop_experiences("me", [with_secret.key])
        store.put_experiences("me", [], len(stored))
        store.drop_vectors("me", [SECRET])
        store.forget_files()

        assert _objects_with(bucket, SECRET) == []
        for name in (with_secret.key, SECRET):
            assert _objects_with(bucket, fingerprint("me", name)) == []
        assert [each.body for each in store.events("me")][:-1] == [each.body for each in redacted]
        assert store.events("you") == theirs
        assert {each.key for each in store.experiences("me")} == {each.key for each in others}
        assert list(store.vectors("me")) == ["text"]


def test_it_stays_small_by_itself_and_others_read_meanwhile(bucket: str) -> None:
    with closing(open_store(bucket)) as store, closing(open_store(bucket)) as reader:
        for number in range(60):
            store.append([event()])
            assert len(reader.events("me")) == number + 1
        store.close()
        assert 0 < reader.stats().log.versions < 40


def test_a_place_that_cannot_be_reached_or_is_not_there_is_told(
    bucket: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(StoreError, match=r"There is no such bucket.*REMEMBERER_MEMORY"):
            open_store("s3://no-such-bucket/mine")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        with pytest.raises(StoreError, match=r"cannot be reached.*AWS_ENDPOINT_URL") as told:
            open_store(bucket)
    for words in (str(told.value), caplog.text):
        assert "a-secret-of-nobody" not in words
        assert "AKIDOFNOBODY" not in words


def test_keys_that_are_not_accepted_are_told(s3: str, bucket: str) -> None:
    with closing(open_store(bucket)) as store:
        store.append([event()])
    _post(s3, "/moto-api/reset-auth", b"0")
    try:
        with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID") as told:
            open_store(bucket)
    finally:
        _post(s3, "/moto-api/reset-auth", b"inf")
    assert "a-secret-of-nobody" not in str(told.value)
    assert "AKIDOFNOBODY" not in str(told.value)
    with closing(open_store(bucket)) as store:
        assert len(store.events("me")) == 1


@pytest.mark.parametrize("place", ["gs://bucket/mine", "s3://", "s3://key:secret@bucket/mine", "s3://bucket/mine?x=1"])
def test_what_is_no_place_is_refused_and_secrets_are_not_repeated(place: str) -> None:
    with pytest.raises(WrongStore, match="s3://bucket/prefix") as told:
        open_store(place)
    assert "secret" not in str(told.value)


def test_what_is_something_else_is_left_alone(bucket: str) -> None:
    Objects(bucket).write("holiday.jpg", b"a picture")
    with pytest.raises(WrongStore, match=r"no memory of this program.*holiday\.jpg"):
        open_store(bucket)
    assert Objects(bucket).names() == {"holiday.jpg"}


@pytest.fixture
def careless(s3: str, monkeypatch: pytest.MonkeyPatch, bucket: str) -> Iterator[str]:
    """The same place by way of a server that knows no conditions."""
    real = urlsplit(s3).netloc

    class Careless(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept = {name: value for name, value in self.headers.items() if not name.lower().startswith("if-")}
            connection = HTTPConnection(real)
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Careless, f"do_{method}", Careless._pass_on)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Careless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
    yield bucket
    server.shutdown()
    server.server_close()


def test_a_server_that_would_lose_work_is_refused(careless: str) -> None:
    with pytest.raises(StoreError, match="conditional writes"):
        open_store(careless)


def _post(server: str, path: str, body: bytes) -> None:
    connection = HTTPConnection(urlsplit(server).netloc)
    connection.request("POST", path, body)
    assert connection.getresponse().status == 200
    connection.close()
