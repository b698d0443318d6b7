"""Writing an index: one writer at a time, one transaction is one commit, and a stopped run can be resumed.

put, remove    write into a transaction, which no reader sees and a crash undoes; the writer's `snapshot` sees it at once
checkpoint     commits it; structures that are being built stay unfinished
publish        commits it as the end of a run; removed text is then erased from all files

Ids come from content, so repeated work cannot add anything twice. Within the index units go by numbers: none is assigned twice,
and a unit that comes back gets its earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.connecting import still_read
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import DocumentWriter
from hoptrail.corpus.head import NO_ENCODER, Head, check_encoder, read_head, write_head
from hoptrail.corpus.keywords import PostingWriter
from hoptrail.corpus.links import LinkWriter
from hoptrail.corpus.locations import index_folder
from hoptrail.corpus.names import NameWriter
from hoptrail.corpus.segments import Family, Segments, SegmentWriter, in_order, live_column
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.units import NumberedUnits, Units
from hoptrail.errors import HoptrailError, IndexBusy
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.types import Document, Extraction, Kind, Unit, Usage

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds of units made from several documents. Their structures make them again, or drop their links."""

BATCH = 1 << 16  # units that are removed together
_COMPLETED = 512  # units that are encoded again at a time

MOST_CHANGES = 1 << 14
"""Added and removed documents whose ids a writer remembers: those of a batch of new versions, and of the old ones."""

WAIT = 5.0  # seconds that a removal waits for readers of the removed text

LOG = 1 << 26
"""Bytes of the log from which a commit without removals moves it into the database, if no reader prevents it."""


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
        self._unclean = False  # whether text that was removed may still be in the log or in files
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
        """Remove documents and what was made from them; units of REMADE kinds keep their links, so that groups survive."""
        removed = frozenset(ids)
        if not removed:
            return
        self._note(removed=removed)
        for entry in self.documents.of(removed):
            self.documents.note_removed([entry.id, entry.title, *entry.sources])
        within = _kinds(self._database, self._numbered.within(removed))
        self.remove_rows(numbers_of([number for kind, number in within if kind not in REMADE]))
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
        """Remove units, their extractions, names and links; with `keep_links` these wait for units of the same ids."""
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


class Writer(Content):
    """The only writer of an index. Use `writing_to`. `head` is that of the last commit; `structures`, `unfinished`, `languages`
    are those to come: who builds a structure enters it in `unfinished` before its first row, in `structures` after its last.
    """

    head: Head

    def __init__(self, database: Database, encoder: EncoderIdentity | None) -> None:
        """Raises: IndexMismatch: the index was made by another encoder."""
        super().__init__(database)
        if self._unclean:  # a writer was stopped before it had erased what it removed
            self.erase_removed(wait=False)  # the next commit waits for readers
        self.undivided = False
        if encoder is not None:
            if self.head.encoder == NO_ENCODER:
                self.head = replace(self.head, encoder=encoder)
            check_encoder(str(database.folder), self.head.encoder, encoder)
            self.begin_run(undivided=False)

    def _start(self) -> None:
        super()._start()
        self.head = read_head(self._database)
        self.structures, self.unfinished = dict(self.head.structures), dict(self.head.unfinished)
        self.languages = dict(self.head.languages)
        self._unclean = self.head.unclean

    def snapshot(self) -> Snapshot:
        """Everything written so far, committed or not; valid until more is written."""
        return Snapshot(self._database, self._segments, self.head, borrowed=True)

    def begin_run(self, *, undivided: bool, built: bool = False) -> None:
        """Note changes from now on. `undivided`: until `publish` nothing is committed, because documents are removed or replaced,
        and readers must see neither a part of that nor groups without their members. `built`: this process has just brought all
        structures up to date, so that the changes are all there are, though the index is not whole yet.
        """
        self.forget_change()
        self.undivided = undivided
        if (self.head.whole or built) and self.head.commit:
            self.change = Change(Snapshot.open(self._database.folder))

    @property
    def changed(self) -> bool:
        """Whether the index differs from its state after the last whole run."""
        return self._segments.changed or not self.head.whole or self.structures != self.head.structures

    def checkpoint(self) -> None:
        """Commit what was written, for readers and for a run that resumes. Undivided runs wait for `publish`."""
        if self._segments.changed and not self.undivided:
            self.commit(self._current_head(whole=False), clean=False)

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None, *, last: bool = True) -> None:
        """Commit everything written so far, and add `spent` to the cost of the run; `settled`: see `Head`. The `last` commit of
        a run makes the index whole, and erases removed text.
        Raises: StillRead: see `commit`.
        """
        self.forget_change()
        self.links.release()
        head = replace(self._current_head(whole=last), settled=dict(settled or {}), spent=self.head.spent + spent)
        self.commit(head, clean=last)

    def note_spent(self, spent: Usage) -> None:
        """Discard what a stopped run has not committed, and add its cost to that of the index, if anything was ever committed."""
        self.forget_change()
        self._database.roll_back()
        self._database.begin()
        self._start()
        if spent.calls and self.head.commit:
            self.commit(replace(self.head, spent=self.head.spent + spent), clean=False)

    def settle(self, settled: Mapping[str, str]) -> None:
        """Store `settled` (see `Head`) where nothing else was written, which is no change for readers."""
        self.commit(replace(self.head, settled=dict(settled)), counted=False)

    def _current_head(self, *, whole: bool) -> Head:
        structures, unfinished, languages = map(dict, (self.structures, self.unfinished, self.languages))
        return replace(self.head, structures=structures, unfinished=unfinished, languages=languages, whole=whole)

    def commit(self, head: Head | None = None, *, clean: bool = True, counted: bool = True) -> None:
        """Commit everything written so far, with new metadata `head` if given. Removed text is erased then, unless not `clean`:
        then a later commit or `erase_removed` does it. A commit that is not `counted` changes nothing for readers.
        Raises: StillRead: it is committed, but a process reads an earlier commit, so that the log keeps the removed text.
        """
        if clean:
            self.forget_change()
        self._segments.merge(Family.UNITS, in_order)
        for part in (self._postings, self.links, self.names):
            part.merge()
        self.head = replace(head or self.head, commit=self.head.commit + counted, unclean=self._unclean)
        write_head(self._database, self.head)
        self._segments.sync()
        self._database.commit()
        self._segments.changed = False
        if not self._begin(clean=clean):
            raise still_read(self._database.folder)

    def erase_removed(self, *, wait: bool = True) -> bool:
        """Discard what is not committed, and erase removed text from all files, also that of a writer that was stopped. Returns
        False while another process still reads an earlier commit, for which it may `wait`.
        """
        self.forget_change()
        self._database.roll_back()
        erased = self._begin(clean=True, wait=wait)
        self._start()
        return erased

    def close(self) -> None:
        """Discard what is not committed; empty the log and remove unused files, if no reader prevents it."""
        self.forget_change()
        self._database.roll_back()
        if self._database.empty_log():
            with suppress(IndexBusy):  # the other writer does it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()

    def _begin(self, *, clean: bool, wait: bool = True) -> bool:
        """Steps 4 and 5 of `durable.py`, then begin the next transaction. After a removal, `clean` may `wait` for readers of the
        removed text. Returns False if they are still there.
        """
        erases = self._unclean and clean
        emptied = (erases or self._database.log_size > LOG) and self._database.empty_log(WAIT if erases and wait else 0)
        self._database.begin()
        if emptied:
            self._segments.sweep()
        if erases and emptied:
            write_head(self._database, replace(read_head(self._database), unclean=False))
            self._database.commit()
            self._unclean = False
            self._database.empty_log()
            self._database.begin()
        return emptied or not erases


@contextmanager
def writing_to(where: Path, encoder: EncoderIdentity | None = None) -> Iterator[Writer]:
    """Open the index in a folder for writing; it is made if there is none. What is not committed is discarded. Without an
    `encoder`, vectors may be of any.
    Raises: IndexBusy, IndexMismatch (it was made by another encoder or version of hoptrail), IndexDamaged, StorageError.
    """
    with closing(Database.to_write(index_folder(where))) as database:
        writer = Writer(database, encoder)
        try:
            yield writer
        except HoptrailError:
            with suppress(HoptrailError):  # the disk may be full: then it gets back what was not committed
                writer.close()
            raise
        finally:
            writer.forget_change()
        writer.close()
