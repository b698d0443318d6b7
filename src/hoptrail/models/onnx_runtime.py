"""Writes networks as ONNX graphs and runs them with onnxruntime on the processor.

The graph is written in memory (`onnx_file.py`), without the large tensors. The runtime maps those of a weights file itself and
reads only what it uses; others are handed over beside the graph. Why this runtime: docs/decisions/runtime.md.

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

from hoptrail.models import onnx_file
from hoptrail.models.onnx_file import FLOAT, INT8, INT32, INT64, UINT8, port
from hoptrail.models.weights import place_of

_OPSET = 20  # the first with Gelu
_MICROSOFT = "com.microsoft"  # operators that onnxruntime adds
_ZERO = 128  # what stands for 0 among unsigned weights
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
_IN_GRAPH = 4096  # bytes; a constant up to this size stands in the graph itself


class _Graph:
    """The nodes of a graph, and the tensors that they take beside its inputs."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.small: list[bytes] = []
        self.large: dict[str, NDArray[Any]] = {}
        self.folder: Path | None = None
        """The folder of the weights files that the graph refers to."""
        self._constants = 0

    def constant(self, values: NDArray[Any]) -> str:
        """Values of up to 4 KiB stand in the graph; larger ones are kept in `large`, where the session reads them."""
        self._constants += 1
        name = f"constant{self._constants}"
        if values.nbytes <= _IN_GRAPH:
            self.small.append(onnx_file.tensor(name, values))
            return name
        self.large[name] = np.ascontiguousarray(values)
        self.small.append(onnx_file.external_tensor(name, values, "weights", 0))
        return name

    def stored(self, values: NDArray[Any]) -> str:
        """A tensor that may be mapped from a weights file, where the runtime reads it; else a constant."""
        place = place_of(values)
        if place is None or values.nbytes <= _IN_GRAPH or self.folder not in (None, place.path.parent):
            return self.constant(values)
        self._constants += 1
        self.folder, name = place.path.parent, f"constant{self._constants}"
        self.small.append(onnx_file.external_tensor(name, values, place.path.name, place.offset))
        return name

    def _node(self, operator: str, *inputs: str, domain: str = "", **attributes: int | float | str) -> str:
        name = f"node{len(self.nodes)}"
        self.nodes.append(onnx_file.node(operator, inputs, name, attributes, domain))
        return name


class OnnxOperations(_Graph):
    """Notes operations down as ONNX nodes. A tensor is the name of the node's output, or of an input of `model`.

    Axes are counted as NumPy counts them; `add` and `multiply` broadcast.
    """

    def rows(self, table: str, indices: str) -> str:
        """The rows of `table` at `indices`: shape (*indices, columns)."""
        return self._node("Gather", table, indices)

    def first_places(self, tensor: str) -> str:
        """Of shape (texts, length, width) what stands at the first place: shape (texts, width)."""
        first = self._node("Gather", tensor, self.constant(np.array([0], np.int64)), axis=1)
        return self.reshape(first, (0, -1))

    def add(self, left: str, right: str) -> str:
        return self._node("Add", left, right)

    def multiply(self, left: str, right: str) -> str:
        return self._node("Mul", left, right)

    def linear(self, tensor: str, weights: NDArray[np.float32]) -> str:
        """The product with stored weights of shape (out, in), which stay where they are: nothing is copied to transpose them."""
        return self._node("FusedMatMul", tensor, self.stored(weights), domain=_MICROSOFT, transB=1)

    def reshape(self, tensor: str, shape: Sequence[int]) -> str:
        """In `shape`, 0 keeps the size of that axis and -1 takes what is left."""
        return self._node("Reshape", tensor, self.constant(np.array(shape, np.int64)))

    def attention(self, parts: Sequence[str], biases: str, present: str, heads: int) -> str:
        """Every piece of a text attends to its pieces, by `heads` heads. `parts` are query, key and value without their `biases`,
        which are given one after another; `present` is 1 at a piece and 0 at padding, in whole numbers of shape (texts, length).

        Padding gets -1e9 before the softmax, so its share is exactly 0: a text's result does not depend on how far its batch is
        padded.
        """
        inputs = (*parts, biases, present)
        return self._node("MultiHeadAttention", *inputs, domain=_MICROSOFT, num_heads=heads, mask_filter_value=-1e9)

    def whole_numbers(self, tensor: str) -> str:
        """The numbers as 32-bit integers."""
        return self._node("Cast", tensor, to=INT32)

    def layer_norm(self, tensor: str, scale: str, shift: str, epsilon: float) -> str:
        """Over the last axis, then scaled and shifted."""
        return self._node("LayerNormalization", tensor, scale, shift, axis=-1, epsilon=epsilon)

    def gelu(self, tensor: str) -> str:
        """The exact form, by the error function."""
        return self._node("Gelu", tensor, approximate="none")

    def total(self, tensor: str, axis: int) -> str:
        """The sum over one axis, which disappears."""
        return self._node("ReduceSum", tensor, self.constant(np.array([axis], np.int64)), keepdims=0)

    def unit(self, tensor: str) -> str:
        """Divided by the Euclidean norm over the last axis."""
        return self._node("LpNormalization", tensor, axis=-1, p=2)

    def model(self, outputs: Mapping[str, Sequence[str | int]], *, segments: bool = False) -> bytes:
        """The graph as an ONNX model without its large tensors; `outputs` have the shapes given.

        Its inputs are a padded batch of texts. `pieces` are word-piece numbers, shape (texts, length); `positions` are 0, 1, ...,
        shape (length); `mask` is 1.0 at a piece and 0.0 at padding, shape (texts, length). `segments`, which only some networks
        take, is 0 or 1 for each piece, shape (texts, length), where a text has two parts.
        """
        inputs = [
            port("pieces", INT64, ["texts", "length"]),
            port("positions", INT64, ["length"]),
            port("mask", FLOAT, ["texts", "length"]),
            *([port("segments", INT64, ["texts", "length"])] if segments else []),
        ]
        ports = [port(name, FLOAT, shape) for name, shape in outputs.items()]
        return onnx_file.model(self.nodes, inputs, ports, {"": _OPSET, _MICROSOFT: 1}, self.small)


class EightBitOperations(OnnxOperations):
    """The same, with products by stored weights in whole numbers of eight bits: less than half the time.

    Each column of the weights has a scale of its own, each matrix that meets them one for all, so what is computed of a text
    depends a little on what is in its batch. Weights are signed where the processor multiplies these without error
    (`multiplies_signed_exactly`), which takes a third of the time, and else unsigned: both give the same whole numbers.
    """

    def linear(self, tensor: str, weights: NDArray[np.float32]) -> str:
        """The product with stored weights of shape (out, in), in whole numbers unless the weights are few."""
        if weights.nbytes <= _IN_GRAPH:
            return super().linear(tensor, weights)
        largest = np.maximum(weights.max(axis=1), -weights.min(axis=1))
        scale = np.maximum(largest / 127, np.float32(1e-12))
        zero, kind = (0, np.int8) if multiplies_signed_exactly() else (_ZERO, np.uint8)
        rounded = weights / scale[:, np.newaxis]
        np.rint(rounded, out=rounded)
        whole = self.constant(np.ascontiguousarray((rounded + np.float32(zero)).astype(kind).T))
        zeros = self.constant(np.full(scale.shape, zero, kind))
        return self._node("DynamicQuantizeMatMul", tensor, whole, self.constant(scale), zeros, domain=_MICROSOFT)


@cache
def multiplies_signed_exactly() -> bool:
    """Whether products of unsigned with signed eight-bit numbers are exact on this processor.

    Without instructions for them (VNNI), x86 processors cut sums of two products off at sixteen bits. The largest numbers show
    whether this one does.
    """
    size = 64
    product = onnx_file.node("MatMulInteger", ["left", "right"], "products", {})
    inputs = [port("left", UINT8, [4, size]), port("right", INT8, [size, 32])]
    model = onnx_file.model([product], inputs, [port("products", INT32, [4, 32])], {"": _OPSET})
    session = silent_onnxruntime().InferenceSession(model, providers=["CPUExecutionProvider"])
    largest = {"left": np.full((4, size), 255, np.uint8), "right": np.full((size, 32), 127, np.int8)}
    return bool((session.run(None, largest)[0] == 255 * 127 * size).all())


def silent_onnxruntime() -> Any:
    """The module onnxruntime, which reports nothing to its makers."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read by 1.29 and later when first imported, should someone install one
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(model: bytes, operations: OnnxOperations, threads: int) -> Any:
    """A session of a graph that was written with `operations`, whose large tensors must outlive it.
    Raises: ValueError: the tensors do not fit one another.
    """
    onnxruntime = silent_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; warnings about the machine's layout would reach the user's terminal
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait for work would keep their cores busy: for nothing between questions, and in others' way beside them.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if operations.folder:
        options.add_session_config_entry(_WEIGHTS_FOLDER, str(operations.folder))
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in operations.large.values()]
    options.add_external_initializers(list(operations.large), values)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors share no narrower base
        raise ValueError(str(error)) from error
