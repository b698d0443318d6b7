"""Columnar encodings of numbers and edges that are too many for Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]  # numbers of rows, counted from 0
Numbers = NDArray[np.int32]  # numbers of units or documents: positive, assigned in the order of adding
Places = NDArray[np.intp]  # positions in other arrays

NONE: Numbers = np.zeros(0, np.int32)

_HALF = 32


def numbers_of(values: object) -> Numbers:
    """An array that can be a parameter of a query."""
    return np.ascontiguousarray(np.asarray(values, dtype=np.int32))


def rows_of(numbers: NDArray[np.integer[Any]], rising: NDArray[np.integer[Any]]) -> Places:
    """The position of each number in a sorted array; -1 where it is not in it."""
    if not len(rising):
        return np.full(len(numbers), -1, np.intp)
    places = np.minimum(np.searchsorted(rising, numbers), len(rising) - 1)
    return np.where(rising[places] == numbers, places, -1)


def is_among(numbers: NDArray[np.integer[Any]], rising: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    return rows_of(numbers, rising) >= 0


def paired(high: NDArray[np.integer[Any]], low: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Two numbers below 2^31 as one, ordered by the first, then by the second."""
    return high.astype(np.int64) << _HALF | low


def unpaired(pairs: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """The first and the second numbers of what `paired` returned."""
    return (pairs >> _HALF).astype(np.int32), (pairs & ((1 << _HALF) - 1)).astype(np.int32)


def bounds_of(pairs: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Where the pairs (sorted) of each high number below `count` begin, and the end: shape (count + 1,)."""
    return np.searchsorted(pairs, np.arange(count + 1) << _HALF)


def ranges(firsts: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]) -> tuple[Places, Places]:
    """Concatenated ranges: `counts[i]` numbers from `firsts[i]` on. Returns the index i of each number, and the numbers."""
    which = np.repeat(np.arange(len(firsts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - firsts, counts)


def highest(scores: NDArray[np.floating], limit: int) -> Places:
    """The positions, rising, of the `limit` highest scores and of all that equal the last of these."""
    limit = min(limit, len(scores))
    if limit < 1:
        return np.zeros(0, np.intp)
    return np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])


@dataclass(frozen=True, slots=True)
class Directed:
    """Edges from `sources` to `targets`, which are rows or numbers of units: arrays of equal length."""

    sources: Rows
    targets: Rows
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def keys(self) -> NDArray[np.int64]:
        """One number per edge, ordered by source, then target."""
        return paired(self.sources, self.targets)

    def in_order(self) -> Directed:
        return self.where(np.lexsort((self.targets, self.sources)))

    def where(self, chosen: NDArray[Any] | slice) -> Directed:
        return Directed(self.sources[chosen], self.targets[chosen], self.weights[chosen])


def joined(parts: Sequence[Directed]) -> Directed:
    return Directed(
        np.concatenate([NONE, *(part.sources for part in parts)]),
        np.concatenate([NONE, *(part.targets for part in parts)]),
        np.concatenate([np.zeros(0), *(part.weights for part in parts)]),
    )
