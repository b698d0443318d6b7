"""Sparse matrices (SciPy's CSR) that are made some rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """A matrix that is made some rows at a time, as wide as it comes to be.

    Of more than 2^31 entries (some 35 million passages) SciPy holds the columns' numbers in memory.
    """

    def __init__(self) -> None:
        self._sizes: list[NDArray[np.int64]] = []
        self._columns: list[NDArray[np.int32]] = []
        self._values: list[NDArray[np.float64]] = []

    def add(self, sizes: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Rows with so many entries each, and these in their order."""
        self._sizes.append(sizes)
        self._columns.append(columns)
        self._values.append(values)

    def matrix(self, width: int) -> Any:
        """All rows; no more may come then."""
        from scipy.sparse import csr_matrix

        starts = np.cumsum(np.concatenate([np.zeros(1, np.int64), *self._sizes]))
        columns = np.concatenate([np.zeros(0, np.int32), *self._columns])
        values = np.concatenate([np.zeros(0), *self._values])
        return csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))
