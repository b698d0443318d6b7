"""Tensors in the eight-bit form that ships; `hoptrail.models.reader.read_reader_weights` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_eight_bits(tensors: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    """Matrices as integers with a scale per row, as `hoptrail.models.reader` reads them; vectors in sixteen bits."""
    stored: dict[str, NDArray[Any]] = {}
    for name, values in tensors.items():
        if values.ndim == 1:
            stored[name] = values.astype(np.float16)
            continue
        scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / 127
        stored[name] = np.rint(values / scale).astype(np.int8)
        stored[f"{name}.scale"] = scale.astype(np.float32)
    return stored
