"""Writing links, names and extractions: what waits for a segment, what replaces what, and what goes with a unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.cleaning import Cleaning
from hoptrail.corpus.columns import Directed, Numbers, joined
from hoptrail.corpus.links import Links, edges_at, entering, leaving, link_arrays, rows_between
from hoptrail.corpus.names import NameList, name_list, segments_with
from hoptrail.corpus.numbering import Numbering
from hoptrail.corpus.segments import Family, SegmentWriter
from hoptrail.corpus.texts import Texts
from hoptrail.language.tasks import Extraction
from hoptrail.types import Link

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


class NameWriter:
    """The names of a transaction."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._waiting: dict[str, list[tuple[bytes, int]]] = {}

    def put(self, kind: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Add keys of names with the numbers of the units that bear or say them; one that is there already stays."""
        self._segments.changed = True
        encoded = ((key.encode(errors="surrogatepass"), number) for key, number in pairs)
        self._waiting.setdefault(kind, []).extend(encoded)

    def drop(self, kind: str) -> None:
        """Remove all names of a kind; of what they are made from nothing is removed."""
        self._segments.changed = True
        self._waiting.pop(kind, None)
        self._segments.drop(self._segments.of(Family.NAMES, kind))

    def forget(self, numbers: Numbers, kind: str | None = None) -> None:
        """Remove the names of some units, of all kinds or of one: segments that hold one are written anew."""
        self.flush()
        for segment in list(segments_with(self._segments, numbers, kind)):
            self._add(segment.kind, name_list(segment).without(numbers))
            self._segments.drop([segment])

    def flush(self) -> None:
        for kind, pairs in sorted(self._waiting.items()):
            self._add(kind, NameList.of(pairs))
        self._waiting.clear()

    def merge(self) -> None:
        for kind in self._segments.kinds(Family.NAMES):
            while due := self._segments.due(Family.NAMES, kind):
                lists = sorted(map(name_list, due), key=len, reverse=True)
                self._add(kind, reduce(NameList.with_others, lists))
                self._segments.drop(due)

    def _add(self, kind: str, names: NameList) -> None:
        self._segments.add(Family.NAMES, kind, len(names.units), names.arrays)


class ExtractionWriter:
    """What was found in units, in a transaction."""

    def __init__(self, segments: SegmentWriter, cleaning: Cleaning) -> None:
        self._segments = segments
        self._database = segments.database
        self._cleaning = cleaning

    def put(self, extractions: Mapping[int, Extraction]) -> None:
        """Add or replace what was found in units, by their numbers."""
        self._segments.changed = True
        self._database.run_each(
            "INSERT OR REPLACE INTO extractions (unit, entities, facts) VALUES (?, ?, ?)",
            [rows.extraction_row(number, found) for number, found in extractions.items()],
        )

    def drop(self) -> None:
        """Remove what was found in all units."""
        self._segments.changed = True
        self._database.run("DELETE FROM extractions")
        self._cleaning.due = True


def _latest(edges: Directed) -> Directed:
    """Of links between the same two units the last."""
    _, last = np.unique(edges.keys[::-1], return_index=True)
    return edges.where(len(edges) - 1 - last)
