"""Writing an index: one writer at a time, and one transaction is one commit.

What is written is seen by this writer's `snapshot` at once, by others after `commit`, and by nobody where the process ends
before. What was removed is out of all files when `commit` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import numpy as np

from hoptrail.corpus import rows
from hoptrail.corpus.database import WAIT, Database, still_read
from hoptrail.corpus.links import Edges
from hoptrail.corpus.numbers import NONE, Numbers, numbers_of
from hoptrail.corpus.relations import LinkWriter, NameWriter
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.state import State, count_commit, is_unclean, mark_unclean, write_state
from hoptrail.corpus.units import UnitWriter
from hoptrail.documents.marks import FileMark
from hoptrail.errors import IndexBusy
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Unit

LOG = 1 << 26
"""Bytes of the log above which a commit that removed nothing moves it into the database, if no reader is in the way."""


@contextmanager
def writing_to(folder: Path, wait: float = WAIT) -> Iterator[Writer]:
    """The writer of the index in a folder, which is made if there is none. What is not committed is forgotten.

    `wait`: seconds that a removal waits for readers of what it removes.

    Raises:
        IndexBusy: another process writes; the message names it.
        IndexMismatch: written by another version of hoptrail.
        StorageError: the disk refuses, or is that of another machine.
    """
    database = Database.to_write(folder)
    try:
        writer = Writer(database, wait)
        yield writer
        writer.close()
    finally:
        database.close()


class Writer:
    """The one process that changes an index. Use `writing_to`."""

    def __init__(self, database: Database, wait: float) -> None:
        self._database = database
        self._wait = wait
        self._start()

    def _start(self) -> None:
        """From what is committed."""
        self._segments = SegmentWriter(self._database)
        self._units = UnitWriter(self._segments)
        self._links = LinkWriter(self._segments)
        self._names = NameWriter(self._segments)
        self._gone: Numbers = NONE
        """Units that went in this transaction."""
        self._unclean = is_unclean(self._database)
        """Whether text that was removed, by this writer or one before, may still be in the log or in files."""

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not; of use until more is written."""
        self._flush()
        return Snapshot(self._database, self._segments, borrowed=True)

    def put_documents(self, documents: Iterable[Document]) -> None:
        """Add documents; one that is there already has the new sources (its text cannot be another)."""
        self._units.put_documents(documents)

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """How files are known again at which a document stands, and in which way they were read."""
        self._units.put_files(files, reading)

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, and every unit that has a source in one of them, as `remove_units` does."""
        self._remove(self._units.remove_documents(ids))

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> Numbers:
        """Add or replace units; `vectors` has one row a unit. Their numbers."""
        replaced = self._units.stored(units)
        if len(replaced):
            self.remove_units(replaced)
        return self._units.put(units, vectors)

    def remove_units(self, numbers: Numbers, *, keep_links: bool = False) -> None:
        """Remove units with what was found in them, their names and their links. The links stay where units of the same ids come
        again before the commit, or, to `keep_links`, ever.
        """
        wanted = numbers_of(numbers)
        if keep_links:
            self._units.keep_numbers(wanted)
        self._units.remove(wanted)
        self._remove(wanted)

    def reserve(self, ids: Sequence[str]) -> Numbers:
        """Numbers for links of units by their ids, also of those that are still to come; in the same order."""
        return self._units.reserve(ids)

    def release(self) -> None:
        """Forget the numbers kept for units that no link leads from or to any more."""
        self._links.flush()
        self._units.release(self._links.ends())

    def remove_links_of(self, numbers: Numbers) -> None:
        """Remove the links of all kinds that lead from or to some units."""
        self._links.flush()
        self._links.forget(numbers_of(numbers))

    def put_links(self, kind: str, edges: Edges) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        self._links.put(kind, edges)

    def remove_links(self, kind: str, sources: Numbers | None = None) -> None:
        """Remove all links of a kind, or those that lead from some units."""
        self._links.remove(kind, sources)

    def put_names(self, kind: str, pairs: Iterable[tuple[str, int]]) -> None:
        """Add keys of names with the numbers of the units that bear or say them."""
        self._names.put(kind, pairs)

    def remove_names(self, kind: str, numbers: Numbers | None = None) -> None:
        """Remove all names of a kind, or those of some units; of what they are made from nothing is removed."""
        if numbers is None:
            self._names.drop(kind)
        else:
            self._names.forget(numbers, kind)

    def put_extractions(self, extractions: Mapping[int, Extraction]) -> None:
        """Add or replace what was found in units, by their numbers."""
        self._database.run_each(
            "INSERT OR REPLACE INTO extractions (unit, entities, facts) VALUES (?, ?, ?)",
            [rows.extraction_row(number, found) for number, found in extractions.items()],
        )

    def remove_extractions(self) -> None:
        """Remove what was found in all units."""
        self._database.run("DELETE FROM extractions")
        self._unclean = True

    def complete(self, encode: Callable[[Sequence[str]], FloatMatrix]) -> bool:
        """Make vectors and keyword postings of units whose segments were lost; whether there were any."""
        return self._units.complete(encode)

    def put_state(self, state: State) -> None:
        """What the index says of itself."""
        write_state(self._database, state)

    def commit(self, *, clean: bool = True, counted: bool = True) -> None:
        """Make everything written so far the state that readers see; what was removed is gone then, unless a later commit or
        `clean` is to see to that. One that is not `counted` has changed nothing that readers go by.

        Raises:
            StillRead: it is committed, but a process reads the state before, and the log keeps the removed text for it.
        """
        self._flush()
        if len(absent := self._absent()):
            self._links.forget(absent)
        self._units.merge()
        self._links.merge()
        self._names.merge()
        if counted:
            count_commit(self._database)
        mark_unclean(self._database, unclean=self._unclean)
        self._segments.settle()
        self._database.commit()
        self._gone = NONE
        self._units.end()
        self._empty_log(clean=clean)

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
        self._empty_log(clean=True)
        self._start()

    def close(self) -> None:
        """Forget what is not committed, and leave an empty log and no file too many, if no reader is in the way."""
        self._database.roll_back()
        if self._database.empty_log():
            with suppress(IndexBusy):  # then the next writer sees to it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()

    def _empty_log(self, *, clean: bool) -> None:
        """Steps 4 and 5 of `durable.py`, and the next transaction. Where text was removed they are waited for."""
        if not (self._unclean and clean):
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
        self._unclean = False
        self._database.empty_log()
        self._database.begin()

    def _flush(self) -> None:
        self._units.flush()
        self._links.flush()
        self._names.flush()

    def _remove(self, numbers: Numbers) -> None:
        self._names.forget(numbers)
        self._gone = np.union1d(self._gone, numbers).astype(np.int32)
        self._unclean = True

    def _absent(self) -> Numbers:
        """Of the units that went those that have not come again, and whose numbers are not kept."""
        if not len(self._gone):
            return NONE
        back = self._database.rows(
            "SELECT u.number FROM carray(?1) c CROSS JOIN units u ON u.number = c.value UNION ALL "
            "SELECT r.number FROM carray(?1) c CROSS JOIN reserved r ON r.number = c.value",
            apsw.carray(self._gone),
        )
        return np.setdiff1d(self._gone, numbers_of([number for (number,) in back]))
