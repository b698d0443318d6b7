"""A neighbourhood graph as retrieval walks it: who is next to a passage, nearest first.

Read whole into arrays, once a snapshot.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.types import Kind


class Neighbourhood(Protocol):
    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        """The `most` nearest neighbours of each passage, or as many as are stored.

        Raises:
            UsageError: one is not a passage of this graph.
        """
        ...


def open_neighbourhood(snapshot: Snapshot, structure: str) -> Neighbourhood:
    """The graph that the structure of this name has stored."""
    return snapshot.derived(("neighbourhood", structure), lambda: HeldNeighbourhood.read(snapshot, structure))


@dataclass(frozen=True)
class HeldNeighbourhood:
    """`ids` in rising order; the neighbours of row r stand at `starts[r]` to `starts[r + 1]` of `targets`, nearest first."""

    ids: Sequence[str]
    starts: NDArray[np.intp]
    targets: Rows

    @classmethod
    def read(cls, snapshot: Snapshot, structure: str) -> HeldNeighbourhood:
        ids = snapshot.search.vectors(Kind.PASSAGE).ids
        edges = snapshot.graph.rows(structure, ids)
        order = np.lexsort((edges.targets, -edges.weights, edges.sources))
        order = order[edges.sources[order] != edges.targets[order]]
        return cls(ids, np.searchsorted(edges.sources[order], np.arange(len(ids) + 1)), edges.targets[order])

    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        return {name: self._around(name, most) for name in names}

    def _around(self, name: str, most: int) -> tuple[str, ...]:
        row = bisect_left(self.ids, name)
        if row == len(self.ids) or self.ids[row] != name:
            raise _stranger(name, len(self.ids))
        targets = self.targets[self.starts[row] : self.starts[row + 1]][:most]
        return tuple(self.ids[target] for target in targets.tolist())


def _stranger(name: str, size: int) -> UsageError:
    return UsageError(f"{name!r} is not among the {size:,} passages of this graph.")
