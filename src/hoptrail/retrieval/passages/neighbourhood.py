"""A stored neighbourhood graph: the neighbours of each passage, nearest first. Read into arrays once per snapshot."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.types import Kind


@dataclass(frozen=True)
class Neighbourhood:
    """`ids` rise; the neighbours of row r, nearest first, are `targets[starts[r]:starts[r + 1]]`."""

    ids: Sequence[str]
    starts: NDArray[np.intp]
    targets: Rows

    @classmethod
    def of(cls, snapshot: Snapshot, structure: str) -> Neighbourhood:
        """The graph stored by the structure of this name."""
        return snapshot.derived((cls, structure), lambda: cls._read(snapshot, structure))

    @classmethod
    def _read(cls, snapshot: Snapshot, structure: str) -> Neighbourhood:
        ids = sorted(snapshot.table.ids(Kind.PASSAGE))
        edges = snapshot.graph.rows(structure, ids)
        order = np.lexsort((edges.targets, -edges.weights, edges.sources))
        order = order[edges.sources[order] != edges.targets[order]]
        return cls(ids, np.searchsorted(edges.sources[order], np.arange(len(ids) + 1)), edges.targets[order])

    def around(self, names: Sequence[str], most: int) -> Mapping[str, tuple[str, ...]]:
        """The stored neighbours of each passage, at most `most`.

        Raises:
            UsageError: an id is not a passage of this graph.
        """
        return {name: self._around(name, most) for name in names}

    def _around(self, name: str, most: int) -> tuple[str, ...]:
        row = bisect_left(self.ids, name)
        if row == len(self.ids) or self.ids[row] != name:
            raise UsageError(f"{name!r} is not among the {len(self.ids):,} passages of this graph.")
        targets = self.targets[self.starts[row] : self.starts[row + 1]][:most]
        return tuple(self.ids[target] for target in targets.tolist())
