"""A conformance checker that any environment can be run through."""

from envs.base import TextEnv


def check(env: TextEnv) -> None:
    raise NotImplementedError
