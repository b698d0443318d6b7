"""What a clustering is: groups of row numbers, in one order that depends on nothing but their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix

Rows = NDArray[np.intp]
"""Row numbers, rising, none twice."""


class Groups:
    """Row numbers, rising, of groups that are not empty and not there twice, by their rows.

    The rows of group i stand at `starts[i]` to `starts[i + 1]` of `rows`.
    """

    def __init__(self, rows: NDArray[np.int32], starts: NDArray[np.int64]) -> None:
        self.rows, self.starts = rows, starts

    @classmethod
    def of(cls, groups: Iterable[Sequence[int] | Rows]) -> Groups:
        """Some in their order."""
        found = [np.asarray(group, np.int32) for group in groups]
        return cls(np.concatenate([np.zeros(0, np.int32), *found]), _ends([len(group) for group in found]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (tuple(rows.tolist()) for rows in self.each())

    def each(self) -> Iterator[NDArray[np.int32]]:
        """The rows of each group."""
        return (self.rows[first:last] for first, last in pairwise(self.starts.tolist()))

    def where(self, chosen: NDArray[np.bool_]) -> Groups:
        """Those that are marked."""
        sizes = np.diff(self.starts)
        return Groups(self.rows[np.repeat(chosen, sizes)], _ends(sizes[chosen]))


class Method(Protocol):
    """A way of grouping. What every clustering promises beyond it (caps, equal vectors) is not its business."""

    def group(self, vectors: FloatMatrix) -> list[Rows]:
        """Groups of rows of `vectors`, shape (n, d): n of at least 1, unit length, no two equal. Every row is in one."""
        ...


def in_order(groups: Iterable[Rows]) -> Groups:
    """The same groups, each once, smallest first row first."""
    return Groups.of(sorted({tuple(group.tolist()) for group in groups}))


def by_label(labels: NDArray[np.intp]) -> list[Rows]:
    """Rows with the same label, shape (n,), as one group each."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(order, starts)


def _ends(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where runs of these sizes begin, and the end."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
