"""The command line run in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app import cli
from rememberer.embedding import SentenceEncoder
from tests.rememberer.encoders import WordEncoder

OFFICIAL = Path(__file__).parents[1] / "goldens" / "webshop" / "official-format"
Run = Callable[..., tuple[int, str, str]]
Typed = str | BaseException | Callable[[], str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with lines typed at its prompt, a home of its own, and a quick encoder; code, output, errors.

    After the last line of `typed` the input ends. Where one is an exception, it is raised; where it is a function, it
    is called for the line.
    """
    monkeypatch.setenv("REMEMBERER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMEMBERER_DATA", str(OFFICIAL))
    words = WordEncoder()
    monkeypatch.setattr(SentenceEncoder, "encode", lambda self, texts: words.encode(texts))

    def command(*arguments: str, typed: tuple[Typed, ...] = ()) -> tuple[int, str, str]:
        lines = iter([*typed, EOFError()])

        def read(prompt: str = "") -> str:
            line = next(lines)
            if isinstance(line, BaseException):
                raise line
            return line() if callable(line) else line

        monkeypatch.setattr("builtins.input", read)
        monkeypatch.setattr(sys, "argv", ["rememberer", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return command
