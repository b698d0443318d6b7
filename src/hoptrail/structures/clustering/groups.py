"""What a clustering is: groups of row numbers, in one order that depends on nothing but their rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix

Rows = NDArray[np.intp]
"""Row numbers, rising, none twice."""

Groups = tuple[tuple[int, ...], ...]
"""Row numbers, rising; every row in at least one group; no group empty or there twice; groups by their rows."""


class Method(Protocol):
    """A way of grouping. What every clustering promises beyond it (caps, equal vectors) is not its business."""

    def group(self, vectors: FloatMatrix) -> list[Rows]:
        """Groups of rows of `vectors`, shape (n, d): n of at least 1, unit length, no two equal. Every row is in one."""
        ...


def in_order(groups: Iterable[Rows]) -> Groups:
    """The same groups, each once, smallest first row first."""
    return tuple(sorted({tuple(group.tolist()) for group in groups}))


def by_label(labels: NDArray[np.intp]) -> list[Rows]:
    """Rows with the same label, shape (n,), as one group each."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(order, starts)
