"""Exports the encoder that comes along as an ONNX graph: python -m rememberer.onnx_export FOLDER

Run once a machine, by the program itself, in the background. It loads torch and takes half a minute.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from rememberer.embedding import bundled
from rememberer.onnx_encoder import OnnxModel, checksum, open_exported, prefix

_PROBE = ["a red shoe", "", "Ein längerer Satz über Schuhe, 红色的鞋子, and some more words to fill it. " * 8]
"""The export is kept only when it gives the same vectors for these."""


def export(folder: Path) -> Path | None:
    """Make the file in `folder` and return it; None when it is there, or another process is making it.

    It is there wholly or not at all. Raises `OSError` when the disk does not play along, and `ValueError` when the
    graph gives other vectors than the model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / "export.lock").acquire(blocking=False):
            for left in folder.glob("*.part"):
                left.unlink()  # by somebody who was killed, as we have the lock
            return None if open_exported(folder) else _export(folder)
    except Timeout:
        return None


def _export(folder: Path) -> Path:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(bundled()), device="cpu").eval()
    wanted = model.encode(_PROBE, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)
    transformer = model[0].auto_model

    class Whole(torch.nn.Module):
        """Token embeddings, their mean over the words that are not padding, scaled to length 1."""

        transformer: Any

        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            words = attention_mask.unsqueeze(-1).to(tokens.dtype)
            mean = (tokens * words).sum(1) / words.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, p=2.0, dim=1)

    # Two tensors: one given twice would be taken for one input.
    example = (torch.ones(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64))
    shape = {0: torch.export.Dim("texts", min=1, max=4096), 1: torch.export.Dim("tokens", min=2, max=512)}
    program = torch.onnx.export(
        Whole().eval(),
        example,
        dynamo=True,
        dynamic_shapes={"input_ids": shape, "attention_mask": shape},
        input_names=["input_ids", "attention_mask"],
        output_names=["sentence"],
        verbose=False,
    )
    assert program is not None
    raw, part = folder / f"{prefix()}raw.part", folder / f"{prefix()}part"
    try:
        program.save(raw)
        _optimize(raw, part)
        if not np.allclose((OnnxModel(part).encode(_PROBE) * wanted).sum(axis=1), 1, atol=1e-5):
            raise ValueError("The exported encoder gives other vectors than the model, so it was not kept.")
        with part.open("rb") as written:
            os.fsync(written.fileno())
        return part.rename(folder / f"{prefix()}{checksum(part)}.onnx")
    finally:
        raw.unlink(missing_ok=True)
        part.unlink(missing_ok=True)


def _optimize(raw: Path, part: Path) -> None:
    """Do once what onnxruntime does with a graph whenever it loads one, as far as it is the same on all machines."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(part)
    onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false")
    os.nice(10)
    print(export(Path(sys.argv[1])))
