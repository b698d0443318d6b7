"""Sparse matrices (SciPy's CSR) whose numbers lie in files where they are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.scratch import Scratch

ROWS = 4096
ENTRIES = 1 << 20
"""Rows, or entries, that are worked on at a time."""


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


def transposed(matrix: Any, scratch: Scratch) -> Any:
    """The same the other way round, entries in rising order of their rows."""
    from scipy.sparse import csr_matrix

    counts = np.zeros(matrix.shape[1] + 1, dtype=np.int64)
    for start in range(0, matrix.nnz, ENTRIES):
        counts[1:] += np.bincount(matrix.indices[start : start + ENTRIES], minlength=matrix.shape[1])
    starts = np.cumsum(counts)
    rows = ((places, first + here.indices[:, np.newaxis]) for first, here, places in _turned(matrix, starts))
    values = ((places, here.data[:, np.newaxis]) for _, here, places in _turned(matrix, starts))
    columns = scratch.arranged(matrix.nnz, 1, np.int32, rows)[:, 0]
    return csr_matrix(
        (scratch.arranged(matrix.nnz, 1, np.float64, values)[:, 0], columns, starts), shape=matrix.shape[::-1]
    )


def _turned(matrix: Any, starts: NDArray[np.int64]) -> Iterator[tuple[int, Any, NDArray[np.int64]]]:
    """Some rows at a time: the number of the first, all by column, and where their entries belong; `starts`: where each column's
    begin.
    """
    free = starts[:-1].copy()
    for first in range(0, matrix.shape[0], ROWS):
        here = matrix[first : first + ROWS].tocsc()
        sizes = np.diff(here.indptr)
        yield first, here, np.arange(here.nnz) + np.repeat(free - here.indptr[:-1], sizes)
        free += sizes
