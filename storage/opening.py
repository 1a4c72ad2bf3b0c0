"""What a folder is: a store of this program, of which schema version and embedding model, or something else."""

from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from rememberer.errors import WrongStore
from storage.complaints import complain
from storage.durability import write_durably
from storage.schema import STORE_VERSION

IDENTITY = "store.json"
OWNER = "maintenance.lock"
WRITING = "writing.lock"
UNFORGOTTEN = "forgetting-unfinished"
_OURS_BEFORE_IDENTITY = {OWNER, WRITING, IDENTITY + ".part"}


class Identity(BaseModel):
    """What `store.json` says."""

    program: str = "rememberer"
    schema_version: int = Field(default=STORE_VERSION, ge=1)
    embedding_model: str
    migrations: tuple[str, ...] = ()
    """Names of those that have run here."""


def check(folder: Path) -> None:
    """Make the folder unless it is there. Raises `WrongStore` when it is there and no store, and leaves it alone."""
    if folder.exists() and not folder.is_dir():
        raise WrongStore(f"{folder} is a file; a folder was expected. Choose another with REMEMBERER_HOME.")
    with complain(folder):
        folder.mkdir(parents=True, exist_ok=True)
        strange = sorted({path.name for path in folder.iterdir()} - _OURS_BEFORE_IDENTITY)
    if strange and not (folder / IDENTITY).exists():
        raise WrongStore(
            f"{folder} is no memory of this program: it has no {IDENTITY} but {', '.join(strange[:3])}"
            f"{' ...' if len(strange) > 3 else ''}. Choose an empty folder with REMEMBERER_HOME."
        )


def identify(folder: Path, embedding_model: str, reembed: bool = False) -> Identity:
    """Read what the folder is; an empty one becomes a store of this embedding model.

    Raises `WrongStore` for the schema version of a newer program, and for another model unless `reembed`.
    """
    path = folder / IDENTITY
    with complain(folder):
        text = path.read_text("utf-8") if path.exists() else None
    if text is None:
        return write(folder, Identity(embedding_model=embedding_model))
    try:
        found = Identity.model_validate_json(text)
    except ValidationError as problem:
        raise WrongStore(
            f"{path} cannot be read ({problem.errors()[0]['msg']}). Restore it from a backup."
        ) from problem
    if found.schema_version > STORE_VERSION:
        raise WrongStore(
            f"The memory in {folder} is of schema version {found.schema_version}, and this program reads up to "
            f"{STORE_VERSION}. Nothing was changed. Use the version of the program that wrote it, or a newer one."
        )
    if found.embedding_model != embedding_model and not reembed:
        raise WrongStore(
            f"The memory in {folder} was embedded with {found.embedding_model!r}, but the encoder is now "
            f"{embedding_model!r}, and their numbers cannot be compared. `rememberer memory rebuild` embeds it anew; "
            f"REMEMBERER_ENCODER={found.embedding_model} goes on with the old one."
        )
    return found


def write(folder: Path, identity: Identity) -> Identity:
    """Write down what the folder is, and return it."""
    with complain(folder):
        write_durably(folder / IDENTITY, [identity.model_dump_json(indent=2) + "\n"])
    return identity
