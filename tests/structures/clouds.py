"""Made vectors in clouds, as sentences lie."""

from __future__ import annotations

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.models.encoder import FloatMatrix


def around_centres(size: int, centres: int, seed: int = 0, dimension: int = 32) -> FloatMatrix:
    """Unit vectors, each around one of the centres."""
    chance = np.random.default_rng(seed)
    middles = chance.normal(size=(centres, dimension))
    points = middles[chance.integers(centres, size=size)] + 0.5 * chance.normal(size=(size, dimension))
    unit: FloatMatrix = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit


def all_rows(vectors: FloatMatrix) -> Rows:
    return np.arange(len(vectors), dtype=np.int32)
