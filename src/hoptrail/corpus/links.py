"""Links between units as directed graphs, by kind, and the numbers that are kept for units that links name.

`nodes` are the units that links of a segment leave, sorted: the links of node i are the rows `starts[i]` to `starts[i + 1]` of
`targets` and `weights`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.arrays import Array
from hoptrail.corpus.columns import Directed, Numbers, Places, joined, numbers_of, ranges, rows_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.segments import Family, Segment, Segments, SegmentWriter
from hoptrail.corpus.units import NumberedUnits
from hoptrail.types import Link


class Links:
    """The links of a snapshot: `edges` by the numbers of the units that they join, by source, then target; the others by ids."""

    def __init__(self, segments: Segments, numbered: NumberedUnits) -> None:
        self._segments = segments
        self._numbered = numbered

    def count(self) -> Counter[str]:
        return self._segments.count(Family.LINKS)

    def edges(self, kind: str) -> Directed:
        return _joined(self._segments.of(Family.LINKS, kind)).in_order()

    def all(self, kind: str | None = None) -> Iterator[Link]:
        for name in self.count() if kind is None else (kind,):
            yield from self._links(name, self.edges(name))

    def leaving(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        return self._touching(ids, kind, leaving)

    def entering(self, ids: Collection[str], kind: str) -> Iterator[Link]:
        return self._touching(ids, kind, entering)

    def _touching(self, ids: Collection[str], kind: str, side: Callable[[Segment, Numbers], Places]) -> Iterator[Link]:
        nodes = self._numbered.known(ids, reserved=True)
        parts = [edges_at(part, part.live(side(part, nodes))) for part in self._segments.of(Family.LINKS, kind)]
        return self._links(kind, joined([part for part in parts if len(part)]).in_order())

    def rows(self, kind: str, ids: Sequence[str]) -> Directed:
        """Links of one kind with both ends among `ids`, between positions in `ids`."""
        numbers = self._numbered.numbers(list(ids), reserved=True)
        known = np.flatnonzero(numbers)
        order = known[np.argsort(numbers[known], kind="stable")].astype(np.int32)
        edges, rising = self.edges(kind), numbers[order]
        sources, targets = rows_of(edges.sources, rising), rows_of(edges.targets, rising)
        both = (sources >= 0) & (targets >= 0)
        return Directed(order[sources[both]], order[targets[both]], edges.weights[both])

    def _links(self, kind: str, edges: Directed) -> Iterator[Link]:
        names = self._numbered.ids_by_number(np.concatenate([edges.sources, edges.targets]))
        rows = zip(edges.sources.tolist(), edges.targets.tolist(), edges.weights.tolist(), strict=True)
        return (Link(names[source], names[target], kind, weight) for source, target, weight in rows)


def link_arrays(edges: Directed) -> Mapping[str, Array]:
    """The arrays of a segment: links from `nodes[i]` are rows `starts[i]` to `starts[i + 1]` of `targets` and `weights`."""
    edges = edges.in_order()
    nodes, starts = np.unique(edges.sources, return_index=True)
    return {
        "nodes": numbers_of(nodes),
        "starts": np.append(starts, len(edges)).astype(np.int64),
        "targets": numbers_of(edges.targets),
        "weights": np.asarray(edges.weights, np.float64),
    }


def leaving(segment: Segment, numbers: Numbers) -> Places:
    """The rows of the links that lead from one of these units."""
    found = rows_of(numbers, segment.arrays["nodes"])
    found, starts = found[found >= 0], segment.arrays["starts"]
    return ranges(starts[found], starts[found + 1] - starts[found])[1]


def entering(segment: Segment, numbers: Numbers) -> Places:
    """The rows of the links that lead to one of these units."""
    return np.flatnonzero(np.isin(segment.arrays["targets"], numbers))


def edges_at(segment: Segment, rows: Places) -> Directed:
    nodes = np.searchsorted(segment.arrays["starts"], rows, side="right") - 1
    return Directed(segment.arrays["nodes"][nodes], segment.arrays["targets"][rows], segment.arrays["weights"][rows])


class LinkWriter:
    """Writes links in a transaction: `put`, `put_rows` and `remove` by the ids of units, the other methods by their numbers. Also
    assigns the numbers of units, and keeps those that links name for units that are yet to come, or to come back.
    """

    def __init__(self, segments: SegmentWriter, numbered: NumberedUnits) -> None:
        self._segments = segments
        self._database: Database = segments.database
        self._numbered = numbered

    def assign(self, ids: Sequence[str]) -> list[int]:
        reserved = rows.numbers_by_id(self._database, "reserved", ids)
        if reserved:
            self._database.delete("reserved", "number", reserved.values())
        new = count(rows.next_number(self._database, "units"))
        return [reserved[id_] if id_ in reserved else next(new) for id_ in ids]

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """The numbers of units by their ids, in the same order. Numbers are reserved for units that are not stored."""
        numbers = self._numbered.numbers(ids, reserved=True)
        if numbers.all():
            return numbers
        missing = sorted({id_ for id_, number in zip(ids, numbers.tolist(), strict=True) if not number})
        new = list(enumerate(missing, rows.next_number(self._database, "units")))
        self._database.run_each("INSERT INTO reserved (number, id) VALUES (?, ?)", new)
        self._database.run("DELETE FROM sqlite_sequence WHERE name = 'units'")  # the new ones count as assigned
        self._database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('units', ?)", new[-1][0])
        return self._numbered.numbers(ids, reserved=True)

    def keep(self, numbers: Numbers) -> None:
        """Reserve the numbers of units to be removed: those that come back get them again, and their links."""
        self._database.run(
            "INSERT OR REPLACE INTO reserved (id, number) SELECT u.id, u.number FROM carray(?) c "
            "CROSS JOIN units u ON u.number = c.value",
            numbers,
        )

    def put(self, links: Iterable[Link]) -> None:
        """Add links. A link replaces one of the same kind between the same two units."""
        by_kind: dict[str, list[Link]] = {}
        for link in links:
            by_kind.setdefault(link.kind, []).append(link)
        for kind, same in by_kind.items():
            numbers = self.reserve([link.source for link in same] + [link.target for link in same])
            weights = np.array([link.weight for link in same])
            self.put_edges(kind, Directed(numbers[: len(same)], numbers[len(same) :], weights))

    def put_rows(self, ids: Sequence[str], links: Mapping[str, Directed]) -> None:
        """Put links by kind, as arrays: their ends are positions in `ids`."""
        numbers = self.reserve(ids)
        for kind, edges in links.items():
            if len(edges):
                self.put_edges(kind, Directed(numbers[edges.sources], numbers[edges.targets], edges.weights))

    def put_edges(self, kind: str, edges: Directed) -> None:
        """Put links by number, as a segment. Of links between the same two units the last one counts."""
        _, last = np.unique(edges.keys[::-1], return_index=True)
        edges = edges.where(len(edges) - 1 - last)
        for segment in self._segments.of(Family.LINKS, kind):
            rows = leaving(segment, np.unique(edges.sources))
            same = np.isin(edges_at(segment, rows).keys, edges.keys)
            self._segments.mark_gone(segment, rows[same])  # the new ones replace them
        self._segments.add(Family.LINKS, kind, link_arrays(edges))
        self.merge()  # each of these segments is looked through by the next put

    def remove(self, kind: str, sources: Collection[str]) -> None:
        """Remove the links of one kind that lead from one of these units."""
        numbers = self._numbered.known(sources, reserved=True)
        for segment in self._segments.of(Family.LINKS, kind):
            self._segments.mark_gone(segment, leaving(segment, numbers))

    def drop(self, kind: str) -> None:
        self._segments.drop(self._segments.of(Family.LINKS, kind))

    def forget(self, numbers: Numbers) -> None:
        """Remove the links of all kinds that lead from or to one of these units."""
        for kind in self._segments.kinds(Family.LINKS):
            for segment in self._segments.of(Family.LINKS, kind):
                touched = np.concatenate([leaving(segment, numbers), entering(segment, numbers)])
                self._segments.mark_gone(segment, touched)

    def release(self) -> None:
        """Release the numbers reserved for units that no link leads from or to."""
        links = Links(self._segments, self._numbered)
        edges = joined([links.edges(kind) for kind in self._segments.kinds(Family.LINKS)])
        reserved = numbers_of(self._database.column("SELECT number FROM reserved"))
        unused = np.setdiff1d(reserved, np.concatenate([edges.sources, edges.targets]))
        self._database.delete("reserved", "number", unused)

    def merge(self) -> None:
        self._segments.merge(Family.LINKS, lambda segments: link_arrays(_joined(segments)))


def _joined(segments: Sequence[Segment]) -> Directed:
    return joined([edges_at(segment, segment.live_rows()) for segment in segments])
