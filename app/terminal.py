"""Words for a terminal: what comes from outside is printed, and never steers it."""

import sys

from app.ui.render import value_of

# Escape sequences could hide text or paint over what stands above, answers to be approved included.
_STEERING = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t\r"
} | {ord("\r"): ""}


class HungUp(Exception):
    """Raised when whoever reads what is said has left, as `head` does after some lines. That is no error."""


def say(*lines: object) -> None:
    """Print each on a line of its own. Raises `HungUp` when nobody reads any more."""
    try:
        for line in lines:
            print(plain(line))
    except BrokenPipeError:
        raise HungUp from None


def complain(problem: object) -> None:
    """Tell what went wrong, where errors go."""
    print(plain(problem), file=sys.stderr)


def plain(text: object) -> str:
    """A text that a terminal only shows: characters that would steer it, or that it cannot hold, become visible."""
    return str(text).translate(_STEERING).encode("utf-8", "replace").decode()


def one_line(text: str, length: int) -> str:
    """A text on one line, cut to `length` characters."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1] + "…"


def signed(value: float | None) -> str:
    """A value or reward with its sign and two decimals; `new` when nobody knows it."""
    return value_of(value).replace("−", "-")


def counted(count: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
