"""Writing an index in terms of ids: one writer at a time; a stopped run can be resumed.

    put, remove    write into a transaction, which no reader sees and a crash undoes
    checkpoint     commits it; structures that are being built stay unfinished
    publish        commits it as the end of a run

Ids come from content, so repeated work cannot add anything twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from hoptrail.corpus.columns import Numbers, is_among, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.documents import DocumentEntry
from hoptrail.corpus.head import NO_ENCODER, Head, check_encoder, commit_number
from hoptrail.corpus.held_documents import BATCH_DOCUMENTS
from hoptrail.corpus.names import NameList
from hoptrail.corpus.places import index_folder
from hoptrail.corpus.row_writer import RowWriter
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.texts import Texts
from hoptrail.corpus.unread_files import UnreadFiles
from hoptrail.documents.marks import FileMark
from hoptrail.errors import HoptrailError, StillRead
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.types import Document, Extraction, Kind, Unit, Usage

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds of units made from several documents. Their structures make them again, or drop their links."""

_BATCH = 1 << 16
"""Units that are removed, or names that are numbered, together."""
_MOST_REMOVALS = 10_000
"""Names of removed documents that are kept, the latest: as digests, so that a removal that is repeated can be told from a wrong
name, and no name is kept.
"""

MOST_CHANGES = 2 * BATCH_DOCUMENTS
"""Added and removed documents whose ids a writer remembers: those of a batch of new versions, and of the old ones."""


@dataclass(frozen=True, slots=True)
class Change:
    """Documents added and removed since the last whole run. A stored document that was removed and added again is in both."""

    added: frozenset[str]
    removed: frozenset[str]
    before: Snapshot
    """The documents and what was made from them as they were after the last whole run."""

    @property
    def nothing(self) -> bool:
        """Whether no documents changed."""
        return not self.added and not self.removed


@dataclass
class DocumentChanges:
    """Ids of the documents added and removed since the last whole run, up to MOST_CHANGES. `complete`: these are all changes."""

    complete: bool
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)

    def note(self, added: Collection[str] = (), removed: Collection[str] = ()) -> None:
        """Note documents that were added or removed."""
        self.removed.update(id_ for id_ in removed if id_ not in self.added)
        self.added.difference_update(removed)
        self.added.update(added)
        self.complete &= len(self.added) + len(self.removed) <= MOST_CHANGES
        if not self.complete:
            self.added, self.removed = set(), set()


class ContentWriter(RowWriter):
    """Writes documents, units, names and extractions by their ids, and notes what changes."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.changes = DocumentChanges(complete=False)
        self.has_files = False
        """Whether marks of files were written."""

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or update the sources and dates of stored ones."""
        if documents:
            stored = {entry.id for entry in self.snapshot().register.of([document.id for document in documents])}
            super().put_documents(documents)
            self.changes.note(added={document.id for document in documents} - stored)

    def place_documents(self, entries: Iterable[DocumentEntry]) -> None:
        """Set the sources and dates of stored documents."""
        for entry in sorted(entries, key=lambda entry: entry.number):
            self._segments.changed = True
            self.documents.place(entry.number, entry)

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """Store the marks of files, which are no change for readers, and the way in which the files were read."""
        if files:
            self.documents.put_files(files, reading)
            self.has_files = True

    def put_unread(self, places: Collection[str], files: Mapping[str, str]) -> None:
        """Replace what is known about unread files in `places` (files or folders): see `UnreadFiles`."""
        self._segments.changed |= UnreadFiles(self._database).replace(places, files)

    def put_vectors(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add the vectors of passages that have none, in the order in which they were added: shape (len(units), dimension)."""
        self.units.put_vectors(self.snapshot().texts.numbers([unit.id for unit in units]), vectors)

    def renew_names(self, kind: str, pairs: Iterable[tuple[str, str]], among: Collection[str] | None = None) -> None:
        """Make the names of a kind exactly `pairs`: keys with ids of units; with `among`, those of these units only."""
        snapshot = self.snapshot()
        new = NameList.of(_numbered(pairs, snapshot.texts))
        if among is None:
            if snapshot.names.of(kind) == new:
                return
            self.names.drop(kind)
        else:
            self.names.forget(snapshot.texts.numbers(list(among)), kind)
        self.names.put(kind, new)

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace extractions from passages, by their ids. Raises: KeyError: a passage is not stored."""
        if extractions:
            numbers = self.snapshot().texts.numbers(list(extractions)).tolist()
            if not all(numbers):
                raise KeyError("there are extractions from passages that are not stored")
            self.units.put_extractions(dict(zip(numbers, extractions.values(), strict=True)))

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit with a source in one of them, its extraction and its links. Those of REMADE kinds stay, so
        that groups survive changes of their members.
        """
        removed = frozenset(ids)
        if not removed:
            return
        self.changes.note(removed=removed)
        snapshot = self.snapshot()
        for entry in snapshot.register.of(removed):
            self.note_removed([entry.id, entry.title, *entry.sources])
        within = snapshot.texts.within(removed)
        for kind in snapshot.table.kinds:
            numbers = within[is_among(within, snapshot.texts.origins(kind).numbers)]
            self._remove_stored(numbers, remade=kind in REMADE)
        super().remove_documents(removed)

    def note_removed(self, names: Iterable[str]) -> None:
        """Enter names by which a document can no longer be found (`was_removed`)."""
        digests = [(_digest(name),) for name in dict.fromkeys(names)]
        self._database.run_each("INSERT OR REPLACE INTO removals (digest) VALUES (?)", digests[-_MOST_REMOVALS:])
        latest = "DELETE FROM removals WHERE rowid <= (SELECT max(rowid) FROM removals) - ?"
        self._database.run(latest, _MOST_REMOVALS)

    def was_removed(self, names: Iterable[str]) -> bool:
        """Whether a document was removed that had one of these names."""
        sql = "SELECT 1 FROM removals WHERE digest = ?"
        return any(self._database.rows(sql, _digest(name)) for name in names)

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of a kind with their extractions and links. Returns the number of ids."""
        count = 0
        for batch in batched(ids, _BATCH):
            count += len(batch)
            snapshot = self.snapshot()
            stored = snapshot.table.numbers(kind, batch)
            self.links.forget(snapshot.texts.numbers(batch, reserved=True))
            self._remove_stored(stored)
        return count

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their structure drops their links."""
        if numbers := self._database.column("SELECT number FROM units WHERE kind = ? ORDER BY number", kind.value):
            self.remove_rows(numbers_of(numbers), keep_links=True)

    def _remove_stored(self, numbers: Numbers, *, remade: bool = False) -> None:
        if len(numbers):
            if not remade:
                self.links.forget(numbers)
            self.remove_rows(numbers, keep_links=remade)


def _numbered(pairs: Iterable[tuple[str, str]], texts: Texts) -> Iterator[tuple[bytes, int]]:
    """Pairs of a key and the number of a unit, from pairs of a key and an id; those of missing units are left out."""
    for batch in batched(pairs, _BATCH):
        numbers = texts.numbers([unit for _, unit in batch]).tolist()
        for (key, _), number in zip(batch, numbers, strict=True):
            if number:
                yield key.encode(errors="surrogatepass"), number


class Writer(ContentWriter):
    """The only writer of an index. Use `writing_to`. `structures`, `unfinished` and `languages` are those of `Head`: the builder
    of a structure enters it in `unfinished` before its first row, and in `structures` after its last.
    """

    def __init__(self, database: Database, encoder: EncoderIdentity) -> None:
        """Raises: IndexMismatch: the index was made by another encoder."""
        super().__init__(database)
        if self.head.encoder == NO_ENCODER:
            self.head = replace(self.head, encoder=encoder)
        check_encoder(str(database.folder), self.head.encoder, encoder)
        self._before: Snapshot | None = None
        """The state after the last whole run, kept open while it may be asked what removed documents had."""
        self.structures, self.unfinished = dict(self.head.structures), dict(self.head.unfinished)
        self.languages = dict(self.head.languages)
        self.begin_run(undivided=False)

    def begin_run(self, *, undivided: bool, built: bool = False) -> None:
        """Note changes from now on. `undivided`: until `publish` nothing is committed, because documents are removed or replaced,
        and readers must see neither a part of that nor groups without their members. `built`: this process has just brought all
        structures up to date, so that the changes are all there are, though the index is not whole yet.
        """
        self.release_before()
        self.undivided = undivided
        self.changes = DocumentChanges(complete=(self.head.whole or built) and self.committed)
        if self.changes.complete:
            self._before = Snapshot.open(self._database.folder)

    def change(self) -> Change | None:
        """The changes since the last whole run. None without such a run, after a stopped one, or after too many changes."""
        added, removed = frozenset(self.changes.added), frozenset(self.changes.removed)
        if not self.changes.complete or (self._before is None and (added or removed)):
            return None
        return Change(added, removed, self._before or self.snapshot())

    @property
    def committed(self) -> bool:
        """Whether anything was ever committed."""
        return commit_number(self._database) > 0

    @property
    def changed(self) -> bool:
        """Whether the index differs from its state after the last whole run."""
        return self.dirty or not self.head.whole or self.structures != self.head.structures

    def checkpoint(self) -> None:
        """Commit what was written, so that this or a later run can continue from it and readers can search it. An undivided run
        only moves it from memory into its transaction.
        """
        if self.undivided:
            self.flush()
        elif self.dirty:
            if not self.changes.complete:
                self.release_before()
            self.commit(replace(self._current_head(), whole=False), clean=False)

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None, *, last: bool = True) -> None:
        """Commit everything written so far, and add `spent` to the cost of the run; `settled`: see `Head`. The `last` commit of
        a run makes the index whole, and erases removed text.
        Raises: StillRead: see `RowWriter.commit`.
        """
        self._end_run()
        self.links.release()
        self.commit(
            replace(self._current_head(), settled=dict(settled or {}), spent=self.head.spent + spent, whole=last),
            clean=last,
        )

    def note_spent(self, spent: Usage) -> None:
        """Discard what a stopped run has not committed, and add its cost to that of the index, if anything was ever committed."""
        self._end_run()
        self.roll_back()
        if spent.calls and self.committed:
            self.commit(replace(self.head, spent=self.head.spent + spent), clean=False)

    def settle(self, settled: Mapping[str, str]) -> None:
        """Store `settled` (see `Head`) where nothing else was written, which is no change for readers."""
        self._end_run()
        self.commit(replace(self.head, settled=dict(settled)), counted=False)

    def erase_removed(self) -> bool:
        """Erase removed text from every file. Returns False while another process still reads an earlier commit."""
        self._end_run()
        try:
            self.clean()
        except StillRead:
            return False
        return True

    def _end_run(self) -> None:
        self.release_before()
        self.changes.complete = False

    def release_before(self) -> None:
        """Release the earlier state: while it is read, the log grows with each commit and cannot be emptied."""
        if self._before is not None:
            self._before.close()
            self._before = None

    def _current_head(self) -> Head:
        return replace(
            self.head,
            structures=dict(sorted(self.structures.items())),
            unfinished=dict(sorted(self.unfinished.items())),
            languages=dict(sorted(self.languages.items())),
        )


@contextmanager
def writing_to(where: Path, encoder: EncoderIdentity) -> Iterator[Writer]:
    """Open the index in a folder for writing; it is made if there is none.
    Raises: IndexBusy, IndexMismatch (it was made by another encoder or version of hoptrail), IndexDamaged, StorageError.
    """
    with closing(Database.to_write(index_folder(where))) as database:
        writer = Writer(database, encoder)
        try:
            yield writer
        except HoptrailError:
            writer.release_before()
            with suppress(HoptrailError):  # the disk may be full: then it gets back what was not committed
                writer.close()
            raise
        finally:
            writer.release_before()
        writer.close()


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:16]
