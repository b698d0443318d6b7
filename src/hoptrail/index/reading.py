"""Reading the sources of an index: new, updated, moved and missing documents.

Documents whose sources no longer exist are removed after everything was read, and only where the sources could be listed. New
documents are stored as they are read. One that takes the source of another is held back until all is read; then it takes its
place, in one commit with everything made from it: until then readers have the earlier one.

The source of an upload is its path within the index folder, so that it remains valid when the folder is moved or restored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile

from hoptrail.corpus.register import SourceChanges, clear
from hoptrail.corpus.source_files import file_of, is_gone, missing_folder
from hoptrail.corpus.writer import Writer
from hoptrail.documents.marks import FILE_TIME, FileMark, nothing_known
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.documents.walking import shown
from hoptrail.errors import DocumentError, disk_errors
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import digest_of_code, fingerprint
from hoptrail.index.syncing import USUAL, IndexingReport, ReadingOptions
from hoptrail.structures.build_context import BuildContext
from hoptrail.types import Document, content_id
from hoptrail.types.json_object import reader_of
from hoptrail.types.sources import UPLOADS

BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 4_000_000
"""Documents are stored in batches of at most this many, or about this many characters, to limit memory."""

_IN_MEMORY = 1 << 20  # bytes that are kept in memory; more go to the disk of the index

FIRST_DOCUMENTS = 16
FIRST_CHARACTERS = 50_000
"""Size of the first batch that is stored. Each is twice as large as the one before, up to BATCH_DOCUMENTS and _CHARACTERS."""

MANY = 1000
"""From this number of files whose bytes had to be compared, their times are stored even if nothing else is written."""

Cut = Callable[[Collection[str]], None]  # called with the ids of documents, to cut them into passages


class SourcesRead:
    """What a run has read. New documents are stored; those that replace others are held back, and with the sources that hold no
    document any more wait for `replace_next`.
    """

    def __init__(self, index: Path, context: BuildContext, options: ReadingOptions = USUAL) -> None:
        """`index`: its folder."""
        self._context, self._options = context, options
        self._writer, self._documents = context.writer, context.writer.documents
        self._home = f"{shown(index.resolve())}/"
        self._findings = Findings()
        # What a document depends on beside its file, but for other packages.
        codes = (digest_of_code(f"hoptrail.{folder}") for folder in ("documents", "text"))
        self._way = content_id("", fingerprint(options.limits), *codes)
        self.report = IndexingReport()
        self._holding = True  # whether documents are held back: until all is read; then the held ones are entered
        self._held, self._moving = HeldDocuments(index), HeldDocuments(index)
        """Held documents, and those that are stored already and move to the sources of others."""
        self._held_at: dict[str, str] = {}  # the ids of the documents that were held back, by source
        self._read: set[str] = set()  # sources that were read in this run
        self._gained: dict[str, set[str]] = {}
        """The sources at which documents were read that were known by other sources, by their ids."""
        self._dropped: list[str] = []
        self._unsourced = bool(self._documents.unsourced())
        """Whether an earlier version of hoptrail was stopped and has left documents without a source."""
        self._former: list[tuple[str, str]] = []  # sources from which documents, by their ids, have moved away

    @property
    def is_over(self) -> bool:
        return not (self._moving or self._held or self._dropped or self._unsourced)

    def read(self, sources: Sequence[str | Path], cut: Cut) -> None:
        """Read all sources and store new documents, in small batches first, so that something can be found soon. Files that have
        not changed since they were last read in the same way are skipped, unless the options say otherwise.
        """
        context, options, findings, report = self._context, self._options, self._findings, self.report

        def known(paths: Sequence[str]) -> Mapping[str, FileMark]:
            return self._documents.files(paths, self._way)

        marks = nothing_known if options.reread else known
        read = read_sources(
            sources, options.limits, context.executor, findings, marks, options.selection, context.stopped
        )
        self._store(read if options.given is None else options.given, cut)
        context.pause()  # the stream of documents ends early where the user has asked to stop
        self._note_unread(sources)
        report.unchanged += findings.unchanged
        if len(findings.compared) >= MANY or findings.redated or report.added or not self.is_over:
            self._documents.put_files(findings.compared, self._way)
        report.notes += findings.notes
        report.left_out = findings.left_out

    def _store(self, read: Iterable[Document | DocumentError], cut: Cut) -> None:
        """Enter documents, in growing batches. At the source of a document of another part this one has none any more."""
        report, part, most, room = self.report, self._options.part, FIRST_DOCUMENTS, FIRST_CHARACTERS
        readable = self._readable(read)
        while documents := next(batched(readable, most, lambda document: len(document.text), room), None):
            elsewhere = [document for document in documents if part is not None and not part.has(document.id)]
            self._drop({source for document in elsewhere for source in document.sources})
            new = self.enter([document for document in documents if document not in elsewhere])
            self._context.report("reading", report.added + report.updated + report.unchanged, 0)
            if new:
                cut(new)
                self._context.pause()
            most, room = min(2 * most, BATCH_DOCUMENTS), min(2 * room, BATCH_CHARACTERS)

    def enter(self, documents: Sequence[Document]) -> list[str]:
        """Store that each of these documents is now the only one at its sources, or hold it back. Returns the ids of those to be
        cut. Documents that lose their last source, which only held ones take, stay until they are removed.
        """
        report, changes, marks = self.report, SourceChanges(self._writer), dict[str, FileMark]()
        placed = [_with_relative_upload(document, self._home) for document in documents]
        sources = [source for document in placed for source in document.sources]
        changes.look_up(self._documents.of([document.id for document in placed]))
        changes.look_up(self._documents.at(sources))
        for given, document in zip(documents, placed, strict=True):
            source, is_new = document.sources[0], document.id not in changes.now
            before = frozenset(changes.ids_at.get(source, ()))
            first = {self._held_at[source]} if source in self._held_at else before
            if source in self._read and document.id not in first:
                same = "another document before it has the same id; the first one is kept"
                report.failures.append(DocumentError(source, same))
                continue
            self._read.add(source)
            if self._holding and document.id not in before and (before or self._options.given is not None):
                self._held_at[source] = document.id
                (self._held if is_new else self._moving).put([given])
                continue
            if mark := self._findings.marks.pop(source, None):
                marks[source] = mark
            if is_new or not before:
                report.notes += [f"{source}: {note}" for note in document.notes]
            if not is_new and not before:
                self._gained.setdefault(document.id, set()).add(source)
            report.added += is_new and not before
            report.updated += bool(before) and document.id not in before
            report.unchanged += document.id in before
            changes.put(document)
        self._drop({source for document in documents for source in document.sources}.difference(sources))
        return changes.write(marks, self._way)

    def _note_unread(self, sources: Sequence[str | Path]) -> None:
        """After all reading: new dates, which sources are to be dropped, what has moved, and what was not read."""
        report, findings = self.report, self._findings
        for entry in self._documents.at(findings.redated):  # those of touched files, dated by the time of their file
            day = next(findings.redated[source] for source in reversed(entry.sources) if source in findings.redated)
            if entry.date_from == FILE_TIME and entry.date != day:
                self._documents.place(entry.number, replace(entry, date=day))
        findings.seen -= {error.source for error in report.failures if not error.temporary}
        for file in sorted(findings.whole):  # JSONL files, and their lines
            stored = [file, *self._documents.sources_under(f"{file}#")]
            self._dropped += [source for source in stored if source not in self._read]
        dead = self._dead()
        self._dropped += dead
        # The files and folders that exist and are not within another of them.
        existing = {Path(source).resolve() for source in sources if Path(source).exists()}
        places = [place for place in sorted(existing) if existing.isdisjoint(place.parents)]
        for place in places:
            self._note_gone(place, frozenset(self._dropped))
        self._note_moves(frozenset(dead))
        report.notes += _missing(sources, dead, self._writer)
        unread = findings.left_out | {error.source: error.reason for error in report.failures}
        self._documents.put_unread(list(map(shown, places)), unread)

    def replace_next(self) -> None:
        """Put some of the documents that wait in the places of others, first also all that only move, so that these are never
        without a source; after the last of them drop sources. Until everything is made from them, nothing may be committed.
        """
        self._holding = False
        while self._moving:
            self.enter(self._moving.take())
        self.enter(self._held.take())
        if not self._held:
            for batch in batched(self._dropped, BATCH_DOCUMENTS):
                self.report.removed += clear(self._writer, batch, self._way)
            self._documents.put_moves(self._former)
            self._dropped, self._unsourced = [], False
        self._writer.remove_documents(self._documents.unsourced())

    def _drop(self, sources: set[str]) -> None:
        """Note that the documents that are stored at these sources are not there any more."""
        stored = self._documents.at(sources)
        self._dropped += sorted(sources.intersection(source for entry in stored for source in entry.sources))

    def _readable(self, items: Iterable[Document | DocumentError]) -> Iterator[Document]:
        for item in items:
            if isinstance(item, DocumentError):
                self.report.failures.append(item)
            else:
                yield item

    def _dead(self) -> list[str]:
        """The sources whose files are gone, of documents that have other sources, one of them read in this run."""
        gone, seen = lru_cache(maxsize=None)(is_gone), self._findings.seen
        return [
            source
            for entry in self._documents.at_several()
            if any(_is_in(other, seen) for other in entry.sources)
            for source in entry.sources
            if not _is_in(source, seen) and gone(source)
        ]

    def _note_moves(self, dead: frozenset[str]) -> None:
        """Count the moved documents, and the duplicates, once all is dropped; the files of the sources `dead` are gone."""
        lost = {*self._dropped, *self._held_at}
        for entry in self._documents.of(self._gained):
            further = self._gained[entry.id]
            left = [source for source in entry.sources if source not in lost]
            if left and further.issuperset(left):
                self.report.moved += 1
                self._former += [(source, entry.id) for source in sorted(dead.intersection(entry.sources))]
                further.discard(left[0])
            self.report.duplicates += sorted(further)

    def _note_gone(self, place: Path, dropped: Collection[str]) -> None:
        """Sources in a place that were not read, as their file is gone, unreadable, or left out: with `sync` they are dropped;
        otherwise their files are counted. Not those in places that could not be reached, or `dropped` anyway.
        An empty folder may be the mount point of a disk that is not mounted: then nothing is dropped.
        """
        report, sync, seen = self.report, self._options.sync, self._findings.seen
        closed = tuple(f"{one}{below}" for one in self._findings.closed for below in "/#")  # a folder, or lines
        start = f"{shown(place).rstrip('/')}/" if place.is_dir() else shown(place)
        unread = [
            source
            for source in self._documents.sources_under(start)
            if (start.endswith("/") or start in (source, file_of(source)))
            and source not in self._read
            and source not in dropped
            and not _is_in(source, seen)
            and not f"{source}/".startswith(closed)
        ]
        files = {file_of(source) for source in unread}
        if unread and sync and place.is_dir() and not any(place.iterdir()):
            report.notes.append(
                f"{shown(place)}: is empty, perhaps because a disk is not mounted, so the {len(files):,} files that were read "
                f"from it are kept. `hoptrail remove {shown(place)}` removes their documents"
            )
        elif sync:
            self._dropped += unread
        else:
            outdated = {file for file in files if not is_gone(file)}
            report.outdated += sorted(outdated)
            report.gone += len(files - outdated)


class HeldDocuments:
    """Documents that wait to take the places of others, in a file without a name: it ends with the process, however that ends.
    First all are put, then they are taken in batches. Both raise StorageError where the disk refuses.
    """

    def __init__(self, index: Path) -> None:
        """`index`: the folder of the index, on whose disk the file is made."""
        self._index = index
        self._file = SpooledTemporaryFile(_IN_MEMORY, dir=str(index))  # noqa: SIM115 - it is held as long as this
        self._left = 0
        self._batches = batched(self._read(), BATCH_DOCUMENTS, lambda document: len(document.text), BATCH_CHARACTERS)

    def __len__(self) -> int:
        return self._left

    def put(self, documents: Sequence[Document]) -> None:
        with disk_errors(f"cannot hold documents in {self._index}"):
            self._file.writelines(reader_of(Document).dump_json(document) + b"\n" for document in documents)
        self._left += len(documents)

    def take(self) -> list[Document]:
        """The next documents, at most BATCH_DOCUMENTS or about BATCH_CHARACTERS; empty after the last."""
        batch = next(self._batches, [])
        self._left -= len(batch)
        return batch

    def __del__(self) -> None:
        with suppress(OSError):  # a full disk refuses what was not written yet, and `put` has said so
            self._file.close()

    def _read(self) -> Iterator[Document]:
        with disk_errors(f"cannot read held documents in {self._index}"):
            self._file.seek(0)
            yield from map(reader_of(Document).validate_json, islice(self._file, self._left))


def _missing(sources: Sequence[str | Path], dead: Iterable[str], writer: Writer) -> list[str]:
    """Notes on folders that are gone: only the user knows whether they were moved or their disk is not mounted."""
    notes, stored = [], writer.documents
    folders = {Path(source).resolve() for source in sources}.union(filter(None, map(missing_folder, dead)))
    for folder in sorted(folder for folder in folders if is_gone(str(folder))):
        name = shown(folder)
        found = ((source, file_of(source)) for source in stored.sources_under(name) if source not in dead)
        left = {file for source, file in found if file == name or source.startswith(f"{name}/")}
        if left:
            files = "1 file" if len(left) == 1 else f"{len(left):,} files"
            notes.append(
                f"{name} is no longer there; what was read from {files} of it is kept, in case a disk is not mounted: "
                f"`hoptrail remove {name}` removes it"
            )
    return notes


def _with_relative_upload(document: Document, home: str) -> Document:
    """The document; that of an upload with its path within the index folder `home`. Earlier versions noted the absolute path."""
    if not document.sources[0].startswith(f"{home}{UPLOADS}/"):
        return document
    return replace(document, sources=tuple(source.removeprefix(home) for source in document.sources))


def _is_in(source: str, files: Collection[str]) -> bool:
    """Whether a source is one of these files, or a line of one. File names may contain `#` too."""
    if source in files:
        return True
    parts = source.split("#")
    return any("#".join(parts[:number]) in files for number in range(1, len(parts)))
