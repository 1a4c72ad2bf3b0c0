"""The root of the one error tree, and the branch that belongs to worlds. `rememberer.errors` grows the rest.

A message says what was got, what was expected, what to do next. It is shown to people as it is.
"""


class RemembererError(Exception):
    """Everything that this project raises on purpose."""


class EnvError(RemembererError):
    """Anything that a world refuses."""


class UnknownTask(EnvError):
    """Raised by `TextEnv.reset` for a task id that the world does not have."""


class UnknownEnv(EnvError):
    """Raised by the registry for a name that nobody registered."""


class BadData(EnvError):
    """Raised while a world loads its files: names the file and the field that is wrong or missing."""


class ContractBroken(EnvError):
    """Raised by the conformance checker: what the contract asks, and what the world did."""
