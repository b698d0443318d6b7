"""Bringing the documents of an index in step with their sources: new, updated, moved and missing ones.

Documents whose sources no longer exist are removed after everything was read, and only where the sources could be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from hoptrail.corpus.register import BATCH_CHARACTERS, BATCH_DOCUMENTS, Register
from hoptrail.corpus.source_files import file_of, is_gone, missing_folder
from hoptrail.documents.corpus_part import Part
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.marks import FileMark, nothing_known
from hoptrail.documents.read_sources import Findings, read_sources
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
        for title, listed in self._lists():
            lines += [f"{title}:", *(f"- {line}" for line in listed)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lists = (
            f"<p>{escape(title)}:</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in listed)}</ul>"
            for title, listed in self._lists()
        )
        return f"<p>{self._counts()}; {self.documents:,} documents in the index.</p>{''.join(lists)}"

    def _lists(self) -> Iterator[tuple[str, list[str]]]:
        """What the run names, each list with its title and cut to its first items."""
        for title, listed in (
            ("Not read", list(map(str, self.failures))),
            ("Left out", [f"{source}: {reason}" for source, reason in self.left_out.items()]),
            ("Not read now, but an older reading is still in the index", self.outdated),
            ("Notes", self.notes),
        ):
            hidden = len(listed) - SHOWN_DOCUMENTS
            if listed:
                yield title, listed[:SHOWN_DOCUMENTS] + ([f"and {hidden:,} more"] if hidden > 0 else [])

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

    - `keep_lines`: keep documents whose lines are no longer in their JSONL file.
    - `sync`: remove documents whose files are no longer in a named folder, or no longer readable.
    - `reread`: read files again that look unchanged.
    - `selection`: which files are read.
    - `part`: add only the documents of this part of the sources; None: all.
    - `limits`: see `ReadingLimits`.
    """

    keep_lines: bool = False
    sync: bool = False
    reread: bool = False
    selection: Selection = USUAL_SELECTION
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
    read = read_sources(sources, options.limits, context.executor, findings, marks, options.selection)
    _store(_without_failures(read, report), register, report, context, cut, options.part)
    register.redate(findings.redated)
    cut(register.write())
    context.pause()
    findings.seen -= {error.source for error in report.failures if not error.temporary}
    if not options.keep_lines:
        _clear(register.unread(findings.whole), register, context, cut)
    _follow_moves(sources, register, context, report, cut)
    for place in (places := _outermost(sources)):
        _forget_gone(place, register, context, report, cut, sync=options.sync)
    unread = findings.left_out | {error.source: error.reason for error in report.failures}
    context.writer.put_unread(list(map(shown, places)), unread)
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
    arrived = (*entered.new, *entered.further)
    report.notes += [f"{document.sources[0]}: {note}" for document in arrived for note in document.notes]
    report.failures += [
        DocumentError(source, "another document before it has the same id; the first one is kept")
        for source in entered.repeated
    ]


def _clear(
    sources: Iterable[str], register: Register, context: BuildContext, cut: Callable[[Collection[str]], None]
) -> None:
    """Note that the documents at these sources no longer exist."""
    for batch in batched(sources, BATCH_DOCUMENTS):
        register.clear(batch)
        cut(register.write())
        context.pause()


def _follow_moves(
    sources: Sequence[str | Path],
    register: Register,
    context: BuildContext,
    report: IndexingReport,
    cut: Callable[[Collection[str]], None],
) -> None:
    """Take from documents that were read the paths that no longer exist, and count what has moved. Note what else was read from
    folders that have disappeared: only the user knows whether they were moved or their disk is not mounted.
    """
    dead = register.dead()
    folders = {Path(source).resolve() for source in sources}.union(filter(None, map(missing_folder, dead)))
    stored = context.writer.snapshot().register
    former = [
        (source, entry.id)
        for entry in stored.at(dead)
        for source in set(entry.sources).intersection(dead)
        if register.gained.get(entry.id, set()).issuperset(set(entry.sources).difference(dead))
    ]
    _clear(dead, register, context, cut)
    context.writer.documents.put_moves(former)
    stored = context.writer.snapshot().register
    for entry in stored.of(register.gained):
        further = register.gained[entry.id]
        if further.issuperset(entry.sources):
            report.moved += 1
            further.discard(entry.sources[0])
        report.duplicates += sorted(further)
    for folder in sorted(folder for folder in folders if is_gone(str(folder))):
        name = shown(folder)
        found = ((source, file_of(source)) for source in stored.sources_under(name))
        left = {file for source, file in found if file == name or source.startswith(f"{name}/")}
        if left:
            files = "1 file" if len(left) == 1 else f"{len(left):,} files"
            report.notes.append(
                f"{name} is no longer there; what was read from {files} of it is kept, in case a disk is not mounted: "
                f"`hoptrail remove {name}` removes it"
            )


def _outermost(sources: Sequence[str | Path]) -> list[Path]:
    """The files and folders among the sources that exist and are not within another of them."""
    places = {Path(source).resolve() for source in sources if Path(source).exists()}
    return [place for place in sorted(places) if places.isdisjoint(place.parents)]


def _forget_gone(
    place: Path,
    register: Register,
    context: BuildContext,
    report: IndexingReport,
    cut: Callable[[Collection[str]], None],
    *,
    sync: bool,
) -> None:
    """Count the files in a folder that are gone or no longer read; with `sync` remove their documents. Runs after all reading,
    when moved files are known. With an empty folder nothing is removed: it may be the mount point of a disk that is not mounted.
    """
    unread = register.gone(place)
    files = {file_of(source) for source in unread}
    if unread and sync and place.is_dir() and not any(place.iterdir()):
        report.notes.append(
            f"{shown(place)}: is empty, perhaps because a disk is not mounted, so the {len(files):,} files that were read from "
            f"it are kept. `hoptrail remove {shown(place)}` removes their documents"
        )
    elif unread and sync:
        _clear(unread, register, context, cut)
    else:
        outdated = {file for file in files if not is_gone(file)}
        report.outdated += sorted(outdated)
        report.gone += len(files - outdated)


def _without_failures(items: Iterable[Document | DocumentError], report: IndexingReport) -> Iterator[Document]:
    """The documents among `items`; errors go into the report."""
    for item in items:
        if isinstance(item, DocumentError):
            report.failures.append(item)
        else:
            yield item
