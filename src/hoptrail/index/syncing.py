"""Bringing the documents of an index in step with their sources: new, updated, moved and missing ones.

Documents whose sources no longer exist are removed after everything was read, and only where the sources could be listed. New
documents are stored as they are read. Those that replace others follow when all has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from hoptrail.corpus.held_documents import BATCH_CHARACTERS, BATCH_DOCUMENTS
from hoptrail.corpus.register import Register
from hoptrail.corpus.source_files import file_of, is_gone, missing_folder
from hoptrail.corpus.writer import Writer
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.marks import FileMark, nothing_known
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.documents.splitting import CorpusPart
from hoptrail.documents.walking import USUAL_SELECTION, Selection, shown
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import digest_of_code, fingerprint
from hoptrail.notebook import SHOWN_DOCUMENTS
from hoptrail.structures.build_context import BuildContext
from hoptrail.types import Document, Usage, content_id

FIRST_DOCUMENTS = 16
FIRST_CHARACTERS = 50_000
"""Size of the first batch that is stored. Each batch is twice as large as the one before, up to the limits of the register."""

MANY = 1000
"""From this number of files whose bytes had to be compared, their times are stored even if nothing else is written."""


@dataclass(slots=True)
class IndexingReport:
    """What a run did.

    - `updated`: documents that replaced another one at their source.
    - `moved`: documents that were read at another source than before, where they no longer are.
    - `duplicates`: sources whose document was also read at another one. It is stored once.
    - `removed`: documents that their sources no longer hold.
    - `gone`: files that are no longer in their folder, while their documents are still in the index.
    - `outdated`: files that are there and could not or need not be read, while what was read from them before is still in the
      index.
    - `documents`: documents in the index after the run.
    - `failures`: documents that could not be read; the run continued without them.
    - `left_out`: files and folders that are not read by choice (pictures, programs, what `.gitignore` names), with the reason.
    - `notes`: what was decided or could not be done.
    - `usage`: the cost of language tasks.

    `print` shows all of it.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    unchanged: int = 0
    duplicates: list[str] = field(default_factory=list)
    removed: int = 0
    gone: int = 0
    outdated: list[str] = field(default_factory=list)
    documents: int = 0
    failures: list[DocumentError] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __repr__(self) -> str:
        return f"<IndexingReport {self._counts()}; {self.documents:,} in the index>"

    def __str__(self) -> str:
        lines = [f"{self._counts()}; {self.documents:,} documents in the index."]
        for title, listed in (
            ("Not read", list(map(str, self.failures))),
            ("Left out", [f"{source}: {reason}" for source, reason in self.left_out.items()]),
            ("Not read now, but an older reading is still in the index", self.outdated),
            ("Notes", self.notes),
        ):
            hidden = len(listed) - SHOWN_DOCUMENTS
            shown = listed[:SHOWN_DOCUMENTS] + ([f"and {hidden:,} more"] if hidden > 0 else [])
            lines += [f"{title}:", *(f"- {line}" for line in shown)] if listed else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _counts(self) -> str:
        names = ("added", "unchanged", "updated", "moved", "removed", "gone")
        counts = {name: getattr(self, name) for name in names} | {"not read": len(self.failures)}
        counts |= {"duplicates": len(self.duplicates), "left out": len(self.left_out)}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "added")

    @property
    def did_something(self) -> bool:
        """Whether the run changed the index or failed to read something."""
        return any((self.added, self.updated, self.moved, self.removed, self.failures, self.outdated))


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What to read, what to read again, and which documents to remove.

    - `given`: documents that were read already, in place of the sources. All of them are held back, new ones, too.
    - `sync`: remove documents whose files are no longer in a named folder, or no longer readable.
    - `reread`: read files again that look unchanged.
    - `selection`: which files are read.
    - `part`: add only the documents of this part of the sources; None: all.
    - `limits`: see `ReadingLimits`.
    """

    given: Iterable[Document] | None = None
    sync: bool = False
    reread: bool = False
    selection: Selection = USUAL_SELECTION
    part: CorpusPart | None = None
    limits: ReadingLimits = DEFAULT_LIMITS


USUAL = ReadingOptions()
Cut = Callable[[Collection[str]], None]
"""Called with the ids of documents, to cut them into passages."""


class SourcesRead:
    """What a run has read. New documents are stored; those that replace others, and the sources that hold no document any more
    (`dropped`), wait for `replace_next`.
    """

    def __init__(self, register: Register, context: BuildContext, options: ReadingOptions) -> None:
        self._register, self._context, self._options = register, context, options
        self._writer = context.writer
        self.report = IndexingReport()
        self.dropped: list[str] = []
        self._unsourced = bool(self._writer.snapshot().register.unsourced())
        """Whether an earlier version of hoptrail was stopped and has left documents without a source."""
        self._former: list[tuple[str, str]] = []
        """Sources from which documents, by their ids, have moved away."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left for `replace_next`."""
        return not (self._register.moving or self._register.held or self.dropped or self._unsourced)

    def store(self, read: Iterable[Document | DocumentError], cut: Cut) -> None:
        """Enter documents and write them, in batches each twice as large as the one before. The last may still wait to be
        written. At the source of a document of another part this one has no document any more.
        """
        report, part, most, room = self.report, self._options.part, FIRST_DOCUMENTS, FIRST_CHARACTERS
        readable = self._readable(read)
        while documents := next(batched(readable, most, lambda document: len(document.text), room), None):
            elsewhere = [document for document in documents if part is not None and not part.has(document.id)]
            if elsewhere:
                sources = {source for document in elsewhere for source in document.sources}
                stored = self._writer.snapshot().register.at(sources)
                self.dropped += sorted(sources.intersection(source for entry in stored for source in entry.sources))
            self._enter([document for document in documents if document not in elsewhere])
            self._context.report("reading", report.added + report.updated + report.unchanged, 0)
            changed, characters = self._register.waiting
            if changed >= most or characters >= room:
                cut(self._register.write())
                self._context.pause()
            most, room = min(2 * most, BATCH_DOCUMENTS), min(2 * room, BATCH_CHARACTERS)

    def note_unread(self, sources: Sequence[str | Path], findings: Findings) -> None:
        """After all reading: which sources are to be dropped, what has moved, and what was not read."""
        report, register = self.report, self._register
        findings.seen -= {error.source for error in report.failures if not error.temporary}
        self.dropped += register.unread(findings.whole)
        dead = register.dead()
        self.dropped += dead
        dropped = frozenset(self.dropped)
        # The files and folders that exist and are not within another of them.
        existing = {Path(source).resolve() for source in sources if Path(source).exists()}
        places = [place for place in sorted(existing) if existing.isdisjoint(place.parents)]
        for place in places:
            self._note_gone(place, [source for source in register.gone(place) if source not in dropped])
        self._note_moves(frozenset(dead))
        report.notes += _missing(sources, dead, self._writer)
        unread = findings.left_out | {error.source: error.reason for error in report.failures}
        self._writer.documents.put_unread(list(map(shown, places)), unread)

    def replace_next(self) -> None:
        """Put some of the documents that wait in the places of others, first also all that only move, so that these are never
        without a source; after the last of them drop sources. Until everything is made from them, nothing may be committed.
        """
        register = self._register
        register.holding = False
        while register.moving:
            self._enter(register.moving.take())
            register.write()
        self._enter(register.held.take())
        register.write()
        if not register.held:
            for batch in batched(self.dropped, BATCH_DOCUMENTS):
                register.clear(batch)
                register.write()
            self._writer.documents.put_moves(self._former)
            self.dropped, self._unsourced = [], False
        self._writer.remove_documents(self._writer.snapshot().register.unsourced())
        self.report.removed = register.withdrawn

    def _readable(self, items: Iterable[Document | DocumentError]) -> Iterator[Document]:
        """The documents among `items`; errors go into the report."""
        for item in items:
            if isinstance(item, DocumentError):
                self.report.failures.append(item)
            else:
                yield item

    def _enter(self, documents: Sequence[Document]) -> None:
        """Enter documents that were read in the register, and count them in the report."""
        report, entered = self.report, self._register.enter(documents)
        report.added += entered.added
        report.updated += entered.updated
        report.unchanged += entered.unchanged
        arrived = (*entered.new, *entered.further)
        report.notes += [f"{document.sources[0]}: {note}" for document in arrived for note in document.notes]
        report.failures += [
            DocumentError(source, "another document before it has the same id; the first one is kept")
            for source in entered.repeated
        ]

    def _note_moves(self, dead: frozenset[str]) -> None:
        """Count the documents that will have no source but those that were read in this run, and the duplicates, once everything
        is dropped. `dead` are the sources whose files are gone.
        """
        stored, lost = self._writer.snapshot().register, {*self.dropped, *self._register.held_at}
        for entry in stored.of(self._register.gained):
            further = self._register.gained[entry.id]
            left = [source for source in entry.sources if source not in lost]
            if left and further.issuperset(left):
                self.report.moved += 1
                self._former += [(source, entry.id) for source in sorted(dead.intersection(entry.sources))]
                further.discard(left[0])
            self.report.duplicates += sorted(further)

    def _note_gone(self, place: Path, unread: Sequence[str]) -> None:
        """Sources in a place whose files are no longer there or no longer read: with `sync` they are dropped; otherwise their
        files are counted. An empty folder may be the mount point of a disk that is not mounted: then nothing is dropped.
        """
        report, files, sync = self.report, {file_of(source) for source in unread}, self._options.sync
        if unread and sync and place.is_dir() and not any(place.iterdir()):
            report.notes.append(
                f"{shown(place)}: is empty, perhaps because a disk is not mounted, so the {len(files):,} files that were read "
                f"from it are kept. `hoptrail remove {shown(place)}` removes their documents"
            )
        elif sync:
            self.dropped += unread
        else:
            outdated = {file for file in files if not is_gone(file)}
            report.outdated += sorted(outdated)
            report.gone += len(files - outdated)


def read_all(
    where: Path,
    sources: Sequence[str | Path],
    context: BuildContext,
    options: ReadingOptions = USUAL,
    cut: Cut = lambda _: None,
) -> SourcesRead:
    """Read all sources, and store new documents.

    `where` is the index folder. Files that have not changed since they were last read in the same way are skipped, unless
    `options` say otherwise. `cut` is called with the ids of new documents as they are stored. The first batches are
    small, so that something can be found soon.
    """
    # What a document depends on beside its file, but for other packages.
    way = content_id(
        "", fingerprint(options.limits), digest_of_code("hoptrail.documents"), digest_of_code("hoptrail.text")
    )
    findings = Findings()
    register = Register(context.writer, where, findings, way, hold_new=options.given is not None)
    reading = SourcesRead(register, context, options)
    report = reading.report

    def known(paths: Sequence[str]) -> Mapping[str, FileMark]:
        return context.writer.snapshot().register.files(paths, way)

    marks = nothing_known if options.reread else known
    read = read_sources(sources, options.limits, context.executor, findings, marks, options.selection, context.stopped)
    reading.store(read if options.given is None else options.given, cut)
    register.redate(findings.redated)
    cut(register.write())
    context.pause()
    reading.note_unread(sources, findings)
    report.unchanged += findings.unchanged
    if len(findings.compared) >= MANY or findings.redated or report.added or not reading.is_over:
        context.writer.documents.put_files(findings.compared, way)
    report.notes += findings.notes
    report.left_out = findings.left_out
    return reading


def _missing(sources: Sequence[str | Path], dead: Iterable[str], writer: Writer) -> list[str]:
    """Notes on folders that have disappeared and from which documents were read: only the user knows whether they were moved or
    their disk is not mounted.
    """
    notes, stored = [], writer.snapshot().register
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
