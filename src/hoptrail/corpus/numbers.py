"""Small mathematics of arrays of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
"""Of units or documents: positive, given in the order of adding."""

Places = NDArray[np.intp]
"""Places in other arrays."""

NONE: Numbers = np.zeros(0, np.int32)


def numbers_of(values: object) -> Numbers:
    """As an array that can be handed to a query."""
    return np.ascontiguousarray(np.asarray(values, dtype=np.int32))


def rows_of(wanted: Numbers, rising: Numbers) -> Places:
    """Where each of some numbers stands among others, which rise; -1 for those that do not."""
    if not len(rising):
        return np.full(len(wanted), -1, np.intp)
    found = np.minimum(np.searchsorted(rising, wanted), len(rising) - 1)
    return np.where(rising[found] == wanted, found, -1)
