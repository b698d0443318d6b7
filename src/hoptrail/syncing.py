"""Bringing the documents of an index in step with their sources: what is new, updated, moved or gone.

What is no longer there is forgotten after all has been read, and only where nothing hindered looking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.corpus.register import BATCH_CHARACTERS, BATCH_DOCUMENTS, Register, file_of
from hoptrail.documents.marks import FileMark, nothing_known
from hoptrail.documents.read_sources import Findings, ReadingLimits, read_sources
from hoptrail.documents.walking import shown
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import digest_of_code, fingerprint
from hoptrail.notebook import report_html, report_line
from hoptrail.structures.build_context import BuildContext
from hoptrail.types import Document, Usage, content_id

FIRST_DOCUMENTS = 16
FIRST_CHARACTERS = 50_000
"""Of the first batch that is stored; each is twice as large as the one before, up to those of the register."""

MANY = 1000
"""Files whose bytes had to be compared, whose times are noted even if nothing else is written."""


@dataclass(slots=True)
class IndexingReport:
    """What a run did. `updated` documents were read where another one had been, `moved` ones had been read before from a file
    that is no longer there. `removed` documents had been read from these sources before, which no longer hold them. `gone` files
    are no longer in their folder, and their documents are still in the index. `failures` could not be read, and the rest went on;
    `left_out` are files that are no documents (pictures, programs). `notes` say what was decided or could not be done; `usage` is
    what language tasks cost.
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
        return report_line(self)

    def _repr_html_(self) -> str:
        return report_html(self)

    @property
    def did_something(self) -> bool:
        """Whether anything has changed in the index, or could not be done."""
        return any((self.added, self.updated, self.moved, self.removed, self.failures))


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What becomes of documents that their sources no longer hold, and what is read again.

    Documents whose lines a JSONL file no longer has go, unless `keep_lines` says otherwise. With `sync`, documents whose files
    are no longer in a folder that is named go, too. With `reread`, files that look unchanged are read again. With `follow_links`,
    what links lead to that is not in the folder is read as well.
    """

    keep_lines: bool = False
    sync: bool = False
    reread: bool = False
    follow_links: bool = False


USUAL = ReadingOptions()


def read_all(
    where: Path,
    sources: Sequence[str | Path],
    limits: ReadingLimits,
    context: BuildContext,
    options: ReadingOptions = USUAL,
    cut: Callable[[Collection[str]], None] = lambda _: None,
) -> IndexingReport:
    """Store every document that is new, note the sources of every document that is read, drop what they no longer hold.

    `where` is the index folder. Files that are as they were when last read in the same way are not read unless `options` say so.
    `cut` is called with the ids of documents where none stood, as they are stored. The first batches are small, so that soon
    something is found.
    """
    report, findings, reading = IndexingReport(), Findings(), _way_of_reading(limits)
    register = Register(context.writer, where, findings, reading)

    def known(paths: Sequence[str]) -> Mapping[str, FileMark]:
        return context.writer.snapshot().register.files(paths, reading)

    which = nothing_known if options.reread or options.keep_lines else known
    read = read_sources(sources, limits, context.executor, findings, which, follow=options.follow_links)
    _store(_tell_failures(read, report), register, report, context, cut)
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
) -> None:
    """Enter documents and write them, in batches each twice as large as the one before; the rest still waits to be written."""
    most, room = FIRST_DOCUMENTS, FIRST_CHARACTERS
    while documents := next(batched(read, most, lambda document: len(document.text), room), None):
        _enter(documents, register, report)
        context.report("reading", report.added + report.updated + report.unchanged, 0)
        changed, characters = register.waiting
        if changed >= most or characters >= room:
            cut(register.write())
            context.pause()
        most, room = min(2 * most, BATCH_DOCUMENTS), min(2 * room, BATCH_CHARACTERS)


def _way_of_reading(limits: ReadingLimits) -> str:
    """What the document in a file hangs on beside the file. Not covered: other packages."""
    return content_id("", fingerprint(limits), digest_of_code("hoptrail.documents"), digest_of_code("hoptrail.text"))


def _enter(documents: Sequence[Document], register: Register, report: IndexingReport) -> None:
    """Note documents that were read, and what they are to the index."""
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
    """Note that nothing stands at these sources any more."""
    for some in batched(sources, BATCH_DOCUMENTS):
        register.clear(some)
        register.write()
        context.pause()


def _outermost_folders(sources: Sequence[str | Path]) -> list[Path]:
    """The folders among the sources that are in no other of them."""
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
    """Count what is no longer in a folder, and with `sync` forget it. Comes after all reading, so that what has moved is known.
    An empty folder forgets nothing: it may be where a disk is not mounted.
    """
    gone = register.gone(shown(folder))
    moved = register.moved(gone)
    report.moved += moved
    report.unchanged -= moved
    files = len({file_of(one) for one in gone})
    if gone and sync and not any(folder.iterdir()):
        findings.notes.append(
            f"{shown(folder)}: is empty, so the {files:,} files that were read from it are not forgotten: a disk may not "
            f"be mounted. `hoptrail remove` forgets documents by name"
        )
    elif gone and sync:
        _clear(gone, register, context)
    else:
        report.gone += files


def _tell_failures(items: Iterable[Document | DocumentError], report: IndexingReport) -> Iterator[Document]:
    """The documents; what could not be read goes into the report."""
    for item in items:
        if isinstance(item, DocumentError):
            report.failures.append(item)
        else:
            yield item
