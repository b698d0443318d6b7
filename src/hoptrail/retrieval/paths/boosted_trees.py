"""Gradient-boosted trees as plain arrays: what a training run learned, carried out with NumPy alone.

A tree of few leaves is evaluated without walking it (Lucchese et al. 2015, QuickScorer): every node whose test fails takes the
leaves of its left side out of a bit mask, and the lowest bit left is the leaf reached. Trains nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix

MOST_LEAVES = 8
_BLOCK = 512
"""Rows evaluated at a time: their comparisons stay in the cache."""
_LOWEST = np.array([next((bit for bit in range(8) if mask >> bit & 1), 0) for mask in range(256)], dtype=np.uint8)


@dataclass(frozen=True)
class BoostedTrees:
    """Trees whose leaves add up to log-odds. A tree has MOST_LEAVES - 1 places for nodes; one not needed never fails.

    `features`, `thresholds`, `masks`: (trees, MOST_LEAVES - 1); a value above its threshold fails, and `masks` are the leaves
    left then. `leaves`: (trees, MOST_LEAVES). `names` are the features in the order of columns.
    """

    names: tuple[str, ...]
    features: NDArray[np.int16]
    thresholds: FloatMatrix
    masks: NDArray[np.uint8]
    leaves: FloatMatrix

    def log_odds(self, values: FloatMatrix) -> FloatMatrix:
        """One number a row of `values`, whose columns are `names`.

        Raises:
            ValueError: there are more or fewer columns.
        """
        if values.shape[1] != len(self.names):
            raise ValueError(f"these trees read {len(self.names)} features, not {values.shape[1]}: train them again")
        parts = [self._block(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def probabilities(self, values: FloatMatrix) -> FloatMatrix:
        return (1 / (1 + np.exp(-self.log_odds(values)))).astype(np.float32)

    def _block(self, values: FloatMatrix) -> FloatMatrix:
        left = np.full((len(values), len(self.leaves)), 255, dtype=np.uint8)
        for features, thresholds, masks in self._nodes:
            left &= np.where(values[:, features] > thresholds, masks, np.uint8(255))
        reached = self.leaves[np.arange(len(self.leaves)), _LOWEST[left]]
        total: FloatMatrix = reached.sum(axis=1, dtype=np.float64).astype(np.float32)
        return total

    @cached_property
    def _nodes(self) -> list[tuple[NDArray[np.int16], FloatMatrix, NDArray[np.uint8]]]:
        """The first node of all trees, the second of all trees, and so on."""
        return [
            tuple(np.ascontiguousarray(part[:, at]) for part in (self.features, self.thresholds, self.masks))  # type: ignore[misc]
            for at in range(self.features.shape[1])
        ]

    @classmethod
    def from_arrays(cls, prefix: str, stored: dict[str, NDArray[np.generic]], names: Sequence[str]) -> BoostedTrees:
        """The trees stored under a prefix.

        Raises:
            ValueError: they were trained on other features than `names`.
        """
        trained = tuple(str(name) for name in stored[f"{prefix}.names"])
        if trained != tuple(names):
            raise ValueError(
                f"the trees {prefix!r} were trained on other features: run benchmarks/train_paths.py again"
            )
        parts = {part: stored[f"{prefix}.{part}"] for part in ("features", "thresholds", "masks", "leaves")}
        return cls(trained, **parts)  # type: ignore[arg-type]
