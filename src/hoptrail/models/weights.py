"""Reading a model's weights from a safetensors file, and identifying them by their SHA-256.

The format is eight bytes (little-endian length of the header), the header (JSON: per tensor its type, shape and offsets), then
the numbers. The file is mapped into memory. Format: https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.types.json_object import JsonObject

Weights = Mapping[str, NDArray[np.float32]]
"""Tensors by their name in the file, read-only."""

_LARGEST_HEADER = 100_000_000  # the limit that the format itself sets
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


def digest_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal. Computed once per process for a file that does not change.
    Raises: ModelUnavailable: the file cannot be read.
    """
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

    Raises:
        ModelUnavailable: the file cannot be read, is not a safetensors file, is truncated, or holds another number type.
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
