"""In what OpenAI-compatible servers differ: which parameters they take, and what their complaints mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import openai

TOO_LONG = re.compile(r"context[_ ](length|size|window)|available context|prompt is too long", re.IGNORECASE)
"""How servers say that a prompt does not fit."""
NO_MODEL = re.compile(
    r"model_not_found|\bmodels?\b.{0,200}(not found|not exist|unknown|not loaded|invalid)"
    r"|(unknown|invalid|no such|no) models?\b",
    re.IGNORECASE,
)
"""How servers say that they have no such model."""

Format = Literal["lengths", "schema", "object", "text"]
_NEXT_FORMAT: dict[str, Format] = {"lengths": "schema", "schema": "object", "object": "text"}


@dataclass(frozen=True, slots=True)
class Accepts:
    """What a server takes, as far as is known; to begin with, everything."""

    format: Format = "lengths"
    """JSON schema with lengths of strings, schema without (not everybody takes them), any JSON object, free text."""
    limit: Literal["max_tokens", "max_completion_tokens", ""] = "max_tokens"
    temperature: bool = True
    usage: bool = True
    stream: bool = True

    def arguments(self, schema: Mapping[str, Any], max_tokens: int, temperature: float) -> dict[str, Any]:
        """Return the arguments of a request that the server takes."""
        wanted: dict[str, Any] = {"stream": self.stream}
        if self.format in ("lengths", "schema"):
            inner = schema if self.format == "lengths" else _without_lengths(schema)
            described = {"name": "reply", "strict": True, "schema": inner}
            wanted["response_format"] = {"type": "json_schema", "json_schema": described}
        elif self.format == "object":
            wanted["response_format"] = {"type": "json_object"}
        if self.limit:
            wanted[self.limit] = max_tokens
        if self.temperature:
            wanted["temperature"] = temperature
        if self.stream and self.usage:
            wanted["stream_options"] = {"include_usage": True}
        return wanted

    def without(self, error: "openai.APIStatusError") -> "Accepts | None":
        """Return what to try after the server refused this; None when leaving something out is no cure.

        The first parameter that the complaint names goes. If it names none, a plain "bad request" may still mean one
        of them, so they go one after another.
        """
        complaint = f"{error.param or ''} {error}"
        if error.status_code in (401, 403, 429) or TOO_LONG.search(complaint):
            return None
        steps = self._steps()
        found = [(re.search(rf"\b(?:{names})\b", complaint, re.IGNORECASE), step) for names, step in steps]
        named = [(match.start(), index) for index, (match, _) in enumerate(found) if match]
        if named:
            return steps[min(named)[1]][1]
        blind = error.status_code in (400, 422) and not NO_MODEL.search(complaint)
        return steps[0][1] if blind and steps else None

    def _steps(self) -> "list[tuple[str, Accepts]]":
        """What can be left out next: how complaints name it, and what remains."""
        steps = []
        if self.format != "text":
            names = "response_format|json_schema|json_object|json mode|grammar|structured outputs?"
            steps.append((names, replace(self, format=_NEXT_FORMAT[self.format])))
        if self.usage:
            steps.append(("stream_options|include_usage", replace(self, usage=False)))
        if self.temperature:
            steps.append(("temperature", replace(self, temperature=False)))
        if self.limit == "max_tokens":
            steps.append(("max_tokens", replace(self, limit="max_completion_tokens")))
        elif self.limit:
            steps.append(("max_completion_tokens", replace(self, limit="")))
        if self.stream:
            steps.append(("stream|streaming", replace(self, stream=False, usage=False)))
        return steps


found_out: dict[tuple[str, str], Accepts] = {}
"""What servers were found to take, by address and model; kept for the process."""


def _without_lengths(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {name: _without_lengths(inner) for name, inner in schema.items() if name != "maxLength"}
    return [_without_lengths(inner) for inner in schema] if isinstance(schema, list) else schema
