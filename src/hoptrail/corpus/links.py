"""Links between units as graphs: from where to where, by kind, in both directions.

A segment holds its links twice by what they lead from and to: `nodes` are the units that some leave, rising, and the links of
node i are the rows `starts[i]` to `starts[i + 1]` of `targets` and `weights`; `heads` are the units that some enter, and the
links to head i are the rows `order[entries[i] : entries[i + 1]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.numbers import NONE, Numbers, Places, numbers_of, ranges, rows_of
from hoptrail.corpus.segments import Array, Family, Segment, Segments


@dataclass(frozen=True, slots=True)
class Edges:
    """Links of one kind, by number of their ends."""

    sources: Numbers
    targets: Numbers
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def keys(self) -> NDArray[np.int64]:
        """One number a link, rising as its source, then its target does."""
        return self.sources.astype(np.int64) << 32 | self.targets

    def where(self, kept: NDArray[np.bool_] | Places) -> Edges:
        return Edges(self.sources[kept], self.targets[kept], self.weights[kept])

    def in_order(self) -> Edges:
        """By rising source, then target."""
        return self.where(np.lexsort((self.targets, self.sources)))

    @classmethod
    def joined(cls, parts: Sequence[Edges]) -> Edges:
        if not parts:
            return cls(NONE, NONE, np.zeros(0))
        return cls(
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


class Links:
    """The links of a snapshot."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments

    def count(self) -> dict[str, int]:
        """How many links there are of each kind."""
        counts = {kind: sum(map(len, self._of(kind))) for kind in self._segments.kinds(Family.LINKS)}
        return {kind: count for kind, count in counts.items() if count}

    def all(self, kind: str) -> Edges:
        """By rising source, then target."""
        return Edges.joined([edges_at(part, part.living()) for part in self._of(kind)]).in_order()

    def leaving(self, kind: str, numbers: Numbers) -> Edges:
        """Those that lead from one of some units, by rising source, then target."""
        return self._touching(kind, numbers, leaving)

    def entering(self, kind: str, numbers: Numbers) -> Edges:
        """Those that lead to one of some units, by rising source, then target."""
        return self._touching(kind, numbers, entering)

    def among(self, kind: str, numbers: Numbers) -> Edges:
        """Those with both ends among some units, by rising source, then target."""
        edges = self.leaving(kind, numbers)
        return edges.where(np.isin(edges.targets, numbers))

    def _of(self, kind: str) -> list[Segment]:
        return self._segments.of(Family.LINKS, kind)

    def _touching(self, kind: str, numbers: Numbers, side: _Side) -> Edges:
        wanted = np.unique(numbers_of(numbers))
        parts = [edges_at(part, part.counting(side(part, wanted))) for part in self._of(kind)]
        return Edges.joined([part for part in parts if len(part)]).in_order()


def link_arrays(edges: Edges) -> Mapping[str, Array]:
    """The arrays of a segment."""
    edges = edges.in_order()
    order = np.lexsort((edges.sources, edges.targets)).astype(np.int32)
    nodes, starts = np.unique(edges.sources, return_index=True)
    heads, entries = np.unique(edges.targets[order], return_index=True)
    return {
        "nodes": numbers_of(nodes),
        "starts": np.append(starts, len(edges)).astype(np.int64),
        "targets": numbers_of(edges.targets),
        "weights": np.asarray(edges.weights, np.float64),
        "heads": numbers_of(heads),
        "entries": np.append(entries, len(edges)).astype(np.int64),
        "order": order,
    }


def leaving(segment: Segment, numbers: Numbers) -> Places:
    """The rows of the links that lead from some units."""
    found = rows_of(numbers, segment.arrays["nodes"])
    found = found[found >= 0]
    starts = segment.arrays["starts"]
    return ranges(starts[found], starts[found + 1])[0]


def entering(segment: Segment, numbers: Numbers) -> Places:
    """The rows of the links that lead to some units."""
    found = rows_of(numbers, segment.arrays["heads"])
    found = found[found >= 0]
    entries = segment.arrays["entries"]
    places: Places = segment.arrays["order"][ranges(entries[found], entries[found + 1])[0]].astype(np.intp)
    return places


_Side = Callable[[Segment, Numbers], Places]


def edges_at(segment: Segment, rows: Places) -> Edges:
    """The links in some rows of a segment."""
    nodes = np.searchsorted(segment.arrays["starts"], rows, side="right") - 1
    return Edges(segment.arrays["nodes"][nodes], segment.arrays["targets"][rows], segment.arrays["weights"][rows])


def rows_between(segment: Segment, edges: Edges) -> Places:
    """The rows of a segment whose links join the same two units as some of `edges`."""
    rows = leaving(segment, np.unique(edges.sources))
    here = edges_at(segment, rows)
    return rows[np.isin(here.keys, edges.keys)]
