"""Links between units as graphs: from where to where, by kind, in both directions.

A segment holds its links twice by what they lead from and to: `nodes` are the units that some leave, rising, and the links of
node i are the rows `starts[i]` to `starts[i + 1]` of `targets` and `weights`; `heads` are the units that some enter, and the
links to head i are the rows `order[entries[i] : entries[i + 1]]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Numbers, Places, joined, numbers_of, ranges, rows_of
from hoptrail.corpus.segments import Array, Family, Segment, Segments
from hoptrail.corpus.texts import Texts
from hoptrail.types import Link


class Links:
    """The links of a snapshot: `edges` by the numbers of the units that they join, the others by their ids."""

    def __init__(self, segments: Segments, texts: Texts) -> None:
        self._segments = segments
        self._texts = texts

    def count(self) -> Counter[str]:
        """How many links there are of each kind."""
        kinds = self._segments.kinds(Family.LINKS)
        counts = {kind: sum(map(len, self._segments.of(Family.LINKS, kind))) for kind in kinds}
        return Counter({kind: count for kind, count in counts.items() if count})

    def edges(self, kind: str) -> Directed:
        """Those of a kind, by rising source, then target."""
        parts = [edges_at(part, part.living()) for part in self._segments.of(Family.LINKS, kind)]
        return joined(parts).in_order()

    def edges_leaving(self, kind: str, numbers: Numbers) -> Directed:
        """Those that lead from one of some units, by rising source, then target."""
        return self._touching(kind, numbers, leaving)

    def edges_entering(self, kind: str, numbers: Numbers) -> Directed:
        """Those that lead to one of some units, by rising source, then target."""
        return self._touching(kind, numbers, entering)

    def _touching(self, kind: str, numbers: Numbers, side: _Side) -> Directed:
        wanted = np.unique(numbers_of(numbers))
        segments = self._segments.of(Family.LINKS, kind)
        parts = [edges_at(part, part.counting(side(part, wanted))) for part in segments]
        return joined([part for part in parts if len(part)]).in_order()

    def all(self, kind: str | None = None) -> Iterator[Link]:
        """Links, all or those of one kind."""
        for one in self.count() if kind is None else (kind,):
            yield from self._links(one, self.edges(one))

    def leaving(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead from units of these ids."""
        return self._links(kind, self.edges_leaving(kind, self._linkable(ids)))

    def entering(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        """Links of one kind that lead to units of these ids."""
        return self._links(kind, self.edges_entering(kind, self._linkable(ids)))

    def rows(self, kind: str, ids: Sequence[str]) -> Directed:
        """Links of one kind with both ends among `ids`, as rows of these."""
        numbers = self._texts.numbers(list(ids), reserved=True)
        known = np.flatnonzero(numbers)
        order = known[np.argsort(numbers[known], kind="stable")]
        return _between(self.edges(kind), numbers[order], order)

    def _linkable(self, ids: Collection[str]) -> Numbers:
        numbers = self._texts.numbers(list(ids), reserved=True)
        return np.unique(numbers[numbers > 0])

    def _links(self, kind: str, edges: Directed) -> Iterator[Link]:
        names = self._texts.names(np.concatenate([edges.sources, edges.targets]))
        columns = (edges.sources.tolist(), edges.targets.tolist(), edges.weights.tolist())
        return (
            Link(names[source], names[target], kind, weight) for source, target, weight in zip(*columns, strict=True)
        )


def _between(edges: Directed, rising: Numbers, rows: NDArray[np.intp]) -> Directed:
    """The links with both ends among `rising` numbers, as the `rows` that belong to these."""
    sources, targets = rows_of(edges.sources, rising), rows_of(edges.targets, rising)
    whole = (sources >= 0) & (targets >= 0)
    return Directed(rows[sources[whole]].astype(np.int32), rows[targets[whole]].astype(np.int32), edges.weights[whole])


def link_arrays(edges: Directed) -> Mapping[str, Array]:
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
    return ranges(starts[found], starts[found + 1] - starts[found])[1]


def entering(segment: Segment, numbers: Numbers) -> Places:
    """The rows of the links that lead to some units."""
    found = rows_of(numbers, segment.arrays["heads"])
    found = found[found >= 0]
    entries = segment.arrays["entries"]
    places: Places = segment.arrays["order"][ranges(entries[found], entries[found + 1] - entries[found])[1]].astype(
        np.intp
    )
    return places


_Side = Callable[[Segment, Numbers], Places]


def edges_at(segment: Segment, rows: Places) -> Directed:
    """The links in some rows of a segment."""
    nodes = np.searchsorted(segment.arrays["starts"], rows, side="right") - 1
    return Directed(segment.arrays["nodes"][nodes], segment.arrays["targets"][rows], segment.arrays["weights"][rows])


def rows_between(segment: Segment, edges: Directed) -> Places:
    """The rows of a segment whose links join the same two units as some of `edges`."""
    rows = leaving(segment, np.unique(edges.sources))
    here = edges_at(segment, rows)
    return rows[np.isin(here.keys, edges.keys)]
