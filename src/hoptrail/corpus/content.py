"""Writing what an index holds into a transaction: documents, units with their vectors and words, extractions, names, links.

Ids come from content, so repeated work cannot add anything twice. Within the index units go by numbers: none is assigned twice,
and a unit that comes back gets its earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import DocumentWriter
from hoptrail.corpus.keywords import PostingWriter
from hoptrail.corpus.links import LinkWriter
from hoptrail.corpus.names import NameWriter
from hoptrail.corpus.segments import Family, Segments, SegmentWriter, live_column
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.units import NumberedUnits, Units
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Extraction, Kind, Unit

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds of units made from several documents. Their structures make them again, or drop their links."""

BATCH = 1 << 16  # units that are removed together
_COMPLETED = 512  # units that are encoded again at a time

MOST_CHANGES = 1 << 14
"""Added and removed documents whose ids a writer remembers: those of a batch of new versions, and of the old ones."""


class Change:
    """Documents added and removed since the last whole run, by their ids. One that was removed and added again is in both."""

    def __init__(self, before: Snapshot) -> None:
        """`before`: the documents, and what was made from them, after that run. While it is read, the log grows."""
        self.before = before
        self.added: set[str] = set()
        self.removed: set[str] = set()
        self.is_released = False

    @property
    def nothing(self) -> bool:
        return not self.added and not self.removed

    def release(self) -> None:
        """Release the earlier state, about which nothing is asked any more. A further change is then not followed."""
        self.before.close()
        self.is_released = True


class Content:
    """Writes content into a transaction. `documents`, `links` and `names` write these parts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.change: Change | None = None
        """The changes of documents; None where they are unknown: without a whole run, after a stopped one, or after too many."""
        self._start()

    def _start(self) -> None:
        self._unclean = False
        """Whether text that was removed may still be in the log or in files."""
        self._segments = SegmentWriter(self._database)
        self._numbered = NumberedUnits(self._database, self._segments)
        self._postings = PostingWriter(self._segments)
        self.documents = DocumentWriter(self._segments)
        self.links = LinkWriter(self._segments, self._numbered)
        self.names = NameWriter(self._segments, self._numbered)

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or update the sources and dates of stored ones (the same id is the same text)."""
        self._note(added=self.documents.put(documents))

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit with a source in one of them, its extraction and its links. Those of REMADE kinds stay, so
        that groups survive changes of their members.
        """
        removed = frozenset(ids)
        if not removed:
            return
        self._note(removed=removed)
        for entry in self.documents.of(removed):
            self.documents.note_removed([entry.id, entry.title, *entry.sources])
        within = _kinds(self._database, self._numbered.within(removed))
        once = numbers_of([number for kind, number in within if kind not in REMADE])
        self.remove_rows(once)
        self.remove_rows(numbers_of([number for kind, number in within if kind in REMADE]), keep_links=True)
        self.documents.remove(removed)

    def forget_change(self) -> None:
        """Release the earlier state, and follow no more changes."""
        if self.change:
            self.change.release()
            self.change = None

    def _note(self, added: Collection[str] = (), removed: Collection[str] = ()) -> None:
        if (change := self.change) and (added or removed):
            change.removed.update(id_ for id_ in removed if id_ not in change.added)
            change.added.difference_update(removed)
            change.added.update(added)
            if change.is_released or len(change.added) + len(change.removed) > MOST_CHANGES:
                self.forget_change()

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        """Add or replace units. Returns their numbers. `vectors` has one row per unit, or comes later (`put_vectors`); until then
        passages are found by their words alone. The extraction from a replaced unit stays.
        Raises: KeyError: a document is not stored; ValueError: units of the same kind have vectors of another length.
        """
        sources = {span.document for unit in units for span in unit.sources}
        documents = rows.numbers_by_id(self._database, "documents", sources)
        if missing := sorted(sources - documents.keys()):
            raise KeyError(f"units are made from documents that are not stored: {', '.join(missing[:5])}")
        self._segments.changed |= len(units) > 0
        replaced = self._numbered.known([unit.id for unit in units])
        extractions = {id_: extraction for _, id_, extraction in self._numbered.extractions(replaced)}
        self.remove_rows(replaced, keep_links=True)
        numbers = numbers_of(self.links.assign([unit.id for unit in units]))
        placed = list(zip(numbers.tolist(), units, strict=True))
        self._database.insert("units", (_row(number, unit, documents) for number, unit in placed))
        further = ((number, *each) for number, unit in placed for each in enumerate(unit.sources[1:]))
        spans = ((number, place, documents[it.document], it.start, it.end) for number, place, it in further)
        self._database.insert("further_sources", spans)
        self.put_extractions(extractions)
        self._postings.put({number: unit.searchable for number, unit in placed if unit.kind is Kind.PASSAGE})
        if vectors is not None:
            for kind in dict.fromkeys(unit.kind for unit in units):
                here = [place for place, unit in enumerate(units) if unit.kind is kind]
                self._put_arrays(kind, numbers[here], vectors[here])
        return numbers

    def put_vectors(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add the vectors of passages that have none, in the order in which they were added: shape (len(units), dimension)."""
        self._put_arrays(Kind.PASSAGE, self._numbered.numbers([unit.id for unit in units]), vectors)

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace extractions from passages, by their ids. Raises: KeyError: a passage is not stored."""
        if extractions:
            numbers = self._numbered.numbers(list(extractions)).tolist()
            if not all(numbers):
                raise KeyError("there are extractions from passages that are not stored")
            self._segments.changed = True
            self._database.run_each(
                "INSERT OR REPLACE INTO extractions (unit, entities, facts, checksum) "
                "VALUES (?1, ?2, ?3, row_checksum(?1, ?2, ?3))",
                [
                    (number, *rows.packed_extraction(found))
                    for number, found in zip(numbers, extractions.values(), strict=True)
                ],
            )

    def drop_extractions(self) -> None:
        self._segments.changed = self._unclean = True
        self._database.run("DELETE FROM extractions")

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of a kind with their extractions and links. Returns the number of ids."""
        count = 0
        for batch in batched(ids, BATCH):
            count += len(batch)
            self.links.forget(self._numbered.numbers(batch, reserved=True))
            self.remove_rows(Units(self._database, self._numbered).numbers(kind, batch))
        return count

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their structure drops their links."""
        numbers = self._database.column("SELECT number FROM units WHERE kind = ? ORDER BY number", kind.value)
        self.remove_rows(numbers_of(numbers), keep_links=True)

    def remove_rows(self, numbers: Numbers, *, keep_links: bool = False) -> None:
        """Remove units with their extractions, names and links; with `keep_links`, links stay for units of the same ids that are
        added again.
        """
        if not len(numbers):
            return
        self._segments.changed = self._unclean = True
        if keep_links:
            self.links.keep(numbers)
        else:
            self.links.forget(numbers)
        kinds: dict[str, list[int]] = {}
        for kind, number in _kinds(self._database, numbers):
            kinds.setdefault(kind, []).append(number)
        for kind, same in kinds.items():
            for segment in self._segments.of(Family.UNITS, kind):
                self._segments.mark_gone(segment, np.flatnonzero(np.isin(segment.arrays["numbers"], same)))
        passages = rows.units(self._database, numbers_of(kinds.get(Kind.PASSAGE, [])))
        self._postings.remove({number: unit.searchable for number, unit in passages.items()})
        for table, column in (("further_sources", "unit"), ("extractions", "unit"), ("units", "number")):
            self._database.delete(table, column, numbers)
        self.names.forget(numbers)

    def complete(self, encode: Callable[[Sequence[str]], FloatMatrix], *, whole: bool) -> bool:
        """Make missing arrays and postings of units, whose segments were lost. Returns whether there were any. If the last run
        has not ended (not `whole`), passages may still wait for their vectors; they keep waiting.
        """
        completed = False
        for kind in map(Kind, self._database.column("SELECT DISTINCT kind FROM units")):
            for units in _missing(self._segments, Family.UNITS, kind) if whole or kind is not Kind.PASSAGE else ():
                vectors = encode([unit.searchable for unit in units.values()])
                self._put_arrays(kind, numbers_of(list(units)), vectors)
                completed = True
        for units in _missing(self._segments, Family.KEYWORDS, Kind.PASSAGE):
            self._postings.put({number: unit.searchable for number, unit in units.items()})
            completed = True
        return completed

    def _put_arrays(self, kind: Kind, numbers: Numbers, vectors: FloatMatrix) -> None:
        """Write the vectors and the origins of units of a kind as a segment."""
        stored = {segment.arrays.shape("vectors")[1] for segment in self._segments.of(Family.UNITS, kind)}
        if stored - {vectors.shape[1]}:
            raise ValueError(f"vectors of {kind.value} units do not all have {vectors.shape[1]} numbers")
        rising = np.asarray(vectors, np.float32)[np.argsort(numbers, kind="stable")]
        self._segments.add(Family.UNITS, kind, {**self._numbered.origins_of(numbers)._asdict(), "vectors": rising})


def _kinds(database: Database, numbers: Numbers) -> list[tuple[str, int]]:
    return database.rows("SELECT u.kind, u.number FROM carray(?) c CROSS JOIN units u ON u.number = c.value", numbers)


def _missing(segments: Segments, family: Family, kind: Kind) -> Iterator[Mapping[int, Unit]]:
    """Batches of the units of a kind, by number, that have no row in a segment of a family."""
    stored = segments.database.column("SELECT number FROM units WHERE kind = ? ORDER BY number", kind.value)
    missing = np.setdiff1d(numbers_of(stored), live_column(segments.of(family, kind), "numbers"))
    for start in range(0, len(missing), _COMPLETED):
        yield rows.units(segments.database, missing[start : start + _COMPLETED])


def _row(number: int, unit: Unit, documents: Mapping[str, int]) -> tuple[int | str | bytes, ...]:
    first, ends = unit.sources[0], rows.packed_ends(unit.sentence_ends)
    place = documents[first.document], first.start, first.end
    return number, unit.id, unit.kind.value, *place, len(unit.sources) - 1, unit.title, unit.text, ends
