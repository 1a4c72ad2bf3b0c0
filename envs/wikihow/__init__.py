"""WikiHow: look an article up, and find one's way from there.

Only what is needed to compare its situations: an imported memory has some. It is no world yet that can be entered.
"""

from envs.wikihow.elements import elements
from envs.wikihow.kinds import KIND_SIMILARITY, kind_of

__all__ = ["KIND_SIMILARITY", "elements", "kind_of"]
