"""Sparse matrices (SciPy's CSR) whose numbers lie in files where they are many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.scratch import Scratch


class Growing:
    """A matrix that is made some rows at a time, as wide as it comes to be.

    Of more than 2^31 entries (some 35 million passages) SciPy holds the columns' numbers in memory.
    """

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._columns, self._values = scratch.column(np.int32), scratch.column(np.float64)
        self._sizes = scratch.column(np.int64)

    def add(self, sizes: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Rows with so many entries each, and these in their order."""
        self._sizes.extend(sizes)
        self._columns.extend(columns)
        self._values.extend(values)

    def matrix(self, width: int) -> Any:
        """All rows; no more may come then."""
        from scipy.sparse import csr_matrix

        sizes = self._sizes.values()
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return csr_matrix((self._values.values(), self._columns.values(), starts), shape=(len(sizes), width))


def places_of(starts: NDArray[np.int64], rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Where the entries of some rows stand, in the order of these; `starts`: where each row's begin, and the end."""
    sizes = starts[rows + 1] - starts[rows]
    before = np.cumsum(sizes) - sizes
    places: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(starts[rows] - before, sizes)
    return places
