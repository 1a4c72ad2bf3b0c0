"""A language model from a GGUF file, served on this machine by llama.cpp to the same client as any other."""

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from rememberer.errors import ModelError

MODEL = "local"
"""The name by which the server knows its one model."""
_CHILD = Path(__file__).with_name("llama_child.py")


class LocalServer:
    """llama.cpp's server for the GGUF file `path`, in a child process that ends with this one, kill -9 included.

    `context` is in tokens (prompt and reply together). Used as a context manager, or by `start` and `stop`. Between
    the two, `base_url` and `api_key` are what `ChatModel` takes. Nothing is written to disk.
    """

    def __init__(self, path: Path, *, context: int = 8192, threads: int | None = None) -> None:
        """Raises `ModelError` when `path` is no GGUF file."""
        _check(path)
        self.path = path
        self.base_url = ""
        self.api_key = secrets.token_urlsafe(24)
        self._context = context
        self._threads = threads or _cores()
        self._process: subprocess.Popen[str] | None = None

    def start(self, *, timeout: float = 300.0) -> None:
        """Load the model. Returns when it answers; does nothing when it runs already.

        Raises `ModelError` when it cannot be loaded, or not within `timeout` seconds; then no process is left.
        """
        if self._process is not None:
            return
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Idle threads sleep instead of spinning: spinning ones starve each other on a busy machine.
                env=os.environ | {"OMP_WAIT_POLICY": "passive"},
                # Ctrl-C in the terminal is for the parent, which then ends the child.
                start_new_session=True,
            )
            settings = {
                "path": str(self.path.resolve()),
                "api_key": self.api_key,
                "context": self._context,
                "threads": self._threads,
            }
            told = self._ask(process, settings, timeout)
            if "url" not in told:
                self.stop()
                raise ModelError(self._explain(told, process.returncode, log))
            self.base_url = f"{told['url']}/v1"

    def stop(self) -> None:
        """End the child process. May be called twice."""
        process, self._process = self._process, None
        self.base_url = ""
        if process is None:
            return
        # What the child had not read yet of its settings breaks the pipe.
        with suppress(BrokenPipeError), process:
            process.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"LocalServer({str(self.path)!r})"

    @staticmethod
    def _ask(process: "subprocess.Popen[str]", settings: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Hand over the settings (not on the command line, where everybody could read the key); wait for the answer."""
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(timeout, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            late.cancel()
        return dict(json.loads(line)) if line else {}

    def _explain(self, told: dict[str, Any], status: int, log: IO[str]) -> str:
        if told.get("error") == "runtime":
            return (
                f"Local models need the package xllamacpp, which is not there ({told['detail']}). "
                "It exists for Linux on x86-64; elsewhere, use an OpenAI-compatible server."
            )
        log.seek(0)
        said = re.findall(r"error loading model: (.+)", log.read())
        reason = said[-1] if said else f"it ended with status {status}, perhaps for want of memory or after too long"
        return f"llama.cpp cannot load {self.path}: {reason}. Get the file again (compare its sha256), or try another."


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check(path: Path) -> None:
    """Raise `ModelError` unless the file begins as GGUF files do. The rest is for llama.cpp to judge."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"The model file {path} cannot be read ({reason}). Give the path of a GGUF file.") from None
    if head != b"GGUF":
        raise ModelError(f"{path} is no GGUF file (it does not begin with GGUF). Give one that llama.cpp can load.")
