"""What a place is: a store of this program, of which schema version and embedding model, or something else."""

from pydantic import BaseModel, Field, ValidationError

from rememberer.errors import WrongStore
from storage.place import OWNER, WRITING, Place
from storage.schema import STORE_VERSION

IDENTITY = "store.json"
UNFORGOTTEN = "forgetting-unfinished"
_OURS_BEFORE_IDENTITY = {OWNER, WRITING, IDENTITY + ".part"}


class Identity(BaseModel):
    """What `store.json` says."""

    program: str = "rememberer"
    schema_version: int = Field(default=STORE_VERSION, ge=1)
    embedding_model: str
    migrations: tuple[str, ...] = ()
    """Names of those that have run here."""


def check(place: Place) -> None:
    """Have the place ready. Raises `WrongStore` when there is something else than a store, and leaves it alone."""
    place.make()
    names = place.names()
    strange = sorted(names - _OURS_BEFORE_IDENTITY)
    if strange and IDENTITY not in names:
        raise WrongStore(
            f"{place} is no memory of this program: it has no {IDENTITY} but {', '.join(strange[:3])}"
            f"{' ...' if len(strange) > 3 else ''}. Choose an empty one with REMEMBERER_MEMORY."
        )


def identify(place: Place, embedding_model: str, reembed: bool = False) -> Identity:
    """Read what the place is; an empty one becomes a store of this embedding model.

    Raises `WrongStore` for the schema version of a newer program, and for another model unless `reembed`.
    """
    text = place.read(IDENTITY)
    if text is None:
        return write(place, Identity(embedding_model=embedding_model))
    try:
        found = Identity.model_validate_json(text)
    except ValidationError as problem:
        raise WrongStore(
            f"In {place}, {IDENTITY} cannot be read ({problem.errors()[0]['msg']}). Restore it from a backup."
        ) from problem
    if found.schema_version > STORE_VERSION:
        raise WrongStore(
            f"The memory in {place} is of schema version {found.schema_version}, and this program reads up to "
            f"{STORE_VERSION}. Nothing was changed. Use the version of the program that wrote it, or a newer one."
        )
    if found.embedding_model != embedding_model and not reembed:
        raise WrongStore(
            f"The memory in {place} was embedded with {found.embedding_model!r}, but the encoder is now "
            f"{embedding_model!r}, and their numbers cannot be compared. `rememberer memory rebuild` embeds it anew; "
            f"REMEMBERER_ENCODER={found.embedding_model} goes on with the old one."
        )
    return found


def write(place: Place, identity: Identity) -> Identity:
    """Write down what the place is, and return it."""
    place.write(IDENTITY, [identity.model_dump_json(indent=2) + "\n"])
    return identity
