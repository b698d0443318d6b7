"""Writing links, names and extractions: what waits for a segment, what replaces what, and what goes with a unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.cleaning import Cleaning
from hoptrail.corpus.database import Database
from hoptrail.corpus.links import Edges, edges_at, entering, leaving, link_arrays, rows_between
from hoptrail.corpus.names import NameList, name_list, segments_with
from hoptrail.corpus.numbering import Numbering
from hoptrail.corpus.numbers import Numbers
from hoptrail.corpus.segments import Family, SegmentWriter
from hoptrail.language.tasks import Extraction

WAITING = 1 << 22
"""Links of a kind that wait for a segment at the most."""


class LinkWriter:
    """The links of a transaction."""

    def __init__(self, segments: SegmentWriter, numbering: Numbering) -> None:
        self._segments = segments
        self._numbering = numbering
        self._waiting: dict[str, list[Edges]] = {}

    def put(self, kind: str, edges: Edges) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(edges)
        if sum(map(len, waiting)) > WAITING:
            self.flush()

    def remove(self, kind: str, sources: Numbers | None = None) -> None:
        """Remove all links of a kind, or those that lead from some units."""
        self.flush()
        for segment in self._segments.of(Family.LINKS, kind):
            if sources is None:
                self._segments.drop([segment])
            else:
                self._segments.mark_gone(segment, leaving(segment, sources))

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
        whole = Edges.joined(segments)
        return np.unique(np.concatenate([whole.sources, whole.targets]))

    def flush(self) -> None:
        for kind, waiting in sorted(self._waiting.items()):
            edges = _latest(Edges.joined(waiting))
            for segment in self._segments.of(Family.LINKS, kind):
                self._segments.mark_gone(segment, rows_between(segment, edges))
            self._segments.add(Family.LINKS, kind, len(edges), link_arrays(edges))
        self._waiting.clear()

    def merge(self) -> None:
        for kind in self._segments.kinds(Family.LINKS):
            while due := self._segments.due(Family.LINKS, kind):
                edges = Edges.joined([edges_at(segment, segment.living()) for segment in due])
                self._segments.add(Family.LINKS, kind, len(edges), link_arrays(edges))
                self._segments.drop(due)


class NameWriter:
    """The names of a transaction."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._waiting: dict[str, list[tuple[bytes, int]]] = {}

    def put(self, kind: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Add keys of names with the numbers of the units that bear or say them; one that is there already stays."""
        encoded = ((key.encode(errors="surrogatepass"), number) for key, number in pairs)
        self._waiting.setdefault(kind, []).extend(encoded)

    def drop(self, kind: str) -> None:
        """Remove all names of a kind; of what they are made from nothing is removed."""
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

    def __init__(self, database: Database, cleaning: Cleaning) -> None:
        self._database = database
        self._cleaning = cleaning

    def put(self, extractions: Mapping[int, Extraction]) -> None:
        """Add or replace what was found in units, by their numbers."""
        self._database.run_each(
            "INSERT OR REPLACE INTO extractions (unit, entities, facts) VALUES (?, ?, ?)",
            [rows.extraction_row(number, found) for number, found in extractions.items()],
        )

    def drop(self) -> None:
        """Remove what was found in all units."""
        self._database.run("DELETE FROM extractions")
        self._cleaning.due = True


def _latest(edges: Edges) -> Edges:
    """Of links between the same two units the last."""
    _, last = np.unique(edges.keys[::-1], return_index=True)
    return edges.where(len(edges) - 1 - last)
