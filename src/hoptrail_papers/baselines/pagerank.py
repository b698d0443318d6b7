"""Personalised PageRank over an undirected weighted graph (Page et al. 1999), by power iteration over a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS = 50
TOLERANCE = 1e-9  # the sum of changes at which iteration stops


@dataclass(frozen=True)
class RandomWalk:
    """A random walk. `steps[a, b]` is the probability to go from b to a, by edge weight (SciPy CSR, shape (size, size))."""

    steps: Any
    stranded: NDArray[np.bool_]  # nodes without an edge, from which the walk restarts

    @classmethod
    def along(
        cls, firsts: NDArray[np.integer], seconds: NDArray[np.integer], weights: NDArray[np.floating], size: int
    ) -> RandomWalk:
        """A walk along edges in both directions; the weights of parallel edges add up."""
        from scipy.sparse import csr_matrix

        sources, targets = np.concatenate((firsts, seconds)), np.concatenate((seconds, firsts))
        both = np.concatenate((weights, weights)).astype(np.float64)
        leaving = np.bincount(sources, both, size)
        shares = both / np.maximum(leaving, 1e-12)[sources]
        return cls(csr_matrix((shares, (targets, sources)), shape=(size, size)), leaving == 0)

    def ranks(self, home: NDArray[np.floating], damping: float) -> NDArray[np.float64]:
        """The share of time that the walk spends at each node; sums to 1.

        The walk continues with probability `damping`, else it restarts at a node by the weights `home`: shape (size,), at least
        one above 0.
        """
        reset: NDArray[np.float64] = home.astype(np.float64) / home.sum()
        ranks = reset
        for _ in range(ROUNDS):
            passed = self.steps @ ranks + ranks[self.stranded].sum() * reset
            after: NDArray[np.float64] = (1 - damping) * reset + damping * passed
            change = np.abs(after - ranks).sum()
            if change < TOLERANCE:
                break
            ranks = after
        return ranks
