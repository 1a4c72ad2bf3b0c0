"""Every setting there is, each with its sentence and where it comes from.

A setting is read from the environment variable `REMEMBERER_` and its name in capitals (the API key from
`OPENAI_API_KEY`); how episodes are learnt from, field by field: `REMEMBERER_LEARNING__GAMMA=0.9`. An option on the
command line goes before the environment.
"""

from pathlib import Path
from typing import Annotated, Any

from platformdirs import user_data_path
from pydantic import DirectoryPath, Field, FilePath, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from rememberer.approval import Confidence
from rememberer.embedding import DEFAULT_ENCODER
from rememberer.errors import RemembererError
from rememberer.memory import CAPACITY, THRESHOLD
from rememberer.records import LearningSettings

PREFIX = "REMEMBERER_"
_SURE = Confidence()


class BadSettings(RemembererError):
    """Raised by `load_settings`: names each setting that is wrong, what it was, what was expected."""


class Settings(BaseSettings):
    """What can be set. Made by `load_settings`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        env_parse_none_str="none",
        populate_by_name=True,
        frozen=True,
    )

    home: Path = Field(
        default_factory=lambda: user_data_path("rememberer", appauthor=False),
        description="Folder that holds everything the program remembers.",
    )
    memory: str | None = Field(
        default=None,
        min_length=1,
        description="Where the memory is: a folder, or s3://bucket/prefix for one that several machines share; "
        "none: `memory` under the home.",
    )
    user: str = Field(default="me", min_length=1, description="Whose memory it is where nobody logs in.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address that the page is served on.")
    port: int = Field(default=7860, ge=0, le=65535, description="Port that the page is served on; 0 takes a free one.")
    share: bool = Field(
        default=False, description="Whether to ask Gradio's servers for a link to the page from anywhere."
    )
    guests: bool = Field(
        default=False, description="Whether guests, who do not log in, may look at the memory of `shared`."
    )

    data: DirectoryPath | None = Field(
        default=None, description="Folder with the official WebShop files; none: a catalogue of our own."
    )

    base_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="An OpenAI-compatible server, such as http://127.0.0.1:11434/v1; none: OpenAI's own.",
    )
    model: str | None = Field(default=None, description="Name of the language model at that server.")
    api_key: SecretStr | None = Field(
        default=None, validation_alias="OPENAI_API_KEY", description="Key for that server. Never shown or stored."
    )
    prices: tuple[float, float] | None = Field(
        default=None,
        description="Dollars for a million tokens of prompt and of reply, as in [0.25, 2]; none: no cost is shown.",
    )
    local_model: FilePath | None = Field(
        default=None, description="A GGUF file with a language model, run inside the program."
    )

    encoder: str = Field(
        default=DEFAULT_ENCODER,
        min_length=1,
        description="Sentence embedding model: the name of the one that comes along, or a folder with another.",
    )
    threshold: float = Field(
        default=THRESHOLD,
        ge=-1,
        le=1,
        allow_inf_nan=False,
        description="Similarity below which an experience is shown but not used.",
    )
    capacity: int = Field(
        default=CAPACITY, ge=1, description="How many experiences are remembered at most; the least needed leave."
    )
    exemplars: int = Field(default=2, ge=0, description="How many experiences go into a prompt (m in the paper).")
    candidates: int = Field(default=5, ge=1, le=9, description="How many actions are proposed at most.")
    ask_similarity: float = Field(
        default=_SURE.similarity,
        ge=-1,
        le=1,
        description="Running by itself, the agent asks when what it remembers is less alike than that.",
    )
    ask_visits: int = Field(
        default=_SURE.visits, ge=1, description="It asks, too, when its first candidate was tried less often."
    )
    ask_margin: float = Field(
        default=_SURE.margin,
        ge=0,
        le=4,
        description="It asks, too, when the value is not that much above every other's.",
    )
    learning: Annotated[LearningSettings, NoDecode] = Field(
        default=LearningSettings(),
        description="How episodes that start from now on are learnt from, as in REMEMBERER_LEARNING__GAMMA=0.9.",
    )
    step_limit: int | None = Field(
        default=None, ge=1, description="Steps that an episode may take; none: what its environment says."
    )


def load_settings(**overrides: Any) -> Settings:
    """Read the settings from the environment, `overrides` (by field name) first; one that is None does not count.

    Raises `BadSettings`, whose message is for people, when a value is not usable or `overrides` has an unknown name.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as problem:
        lines = [_sentence(error["loc"], error["input"], error["msg"], given) for error in problem.errors()]
        raise BadSettings("\n".join(lines)) from None


def _sentence(location: tuple[int | str, ...], value: object, expected: str, given: dict[str, Any]) -> str:
    field, *inner = map(str, location)
    name = field if field in given else _variable(field, inner)
    known = Settings.model_fields.get(field)
    if known is None:
        return f"There is no setting {name}. There are: {', '.join(Settings.model_fields)}."
    return (
        f"{name} is {value!r}, but: {expected}. What it sets: {known.description} Mend it, or unset it for the default."
    )


def _variable(field: str, inner: list[str]) -> str:
    return PREFIX + "__".join([field, *inner]).upper()
