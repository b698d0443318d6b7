"""Reads the weights of networks, and runs their ONNX graphs with onnxruntime on the processor.

The graphs are the files in `graphs/`, which `training/graphs.py` writes. They have no weights: the runtime maps those of the
encoder from their file, and is given the others by name. Why this runtime: docs/decisions/runtime.md.

Nothing leaves the machine: versions before 1.29 have no reporting code on Linux and macOS (`pyproject.toml` stays below),
and on Windows `disable_telemetry_events` turns off the event tracing. Graphics processors are not used.

Weights are those of a safetensors file: eight bytes (little-endian length of the header), the header (JSON: per tensor its type,
shape and offsets), then the numbers. The file is mapped into memory. Format: https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.system.environment_variables import set_default
from hoptrail.types.json_object import JsonObject

Weights = Mapping[str, NDArray[np.float32]]
"""Tensors by their name in the file, read-only."""

_LARGEST_HEADER = 100_000_000  # the limit that the format itself sets
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}

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
    set_default("ORT_DISABLE_TELEMETRY", "1")  # read by 1.29 and later when first imported, should someone install one
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


# --- weights


def digest_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal, made once while it does not change. Raises: ModelUnavailable: it cannot be read."""
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise ModelUnavailable(f"the weights {path} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=16)
def _digest(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(path: Path, expected: str, name: str) -> None:
    """Raises: ModelUnavailable: the weights of the model `name` have another SHA-256 than expected, or cannot be read."""
    if (found := digest_of(path)) != expected:
        raise ModelUnavailable(
            f"the weights {path} of {name} are altered: their SHA-256 is {found}, expected {expected}; install or copy them again"
        )


def read_weights(path: Path) -> Weights:
    """The tensors of a safetensors file as float32; tensors of whole numbers (position indices) are left out.
    Raises: ModelUnavailable: the file cannot be read, is not a safetensors file, is truncated, or holds another number type.
    """
    try:
        mapped = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise ModelUnavailable(f"the weights {path} cannot be read: {error}") from error
    try:
        length = int.from_bytes(mapped[:8].tobytes(), "little")
        if not 0 < length <= min(_LARGEST_HEADER, len(mapped) - 8):
            raise ValueError(f"its header claims {length} bytes, the file has {len(mapped)}")
        header, start = json.loads(mapped[8 : 8 + length].tobytes()), 8 + length
        entries = {name: entry for name, entry in header.items() if name != "__metadata__" and entry["dtype"][0] != "I"}
        return {name: _tensor(mapped, start, entry) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelUnavailable(f"{path} is not a usable safetensors file ({error}); fetch it again") from error


def _tensor(mapped: NDArray[np.uint8], start: int, entry: JsonObject) -> NDArray[np.float32]:
    if entry["dtype"] not in _TYPES:
        raise ValueError(f"its numbers are of type {entry['dtype']}; {' and '.join(_TYPES)} are read")
    number, shape = _TYPES[entry["dtype"]], entry["shape"]
    first, last = entry["data_offsets"]
    if last - first != prod(shape) * number.itemsize or not 0 <= first <= last <= len(mapped) - start:
        raise ValueError(f"a tensor of shape {shape} does not lie within its {len(mapped)} bytes")
    values: NDArray[Any] = np.frombuffer(mapped, number, count=prod(shape), offset=start + first)
    return values.reshape(shape).astype(np.float32, copy=False)
