"""Reading what a language model answered: JSON where the server can be held to it, tolerant text where it cannot."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, FiniteFloat, ValidationError, field_validator
from pydantic_core import from_json

import envs
from rememberer.records import ActionText

VALUES = [step / 10 for step in range(-10, 11)]
"""The values a model can give. A list, as llama.cpp ignores the bounds of a number and may write digits for ever."""
WORDS_LENGTH = 160
"""Characters of a candidate's reason, and of an argument."""


class Suggestion(BaseModel):
    """An action as the model wrote it. `argument` is for typed actions; `value` is the model's own opinion, not Q."""

    action: str
    argument: str = ""
    value: FiniteFloat | None = None
    reason: str = ""

    @field_validator("argument", "reason", mode="before")
    @classmethod
    def _null_is_empty(cls, given: Any) -> Any:
        return "" if given is None else given


@dataclass(frozen=True, slots=True)
class Reply:
    """What could be read. No suggestions: it could not be."""

    suggestions: tuple[Suggestion, ...]
    reasoning: str = ""


def schema(available: Sequence[ActionText], *, k: int, reasoning_length: int) -> dict[str, Any]:
    """Return the JSON schema of a reply with 1 to `k` candidates, held to the available actions if there are any.

    A typed action is one entry of the list like any other; what goes into its `<...>` is the field `argument`, which
    exists only where there are typed actions. `reasoning_length` is in characters.
    """
    candidate: dict[str, Any] = {"action": {"type": "string"}}
    if available:
        candidate["action"]["enum"] = list(dict.fromkeys(each.text for each in available))
    if any(each.typed for each in available):
        candidate["argument"] = {"type": "string", "maxLength": WORDS_LENGTH}
    candidate["value"] = {"type": "number", "enum": VALUES}
    candidate["reason"] = {"type": "string", "maxLength": WORDS_LENGTH}
    candidates = {"type": "array", "items": _closed(candidate), "minItems": 1, "maxItems": k}
    return _closed({"reasoning": {"type": "string", "maxLength": reasoning_length}, "candidates": candidates})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def parse(text: str) -> Reply:
    """Read a reply in either form; never raises. A suggestion whose value is not finite is left out."""
    thoughts, answer = _without_thoughts(text)
    data = _find_json(answer)
    if data is None:
        return Reply(tuple(_suggestions(_read_text(answer))), thoughts)
    listed, reasoning = data.get("candidates"), data.get("reasoning")
    suggestions = tuple(_suggestions(listed if isinstance(listed, list) else ()))
    return Reply(suggestions, reasoning if isinstance(reasoning, str) else thoughts)


def resolve(suggestion: Suggestion, available: Sequence[ActionText]) -> str | None:
    """Return the available action that is meant, as the world spells it, or None.

    With an empty `available` (a world that does not list its actions) any action that is not empty is fine.
    """
    written = suggestion.action.strip()
    if not available:
        return written or None
    for each in available:
        if each.typed and written.casefold() == each.text.casefold():
            # The pattern itself: it is an action only once its argument is filled in.
            argument = suggestion.argument.strip()
            head, _, rest = each.text.partition("<")
            return f"{head}{argument}{rest.partition('>')[2]}" if argument else None
    known = [envs.Action(each.text, each.label, each.kind, each.typed) for each in available]
    found = envs.matches(known, written)
    if found is None:
        return None
    return written if found.typed else found.text


def reasoning_so_far(text: str) -> str:
    """Return what of a reply that is still being written is reasoning, for showing it meanwhile."""
    thoughts, answer = _without_thoughts(text)
    _, brace, rest = answer.partition("{")
    try:
        written = from_json(brace + rest, allow_partial="trailing-strings") if brace else {}
    except ValueError:
        written = {}
    reasoning = written.get("reasoning")
    return reasoning if isinstance(reasoning, str) else thoughts


def _without_thoughts(text: str) -> tuple[str, str]:
    """Split off what a reasoning model wrote between <think> and </think>; either tag may be missing."""
    before, opened, rest = text.partition("<think>")
    if not opened:
        thoughts, _, answer = text.rpartition("</think>")
        return thoughts.strip(), answer
    thoughts, _, answer = rest.partition("</think>")
    return thoughts.strip(), before + answer


def _suggestions(listed: Iterable[Any]) -> Iterator[Suggestion]:
    for each in listed:
        try:
            yield Suggestion.model_validate(each)
        except ValidationError:
            continue


def _find_json(text: str) -> dict[str, Any] | None:
    """Return the object with the candidates: the last complete one, one cut short, or one made of loose ones."""
    complete = list(_objects(text))
    replies = [each for each in complete if "candidates" in each]
    if not replies:
        for start in (brace.start() for brace in re.finditer(r"\{", text)):
            try:
                # Leaves out the string that was being written when the reply was cut, so no action is half of one.
                cut = from_json(text[start:], allow_partial=True)
            except ValueError:
                continue
            replies = [cut] if "candidates" in cut else []
            break
    loose = [each for each in complete if "action" in each]
    if not replies and loose:
        return {"candidates": loose}
    return replies[-1] if replies else None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the complete JSON objects of a text, outermost ones where they are complete."""
    # Not strict: models write line breaks inside strings.
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


_HEADING = re.compile(
    r"(?P<before>.*?)(?<![^\W_])(?P<side>en|dis)couraged(?:\s+actions?)?[*_`]*(?:\s*\([^()]*\))?[*_`]*"
    r"\s*(?P<colon>:?)[*_`]*(?P<rest>.*)",
    re.IGNORECASE,
)
_BULLETS = re.compile(r"(?:(?:[-+*•–>]|\(?\d+[.)]|\(?[a-z]\))\s+)+", re.IGNORECASE)
_ARROW = re.compile(r"-{1,2}>|→|={1,2}>|⇒")
# What follows a number must not be able to belong to it: better unread than half read.
_VALUE = re.compile(
    rf"(?:{_ARROW.pattern})\s*[*_`(]*"
    r"(?P<value>[-+−]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?))[*_`)]*(?:[,.](?!\d)|[;:\s]|$)\s*",
    re.IGNORECASE,
)


def _read_text(text: str) -> Iterator[dict[str, Any]]:
    """Read lines `action -> value reason`. A reason may go on over lines until an empty one."""
    current: dict[str, Any] | None = None
    for line in (*_encouraged_lines(text), ""):
        fields = _fields(line)
        if current and not fields and line and not _ARROW.search(line):
            current["reason"] = f"{current['reason']} {line}".strip()
            continue
        if current:
            yield current
        current = fields


def _encouraged_lines(text: str) -> list[str]:
    """Return the lines under `Encouraged:`, or those before any heading when there is no such one."""
    sections: dict[str, list[str]] = {"": []}
    side = ""
    # Not splitlines: U+2028 and its like stand inside page texts and end no line.
    for raw in text.split("\n"):
        line = "" if raw.lstrip().startswith("```") else raw.strip()
        heading = _HEADING.match(line)
        if heading and _is_heading(heading):
            side, line = heading["side"].lower(), heading["rest"].strip()
        sections.setdefault(side, []).append(line)
    return sections.get("en", sections[""])


def _is_heading(found: re.Match[str]) -> bool:
    """Whether the word stands as a heading, not inside an action or a reason: `Sure: Encouraged:`, `## Encouraged`."""
    before = found["before"]
    if found["colon"]:
        return _balanced(before) and not _ARROW.search(before)
    return not re.search(r"\w", before + found["rest"])


def _fields(line: str) -> dict[str, Any] | None:
    """Split a line at the first arrow before a number that leaves no bracket open: actions may contain arrows."""
    bullets = _BULLETS.match(line)
    line = line[bullets.end() :] if bullets else line
    arrows = list(_VALUE.finditer(line))
    if not arrows:
        return None
    arrow = next((each for each in arrows if _balanced(line[: each.start()])), arrows[0])
    action, value = line[: arrow.start()].strip().strip("`*").strip(), arrow["value"].replace("−", "-")
    if len(action) > 1 and action[0] == action[-1] in "\"'":
        action = action[1:-1].strip()
    return {"action": action, "value": float(value), "reason": line[arrow.end() :].strip()} if action else None


def _balanced(text: str) -> bool:
    return all(text.count(left) == text.count(right) for left, right in ("[]", "()", "{}"))
