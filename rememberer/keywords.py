"""What a task says in plain words: what to look for, and how much it may cost.

Nothing here knows an environment. The lists are English, as the embedding model is.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

_TERM = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:['][^\W\d_]+)*")
# What people say around what they want.
_AROUND = (
    "a about all also am an and any are as at be been both bought but buy buying by can could dear do does each "
    "either else find finding for from get getting give go going good gotta great had has have having hello help her "
    "here hey hi his how i id if ill im in into is it its ive just kind kindly lets like looking love made make me "
    "might must my need needed needs nice no not of off ok on or other our out over pay please purchase really search "
    "searching see shop shopping should show so some someone something sort such suggest thank thanks that the their "
    "them then there these they thing things this those to too try type under up us very wanna want wanted was we "
    "well were what when where which while who will wish with within without would yes you your"
)
_STOP_WORDS = frozenset(_AROUND.split())
_AMOUNT = r"(\d[\d,]*(?:\.\d+)?)"
_LIMIT = re.compile(
    r"[,;]?\s*(?:\b(?:and|with|for|at|a|the|that|is|it|costs?|priced?|prices?)\s+)*"
    r"\b(?:(?:lower|less|cheaper)\s+than|(?:no|not)\s+(?:more\s+than|over)|at\s+most|max(?:imum)?(?:\s+of)?|"
    r"budget(?:\s+of|\s+is)?|under|below|up\s+to|within)\s+"
    rf"(?:\$\s*{_AMOUNT}(?:\s*(?:dollars?|bucks?|usd)\b)?|{_AMOUNT}\s*(?:\$|(?:dollars?|bucks?|usd)\b))",
    re.IGNORECASE,
)
_PRICE = re.compile(rf"\$\s*{_AMOUNT}")
_DETAILS = re.compile(r"[,;.!?](?=\s|$)|\b(?:with|for|that|which|in|made|from|and)\b", re.IGNORECASE)
_ALIKE = 0.79
"""From here on two words of letters are one, spelt differently: one letter wrong in five."""


def terms(text: str) -> list[str]:
    """Return what a text is made of, as people write and search it, in lower case: "X-Large, 6ft" is x-large, 6ft."""
    return _TERM.findall(text.lower().replace("’", "'"))


def words(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, for comparing: "X-Large, 6ft" is x, large, 6, ft."""
    return _WORD.findall(text.lower().replace("’", "'"))


def content(task: str) -> list[str]:
    """Return the terms that say what is wanted, each once, without the price limit."""
    return [term for term in _once(terms(_LIMIT.sub(" ", task))) if term.replace("'", "") not in _STOP_WORDS]


def beginning(task: str) -> list[str]:
    """Return the content before a task goes into details: red, shoes of "i want red shoes with laces"."""
    parts = (content(part) for part in _DETAILS.split(_LIMIT.sub(" ", task)))
    return next((part for part in parts if part), [])


def price_limit(task: str) -> float | None:
    """Return how much something may cost in dollars by the words of a task ("under $30", "less than 30 dollars")."""
    found = _LIMIT.search(task)
    return _amount(found[1] or found[2]) if found else None


def price(label: str) -> float | None:
    """Return the price in dollars that ends a label after a dot ("Red shoe · $12.50"), the higher one of a range."""
    found = _PRICE.findall(label.rpartition(" · ")[2]) if " · " in label else []
    return max(map(_amount, found), default=None)


def share(few: Iterable[str], many: Iterable[str]) -> float:
    """Return the share of `few` words that are among `many`, 0 to 1.

    Other spellings and endings count a little less; numbers and words of up to three letters must be the same.
    """
    few, many = _once(few), _once(many)
    if not few or not many:
        return 0.0
    alike = cdist(few, many, scorer=OSA.normalized_similarity, score_cutoff=_ALIKE)
    for row, word in enumerate(few):
        if len(word) <= 3 or not word.isalpha():
            alike[row] = np.floor(alike[row])
            continue
        for column, other in enumerate(many):
            if len(other) > 3 and alike[row, column] < 0.9 and (word.startswith(other) or other.startswith(word)):
                alike[row, column] = 0.9
    return float(alike.max(axis=1).mean())


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the words of the shorter list that the longer one has, 0 to 1."""
    return share(*sorted((one, other), key=len))


def _once(text: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text))


def _amount(text: str) -> float:
    return float(text.replace(",", ""))
