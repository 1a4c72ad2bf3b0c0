"""A real HTTP server that behaves like the odder ones among those that call themselves OpenAI-compatible."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Behaviour = Callable[["Handler"], None]


@dataclass
class FakeServer:
    """Answers each chat request with the next behaviour; the last one stays.

    `refuses` are parameters with the complaint about each. `requests` are the bodies received, `left` is set when a
    client went away while the server was hanging.
    """

    behaviours: list[Behaviour]
    refuses: Mapping[str, str] = field(default_factory=dict)
    key: str = "sk-right"
    requests: list[dict[str, Any]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.fake = self
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        fake: FakeServer = self.server.fake
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fake.requests.append(body)
        if self.path != "/v1/chat/completions":
            return fail(404, "Not Found")(self)
        if fake.key and self.headers["Authorization"] != f"Bearer {fake.key}":
            return fail(401, f"Incorrect API key provided: {self.headers['Authorization'][7:]}.")(self)
        for name, complaint in fake.refuses.items():
            if name in json.dumps(body):
                return fail(400, complaint)(self)
        behaviour = fake.behaviours.pop(0) if len(fake.behaviours) > 1 else fake.behaviours[0]
        return behaviour(self)

    def send(self, status: int, body: str, kind: str = "application/json", **headers: str) -> None:
        raw = body.encode()
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def send_event(self, data: Any) -> None:
        raw = f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True

    def hang_until_left(self) -> None:
        self.wfile.flush()
        # Nothing comes after a request, so this returns when the client closes the connection.
        self.connection.recv(1)
        self.server.fake.left.set()
        self.close_connection = True


def _chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def say(text: str, *, thoughts: str = "", finish: str | None = "stop", usage: bool = True) -> Behaviour:
    """Stream a text in pieces of a few characters, with usage at the end."""

    def behave(to: Handler) -> None:
        to.begin_stream()
        if thoughts:
            to.send_event(_chunk({"role": "assistant", "content": None, "reasoning_content": thoughts}))
        for piece in re.findall(r"(?s).{1,7}", text):
            to.send_event(_chunk({"content": piece}))
        to.send_event(_chunk({}, finish))
        if usage:
            counted = {"prompt_tokens": 1234, "completion_tokens": 56, "total_tokens": 1290}
            to.send_event(_chunk({}) | {"choices": [], "usage": counted})
        to.send_event("[DONE]")
        to.wfile.write(b"0\r\n\r\n")

    return behave


def say_at_once(text: str) -> Behaviour:
    """Answer in one piece of JSON, asked for a stream or not."""

    def behave(to: Handler) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        to.send(
            200, json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        )

    return behave


def fail(status: int, message: str, **headers: str) -> Behaviour:
    """Refuse in OpenAI's form. Retries come at once, as the client otherwise waits half a second."""
    error = {"message": message, "type": "error", "param": None, "code": None}
    return lambda to: to.send(status, json.dumps({"error": error}), **{"retry_after_ms": "1"} | headers)


def page(to: Handler) -> None:
    """Answer with a web page, as a server does whose chat lives at another address."""
    to.send(200, "<html><body>Welcome</body></html>", kind="text/html")


def hang(to: Handler) -> None:
    """Say nothing."""
    to.hang_until_left()


def hang_after(text: str) -> Behaviour:
    """Begin to answer, then say nothing more."""

    def behave(to: Handler) -> None:
        to.begin_stream()
        to.send_event(_chunk({"content": text}))
        to.hang_until_left()

    return behave


def hang_up_after(text: str, finish: str | None = None) -> Behaviour:
    """Begin to answer, then close the connection without ending the stream."""

    def behave(to: Handler) -> None:
        to.begin_stream()
        to.send_event(_chunk({"content": text}, finish))
        to.hang_up()

    return behave


def fail_after(text: str, message: str) -> Behaviour:
    """Begin to answer, then send an error inside the stream."""

    def behave(to: Handler) -> None:
        to.begin_stream()
        to.send_event(_chunk({"content": text}))
        to.send_event({"error": {"message": message}})
        to.wfile.write(b"0\r\n\r\n")

    return behave


def garbage(to: Handler) -> None:
    """Stream something that is no JSON."""
    to.begin_stream()
    to.send_event("{not json")
    to.wfile.write(b"0\r\n\r\n")
