"""The worlds: one contract, one registry, one folder or file an environment."""

from envs.base import Action, Observation, Step, Task, TextEnv, matches
from envs.check import check
from envs.errors import BadData, ContractBroken, EnvError, RemembererError, UnknownEnv, UnknownTask
from envs.registry import compared_by, kind_similarity, make, names

__all__ = [
    "Action",
    "BadData",
    "ContractBroken",
    "EnvError",
    "Observation",
    "RemembererError",
    "Step",
    "Task",
    "TextEnv",
    "UnknownEnv",
    "UnknownTask",
    "check",
    "compared_by",
    "kind_similarity",
    "make",
    "matches",
    "names",
]
