"""The encoder that comes along as an ONNX graph: the same vectors in half the time, and no torch to load.

`rememberer.onnx_export` makes the file, once a machine. Its name carries the checksum of its content, so that a file
that was damaged later is not taken for it: onnxruntime would load one with flipped bits.
"""

import logging
import subprocess
import sys
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from rememberer.embedding import DEFAULT_ENCODER, PACKAGE, Matrix, bundled

log = logging.getLogger(__name__)

TOKENS = 256
"""What the model reads of a text at most."""

_GRAPH = 2
"""Of what the export makes of the model. Another one is exported anew."""
_BATCH = 4  # more go slower: what is worked on no longer fits the caches


class OnnxModel:
    """The exported model, on one thread."""

    def __init__(self, file: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # One thread is fastest for one short text, and two under load are many times slower.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # the export has done it
        self._session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(bundled() / "tokenizer.json"))
        self._tokenizer.enable_truncation(TOKENS)
        self._tokenizer.enable_padding()

    def encode(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.encode`. Texts of about the same length go together: padding costs as much as words."""
        tokens = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda place: sum(tokens[place].attention_mask))
        rows = np.zeros((len(texts), 384), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            longest = sum(tokens[places[-1]].attention_mask)
            ids = np.array([tokens[place].ids[:longest] for place in places], dtype=np.int64)
            mask = np.array([tokens[place].attention_mask[:longest] for place in places], dtype=np.int64)
            rows[places] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return rows


def prefix() -> str:
    """How the names of exported files begin that this program can use."""
    return f"{DEFAULT_ENCODER}-{version(PACKAGE)}-{_GRAPH}."


def checksum(file: Path) -> str:
    """Eight hexadecimal digits by which a file that was damaged is told from a whole one."""
    so_far = 0
    with file.open("rb", buffering=0) as opened:
        while part := opened.read(2**20):
            so_far = zlib.crc32(part, so_far)
    return f"{so_far:08x}"


def open_exported(folder: Path) -> OnnxModel | None:
    """The exported model in a folder; None when there is none that can be used. A damaged one is removed.

    Whatever is wrong there is a warning in the program's log: torch can answer instead.
    """
    for file in sorted(folder.glob(f"{prefix()}*.onnx")):
        try:
            if file.name == f"{prefix()}{checksum(file)}.onnx":
                return OnnxModel(file)
            log.warning("The exported encoder %s is damaged. It is removed, and made anew.", file)
            file.unlink()
        except OSError as problem:
            log.warning("The exported encoder %s cannot be used: %s", file, problem)
    return None


def export_in_background(folder: Path) -> None:
    """Have another process export the model into a folder. What goes wrong there costs nothing but the export."""
    command = [sys.executable, "-W", "ignore", "-m", "rememberer.onnx_export", str(folder)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]
