"""Talking to a language model behind any server that calls itself OpenAI-compatible.

The vendor's client is used here and nowhere else. In what servers differ stands in `rememberer.quirks`.
"""

import asyncio
import concurrent.futures
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from rememberer.errors import Cancelled, ModelError
from rememberer.prompt import Message, count_tokens
from rememberer.quirks import NO_MODEL, TOO_LONG, Accepts, found_out

if TYPE_CHECKING:
    import openai

POLL = 0.1
"""Seconds between two looks at whether the person stopped the call."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered. What it thought before, if the server tells it apart, stands first in <think> tags."""

    text: str
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cut: bool = False
    """The server says that it stopped at the token limit. Some say so, or not, wrongly."""


class Model(Protocol):
    """Something that answers chat messages."""

    @property
    def model(self) -> str:
        """The model's name at its server."""
        ...

    def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        show: Callable[[str], None] = lambda text: None,
    ) -> Answer:
        """Return the answer, held to the JSON `schema` if the server can do that, else as close as it comes.

        `show` is given the text so far, in the caller's thread. Raises `Cancelled` soon after `cancelled()` turns
        true, and `ModelError` when no answer is to be had.
        """
        ...


@dataclass(frozen=True)
class ChatModel:
    """A model by its server's address (`http://127.0.0.1:8080/v1`), key and name.

    `timeout` is in seconds, for a whole answer with all waiting and retrying. Nothing is sent before `answer`.
    Raises `ModelError` for an address or a key that cannot be one.
    """

    base_url: str
    api_key: str
    model: str
    temperature: float = 0.0
    timeout: float = 120.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_key", self.api_key.strip())
        try:
            parts = urlsplit(self.base_url)
            fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            fine = False
        if not fine:
            raise ModelError(
                "The model server's address must look like http://127.0.0.1:8080/v1. Check what was given."
            )
        if not self.api_key.isascii() or not self.api_key.isprintable():
            raise ModelError("The key has characters that no key has. Copy it again into OPENAI_API_KEY.")

    def answer(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
        cancelled: Callable[[], bool] = lambda: False,
        show: Callable[[str], None] = lambda text: None,
    ) -> Answer:
        """See `Model.answer`."""
        parts = _Parts()
        # The call runs on a loop of its own, so that it can be dropped wherever it hangs, connection included.
        call = asyncio.run_coroutine_threadsafe(self._answer(messages, schema, max_tokens, parts), _loop())
        shown = ""
        try:
            while not concurrent.futures.wait([call], timeout=POLL).done:
                if cancelled():
                    raise Cancelled("Stopped while the model was answering.")
                if (text := parts.text) != shown:
                    show(text)
                    shown = text
            if cancelled():
                raise Cancelled("Stopped while the model was answering.")
            return call.result()
        finally:
            call.cancel()

    async def _answer(
        self, messages: Sequence[Message], schema: Mapping[str, Any], max_tokens: int, parts: "_Parts"
    ) -> Answer:
        import openai

        try:
            async with asyncio.timeout(self.timeout), self._client() as client:
                return await self._first_accepted(client, messages, schema, max_tokens, parts)
        # No cause is kept: it holds the request, and so the key.
        except TimeoutError:
            raise ModelError(self._late()) from None
        except (openai.OpenAIError, ValueError, OSError) as error:
            raise ModelError(self._explain(error, parts)) from None

    def _client(self) -> "openai.AsyncOpenAI":
        import openai

        # A server on this machine is never behind a proxy, whatever the environment says.
        local = urlsplit(self.base_url).hostname in ("127.0.0.1", "localhost", "::1")
        wait = openai.Timeout(self.timeout, connect=10)
        return openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.api_key or "none",
            timeout=wait,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=not local, timeout=wait),
        )

    async def _first_accepted(
        self,
        client: "openai.AsyncOpenAI",
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        max_tokens: int,
        parts: "_Parts",
    ) -> Answer:
        """Ask, leaving out one thing after another that the server does not take."""
        import openai

        accepts = found_out.get((self.base_url, self.model), Accepts())
        first: openai.APIStatusError | None = None
        while True:
            parts.clear()
            wanted = accepts.arguments(schema, max_tokens, self.temperature)
            create: Any = client.chat.completions.create
            try:
                if accepts.stream:
                    await parts.take(await create(model=self.model, messages=messages, **wanted))
                else:
                    parts.take_whole(await create(model=self.model, messages=messages, **wanted))
            except openai.APIStatusError as error:
                first = first or error
                less = accepts.without(error)
                if less is None:
                    raise first from None
                accepts = less
                continue
            if accepts.stream and not parts.chunks:
                # It answered, but not as a stream.
                accepts = replace(accepts, stream=False, usage=False)
                continue
            found_out[self.base_url, self.model] = accepts
            return parts.answer(messages)

    def _explain(self, error: Exception, parts: "_Parts") -> str:
        """Say in one plain sentence or two what is wrong and what to do about it."""
        import openai

        where = f"The model server at {self._where}"
        if isinstance(error, openai.APITimeoutError) and parts.chunks:
            return self._late()
        if isinstance(error, openai.APIConnectionError):
            if parts.chunks:
                return f"{where} closed the connection in the middle of its answer. Try again."
            return f"{where} cannot be reached. Start it, or correct the address (REMEMBERER_BASE_URL)."
        if not isinstance(error, openai.APIError):
            return f"{where} sent something that is no chat answer. Check the address: it usually ends in /v1."
        status = getattr(error, "status_code", None)
        said = self._said(error)
        if status == 401:
            problem = "does not accept the key. Check" if self.api_key else "asks for a key. Set"
            return f"{where} {problem} OPENAI_API_KEY."
        if status == 403:
            return f"{where} does not let this key use the model {self.model!r}{said}. Use another key or model."
        if status == 429:
            headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
            wait = headers.get("retry-after", "")
            wait = f" for {wait} s" if re.fullmatch(r"[\d.]+", wait) else ""
            return f"{where} is asked too often, or the account has run out{said}. Wait{wait} and try again."
        if TOO_LONG.search(str(error)):
            return (
                f"The prompt is too long for the model {self.model!r}{said}. Lower the prompt budget, "
                "or give the model a larger context."
            )
        if NO_MODEL.search(str(error)):
            return f"{where} has no model {self.model!r}{said}. Choose one that it has."
        if status == 404:
            return f"{where} has no chat at that address. Check it (REMEMBERER_BASE_URL): it usually ends in /v1."
        if status is None or status >= 500:
            return f"{where} failed{said}. Try again in a moment, or look into the server's log."
        return f"{where} refuses the request{said}. Use another model or server."

    def _late(self) -> str:
        return (
            f"The model server at {self._where} did not finish its answer within {self.timeout:g} s. "
            "Try again, raise the time limit, or use a smaller model."
        )

    def __repr__(self) -> str:
        return f"ChatModel({self._where!r}, {self.model!r})"

    @property
    def _where(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _said(self, error: "openai.APIError") -> str:
        """The server's own words, short, in brackets; without the key, which some servers repeat."""
        body: Any = error.body
        words = (body.get("message") or body.get("detail")) if isinstance(body, dict) else body
        words = " ".join(str(words or "").split())
        if self.api_key:
            words = words.replace(self.api_key, "***")
        if len(words) > 200:
            words = words[:200] + "..."
        return f" (it says: {words.rstrip('.')})" if words else ""


@dataclass
class _Parts:
    """What has arrived of an answer so far."""

    thoughts: str = ""
    content: str = ""
    reason: str = ""
    usage: Any = None
    chunks: int = 0

    def clear(self) -> None:
        self.thoughts = self.content = self.reason = ""
        self.usage, self.chunks = None, 0

    @property
    def text(self) -> str:
        if not self.thoughts:
            return self.content
        return f"<think>{self.thoughts}" + (f"</think>{self.content}" if self.content or self.reason else "")

    async def take(self, stream: AsyncIterator[Any]) -> None:
        import openai

        try:
            async for chunk in stream:
                self.chunks += 1
                self.usage = getattr(chunk, "usage", None) or self.usage
                for choice in (getattr(chunk, "choices", None) or [])[:1]:
                    self._add(choice.delta, choice)
        except openai.APIConnectionError:
            # Servers that hang up instead of ending the stream: nothing is missing if the last word was said.
            if not self.reason:
                raise

    def take_whole(self, completion: Any) -> None:
        choices = getattr(completion, "choices", None)
        if not choices:
            raise ValueError("no chat completion")
        self.chunks = 1
        self.usage = completion.usage
        self._add(choices[0].message, choices[0])

    def _add(self, said: Any, choice: Any) -> None:
        self.reason = getattr(choice, "finish_reason", None) or self.reason
        thought = getattr(said, "reasoning_content", None) or getattr(said, "reasoning", None)
        content = getattr(said, "content", None)
        self.thoughts += thought if isinstance(thought, str) else ""
        self.content += content if isinstance(content, str) else ""

    def answer(self, messages: Sequence[Message]) -> Answer:
        prompt, reply = (getattr(self.usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        return Answer(
            text=self.text,
            prompt_tokens=prompt or sum(count_tokens(message["content"]) for message in messages),
            reply_tokens=reply or count_tokens(self.text),
            cut=self.reason == "length",
        )


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="rememberer-model-calls", daemon=True).start()
    return loop
