"""What the disk and LanceDB complain about, in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import Timeout

from rememberer.errors import StoreError

_ADVICE = {
    28: "The disk is full: free some space (twice the size of the memory is good), then try again.",
    30: "The disk can only be read. Make it writable, or choose another folder with REMEMBERER_MEMORY.",
    13: "This user may not write there. Change the permissions, or choose another folder with REMEMBERER_MEMORY.",
    27: "A file may not grow any further: lift the limit on the size of files (`ulimit -f`), then try again.",
    122: "The disk quota is used up: free some space, then try again.",
}
_ANSWERS = {
    "failed to fill whole buffer": "A file lacks its end, as when the disk is full or broken: free some space, then "
    "try again.",
    "Incompatible transaction": "Another process has taken over meanwhile, because this one gave no sign of life for "
    "too long. Nothing was changed. Try again.",
    "NoSuchBucket": "There is no such bucket. Make it, or choose another place with REMEMBERER_MEMORY.",
    "InvalidAccessKeyId": "The keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not accepted there.",
    "SignatureDoesNotMatch": "The keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not accepted there.",
    "AccessDenied": "Those whom AWS_ACCESS_KEY_ID names may not do this there: reading, listing, writing and deleting "
    "are needed.",
    "error sending request": "The server of the bucket cannot be reached. Look at AWS_ENDPOINT_URL and AWS_REGION, and "
    "at the network, then try again.",
}


@contextmanager
def complain(place: object) -> Iterator[None]:
    """Turn whatever goes wrong on disk into `StoreError`. LanceDB raises the three classes named here."""
    try:
        yield
    except Timeout:
        raise
    except (OSError, RuntimeError, ValueError) as problem:
        raise StoreError(f"The memory in {place} cannot be used. {_advice(problem)}") from problem


def _advice(problem: Exception) -> str:
    text = str(problem)
    for number, advice in _ADVICE.items():
        if getattr(problem, "errno", None) == number or f"(os error {number})" in text:
            return advice
    for words, advice in _ANSWERS.items():
        if words in text:
            return advice
    return f"The disk or its files gave this answer: {text[:300]}"
