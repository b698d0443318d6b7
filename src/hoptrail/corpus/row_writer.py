"""Writing the rows of an index by number: one writer at a time, and one transaction is one commit.

What is written is seen by this writer's `snapshot` at once, by others after `commit`, and by nobody where the process ends
before. What was removed is out of all files when `commit` returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.columns import NONE, Numbers, numbers_of
from hoptrail.corpus.database import WAIT, Database
from hoptrail.corpus.documents import DocumentWriter
from hoptrail.corpus.head import Head, count_commit, is_unclean, mark_unclean, write_head
from hoptrail.corpus.links import LinkWriter
from hoptrail.corpus.names import NameWriter
from hoptrail.corpus.numbering import Numbering, absent
from hoptrail.corpus.refusals import still_read
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.texts import Texts
from hoptrail.corpus.unit_writer import UnitWriter
from hoptrail.errors import IndexBusy
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Unit


@contextmanager
def writing_rows(folder: Path, wait: float | None = None) -> Iterator[RowWriter]:
    """The writer of the index in a folder, which is made if there is none. What is not committed is forgotten.

    `wait`: seconds that a removal waits for readers of what it removes, in place of WAIT.

    Raises:
        IndexBusy: another process writes; the message names it.
        IndexMismatch: written by another version of hoptrail.
        StorageError: the disk refuses, or is that of another machine.
    """
    database = Database.to_write(folder)
    try:
        writer = RowWriter(database, WAIT if wait is None else wait)
        yield writer
        writer.close()
    finally:
        database.close()


class RowWriter:
    """The one process that changes an index, with its `documents` and `units`, and its `links`, `names` and `extractions`, which
    go by the numbers of units. Use `writing_rows`.
    """

    def __init__(self, database: Database, wait: float) -> None:
        self._database = database
        self._wait = wait
        self._start()

    def _start(self) -> None:
        """From what is committed."""
        self._segments = SegmentWriter(self._database)
        texts = Texts(self._database, self._segments)
        self._texts, self._numbering = texts, Numbering(self._database, texts)
        self.documents = DocumentWriter(self._database)
        self.units = UnitWriter(self._segments, self.documents, self._numbering)
        self._cleaning = Cleaning(self._database, self._segments, self._wait)
        self.links = LinkWriter(self._segments, texts, self._numbering)
        self.names = NameWriter(self._segments)
        self.extractions = ExtractionWriter(self._segments, self._cleaning)
        self._gone: Numbers = NONE
        """Units that went in this transaction."""

    @property
    def dirty(self) -> bool:
        """Whether something that readers go by has been written since the last commit."""
        return self._segments.changed

    def snapshot(self, head: Head | None = None) -> Snapshot:
        """What has been written so far, committed or not; of use until more is written. `head`: in place of the stored one."""
        self._flush()
        return Snapshot(self._database, self._segments, head, borrowed=True)

    def put_documents(self, documents: Iterable[Document]) -> None:
        """Add documents; one that is there already has the new sources (its text cannot be another)."""
        self._segments.changed = True
        self.documents.put(documents)

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, and every unit that has a source in one of them, as `remove_units` does."""
        self._segments.changed = True
        self._remove(self.units.remove_within(ids))
        self.documents.remove(ids)

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        """Add or replace units; `vectors` has one row a unit, or comes later (`UnitWriter.put_vectors`). Their
        numbers. What was found in a unit that is replaced stays.
        """
        self._segments.changed = True
        replaced = self.units.stored(units)
        found = dict(self._texts.extractions(replaced))
        if len(replaced):
            self.remove_units(replaced)
        numbers = self.units.put(units, vectors)
        self.extractions.put(found)
        return numbers

    def remove_units(self, numbers: Numbers, *, keep_links: bool = False) -> None:
        """Remove units with what was found in them, their names and their links. The links stay where units of the same ids come
        again before the commit, or, to `keep_links`, ever.
        """
        self._segments.changed = True
        wanted = numbers_of(numbers)
        if keep_links:
            self._numbering.keep(wanted)
        self.units.remove(wanted)
        self._remove(wanted)

    def put_head(self, head: Head) -> None:
        """What the index says of itself."""
        write_head(self._database, head)

    def commit(self, *, clean: bool = True, counted: bool = True) -> None:
        """Make everything written so far the state that readers see; what was removed is gone then, unless a later commit or
        `clean` is to see to that. One that is not `counted` has changed nothing that readers go by.

        Raises:
            StillRead: it is committed, but a process reads the state before, and the log keeps the removed text for it.
        """
        self._flush()
        if len(lost := absent(self._database, self._gone)):
            self.links.forget(lost)
        self.units.merge()
        self.links.merge()
        self.names.merge()
        if counted:
            count_commit(self._database)
        mark_unclean(self._database, unclean=self._cleaning.due)
        self._segments.settle()
        self._database.commit()
        self._segments.changed = False
        self._gone = NONE
        self._numbering.end()
        self._cleaning.between(clean=clean)

    def roll_back(self) -> None:
        """Forget what is not committed."""
        self._database.roll_back()
        self._database.begin()
        self._start()

    def clean(self) -> None:
        """See that nothing is left in the log and in files of what was removed, also by a writer that was stopped. What is not
        committed is forgotten.

        Raises:
            StillRead: see `commit`.
        """
        self._database.roll_back()
        self._cleaning.between(clean=True)
        self._start()

    def close(self) -> None:
        """Forget what is not committed, and leave an empty log and no file too many, if no reader is in the way."""
        self._database.roll_back()
        self._cleaning.at_end()

    def _flush(self) -> None:
        self.units.flush()
        self.links.flush()
        self.names.flush()

    def _remove(self, numbers: Numbers) -> None:
        self.names.forget(numbers)
        self._gone = np.union1d(self._gone, numbers).astype(np.int32)
        self._cleaning.due = True


LOG = 1 << 26
"""Bytes of the log above which a commit that removed nothing moves it into the database, if no reader is in the way."""


class Cleaning:
    """What is done between two transactions of a writer."""

    def __init__(self, database: Database, segments: SegmentWriter, wait: float) -> None:
        """`wait`: seconds that a removal waits for readers of what it removes."""
        self._database = database
        self._segments = segments
        self._wait = wait
        self.due = is_unclean(database)
        """Whether text that was removed, by this writer or one before, may still be in the log or in files."""

    def between(self, *, clean: bool) -> None:
        """Steps 4 and 5 of `durable.py`, and the next transaction. Where text was removed they are waited for."""
        if not (self.due and clean):
            emptied = self._database.log_size > LOG and self._database.empty_log()
            self._database.begin()
            if emptied:
                self._segments.sweep()
            return
        emptied = self._database.empty_log(self._wait)
        self._database.begin()
        if not emptied:
            raise still_read(self._database.folder)
        self._segments.sweep()
        mark_unclean(self._database, unclean=False)
        self._database.commit()
        self.due = False
        self._database.empty_log()
        self._database.begin()

    def at_end(self) -> None:
        """Leave an empty log and no file too many, if no reader is in the way. No transaction is open."""
        if self._database.empty_log():
            with suppress(IndexBusy):  # then the next writer sees to it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()


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
