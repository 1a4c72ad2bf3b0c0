"""What a folder is: a store of this program, of which schema version and embedding model, or something else."""

from pathlib import Path

from pydantic import BaseModel, ValidationError

from rememberer.errors import WrongStore
from storage.complaints import complain
from storage.durability import write_durably
from storage.schema import STORE_VERSION

IDENTITY = "store.json"
OWNER = "maintenance.lock"
WRITING = "writing.lock"
UNFORGOTTEN = "forgetting-unfinished"
_OURS_BEFORE_IDENTITY = {OWNER, WRITING, IDENTITY + ".part"}


class _Identity(BaseModel):
    program: str = "rememberer"
    schema_version: int = STORE_VERSION
    embedding_model: str


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


def identify(folder: Path, embedding_model: str, reembed: bool = False) -> bool:
    """Say whether the store's embeddings are of this model; an empty folder becomes a store of this model.

    Raises `WrongStore` for another schema version, and for another model unless `reembed`.
    """
    path = folder / IDENTITY
    with complain(folder):
        text = path.read_text("utf-8") if path.exists() else None
    if text is None:
        adopt(folder, embedding_model)
        return True
    try:
        found = _Identity.model_validate_json(text)
    except ValidationError as problem:
        raise WrongStore(
            f"{path} cannot be read ({problem.errors()[0]['msg']}). Restore it from a backup."
        ) from problem
    if found.schema_version != STORE_VERSION:
        raise WrongStore(
            f"The memory in {folder} is of schema version {found.schema_version}; this program reads {STORE_VERSION}. "
            "Use the version of the program that wrote it."
        )
    if found.embedding_model != embedding_model and not reembed:
        raise WrongStore(
            f"The memory in {folder} was embedded with {found.embedding_model!r}, but the encoder is now "
            f"{embedding_model!r}, and their numbers cannot be compared. `rememberer memory rebuild` embeds it anew; "
            f"REMEMBERER_ENCODER={found.embedding_model} goes on with the old one."
        )
    return found.embedding_model == embedding_model


def adopt(folder: Path, embedding_model: str) -> None:
    """Write down that the folder is a store with embeddings of this model."""
    with complain(folder):
        write_durably(folder / IDENTITY, [_Identity(embedding_model=embedding_model).model_dump_json(indent=2) + "\n"])
