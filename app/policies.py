"""Who can propose, by the settings: the memory itself, a model on a server, a model in a file."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from app.settings import BadSettings, Settings
from rememberer.embedding import Encoder
from rememberer.local_model import LocalServer
from rememberer.memory_policy import MemoryPolicy
from rememberer.model import Answer, ChatModel, Model
from rememberer.model_policy import ModelPolicy, ModelSettings
from rememberer.policy import Policy
from rememberer.prompt import Message

OPENAI = "https://api.openai.com/v1"


class Policies:
    """The policies of a program, by name. Models are shared by all users; `close` ends what runs for them."""

    def __init__(self, settings: Settings) -> None:
        """Raises `BadSettings` for a server without a model, `ModelError` for a file that is no model."""
        self._told = ModelSettings(exemplars=settings.exemplars)
        self._models: dict[str, Model] = {}
        self._local = LocalModel(LocalServer(settings.local_model)) if settings.local_model else None
        if settings.base_url and not settings.model:
            raise BadSettings(
                f"There is a model server ({settings.base_url}), but not which of its models to ask. "
                "Name it: REMEMBERER_MODEL=... or --model ..."
            )
        if settings.model:
            key = settings.api_key.get_secret_value() if settings.api_key else "none"
            self._models["openai"] = ChatModel(settings.base_url or OPENAI, key, settings.model)
        if self._local:
            self._models["local"] = self._local

    @property
    def default(self) -> str:
        """A model that was configured is meant to be used; else the memory."""
        return next(iter(self._models), "memory")

    def of(self, encoder: Encoder) -> dict[str, Policy]:
        """The policies of one user, whose texts `encoder` knows."""
        models = {name: ModelPolicy(model, name, self._told) for name, model in self._models.items()}
        return {"memory": MemoryPolicy(encoder), **models}

    def close(self) -> None:
        """End the model in a file, if it runs."""
        if self._local:
            self._local.close()


class LocalModel:
    """A model in a file, whose server starts when it is first asked."""

    model = "local"

    def __init__(self, server: LocalServer) -> None:
        self._server = server
        self._lock = Lock()

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
        with self._lock:
            self._server.start()
        asked = ChatModel(self._server.base_url, self._server.api_key, self.model)
        return asked.answer(messages, schema=schema, max_tokens=max_tokens, cancelled=cancelled, show=show)

    def close(self) -> None:
        # Without the lock: who holds it may be loading the model for a minute, and this ends that too.
        self._server.stop()
