"""The units of an index, by number and by id, and the extractions from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus import rows
from hoptrail.corpus.columns import Numbers, highest, is_among, numbers_of
from hoptrail.corpus.connecting import damaged
from hoptrail.corpus.database import Database
from hoptrail.corpus.segments import Family, Segments, in_order, live_column
from hoptrail.corpus.view import NOTHING, Hidden
from hoptrail.types import Extraction, Kind, Span, Unit


class Origins(NamedTuple):
    """The first sources of units as arrays, ordered by number: document, and start and end in its text."""

    numbers: Numbers
    documents: Numbers
    starts: Numbers
    ends: Numbers


Found = list[tuple[str, float]]  # ids of units with scores, by falling score, then rising id


class NumberedUnits:
    def __init__(self, database: Database, segments: Segments, hidden: Hidden = NOTHING, *, dated: bool = True) -> None:
        """`dated`: see `rows.units`."""
        self._database = database
        self._segments = segments
        self._hidden = hidden
        self._is_dated = dated

    def count(self) -> Counter[Kind]:
        """The number of units with vectors of each kind."""
        return Counter({Kind(kind): count for kind, count in self._segments.count(Family.UNITS).items()})

    def unencoded(self) -> Numbers:
        """The passages that are in the keyword index and have no vector yet, sorted."""
        indexed = live_column(self._segments.of(Family.KEYWORDS, Kind.PASSAGE), "numbers")
        return numbers_of(np.setdiff1d(indexed, self.origins(Kind.PASSAGE).numbers))

    def origins(self, kind: Kind) -> Origins:
        """The origins of all units of a kind that have vectors."""
        return Origins(**in_order(self._segments.of(Family.UNITS, kind), Origins._fields))

    def origins_of(self, numbers: Numbers) -> Origins:
        """The origins of these units, with vectors or without; missing units are left out."""
        found = self._database.rows(
            "SELECT u.number, u.document, u.start, u.end FROM carray(?) c CROSS JOIN units u ON u.number = c.value "
            "ORDER BY u.number",
            numbers,
        )
        return Origins(*numbers_of(np.reshape(found, (-1, 4)).T))

    def numbers(self, ids: Sequence[str], *, reserved: bool = False) -> Numbers:
        """The numbers of units by their ids, in that order; 0 for none. `reserved`: also of units that only links refer to."""
        found: dict[str, int] = {}
        for table in ("units", "reserved") if reserved else ("units",):
            found |= rows.numbers_by_id(self._database, table, ids)
        return numbers_of([found.get(id_, 0) for id_ in ids])

    def known(self, ids: Collection[str], *, reserved: bool = False) -> Numbers:
        """The numbers of the units with these ids that have one, sorted."""
        numbers = self.numbers(list(ids), reserved=reserved)
        return np.unique(numbers[numbers > 0])

    def ids_by_number(self, numbers: Numbers) -> dict[int, str]:
        ids: dict[int, str] = {}
        for table in ("units", "reserved"):
            sql = f"SELECT t.number, t.id FROM carray(?) c CROSS JOIN {table} t ON t.number = c.value"
            ids |= dict(self._database.rows(sql, np.unique(numbers)))
        return ids

    def ids(self, numbers: Numbers) -> list[str]:
        """The ids of these units, in the order of `numbers`; missing units are left out."""
        return rows.ids_of(self._database, "units", numbers)

    def best(self, numbers: Numbers, scores: NDArray[np.floating], limit: int) -> Found:
        """The `limit` units with the highest scores, of these units."""
        kept = highest(scores, limit)
        ids = self.ids(numbers[kept])
        if len(ids) < len(kept):
            raise damaged(self._database.folder, "units are missing")
        found = zip(ids, scores[kept].tolist(), strict=True)
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def units(self, numbers: Numbers) -> list[Unit]:
        found = rows.units(self._database, numbers, dated=self._is_dated)
        return [self._hidden.visible_part(number, unit) for number, unit in found.items()]

    def stream(self, numbers: Numbers) -> Iterator[Unit]:
        """These units as a stream, in the order of `numbers`; missing units are left out."""
        for start in range(0, len(numbers), _ROWS):
            yield from self.units(numbers[start : start + _ROWS])

    def in_order(self, ids: Sequence[str]) -> Iterator[Unit]:
        """Units as a stream, in the order of `ids`; missing units are left out."""
        return self.stream(self.numbers(ids))

    def within(self, documents: Collection[str]) -> Numbers:
        """The numbers, sorted, of the units of all kinds that have a source in one of these documents."""
        few = rows.numbers_by_id(self._database, "documents", documents)
        return rows.numbers_from(self._database, numbers_of(list(few.values())))

    def extractions(self, numbers: Numbers | None = None) -> Iterator[tuple[int, str, Extraction]]:
        """Numbers and ids of units with their extractions, of all or of these units, by number."""
        among, values = ("", ()) if numbers is None else ("WHERE t.unit IN (SELECT value FROM carray(?))", (numbers,))
        tables = f"extractions t CROSS JOIN units u ON u.number = t.unit {among} ORDER BY t.unit"
        for unit, entities, facts, id_ in self._database.checked("extractions", tables, *values, beside="u.id"):
            yield unit, id_, rows.extraction_of(entities, facts)


_ROWS = 1024  # units that a stream decodes at a time


class Units:
    def __init__(self, database: Database, numbered: NumberedUnits) -> None:
        self._database = database
        self._numbered = numbered

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that have units with vectors."""
        counts = self._numbered.count()
        return tuple(kind for kind in Kind if counts[kind])

    def passages_by_document(self) -> Counter[str]:
        """The number of passages, also without vectors, of each document."""
        encoded = self._numbered.origins(Kind.PASSAGE).documents
        waiting = self._numbered.origins_of(self._numbered.unencoded()).documents
        numbers, counts = np.unique(np.concatenate([encoded, waiting]), return_counts=True)
        return Counter(dict(zip(rows.ids_of(self._database, "documents", numbers), counts.tolist(), strict=True)))

    def documents_without(self, kind: Kind, documents: Collection[str] | None) -> list[str]:
        """Ids of the documents, of all or of these, that have no unit of a kind, by number."""
        among, values = rows.among_documents(documents)
        without = "NOT EXISTS (SELECT 1 FROM units u WHERE u.document = d.number AND u.kind = ?)"
        sql = f"SELECT d.id FROM {among} WHERE {without} ORDER BY d.number"
        return self._database.column(sql, *values, kind.value)

    def first_sources(self, kind: Kind, documents: Collection[str] | None = None) -> Iterator[tuple[str, Span]]:
        """Ids of units of a kind, of all or of those within these documents, with their first sources, without reading texts."""
        among = None if documents is None else self.numbers(kind, within=documents)
        origins = self._numbered.origins(kind) if among is None else self._numbered.origins_of(among)
        distinct = np.unique(origins.documents)
        names = dict(zip(distinct.tolist(), rows.ids_of(self._database, "documents", distinct), strict=True))
        for first in range(0, len(origins.numbers), _ROWS):
            part = slice(first, first + _ROWS)
            columns = (column[part].tolist() for column in (origins.documents, origins.starts, origins.ends))
            for id_, document, start, end in zip(self._numbered.ids(origins.numbers[part]), *columns, strict=True):
                yield id_, Span(names[document], start, end)

    def within(self, kind: Kind, documents: Collection[str] | None) -> Iterator[Unit]:
        """The units of a kind as a stream, all or those with a source in one of these documents."""
        return self._numbered.stream(self.numbers(kind, within=documents))

    def titles(self, kind: Kind) -> Iterator[tuple[str, str]]:
        sql = "SELECT u.id, u.title FROM carray(?) c CROSS JOIN units u ON u.number = c.value"
        return iter(self._database.rows(sql, self._numbered.origins(kind).numbers))

    def ids(self, kind: Kind, within: Collection[str] | None = None) -> Iterator[str]:
        """Ids of the units of a kind, all or those with a source in one of these documents, without reading the units."""
        return iter(self._numbered.ids(self.numbers(kind, within=within)))

    def stored(self, kind: Kind, ids: Collection[str]) -> set[str]:
        return set(self._numbered.ids(self.numbers(kind, ids)))

    def extracted(self) -> Iterator[str]:
        sql = "SELECT u.id FROM extractions e JOIN units u ON u.number = e.unit ORDER BY e.unit"
        return iter(self._database.column(sql))

    def numbers(
        self, kind: Kind, ids: Collection[str] | None = None, *, within: Collection[str] | None = None
    ) -> Numbers:
        """The numbers of the units of a kind, sorted: all, those of `ids`, or those with a source `within` these documents."""
        every = self._numbered.origins(kind).numbers
        if ids is None and within is None:
            return every
        few = self._numbered.within(within) if ids is None and within is not None else self._numbered.known(ids or ())
        return numbers_of(few[is_among(few, every)])


def in_document_order(passages: Iterable[tuple[str, Span]]) -> list[str]:
    """The ids of passages, given with their places, by document id (for lack of another order), then by place."""
    return [id_ for _, id_ in sorted((span, id_) for id_, span in passages)]
