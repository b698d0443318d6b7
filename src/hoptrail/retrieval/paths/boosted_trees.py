"""Inference of gradient-boosted trees with NumPy alone, on plain arrays from a training run.

A tree of few leaves is evaluated without walking it (Lucchese et al. 2015, QuickScorer): every node whose test fails clears the
leaves of its left side in a bit mask, and the lowest remaining bit is the leaf reached. Does not train.
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
"""Rows evaluated at a time, so that their comparisons stay in the cache."""
_LOWEST_BIT = np.array([next((bit for bit in range(8) if mask >> bit & 1), 0) for mask in range(256)], dtype=np.uint8)


@dataclass(frozen=True)
class BoostedTrees:
    """Trees whose leaves add up to log-odds. A tree has MOST_LEAVES - 1 nodes, padded with nodes that never fail.

    `features`, `thresholds`, `masks`: (trees, MOST_LEAVES - 1). A value above its threshold fails; `masks` has a bit for each
    leaf that then remains. `leaves`: (trees, MOST_LEAVES). `names` are the features in the order of columns.
    """

    names: tuple[str, ...]
    features: NDArray[np.int16]
    thresholds: FloatMatrix
    masks: NDArray[np.uint8]
    leaves: FloatMatrix

    def log_odds(self, values: FloatMatrix) -> FloatMatrix:
        """The log-odds of each row of `values`, whose columns are `names`: shape (rows,).

        Raises:
            ValueError: the number of columns is wrong.
        """
        if values.shape[1] != len(self.names):
            raise ValueError(f"these trees read {len(self.names)} features, not {values.shape[1]}: train them again")
        parts = [self._block(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def probabilities(self, values: FloatMatrix) -> FloatMatrix:
        """The probability of each row: shape (rows,)."""
        return (1 / (1 + np.exp(-self.log_odds(values)))).astype(np.float32)

    def _block(self, values: FloatMatrix) -> FloatMatrix:
        remaining = np.full((len(values), len(self.leaves)), 255, dtype=np.uint8)
        for features, thresholds, masks in self._nodes:
            remaining &= np.where(values[:, features] > thresholds, masks, np.uint8(255))
        reached = self.leaves[np.arange(len(self.leaves)), _LOWEST_BIT[remaining]]
        total: FloatMatrix = reached.sum(axis=1, dtype=np.float64).astype(np.float32)
        return total

    @cached_property
    def _nodes(self) -> list[tuple[NDArray[np.int16], FloatMatrix, NDArray[np.uint8]]]:
        """For each node position, the (features, thresholds, masks) of all trees."""
        return [
            tuple(np.ascontiguousarray(part[:, at]) for part in (self.features, self.thresholds, self.masks))  # type: ignore[misc]
            for at in range(self.features.shape[1])
        ]

    @classmethod
    def from_arrays(cls, prefix: str, stored: dict[str, NDArray[np.generic]], names: Sequence[str]) -> BoostedTrees:
        """The trees stored under a prefix.

        Raises:
            ValueError: they were trained on features other than `names`.
        """
        trained = tuple(str(name) for name in stored[f"{prefix}.names"])
        if trained != tuple(names):
            raise ValueError(
                f"the trees {prefix!r} were trained on other features: run benchmarks/train_paths.py again"
            )
        parts = {part: stored[f"{prefix}.{part}"] for part in ("features", "thresholds", "masks", "leaves")}
        return cls(trained, **parts)  # type: ignore[arg-type]
