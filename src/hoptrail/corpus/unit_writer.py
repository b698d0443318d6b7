"""Writing units: their rows, and the segments of vectors and origins that are made of many at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import apsw
import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.database import Database
from hoptrail.corpus.document_writer import DocumentWriter
from hoptrail.corpus.numbering import Numbering
from hoptrail.corpus.numbers import NONE, Numbers, numbers_of
from hoptrail.corpus.postings import PostingWriter
from hoptrail.corpus.segments import Array, Family, SegmentWriter
from hoptrail.corpus.texts import Texts
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Kind, Unit

SEARCHED = frozenset({Kind.PASSAGE})
"""Kinds that have a keyword index."""

WAITING = 1 << 26
"""Bytes of vectors, and letters of passages, that wait for a segment at the most."""

_COMPLETED = 512
"""Units that are encoded again at a time."""

Origin = tuple[int, int, int, int]
"""Numbers of a unit and of a document, start and end."""


class UnitWriter:
    """The units of a transaction."""

    def __init__(self, segments: SegmentWriter, documents: DocumentWriter, numbering: Numbering) -> None:
        self._segments = segments
        self._database: Database = segments.database
        self._documents = documents
        self._numbering = numbering
        self._postings = PostingWriter(segments)
        self._texts = Texts(self._database, segments)
        self._waiting: dict[Kind, tuple[list[Origin], list[FloatMatrix]]] = {}
        self._held = 0

    def remove_within(self, documents: Collection[str]) -> Numbers:
        """The units that have a source in some documents; these went."""
        self.flush()
        touched = self._texts.within(documents)
        self.remove(touched)
        return touched

    def stored(self, units: Sequence[Unit]) -> Numbers:
        """The numbers of those that are stored under the same ids."""
        numbers = self._texts.numbers([unit.id for unit in units])
        return numbers[numbers > 0]

    def put(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        """Units of ids that there are not: their numbers. Without `vectors` they are found by their words alone until
        `put_vectors`.

        Raises:
            KeyError: a unit is from a document that there is not.
            ValueError: other units of its kind have vectors of another length.
        """
        documents = self._documents.numbers({span.document for unit in units for span in unit.sources})
        numbers = self._numbering.given([unit.id for unit in units])
        self._insert(units, numbers, documents)
        if vectors is not None:
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

    def put_vectors(self, kind: Kind, numbers: Numbers, vectors: FloatMatrix) -> None:
        """The vectors of units that there are and that have none; `numbers` rise."""
        self._segments.changed = True
        found = self._texts.origins_of(numbers)
        columns = (found.numbers, found.documents, found.starts, found.ends)
        self._wait(kind, list(zip(*(column.tolist() for column in columns), strict=True)), vectors)
        if self._held > WAITING:
            self.flush()

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
            self._numbering.free(id_, number)
            kinds.setdefault(kind, []).append(number)
        for kind, some in kinds.items():
            self._forget(kind, numbers_of(some))
        for table, column in (("further_sources", "unit"), ("extractions", "unit"), ("units", "number")):
            self._database.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM carray(?))", wanted)

    def complete(self, encode: Callable[[Sequence[str]], FloatMatrix], *, whole: bool) -> bool:
        """Make the arrays and postings of units that have none: those of segments that were lost. Whether there were any. Where
        the last run has not ended (`whole`), passages may wait for their vectors, and go on waiting.
        """
        lacking = False
        for kind in [Kind(kind) for (kind,) in self._database.rows("SELECT DISTINCT kind FROM units")]:
            for units in self._portions(Family.UNITS, kind) if whole or kind not in SEARCHED else ():
                documents = self._documents.numbers({span.document for unit in units.values() for span in unit.sources})
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
