"""What kind of thing an instruction asks for, and how alike these kinds are."""

from collections.abc import Mapping

_BEGINNINGS = {
    "search an article": "search",
    "access the article": "article",
    "check the author page": "author",
    "access the page of category": "category",
    "check the reference list": "reference",
    "access the about page": "about",
}

_PAIRS = {
    ("search", "article"): 0.1,
    ("article", "author"): 0.3,
    ("article", "category"): 0.3,
    ("author", "category"): 0.8,
    ("author", "reference"): 0.3,
    ("author", "about"): 0.3,
    ("category", "reference"): 0.3,
    ("category", "about"): 0.3,
    ("reference", "about"): 0.8,
}

KIND_SIMILARITY: Mapping[tuple[str, str], float] = {
    **{(kind, kind): 1.0 for kind in _BEGINNINGS.values()},
    **_PAIRS,
    **{(other, one): value for (one, other), value in _PAIRS.items()},
}
"""As `TextEnv.kind_similarity`."""


def kind_of(instruction: str) -> str:
    """The kind of the instruction that is in force; `unknown` when it is none of these.

    An empty one is `search`: a task begins with a search, and its first instruction comes after that.
    """
    words = " ".join(instruction.lower().split())
    if not words:
        return "search"
    return next((kind for start, kind in _BEGINNINGS.items() if words.startswith(start)), "unknown")
