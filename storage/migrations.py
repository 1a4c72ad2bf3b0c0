"""What is done to a store that an older version of the program wrote. Each migration runs once, in order.

What is on disk says which have run (`store.json`). One that was cut short runs again at the next opening, so each can
be run again from anywhere in its middle. The log is never touched: all else can be derived from it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from storage import opening
from storage.place import Place

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    """Makes a store of the version before into one of `version`. `run` gets its place."""

    version: int
    name: str
    run: Callable[[Place], None]


def _texts_apart_from_values(place: Place) -> None:
    """One table held texts and values, and was rewritten at every step. Its two successors are made from the log."""
    place.remove("experiences.lance")


MIGRATIONS = (Migration(2, "texts apart from values", _texts_apart_from_values),)


def migrate(place: Place, identity: opening.Identity) -> None:
    """Bring a store to the version of this program. The caller holds both locks. Raises `StoreError`."""
    for each in MIGRATIONS:
        if each.version > identity.schema_version:
            log.info("The memory in %s is brought to version %d: %s", place, each.version, each.name)
            each.run(place)
            done = {"schema_version": each.version, "migrations": (*identity.migrations, each.name)}
            identity = identity.model_copy(update=done)
            opening.write(place, identity)
