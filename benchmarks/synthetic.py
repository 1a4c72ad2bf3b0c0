"""Made-up states for benchmarks: the same ones in every run, about as large and as varied as real ones, and quick."""

import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rememberer import ActionText, Imported, ImportedAction, SentenceEncoder, State
from rememberer.embedding import Matrix
from rememberer.onnx_encoder import open_exported
from rememberer.onnx_export import export

PAGES_A_TASK = 8
DIMENSIONS = 384
KINDS = {("search", "search"): 1.0, ("results", "results"): 1.0, ("item", "item"): 1.0}
_KINDS = ["search", "results", "item"]
_SYLLABLES = [
    a + b
    for a in ["b", "d", "f", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v"]
    for b in ["a", "ail", "e", "en", "i", "ing", "ol"]
]
_VOCABULARY = _SYLLABLES + [a + b for a in _SYLLABLES for b in _SYLLABLES[::5]]
"""Some thousand words that nobody knows."""


def words(chance: np.random.Generator, count: int) -> str:
    """So many words, frequent ones frequently, and a number, so that no text comes twice."""
    drawn = (len(_VOCABULARY) * chance.random(count) ** 3).astype(int).tolist()
    return " ".join([_VOCABULARY[each] for each in drawn]) + f" {chance.integers(10**9)}"


def page(chance: np.random.Generator, task: str, *, size: int = 150, links: int = 10) -> State:
    """A page of a shop: the task, `size` words, and `links` links."""
    ids = chance.integers(10**9, size=links).tolist()
    actions = tuple(ActionText(text=f"click[b{each}]", label=f"thing {each} of wool", kind="open") for each in ids)
    kind = _KINDS[int(chance.integers(len(_KINDS)))]
    return State(env="shop", task=task, observation=f"{task} {words(chance, size)}", kind=kind, actions=actions)


def screen(chance: np.random.Generator, task: str) -> State:
    """A screen of a how-to: the start, a list of hits, or (most of them) an article with pictures of its own."""
    drawn = chance.random()
    if drawn < 0.2:
        parts = ["<img alt='Logo'>", "<div>", "<div>"]
    elif drawn < 0.4:
        parts = ["<input class='search'>", "<img alt='Clear'>"] + ["<div>", "<p>", "<p>", "<div>", "<p>"] * 11
        parts = parts[: 50 + int(chance.integers(7))]
    else:
        build = chance.integers(8, size=int(chance.integers(8, 40))).tolist()
        shapes = ["<p>", "<p>", "<p>", "<p>", "<div>", "<div>", "<div>", "<img alt='{}'>"]
        parts = ["<img alt='Search'>", "<div class='header'>"] + [
            shapes[each].format(chance.integers(10**6)) for each in build
        ]
    observation = "\n".join(["<button alt='Menu'>", *parts, "<div class='status'>"]).replace("'", '"')
    return State(env="how-to", task=task, observation=f"{observation} {chance.integers(10**9)}", kind="screen")


def tasks(chance: np.random.Generator, pages: int) -> Iterator[str]:
    """The task of each page, eight pages a task in a row."""
    for number in range(pages):
        if number % PAGES_A_TASK == 0:
            task = words(chance, 12)
        yield task


def experience(state: State) -> Imported:
    """What was learnt in a state: up to four actions were tried."""
    actions = tuple(ImportedAction(action=each.text, q=0.5) for each in state.actions[:4])
    return Imported(state=state, actions=actions or (ImportedAction(action="go on", q=0.5),))


def exported() -> Path:
    """A folder with the default encoder as people have it from the second start on, made when it is missing."""
    folder = Path(tempfile.gettempdir(), "rememberer-benchmarks")
    if not (folder.is_dir() and open_exported(folder)):
        export(folder)
    return folder


class Encoder:
    """Made-up vectors in no time, of texts as alike as their words; but `timed` runs the real model, too.

    Filling a memory with the real model would take hours, and be no different.
    """

    name = "made up"

    def __init__(self) -> None:
        self.timed = False
        self.model = SentenceEncoder(exported=exported())
        self._words = np.random.default_rng(0).standard_normal((2**13, DIMENSIONS), dtype=np.float32)
        self._places = {word: place for place, word in enumerate(_VOCABULARY)}

    def encode(self, texts: Sequence[str]) -> Matrix:
        if self.timed:
            self.model.encode(texts)
        rows = np.stack([self._words[self._places_of(text)].sum(axis=0) for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _places_of(self, text: str) -> list[int]:
        found = [self._places.get(word) for word in text.split()]
        return [each for each in found if each is not None] + [zlib.crc32(text.encode()) % len(self._words)]
