"""Runs ONNX graphs with onnxruntime on the processor.

The graphs are the files in `graphs/`, which `training/graphs.py` writes. They have no weights: the runtime maps those of the
encoder from their file, and is given the others by name. Why this runtime: docs/decisions/runtime.md.

Nothing leaves the machine: versions before 1.29 have no reporting code on Linux and macOS (`pyproject.toml` stays below),
and on Windows `disable_telemetry_events` turns off the event tracing. Graphics processors are not used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.weights import Weights

GRAPHS = Path(__file__).parent / "graphs"
SIGNED, UNSIGNED = "int8", "uint8"
"""The two kinds of weights in eight bits, and what the names of their graphs end with."""

ZERO = {SIGNED: 0, UNSIGNED: 128}
"""What stands for 0 among them."""
Tensors = Mapping[str, NDArray[Any]]

_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_FEW = 4096  # bytes; products with weights up to this size stay in floats


class Session:
    """A graph with its weights. `run` may be called from several threads at once."""

    def __init__(
        self, graph: str | Path, threads: int, folder: Path | None = None, given: Tensors | None = None
    ) -> None:
        """`graph` is a file, or the name of one in `graphs/`; `folder` has the file of weights that it refers to, `given` are its
        other weights by their names.
        Raises: ValueError: the weights are not those that the graph takes.
        """
        onnxruntime = silent_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors; warnings about the machine's layout would reach the user's terminal
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait for work would keep their cores busy: for nothing between questions, and in others' way beside them.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if folder:
            options.add_session_config_entry(_WEIGHTS_FOLDER, str(folder))
        self._given = given or {}  # the session reads them where they are, so they must outlive it
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in self._given.values()]
        try:
            options.add_external_initializers(list(self._given), values)
            # Handed over as bytes, since version 1.22 looks for the weights of a file beside it, whatever the options say.
            model = str(graph) if isinstance(graph, Path) else (GRAPHS / f"{graph}.onnx").read_bytes()
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors share no narrower base
            raise ValueError(str(error)) from error

    @property
    def inputs(self) -> set[str]:
        """The names of what the graph takes."""
        return {one.name for one in self._session.get_inputs()}

    def run(self, outputs: Sequence[str] | None, inputs: Tensors) -> list[Any]:
        """These outputs for these inputs; None: all."""
        found: list[Any] = self._session.run(outputs, inputs)
        return found


def in_eight_bits(weights: Weights, kind: str) -> dict[str, NDArray[Any]]:
    """The weights of products, of shape (out, in), as whole numbers of eight bits (`int8` or `uint8`), which takes less than half
    the time: `NAME.whole` of shape (in, out), and a scale for each column, `NAME.scale`. Few weights stay as they are.

    The matrix that meets them has one scale for all, so what is computed of a text depends a little on what is in its batch. Both
    kinds give the same whole numbers.
    """
    found: dict[str, NDArray[Any]] = {}
    for name, values in weights.items():
        if values.ndim == 2 and values.nbytes > _FEW and not name.startswith("embeddings."):
            largest = np.maximum(values.max(axis=1), -values.min(axis=1))
            scale = np.maximum(largest / 127, np.float32(1e-12))
            rounded = values / scale[:, np.newaxis]
            np.rint(rounded, out=rounded)
            found[f"{name}.whole"] = np.ascontiguousarray((rounded + np.float32(ZERO[kind])).astype(kind).T)
            found[f"{name}.scale"] = scale
    return found


@cache
def kind_of_weights() -> str:
    """Signed weights where this processor multiplies them without error, which takes a third of the time, else unsigned ones.

    Without instructions for such products (VNNI), x86 processors cut sums of two off at sixteen bits. The largest numbers show
    whether this one does.
    """
    left, right = np.full((4, 64), 255, np.uint8), np.full((64, 32), 127, np.int8)
    (products,) = Session("eight-bit-product", 1).run(["products"], {"left": left, "right": right})
    return SIGNED if (products == 255 * 127 * len(right)).all() else UNSIGNED


def silent_onnxruntime() -> Any:
    """The module onnxruntime, which reports nothing to its makers."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read by 1.29 and later when first imported, should someone install one
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
