"""Writing units: their numbers, their rows in the database, and segments of their vectors and origins.

No number is assigned twice; a unit that comes back gets its earlier number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.arrays import Array
from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.keywords import PostingWriter
from hoptrail.corpus.segments import Family, Segment, SegmentWriter, live_column
from hoptrail.corpus.texts import Texts
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Extraction, Kind, Unit

WAITING = 1 << 26
"""Bytes of vectors plus characters of passages that may wait for a segment."""

_COMPLETED = 512
"""Units that are encoded again at a time."""


class Numbering:
    """Assigns numbers to the units of a transaction, and reserves them for units that are yet to come."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts
        self.freed: dict[str, int] = {}
        """Units removed in this transaction. One that comes back gets its number again, and so its links."""

    def assign(self, ids: Sequence[str]) -> list[int]:
        """The numbers of new units."""
        first = rows.next_number(self._database, "units")
        reserved = self._take_reserved(ids)
        numbers = []
        for id_ in ids:
            number = self.freed.pop(id_, 0) or reserved.get(id_, 0)
            numbers.append(number or first)
            first += not number
        return numbers

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """The numbers of units by their ids, in the same order. Numbers are reserved for units that are not stored."""
        numbers = self._texts.numbers(ids, reserved=True)
        if not numbers.all():
            missing = sorted({id_ for id_, number in zip(ids, numbers.tolist(), strict=True) if not number})
            freed = [(id_, self.freed[id_]) for id_ in missing if id_ in self.freed]
            new = [id_ for id_ in missing if id_ not in self.freed]
            first = rows.next_number(self._database, "units")
            self._database.run_each(
                "INSERT INTO reserved (id, number) VALUES (?, ?)",
                [*freed, *((id_, first + place) for place, id_ in enumerate(new))],
            )
            if new:  # their numbers count as assigned
                self._database.run("DELETE FROM sqlite_sequence WHERE name = 'units'")
                last = first + len(new) - 1
                self._database.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('units', ?)", last)
            numbers = self._texts.numbers(ids, reserved=True)
        return numbers

    def keep(self, numbers: Numbers) -> None:
        """Reserve the numbers of units to be removed: those that come back in a later commit get them again, and their links."""
        self._database.run(
            "INSERT OR REPLACE INTO reserved (id, number) SELECT u.id, u.number FROM carray(?) c "
            "CROSS JOIN units u ON u.number = c.value",
            numbers,
        )

    def release(self, linked: Numbers) -> None:
        """Release the reserved numbers that are not among `linked`."""
        unused = np.setdiff1d(numbers_of(self._database.column("SELECT number FROM reserved")), linked)
        self._database.delete("reserved", "number", unused)

    def unused(self) -> Numbers:
        """The numbers of units removed in this transaction that have not come back and are not reserved."""
        freed = numbers_of(list(self.freed.values()))
        sql = "SELECT r.number FROM carray(?) c CROSS JOIN reserved r ON r.number = c.value"
        return np.setdiff1d(freed, numbers_of(self._database.column(sql, freed)))

    def _take_reserved(self, ids: Sequence[str]) -> Mapping[str, int]:
        if not self._database.rows("SELECT 1 FROM reserved LIMIT 1"):
            return {}
        numbers = rows.numbers_by_id(self._database, "reserved", ids)
        self._database.run("DELETE FROM reserved WHERE id IN (SELECT CAST(value AS TEXT) FROM carray(?))", ids)
        return numbers


class UnitWriter:
    """Writes units in a transaction."""

    def __init__(self, segments: SegmentWriter, texts: Texts, numbering: Numbering) -> None:
        self._segments = segments
        self._database: Database = segments.database
        self._texts = texts
        self._numbering = numbering
        self._postings = PostingWriter(segments)
        self._waiting: dict[Kind, tuple[list[Numbers], list[FloatMatrix]]] = {}
        self._held = 0

    def put(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        """Add units whose ids are not stored. Returns their numbers. Without `vectors` they are found by their words alone until
        `put_vectors`.
        Raises: KeyError: a document is not stored; ValueError: units of the same kind have vectors of another length.
        """
        sources = {span.document for unit in units for span in unit.sources}
        documents = rows.numbers_by_id(self._database, "documents", sources)
        if missing := sorted(sources - documents.keys()):
            raise KeyError(f"units are made from documents that are not stored: {', '.join(missing[:5])}")
        numbers = numbers_of(self._numbering.assign([unit.id for unit in units]))
        placed = list(zip(numbers.tolist(), units, strict=True))
        self._database.insert("units", (_row(number, unit, documents) for number, unit in placed))
        further = ((number, *each) for number, unit in placed for each in enumerate(unit.sources[1:]))
        spans = ((number, place, documents[it.document], it.start, it.end) for number, place, it in further)
        self._database.insert("further_sources", spans)
        if vectors is not None:
            for kind in dict.fromkeys(unit.kind for unit in units):
                here = [place for place, unit in enumerate(units) if unit.kind is kind]
                self._wait(kind, numbers[here], vectors[here])
        for number, unit in placed:
            if unit.kind is Kind.PASSAGE:
                text = unit.searchable
                self._postings.add(number, text)
                self._held += len(text)
        if self._held > WAITING:
            self.flush()
        return numbers

    def put_vectors(self, numbers: Numbers, vectors: FloatMatrix) -> None:
        """Add the vectors of stored passages that have none."""
        self._segments.changed = True
        self._wait(Kind.PASSAGE, numbers, vectors)
        if self._held > WAITING:
            self.flush()

    def put_extractions(self, extractions: Mapping[int, Extraction]) -> None:
        """Add or replace extractions, by the numbers of their units."""
        self._segments.changed = True
        self._database.run_each(
            "INSERT OR REPLACE INTO extractions (unit, entities, facts, checksum) "
            "VALUES (?1, ?2, ?3, row_checksum(?1, ?2, ?3))",
            [rows.extraction_row(number, extraction) for number, extraction in extractions.items()],
        )

    def remove(self, numbers: Numbers) -> None:
        """Remove units with their extractions; the caller removes their links and names."""
        self.flush()
        kinds: dict[str, list[int]] = {}
        for number, id_, kind in self._database.rows(
            "SELECT u.number, u.id, u.kind FROM carray(?) c CROSS JOIN units u ON u.number = c.value", numbers
        ):
            self._numbering.freed[id_] = number
            kinds.setdefault(kind, []).append(number)
        for kind, same in kinds.items():
            for segment in self._segments.of(Family.UNITS, kind):
                self._segments.mark_gone(segment, np.flatnonzero(np.isin(segment.arrays["numbers"], same)))
        passages = rows.units(self._database, numbers_of(kinds.get(Kind.PASSAGE, [])))
        self._postings.remove({number: unit.searchable for number, unit in passages.items()})
        for table, column in (("further_sources", "unit"), ("extractions", "unit"), ("units", "number")):
            self._database.delete(table, column, numbers)

    def complete(self, encode: Callable[[Sequence[str]], FloatMatrix], *, whole: bool) -> bool:
        """Make missing arrays and postings of units, whose segments were lost. Returns whether there were any. If the last run
        has not ended (not `whole`), passages may still wait for their vectors; they keep waiting.
        """
        completed = False
        for kind in map(Kind, self._database.column("SELECT DISTINCT kind FROM units")):
            for units in self._missing(Family.UNITS, kind) if whole or kind is not Kind.PASSAGE else ():
                self._wait(kind, numbers_of(list(units)), encode([unit.searchable for unit in units.values()]))
                completed = True
            self.flush()
        for units in self._missing(Family.KEYWORDS, Kind.PASSAGE):
            for number, unit in units.items():
                self._postings.add(number, unit.searchable)
            completed = True
        self.flush()
        return completed

    def _missing(self, family: Family, kind: Kind) -> Iterator[Mapping[int, Unit]]:
        """Batches of the units of a kind, by number, that have no row in a segment of a family."""
        stored = self._database.column("SELECT number FROM units WHERE kind = ? ORDER BY number", kind.value)
        present = live_column(self._segments.of(family, kind), "numbers")
        missing = np.setdiff1d(numbers_of(stored), present)
        for start in range(0, len(missing), _COMPLETED):
            yield rows.units(self._database, missing[start : start + _COMPLETED])

    def flush(self) -> None:
        """Write the waiting units as segments."""
        self._postings.flush()
        for kind, (waiting, matrices) in sorted(self._waiting.items()):
            numbers = np.concatenate(waiting)
            vectors = np.concatenate(matrices)[np.argsort(numbers, kind="stable")]
            arrays = {**self._texts.origins_of(numbers)._asdict(), "vectors": vectors}
            self._segments.add(Family.UNITS, kind, arrays)
        self._waiting.clear()
        self._held = 0

    def merge(self) -> None:
        """Merge segments that are due."""
        self._segments.merge(Family.UNITS, _merged)
        self._postings.merge()

    def _wait(self, kind: Kind, numbers: Numbers, vectors: FloatMatrix) -> None:
        stored = [segment.arrays.shape("vectors")[1] for segment in self._segments.of(Family.UNITS, kind)]
        waiting, matrices = self._waiting.setdefault(kind, ([], []))
        if any(size != vectors.shape[1] for size in [*stored, *(matrix.shape[1] for matrix in matrices)]):
            raise ValueError(f"vectors of {kind.value} units do not all have {vectors.shape[1]} numbers")
        waiting.append(numbers)
        matrices.append(np.asarray(vectors, np.float32))
        self._held += vectors.nbytes


def _row(number: int, unit: Unit, documents: Mapping[str, int]) -> tuple[int | str | bytes, ...]:
    """The row of a unit, in the order of the columns of its table."""
    first, ends = unit.sources[0], rows.packed_ends(unit.sentence_ends)
    place = documents[first.document], first.start, first.end
    return number, unit.id, unit.kind.value, *place, len(unit.sources) - 1, unit.title, unit.text, ends


def _merged(segments: Sequence[Segment]) -> Mapping[str, Array]:
    columns = {name: live_column(segments, name) for name in segments[0].arrays}
    if (np.diff(columns["numbers"]) < 0).any():  # else no copy, which may have half a gigabyte
        order = np.argsort(columns["numbers"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    return columns
