"""Writing documents and units: their rows, and the segments of vectors and origins that are made of many at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import apsw
import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.database import Database, text_array
from hoptrail.corpus.numbers import NONE, Numbers, numbers_of
from hoptrail.corpus.postings import PostingWriter
from hoptrail.corpus.segments import Array, Family, SegmentWriter
from hoptrail.corpus.texts import Texts
from hoptrail.documents.marks import FileMark
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Kind, Unit

SEARCHED = frozenset({Kind.PASSAGE})
"""Kinds that have a keyword index."""

WAITING = 1 << 26
"""Bytes of vectors, and letters of passages, that wait for a segment at the most."""

_COMPLETED = 512
"""Units that are encoded again at a time."""

Origin = tuple[int, int, int, int]
"""Numbers of a unit and of a document, start and end."""


class UnitWriter:
    """Documents and units of a transaction."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._database: Database = segments.database
        self._postings = PostingWriter(segments)
        self._texts = Texts(self._database, segments)
        self._waiting: dict[Kind, tuple[list[Origin], list[FloatMatrix]]] = {}
        self._held = 0
        self._freed: dict[str, int] = {}
        """Units that went in this transaction; one that comes again has its number, and so its links."""

    def put_documents(self, documents: Iterable[Document]) -> None:
        """Documents that are new, or have other sources than before."""
        for document in documents:
            found = self._database.one("SELECT number FROM documents WHERE id = ?", document.id)
            number = int(found[0]) if found else self._next("documents")
            if found is None:
                self._database.run(
                    "INSERT INTO documents (number, id, title, text, sentence_ends, notes, date, date_from) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    *rows.document_row(number, document),
                )
                self._database.run_each(
                    "INSERT INTO blocks (document, start, packed) VALUES (?, ?, ?)", rows.block_rows(number, document)
                )
            self._database.run("DELETE FROM sources WHERE document = ?", number)
            self._database.run_each(
                "INSERT INTO sources (source, document) VALUES (?, ?)",
                [(source, number) for source in dict.fromkeys(document.sources)],
            )
            self._database.run(
                "DELETE FROM files WHERE document = ?1 AND path NOT IN (SELECT source FROM sources WHERE document = ?1)",
                number,
            )

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """How files are known again at which a document stands."""
        self._database.run_each(
            "INSERT OR REPLACE INTO files (path, document, size, modified, changed, digest, reading) "
            "SELECT ?1, document, ?2, ?3, ?4, ?5, ?6 FROM sources WHERE source = ?1",
            [(path, one.size, one.modified, one.changed, one.digest, reading) for path, one in files.items()],
        )

    def remove_documents(self, ids: Collection[str]) -> Numbers:
        """The units that went with them."""
        self.flush()
        touched = self._texts.within(ids)
        self.remove(touched)
        for id_ in ids:
            for table, column in (
                ("blocks", "document"),
                ("sources", "document"),
                ("files", "document"),
                ("documents", "number"),
            ):
                self._database.run(
                    f"DELETE FROM {table} WHERE {column} = (SELECT number FROM documents WHERE id = ?)", id_
                )
        return touched

    def stored(self, units: Sequence[Unit]) -> Numbers:
        """The numbers of those that are stored under the same ids."""
        numbers = self._texts.numbers([unit.id for unit in units])
        return numbers[numbers > 0]

    def put(self, units: Sequence[Unit], vectors: FloatMatrix) -> Numbers:
        """Units of ids that there are not: their numbers.

        Raises:
            KeyError: a unit is from a document that there is not.
            ValueError: other units of its kind have vectors of another length.
        """
        documents = self._documents({span.document for unit in units for span in unit.sources})
        first = self._next("units")
        numbers = []
        reserved = self._take_reserved([unit.id for unit in units])
        for unit in units:
            number = self._freed.pop(unit.id, 0) or reserved.get(unit.id, 0)
            numbers.append(number or first)
            first += not number
        self._insert(units, numbers, documents)
        for kind in dict.fromkeys(unit.kind for unit in units):
            here = [place for place, unit in enumerate(units) if unit.kind is kind]
            self._wait(kind, [_origin(numbers[at], units[at], documents) for at in here], vectors[here])
        for unit, number in zip(units, numbers, strict=True):
            if unit.kind in SEARCHED:
                text = unit.searchable
                self._postings.add(unit.kind, number, text)
                self._held += len(text)
        if self._held > WAITING:
            self.flush()
        return numbers_of(numbers)

    def remove(self, numbers: Numbers) -> None:
        """Units by their numbers, with what was found in them; links and names are not seen to here."""
        self.flush()
        if not len(numbers):
            return
        wanted = apsw.carray(numbers)
        kinds: dict[str, list[int]] = {}
        for number, id_, kind in self._database.rows(
            "SELECT u.number, u.id, u.kind FROM carray(?) c CROSS JOIN units u ON u.number = c.value", wanted
        ):
            self._freed[id_] = number
            kinds.setdefault(kind, []).append(number)
        for kind, some in kinds.items():
            self._forget(kind, numbers_of(some))
        for table, column in (("further_sources", "unit"), ("extractions", "unit"), ("units", "number")):
            self._database.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM carray(?))", wanted)

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """Numbers of units by their ids, also of those that are not there, which get theirs when they come; in the same order."""
        numbers = self._texts.numbers(ids, reserved=True)
        if not numbers.all():
            missing = sorted({id_ for id_, number in zip(ids, numbers.tolist(), strict=True) if not number})
            freed = [(id_, self._freed[id_]) for id_ in missing if id_ in self._freed]
            new = [id_ for id_ in missing if id_ not in self._freed]
            first = self._next("units")
            self._database.run_each(
                "INSERT INTO reserved (id, number) VALUES (?, ?)",
                [*freed, *((id_, first + place) for place, id_ in enumerate(new))],
            )
            if new:
                self._draw("units", first + len(new) - 1)
            numbers = self._texts.numbers(ids, reserved=True)
        return numbers

    def keep_numbers(self, numbers: Numbers) -> None:
        """Before units are removed: whoever of them comes again, in whatever commit, has its number, and so its links."""
        if not len(numbers):
            return
        self._database.run(
            "INSERT OR REPLACE INTO reserved (id, number) SELECT u.id, u.number FROM carray(?) c "
            "CROSS JOIN units u ON u.number = c.value",
            apsw.carray(numbers_of(numbers)),
        )

    def release(self, linked: Numbers) -> None:
        """Forget the reserved numbers that are not among `linked`."""
        found = self._database.rows("SELECT number FROM reserved")
        idle = np.setdiff1d(numbers_of([number for (number,) in found]), linked)
        if len(idle):
            self._database.run(
                "DELETE FROM reserved WHERE number IN (SELECT value FROM carray(?))", apsw.carray(numbers_of(idle))
            )

    def _take_reserved(self, ids: Sequence[str]) -> Mapping[str, int]:
        if not ids or self._database.one("SELECT 1 FROM reserved LIMIT 1") is None:
            return {}
        wanted = text_array(ids)
        found: dict[str, int] = dict(
            self._database.rows(
                "SELECT r.id, r.number FROM carray(?) c CROSS JOIN reserved r ON r.id = CAST(c.value AS TEXT)", wanted
            )
        )
        self._database.run("DELETE FROM reserved WHERE id IN (SELECT CAST(value AS TEXT) FROM carray(?))", wanted)
        return found

    def complete(self, encode: Callable[[Sequence[str]], FloatMatrix]) -> bool:
        """Make the arrays and postings of units that have none: those of segments that were lost. Whether there were any."""
        lacking = False
        for kind in [Kind(kind) for (kind,) in self._database.rows("SELECT DISTINCT kind FROM units")]:
            for units in self._portions(Family.UNITS, kind):
                documents = self._documents({span.document for unit in units.values() for span in unit.sources})
                origins = [_origin(number, unit, documents) for number, unit in units.items()]
                self._wait(kind, origins, encode([unit.searchable for unit in units.values()]))
                lacking = True
            if kind in SEARCHED:
                for units in self._portions(Family.KEYWORDS, kind):
                    for number, unit in units.items():
                        self._postings.add(kind, number, unit.searchable)
                    lacking = True
            self.flush()
        return lacking

    def _portions(self, family: Family, kind: Kind) -> Iterator[Mapping[int, Unit]]:
        """The units of a kind that have no row in a segment of some family, by number, some at a time."""
        every = self._database.rows("SELECT number FROM units WHERE kind = ? ORDER BY number", kind.value)
        there = [segment.arrays["numbers"][segment.living()] for segment in self._segments.of(family, kind)]
        lacking = np.setdiff1d(numbers_of([number for (number,) in every]), np.concatenate([NONE, *there]))
        for start in range(0, len(lacking), _COMPLETED):
            yield rows.units(self._database, numbers_of(lacking[start : start + _COMPLETED]))

    def flush(self) -> None:
        """Make segments of what waits."""
        self._postings.flush()
        for kind, (origins, vectors) in sorted(self._waiting.items()):
            self._segments.add(Family.UNITS, kind, len(origins), _arrays(np.array(origins), np.concatenate(vectors)))
        self._waiting.clear()
        self._held = 0

    def merge(self) -> None:
        """Make one of segments that are many, or have lost many rows."""
        for kind in self._segments.kinds(Family.UNITS):
            while due := self._segments.due(Family.UNITS, kind):
                columns = {
                    name: np.concatenate([segment.arrays[name][segment.living()] for segment in due])
                    for name in due[0].arrays
                }
                order = np.argsort(columns["numbers"], kind="stable")
                merged = {name: column[order] for name, column in columns.items()}
                self._segments.add(Family.UNITS, kind, len(order), merged)
                self._segments.drop(due)
        for kind in self._segments.kinds(Family.KEYWORDS):
            while due := self._segments.due(Family.KEYWORDS, kind):
                self._postings.merge(kind, due)

    def end(self) -> None:
        """The transaction has ended: what went in it has gone."""
        self._freed.clear()

    def _next(self, table: str) -> int:
        row = self._database.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        return int(row[0]) + 1 if row else 1

    def _draw(self, table: str, last: int) -> None:
        """Numbers up to `last` are given."""
        self._database.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
        self._database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, last)

    def _documents(self, ids: Collection[str]) -> Mapping[str, int]:
        found: dict[str, int] = dict(
            self._database.rows(
                "SELECT d.id, d.number FROM carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)",
                text_array(ids),
            )
        )
        if lacking := sorted(set(ids) - found.keys()):
            raise KeyError(f"units are made from documents that are not stored: {', '.join(lacking[:5])}")
        return found

    def _insert(self, units: Sequence[Unit], numbers: Sequence[int], documents: Mapping[str, int]) -> None:
        self._database.run_each(
            "INSERT INTO units (number, id, kind, document, start, end, further, title, text, sentence_ends) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    number,
                    unit.id,
                    unit.kind.value,
                    *_origin(number, unit, documents)[1:],
                    len(unit.sources) - 1,
                    unit.title,
                    unit.text,
                    rows.packed_ends(unit.sentence_ends),
                )
                for number, unit in zip(numbers, units, strict=True)
            ],
        )
        self._database.run_each(
            "INSERT INTO further_sources (unit, place, document, start, end) VALUES (?, ?, ?, ?, ?)",
            [
                (number, place, documents[span.document], span.start, span.end)
                for number, unit in zip(numbers, units, strict=True)
                for place, span in enumerate(unit.sources[1:])
            ],
        )

    def _wait(self, kind: Kind, origins: list[Origin], vectors: FloatMatrix) -> None:
        stored = [segment.arrays["vectors"].shape[1] for segment in self._segments.of(Family.UNITS, kind)]
        waiting, matrices = self._waiting.setdefault(kind, ([], []))
        if any(size != vectors.shape[1] for size in [*stored, *(matrix.shape[1] for matrix in matrices)]):
            raise ValueError(f"vectors of {kind.value} units do not all have {vectors.shape[1]} numbers")
        waiting += origins
        matrices.append(np.asarray(vectors, np.float32))
        self._held += vectors.nbytes

    def _forget(self, kind: str, numbers: Numbers) -> None:
        """Take units of a kind out of arrays and postings."""
        for segment in self._segments.of(Family.UNITS, kind):
            self._segments.mark_gone(segment, np.flatnonzero(np.isin(segment.arrays["numbers"], numbers)))
        if kind in SEARCHED:
            found = rows.units(self._database, numbers)
            words = {number: unit.searchable for number, unit in found.items()}
            self._postings.remove(self._segments.of(Family.KEYWORDS, kind), words)


def _origin(number: int, unit: Unit, documents: Mapping[str, int]) -> Origin:
    span = unit.sources[0]
    return number, documents[span.document], span.start, span.end


def _arrays(origins: Array, vectors: FloatMatrix) -> Mapping[str, Array]:
    order = np.argsort(origins[:, 0], kind="stable")
    columns = origins[order].astype(np.int32)
    names = ("numbers", "documents", "starts", "ends")
    return {name: columns[:, place] for place, name in enumerate(names)} | {"vectors": vectors[order]}
