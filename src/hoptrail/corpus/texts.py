"""What is written in documents and units: looked up by number, id, title or source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.connection import text_array
from hoptrail.corpus.database import Database
from hoptrail.corpus.numbers import NONE, Numbers, numbers_of
from hoptrail.corpus.segments import Family, Segments
from hoptrail.documents.marks import FileMark
from hoptrail.language.tasks import Extraction
from hoptrail.types import Document, Kind, Unit

_AT_ONCE = 1024
"""Units that are records at a time in a stream."""


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its text."""

    number: int
    id: str
    title: str
    sources: tuple[str, ...]
    date: str = ""
    date_from: str = ""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where units come from, as arrays, by rising number: the document of the first source, and start and end in its text."""

    numbers: Numbers
    documents: Numbers
    starts: Numbers
    ends: Numbers


class Documents:
    """The documents of a snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __len__(self) -> int:
        row = self._database.one("SELECT count(*) FROM documents")
        return int(row[0]) if row else 0

    def read(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Whole documents as a stream, by rising number: all, or those of `ids` that there are."""
        if ids is None:
            numbers = [number for (number,) in self._database.rows("SELECT number FROM documents ORDER BY number")]
        else:
            numbers = sorted(entry.number for entry in self.entries(ids))
        return rows.documents(self._database, numbers)

    def entries(self, ids: Collection[str] | None = None) -> list[DocumentEntry]:
        """All, or those of some ids, by rising id."""
        if ids is None:
            return self._entries("SELECT number FROM documents")
        if not ids:
            return []
        return self._entries(
            "SELECT d.number FROM carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)", text_array(ids)
        )

    def at(self, sources: Collection[str]) -> list[DocumentEntry]:
        """Those that were read at one of some sources, by rising id."""
        if not sources:
            return []
        return self._entries(
            "SELECT s.document FROM carray(?) c CROSS JOIN sources s ON s.source = CAST(c.value AS TEXT)",
            text_array(sources),
        )

    def under(self, start: str) -> list[DocumentEntry]:
        """Those with a source that starts so, by rising id."""
        return self._entries("SELECT document FROM sources WHERE source >= ?1 AND source < ?1 || char(1114111)", start)

    def sources_under(self, start: str) -> Iterator[str]:
        """The sources that start so, in order, as a stream."""
        sql = "SELECT DISTINCT source FROM sources WHERE source >= ?1 AND source < ?1 || char(1114111) ORDER BY source"
        return (source for (source,) in self._database.each(sql, start))

    def files(self, paths: Collection[str], reading: str) -> dict[str, FileMark]:
        """How those of some files are known again that were read in a certain way and whose document still stands there."""
        if not paths:
            return {}
        found = self._database.rows(
            "SELECT f.path, f.size, f.modified, f.changed, f.digest FROM carray(?) c CROSS JOIN files f "
            "ON f.path = CAST(c.value AS TEXT) JOIN sources s ON s.source = f.path AND s.document = f.document "
            "WHERE f.reading = ?",
            *(text_array(paths), reading),
        )
        return {path: FileMark(*mark) for path, *mark in found}

    def titled(self, titles: Collection[str]) -> list[DocumentEntry]:
        """Those with one of these titles, letter by letter, by rising id."""
        if not titles:
            return []
        return self._entries(
            "SELECT d.number FROM carray(?) c CROSS JOIN documents d ON d.title = CAST(c.value AS TEXT)",
            text_array(titles),
        )

    def unsourced(self) -> list[str]:
        """Ids of the documents that have no source, by rising number."""
        sql = "SELECT id FROM documents WHERE number NOT IN (SELECT document FROM sources) ORDER BY number"
        return [id_ for (id_,) in self._database.rows(sql)]

    def ids(self, numbers: Numbers) -> list[str]:
        """The ids of documents that there are, in the order asked for."""
        return _ids(self._database, "documents", numbers)

    def _entries(self, numbers: str, *values: apsw.Binding) -> list[DocumentEntry]:
        """Those whose numbers a query gives."""
        found: dict[int, DocumentEntry] = {}
        for number, id_, title, date, date_from, source in self._database.rows(
            f"SELECT d.number, d.id, d.title, d.date, d.date_from, s.source FROM documents d "
            f"LEFT JOIN sources s ON s.document = d.number WHERE d.number IN ({numbers}) ORDER BY d.id, s.source",
            *values,
        ):
            sources = found[number].sources if number in found else ()
            here = () if source is None else (source,)
            found[number] = DocumentEntry(number, id_, title, (*sources, *here), date, date_from)
        return list(found.values())


class Texts:
    """The units of a snapshot, and what was found in them."""

    def __init__(self, database: Database, segments: Segments) -> None:
        self._database = database
        self._segments = segments

    def count(self) -> Counter[Kind]:
        """How many units there are of each kind."""
        kinds = self._segments.kinds(Family.UNITS)
        counts = {Kind(kind): sum(map(len, self._segments.of(Family.UNITS, kind))) for kind in kinds}
        return Counter({kind: count for kind, count in counts.items() if count})

    def origins(self, kind: Kind) -> Origins:
        """Those of all units of a kind."""
        parts = [
            [segment.arrays[name][segment.living()] for name in ("numbers", "documents", "starts", "ends")]
            for segment in self._segments.of(Family.UNITS, kind)
        ]
        whole = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [NONE] * 4
        order = np.argsort(whole[0], kind="stable")
        return Origins(*(column[order] for column in whole))

    def numbers(self, ids: Sequence[str], *, reserved: bool = False) -> Numbers:
        """The numbers of units by their ids, in the same order; 0 where there is none. With `reserved` also of units that links
        lead from or to, and that are not there.
        """
        if not ids:
            return NONE
        found: dict[str, int] = {}
        for table in ("units", "reserved") if reserved else ("units",):
            found |= dict(
                self._database.rows(
                    f"SELECT u.id, u.number FROM carray(?) c CROSS JOIN {table} u ON u.id = CAST(c.value AS TEXT)",
                    text_array(ids),
                )
            )
        return numbers_of([found.get(id_, 0) for id_ in ids])

    def names(self, numbers: Numbers) -> dict[int, str]:
        """Ids by number, also of units that links lead from or to, and that are not there."""
        wanted = np.unique(numbers_of(numbers))
        if not len(wanted):
            return {}
        return {
            number: id_
            for table in ("units", "reserved")
            for number, id_ in self._database.rows(
                f"SELECT t.number, t.id FROM carray(?) c CROSS JOIN {table} t ON t.number = c.value",
                apsw.carray(wanted),
            )
        }

    def titled(
        self, kind: Kind, titles: Collection[str], documents: Collection[str] | None = None
    ) -> list[tuple[str, str, str]]:
        """Title, document of the first source and id of the passages or profiles with one of these titles, letter by letter;
        `documents` limits it to those of a few.
        """
        if not titles:
            return []
        found = self._database.rows(
            "SELECT u.title, d.id, u.id FROM carray(?) c CROSS JOIN units u ON u.title = CAST(c.value AS TEXT) AND u.kind = ? "
            "AND u.kind IN ('passage', 'profile') JOIN documents d ON d.number = u.document ORDER BY u.number",
            *(text_array(dict.fromkeys(titles)), kind.value),
        )
        return found if documents is None else [row for row in found if row[1] in documents]

    def ids(self, numbers: Numbers) -> list[str]:
        """The ids of units that there are, in the order asked for."""
        return _ids(self._database, "units", numbers)

    def units(self, numbers: Numbers) -> list[Unit]:
        """The units of some numbers, in that order; one that is no more is passed over."""
        return list(rows.units(self._database, numbers_of(numbers)).values())

    def each(self, kind: Kind) -> Iterator[Unit]:
        """All units of a kind as a stream, by rising number."""
        numbers = self.origins(kind).numbers
        for start in range(0, len(numbers), _AT_ONCE):
            yield from self.units(numbers[start : start + _AT_ONCE])

    def within(self, documents: Collection[str]) -> Numbers:
        """The numbers, rising, of the units of all kinds that have a source in one of some documents."""
        if not documents:
            return NONE
        found = self._database.rows(
            "WITH few AS (SELECT d.number FROM carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)) "
            "SELECT u.number FROM few CROSS JOIN units u ON u.document = few.number UNION "
            "SELECT f.unit FROM few CROSS JOIN further_sources f ON f.document = few.number ORDER BY 1",
            text_array(documents),
        )
        return numbers_of([number for (number,) in found])

    def extractions(self, numbers: Numbers | None = None) -> Iterator[tuple[int, Extraction]]:
        """Numbers of units with what was found in them, of all or of some, by rising number."""
        if numbers is None:
            found = self._database.each("SELECT unit, entities, facts FROM extractions ORDER BY unit")
        elif len(numbers):
            found = self._database.each(
                "SELECT unit, entities, facts FROM extractions WHERE unit IN (SELECT value FROM carray(?)) ORDER BY unit",
                apsw.carray(numbers_of(numbers)),
            )
        else:
            return
        for unit, entities, facts in found:
            yield unit, rows.extraction_of(entities, facts)


def _ids(database: Database, table: str, numbers: Iterable[int]) -> list[str]:
    wanted = numbers_of(numbers)
    if not len(wanted):
        return []
    found = database.rows(
        f"SELECT t.id FROM carray(?) c CROSS JOIN {table} t ON t.number = c.value", apsw.carray(wanted)
    )
    return [id_ for (id_,) in found]
