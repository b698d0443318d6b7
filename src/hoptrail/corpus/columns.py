"""What is too many for records, as arrays: numbers, places, and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]
"""Numbers of rows, or of other things that are counted from 0."""

Numbers = NDArray[np.int32]
"""Of units or documents: positive, given in the order of adding."""

Places = NDArray[np.intp]
"""Places in other arrays."""

NONE: Numbers = np.zeros(0, np.int32)

_HALF = 32
_LOW = (1 << _HALF) - 1


def numbers_of(values: object) -> Numbers:
    """As an array that can be handed to a query."""
    return np.ascontiguousarray(np.asarray(values, dtype=np.int32))


def rows_of(wanted: Numbers, rising: Numbers) -> Places:
    """Where each of some numbers stands among others, which rise; -1 for those that do not."""
    if not len(rising):
        return np.full(len(wanted), -1, np.intp)
    found = np.minimum(np.searchsorted(rising, wanted), len(rising) - 1)
    return np.where(rising[found] == wanted, found, -1)


def paired(high: NDArray[np.integer[Any]], low: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Two numbers below 2^31 as one, in order of the first, then of the second."""
    return high.astype(np.int64) << _HALF | low


def unpaired(pairs: NDArray[np.int64]) -> tuple[Rows, Rows]:
    return (pairs >> _HALF).astype(np.int32), (pairs & _LOW).astype(np.int32)


def bounds_of(pairs: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Where the pairs (rising) of each high number below `count` begin, and the end."""
    return np.searchsorted(pairs, np.arange(count + 1) << _HALF)


def ranges(firsts: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]) -> tuple[Places, Places]:
    """The numbers from each of `firsts` on, `counts` of them: which of `firsts` each belongs to, and the numbers."""
    which = np.repeat(np.arange(len(firsts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - firsts, counts)


def is_among(numbers: NDArray[np.integer[Any]], others: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Which of `numbers` are among `others`, which rise."""
    if not len(others):
        return np.zeros(len(numbers), dtype=bool)
    places = np.searchsorted(others, numbers)
    places[places == len(others)] = 0
    found: NDArray[np.bool_] = others[places] == numbers
    return found


@dataclass(frozen=True, slots=True)
class Directed:
    """Edges from `sources` to `targets`, which are rows, or numbers of units: arrays of one length."""

    sources: Rows
    targets: Rows
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def keys(self) -> NDArray[np.int64]:
        """One number an edge, rising as its source, then its target does."""
        return paired(self.sources, self.targets)

    def in_order(self) -> Directed:
        """By rising source, then target."""
        return self.where(np.lexsort((self.targets, self.sources)))

    def where(self, chosen: NDArray[Any] | slice) -> Directed:
        """Those marked, or at these places and in this order."""
        return Directed(self.sources[chosen], self.targets[chosen], self.weights[chosen])


def joined(parts: Sequence[Directed]) -> Directed:
    if not parts:
        none = np.zeros(0, dtype=np.int32)
        return Directed(none, none, np.zeros(0))
    return Directed(
        np.concatenate([part.sources for part in parts]),
        np.concatenate([part.targets for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )
