"""The error tree, from the root in `envs.errors` up. A message is shown to people as it is: no secrets, no traceback.

RemembererError
  EnvError              envs.errors: what worlds refuse
  StoreError            the store cannot be opened, read or written
    WrongStore          another schema version or embedding model, a directory that is something else
  UnknownExperience     a key that this user's memory does not have
  UnknownSource         a file that nothing in this user's memory came from
  SessionError          what a session refuses; nothing was executed and nothing was stored
    AlreadyAnswered     the step was answered before: by a double click, another tab, a retry
    NotAvailable        an action that cannot be done now
    NoSuchStep          a label for a step that was never taken
    UnknownEpisode      an episode that this user does not have
  ModelError            a language model cannot be reached or does not answer usefully
  Cancelled             the person stopped it
"""

from envs.errors import EnvError, RemembererError


class StoreError(RemembererError):
    """Raised when the store cannot be opened, read or written."""


class WrongStore(StoreError):
    """Raised on opening a store of another schema version or embedding model, or a folder that is no store."""


class UnknownExperience(RemembererError):
    """Raised for a key that this user's memory does not have."""


class UnknownSource(RemembererError):
    """Raised for a file that nothing in this user's memory came from."""


class SessionError(RemembererError):
    """Raised when a session refuses something: nothing was executed and nothing was stored."""


class AlreadyAnswered(SessionError):
    """Raised when the step was answered before: by a double click, another tab, a retry."""


class NotAvailable(SessionError):
    """Raised for an action that cannot be done now; the message lists what can."""


class NoSuchStep(SessionError):
    """Raised for a label on a step that was never taken."""


class UnknownEpisode(SessionError):
    """Raised for an episode that this user does not have."""


class ModelError(RemembererError):
    """Raised when a language model cannot be reached, refuses, or does not answer usefully."""


class Cancelled(RemembererError):
    """Raised inside work that the person stopped; nothing of it is kept."""


__all__ = [
    "AlreadyAnswered",
    "Cancelled",
    "EnvError",
    "ModelError",
    "NoSuchStep",
    "NotAvailable",
    "RemembererError",
    "SessionError",
    "StoreError",
    "UnknownEpisode",
    "UnknownExperience",
    "UnknownSource",
    "WrongStore",
]
