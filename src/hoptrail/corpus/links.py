"""Links between units as graphs: from where to where, by kind, in both directions.

A segment holds its links twice by what they lead from and to: `nodes` are the units that some leave, rising, and the links of
node i are the rows `starts[i]` to `starts[i + 1]` of `targets` and `weights`; `heads` are the units that some enter, and the
links to head i are the rows `order[entries[i] : entries[i + 1]]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Numbers, Places, joined, numbers_of, ranges, rows_of
from hoptrail.corpus.numbering import Numbering
from hoptrail.corpus.segments import Array, Family, Segment, Segments, SegmentWriter
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


WAITING = 1 << 22
"""Links of a kind that wait for a segment at the most."""


class LinkWriter:
    """The links of a transaction: `put`, `put_rows` and `remove` go by the ids of units, the others by their numbers."""

    def __init__(self, segments: SegmentWriter, texts: Texts, numbering: Numbering) -> None:
        self._segments = segments
        self._texts = texts
        self._numbering = numbering
        self._waiting: dict[str, list[Directed]] = {}

    def put(self, links: Iterable[Link]) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        by_kind: dict[str, list[Link]] = {}
        for link in links:
            by_kind.setdefault(link.kind, []).append(link)
        for kind, some in by_kind.items():
            numbers = self.reserve([link.source for link in some] + [link.target for link in some])
            weights = np.array([link.weight for link in some])
            self.put_edges(kind, Directed(numbers[: len(some)], numbers[len(some) :], weights))

    def put_rows(self, ids: Sequence[str], links: Mapping[str, Directed]) -> None:
        """As `put`, by kind, without a record a link: the ends are rows of `ids`."""
        numbers = self.reserve(ids)
        for kind, some in links.items():
            if len(some.sources):
                self.put_edges(kind, Directed(numbers[some.sources], numbers[some.targets], some.weights))

    def put_edges(self, kind: str, edges: Directed) -> None:
        """As `put`, by number."""
        self._segments.changed = True
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(edges)
        if sum(map(len, waiting)) > WAITING:
            self.flush()

    def stale(self, kind: str, ids: Sequence[str], wanted: Directed, among: Collection[str] | None) -> Directed:
        """Remove the links of one kind that are not among those `wanted` (rows of `ids`), of all or of some; gives those that
        are yet to be put, by number. Links are removed by what they lead from, so that what else leads from there is put again.
        """
        numbers = self.reserve(ids)
        edges = Directed(numbers[wanted.sources], numbers[wanted.targets], wanted.weights)
        edges = edges.where(np.unique(edges.keys, return_index=True)[1])
        self.flush()
        links = Links(self._segments, self._texts)
        held = self._known(among or ())
        stored = links.edges(kind) if among is None else links.edges_leaving(kind, held)
        lost = np.unique(stored.sources[~np.isin(stored.keys, edges.keys)])
        if len(lost):
            self.remove_edges(kind, lost)
        kept = stored.where(~np.isin(stored.sources, lost))
        same = np.isin(edges.keys, kept.keys)
        same[same] = kept.weights[np.searchsorted(kept.keys, edges.keys[same])] == edges.weights[same]
        return edges.where(~same)

    def remove(self, kind: str, sources: Collection[str]) -> None:
        """Remove the links of one kind that lead from some units."""
        numbers = self._known(sources)
        if len(numbers):
            self.remove_edges(kind, numbers)

    def remove_edges(self, kind: str, sources: Numbers) -> None:
        """As `remove`, by number."""
        self._segments.changed = True
        self.flush()
        for segment in self._segments.of(Family.LINKS, kind):
            self._segments.mark_gone(segment, leaving(segment, sources))

    def drop(self, kind: str) -> None:
        """Remove all links of a kind, to build them anew."""
        self.flush()
        segments = self._segments.of(Family.LINKS, kind)
        self._segments.changed |= any(map(len, segments))
        self._segments.drop(segments)

    def forget(self, numbers: Numbers) -> None:
        """Remove the links of all kinds that lead from or to some units."""
        self.flush()
        for kind in self._segments.kinds(Family.LINKS):
            for segment in self._segments.of(Family.LINKS, kind):
                touched = np.concatenate([leaving(segment, numbers), entering(segment, numbers)])
                self._segments.mark_gone(segment, touched)

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """Numbers for links of units by their ids, also of those that are still to come; in the same order."""
        return self._numbering.reserve(ids)

    def release(self) -> None:
        """Forget the numbers kept for units that no link leads from or to any more."""
        self.flush()
        self._numbering.release(self._ends())

    def _ends(self) -> Numbers:
        """The units that some link leads from or to, rising."""
        segments = [
            edges_at(segment, segment.living())
            for kind in self._segments.kinds(Family.LINKS)
            for segment in self._segments.of(Family.LINKS, kind)
        ]
        whole = joined(segments)
        return np.unique(np.concatenate([whole.sources, whole.targets]))

    def _known(self, ids: Collection[str]) -> Numbers:
        """The numbers of the units of some ids, of those that have one, rising."""
        numbers = self._texts.numbers(list(ids), reserved=True)
        return np.unique(numbers[numbers > 0])

    def flush(self) -> None:
        for kind, waiting in sorted(self._waiting.items()):
            edges = _latest(joined(waiting))
            for segment in self._segments.of(Family.LINKS, kind):
                self._segments.mark_gone(segment, rows_between(segment, edges))
            self._segments.add(Family.LINKS, kind, len(edges), link_arrays(edges))
        self._waiting.clear()

    def merge(self) -> None:
        for kind in self._segments.kinds(Family.LINKS):
            while due := self._segments.due(Family.LINKS, kind):
                edges = joined([edges_at(segment, segment.living()) for segment in due])
                self._segments.add(Family.LINKS, kind, len(edges), link_arrays(edges))
                self._segments.drop(due)


def _latest(edges: Directed) -> Directed:
    """Of links between the same two units the last."""
    _, last = np.unique(edges.keys[::-1], return_index=True)
    return edges.where(len(edges) - 1 - last)
