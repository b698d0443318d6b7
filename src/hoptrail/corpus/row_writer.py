"""Writing an index in terms of numbers: one writer at a time; one transaction is one commit. The writer's `snapshot` sees at once
what was written. Removed text is erased from all files when `commit` returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import DocumentWriter
from hoptrail.corpus.head import Head, count_commit, is_unclean, mark_unclean, read_head, write_head
from hoptrail.corpus.links import LinkWriter
from hoptrail.corpus.names import NameWriter
from hoptrail.corpus.refusals import still_read
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.texts import Texts
from hoptrail.corpus.unit_writer import Numbering, UnitWriter
from hoptrail.errors import IndexBusy, StillRead
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Unit

WAIT = 5.0
"""Seconds that a removal waits for readers of the removed text."""

LOG = 1 << 26
"""Bytes of the log from which a commit without removals moves it into the database, if no reader prevents it."""


@contextmanager
def writing_rows(folder: Path) -> Iterator[RowWriter]:
    """Open the index in a folder for writing; it is made if there is none. What is not committed is discarded.
    Raises: as `writing_to`.
    """
    with closing(Database.to_write(folder)) as database:
        writer = RowWriter(database)
        yield writer
        writer.close()


class RowWriter:
    """The only writer of an index. `documents`, `units`, `links` and `names` write its parts. Use `writing_rows`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._start()
        if self._unclean:  # a writer was stopped before it had erased what it removed
            with suppress(StillRead):  # the next commit waits for its readers
                self.clean(wait=0)

    def _start(self) -> None:
        """Begin from the last commit."""
        self.head = read_head(self._database)
        self._unclean = is_unclean(self._database)
        """Whether text that this or an earlier writer removed may still be in the log or in files."""
        self._segments = SegmentWriter(self._database)
        self._texts = Texts(self._database, self._segments)
        self._numbering = Numbering(self._database, self._texts)
        self.documents = DocumentWriter(self._database)
        self.units = UnitWriter(self._segments, self._texts, self._numbering)
        self.links = LinkWriter(self._segments, self._texts, self._numbering)
        self.names = NameWriter(self._segments)

    @property
    def dirty(self) -> bool:
        """Whether anything that readers see was written since the last commit."""
        return self._segments.changed

    def snapshot(self) -> Snapshot:
        """Everything written so far, committed or not; valid until more is written."""
        self.flush()
        return Snapshot(self._database, self._segments, self.head, borrowed=True)

    def flush(self) -> None:
        """Write to the transaction what waits in memory."""
        for part in (self.units, self.links, self.names):
            part.flush()

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or update the sources and dates of stored ones (the same id is the same text)."""
        self._segments.changed = True
        self.documents.put(documents)

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, and every unit with a source in one of them, as `remove_rows` does."""
        self.remove_rows(self._texts.within(ids))
        self.documents.remove(ids)

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        """Add or replace units. Returns their numbers. `vectors` has one row per unit, or comes later (`UnitWriter.put_vectors`);
        until then passages are found by their words. The extraction from a replaced unit stays.
        """
        self._segments.changed |= len(units) > 0
        replaced = self._texts.known([unit.id for unit in units])
        extractions = {number: extraction for number, _, extraction in self._texts.extractions(replaced)}
        if len(replaced):
            self.remove_rows(replaced)
        numbers = self.units.put(units, vectors)
        self.units.put_extractions(extractions)
        return numbers

    def drop_extractions(self) -> None:
        """Remove all extractions."""
        self._segments.changed = True
        self._database.run("DELETE FROM extractions")
        self._unclean = True

    def remove_rows(self, numbers: Numbers, *, keep_links: bool = False) -> None:
        """Remove units with their extractions, names and links. Links stay where units of the same ids are added again before the
        commit or, with `keep_links`, at any later time.
        """
        self._segments.changed = True
        if keep_links:
            self._numbering.keep(numbers)
        self.units.remove(numbers)
        self.names.forget(numbers)
        self._unclean = True

    def commit(self, head: Head | None = None, *, clean: bool = True, counted: bool = True) -> None:
        """Commit everything written so far, with new metadata `head` if given. Removed text is erased then, unless not `clean`:
        then a later commit or `clean` does it. A commit that is not `counted` changes nothing for readers.
        Raises: StillRead: it is committed, but a process reads an earlier commit, so that the log keeps the removed text.
        """
        if head is not None:
            self.head = head
            write_head(self._database, head)
        self.flush()
        if len(unused := self._numbering.unused()):
            self.links.forget(unused)
        for part in (self.units, self.links, self.names):
            part.merge()
        if counted:
            count_commit(self._database)
        mark_unclean(self._database, unclean=self._unclean)
        self._segments.sync()
        self._database.commit()
        self._segments.changed = False
        self._numbering.freed.clear()
        self._begin(clean=clean)

    def roll_back(self) -> None:
        """Discard what is not committed."""
        self._database.roll_back()
        self._database.begin()
        self._start()

    def clean(self, wait: float = WAIT) -> None:
        """Discard what is not committed, and erase removed text from all files, also that of a writer that was stopped.
        Raises: StillRead: see `commit`.
        """
        self._database.roll_back()
        self._begin(clean=True, wait=wait)
        self._start()

    def close(self) -> None:
        """Discard what is not committed; empty the log and remove unused files, if no reader prevents it."""
        self._database.roll_back()
        if self._database.empty_log():
            with suppress(IndexBusy):  # the other writer does it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()

    def _begin(self, *, clean: bool, wait: float = WAIT) -> None:
        """Steps 4 and 5 of `durable.py`, then begin the next transaction. After a removal, `clean` waits for its readers, for
        `wait` seconds.
        Raises: StillRead: readers of the removed text are still there after the wait.
        """
        erases = self._unclean and clean
        emptied = (erases or self._database.log_size > LOG) and self._database.empty_log(wait if erases else 0)
        self._database.begin()
        if emptied:
            self._segments.sweep()
        elif erases:
            raise still_read(self._database.folder)
        if erases:
            mark_unclean(self._database, unclean=False)
            self._database.commit()
            self._unclean = False
            self._database.empty_log()
            self._database.begin()
