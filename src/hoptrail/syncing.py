"""Bringing the documents of an index in step with their sources: new, updated, moved and missing ones.

Documents whose sources no longer exist are removed after everything was read, and only where the sources could be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from hoptrail.corpus.register import BATCH_CHARACTERS, BATCH_DOCUMENTS, Register, file_of
from hoptrail.documents.corpus_part import Part
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.marks import FileMark, nothing_known
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.documents.walking import shown
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
    - `moved`: documents that were read before from a file that no longer exists.
    - `removed`: documents that their sources no longer hold.
    - `gone`: files that are no longer in their folder, while their documents are still in the index.
    - `documents`: documents in the index after the run.
    - `failures`: documents that could not be read; the run continued without them.
    - `left_out`: files that are not documents (pictures, programs).
    - `notes`: what was decided or could not be done.
    - `usage`: the cost of language tasks.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    gone: int = 0
    documents: int = 0
    failures: list[DocumentError] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def __repr__(self) -> str:
        return f"<IndexingReport {self._counts()}; {self.documents:,} in the index>"

    def _repr_html_(self) -> str:
        failures = "".join(
            f"<li>{escape(failure.source)}: {escape(failure.reason)}</li>"
            for failure in self.failures[:SHOWN_DOCUMENTS]
        )
        hidden = len(self.failures) - SHOWN_DOCUMENTS
        more = f"<li>and {hidden:,} more</li>" if hidden > 0 else ""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes[:SHOWN_DOCUMENTS])
        return (
            f"<p>{self._counts()}; {self.documents:,} documents in the index.</p>"
            + (f"<p>Not read:</p><ul>{failures}{more}</ul>" if failures else "")
            + (f"<ul>{notes}</ul>" if notes else "")
        )

    def _counts(self) -> str:
        names = ("added", "unchanged", "updated", "moved", "removed", "gone")
        counts = {name: getattr(self, name) for name in names} | {"not read": len(self.failures)}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "added")

    @property
    def did_something(self) -> bool:
        """Whether the run changed the index or failed to read something."""
        return any((self.added, self.updated, self.moved, self.removed, self.failures))


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What to read, what to read again, and which documents to remove.

    - `keep_lines`: keep documents whose lines are no longer in their JSONL file.
    - `sync`: remove documents whose files are no longer in a named folder.
    - `reread`: read files again that look unchanged.
    - `follow_links`: follow links to outside the folder.
    - `part`: add only the documents of this part of the sources; None: all.
    - `limits`: see `ReadingLimits`.
    """

    keep_lines: bool = False
    sync: bool = False
    reread: bool = False
    follow_links: bool = False
    part: Part | None = None
    limits: ReadingLimits = DEFAULT_LIMITS


USUAL = ReadingOptions()


def read_all(
    where: Path,
    sources: Sequence[str | Path],
    context: BuildContext,
    options: ReadingOptions = USUAL,
    cut: Callable[[Collection[str]], None] = lambda _: None,
) -> IndexingReport:
    """Store new documents, note the sources of every document that was read, and drop what the sources no longer hold.

    `where` is the index folder. Files that have not changed since they were last read in the same way are skipped, unless
    `options` say otherwise. `cut` is called with the ids of documents at new sources as they are stored. The first batches are
    small, so that something can be found soon.
    """
    report, findings, reading = IndexingReport(), Findings(), _reading_fingerprint(options.limits)
    register = Register(context.writer, where, findings, reading)

    def known(paths: Sequence[str]) -> Mapping[str, FileMark]:
        return context.writer.snapshot().register.files(paths, reading)

    marks = nothing_known if options.reread or options.keep_lines else known
    read = read_sources(
        sources, options.limits, context.executor, findings, marks, options.follow_links, context.stopped
    )
    _store(_without_failures(read, report), register, report, context, cut, options.part)
    register.redate(findings.redated)
    cut(register.write())
    context.pause()
    whole = set[str]() if options.keep_lines else findings.whole
    _clear(register.unread(whole), register, context)
    for folder in _outermost_folders(sources):
        _forget_gone(folder, register, context, findings, report, sync=options.sync)
    report.removed = register.withdrawn
    report.unchanged += findings.unchanged
    if len(findings.compared) >= MANY or findings.redated or report.added or report.updated or report.removed:
        context.writer.put_files(findings.compared, reading)
    report.notes += findings.notes
    report.left_out = findings.left_out
    return report


def _store(
    read: Iterator[Document],
    register: Register,
    report: IndexingReport,
    context: BuildContext,
    cut: Callable[[Collection[str]], None],
    part: Part | None,
) -> None:
    """Enter documents and write them, in batches each twice as large as the one before. The last may still wait to be
    written. At the source of a document of another part this one has no document any more.
    """
    most, room = FIRST_DOCUMENTS, FIRST_CHARACTERS
    while documents := next(batched(read, most, lambda document: len(document.text), room), None):
        elsewhere = [document for document in documents if part is not None and not part.has(document.id)]
        register.clear([source for document in elsewhere for source in document.sources])
        _enter([document for document in documents if document not in elsewhere], register, report)
        context.report("reading", report.added + report.updated + report.unchanged, 0)
        changed, characters = register.waiting
        if changed >= most or characters >= room:
            cut(register.write())
            context.pause()
        most, room = min(2 * most, BATCH_DOCUMENTS), min(2 * room, BATCH_CHARACTERS)


def _reading_fingerprint(limits: ReadingLimits) -> str:
    """Identifies what a document depends on beside its file: limits and code. Not covered: other packages."""
    return content_id("", fingerprint(limits), digest_of_code("hoptrail.documents"), digest_of_code("hoptrail.text"))


def _enter(documents: Sequence[Document], register: Register, report: IndexingReport) -> None:
    """Enter documents that were read in the register, and count them in the report."""
    entered = register.enter(documents)
    report.added += entered.added
    report.updated += entered.updated
    report.unchanged += entered.unchanged
    report.notes += [f"{document.sources[0]}: {note}" for document in entered.new for note in document.notes]
    report.failures += [
        DocumentError(source, "another document before it has the same id; the first one is kept")
        for source in entered.repeated
    ]


def _clear(sources: Iterable[str], register: Register, context: BuildContext) -> None:
    """Note that the documents at these sources no longer exist."""
    for batch in batched(sources, BATCH_DOCUMENTS):
        register.clear(batch)
        register.write()
        context.pause()


def _outermost_folders(sources: Sequence[str | Path]) -> list[Path]:
    """The folders among the sources that are not within another of them."""
    folders = {Path(source).resolve() for source in sources if Path(source).is_dir()}
    return [folder for folder in sorted(folders) if folders.isdisjoint(folder.parents)]


def _forget_gone(
    folder: Path,
    register: Register,
    context: BuildContext,
    findings: Findings,
    report: IndexingReport,
    *,
    sync: bool,
) -> None:
    """Count the files that are no longer in a folder, and with `sync` remove their documents. Runs after all reading, when moved
    files are known. With an empty folder nothing is removed: it may be the mount point of a disk that is not mounted.
    """
    gone = register.gone(shown(folder))
    moved = register.moved(gone)
    report.moved += moved
    report.unchanged -= moved
    files = len({file_of(source) for source in gone})
    if gone and sync and not any(folder.iterdir()):
        findings.notes.append(
            f"{shown(folder)}: is empty, perhaps because a disk is not mounted, so the {files:,} files that were read from it "
            f"are kept. `hoptrail remove` removes documents by name"
        )
    elif gone and sync:
        _clear(gone, register, context)
    else:
        report.gone += files


def _without_failures(items: Iterable[Document | DocumentError], report: IndexingReport) -> Iterator[Document]:
    """The documents among `items`; errors go into the report."""
    for item in items:
        if isinstance(item, DocumentError):
            report.failures.append(item)
        else:
            yield item
