"""Which document was read from which source, and updating that.

The same content at two sources is one document with two sources; its date is that of the one read last. A source holds one
document at a time: when another one is read there, the earlier document loses that source. A document without sources is
removed. The same holds for lines that are no longer in their JSONL file.

The source of an upload is its path within the index folder, so that it remains valid when the folder is moved or restored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.corpus.documents import DocumentEntry
from hoptrail.corpus.places import UPLOADS
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.documents.file_contents import Findings
from hoptrail.documents.marks import FILE_TIME, FileMark
from hoptrail.documents.walking import shown
from hoptrail.errors import UsageError
from hoptrail.types import Document

BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 4_000_000
"""Documents are stored in batches of at most this many, or about this many characters, to limit memory."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What `Register.enter` did with documents."""

    new: tuple[Document, ...]
    """Documents that are not stored yet."""
    added: int
    """Number of new documents at new sources."""
    updated: int
    """Number of documents that replace another one at their source."""
    unchanged: int
    repeated: tuple[str, ...]
    """Sources at which another document was read before in the same run; that one is kept."""


class Register:
    """The sources of documents during one run of reading. Changes are collected, then written together by `write`."""

    def __init__(self, writer: Writer, index: Path, findings: Findings | None = None, reading: str = "") -> None:
        """`index`: its folder. `findings` has the marks of files, stored so that unchanged ones are recognised (`reading`)."""
        self._writer = writer
        self._home = f"{shown(index.resolve())}/"
        self._findings, self._reading = findings or Findings(), reading
        self._marks: dict[str, FileMark] = {}
        """Marks of files whose documents have been entered."""
        self._read: set[str] = set()
        """Sources that were read in this run."""
        self.withdrawn = 0
        """Number of documents that lost their last source without being replaced."""
        self._gained: set[str] = set()
        """Stored documents that were read at a further source."""
        self._begin()

    def _begin(self) -> None:
        """Begin without pending changes."""
        self._stored: dict[str, DocumentEntry] = {}
        """The stored entries of documents that were looked up, by id; `_entries` has them as they will be, and new documents."""
        self._entries: dict[str, DocumentEntry | Document] = {}
        self._ids_at: dict[str, set[str]] = {}
        """The documents at each source that was looked up."""
        self._replaced: set[str] = set()
        """Documents that lost a source to another one; `_replacing` are the other ones."""
        self._replacing: set[str] = set()

    def enter(self, documents: Sequence[Document]) -> Entered:
        """Note that each of these documents is now the only one at its sources."""
        documents = self._with_relative_uploads(documents)
        register = self._writer.snapshot().register
        self._remember(register.of([document.id for document in documents]))
        sources = [source for document in documents for source in document.sources]
        self._remember(register.at([source for source in sources if source not in self._ids_at]))
        new: list[Document] = []
        repeated: list[str] = []
        added = updated = 0
        for document in documents:
            source = document.sources[0]
            before = self._ids_at.get(source, set())
            if source in self._read and document.id not in before:
                repeated.append(source)
                continue
            self._read.add(source)
            if mark := self._findings.marks.pop(source, None):
                self._marks[source] = mark
            if document.id not in self._entries:
                new.append(document)
                added += not before
            elif not before:
                self._gained.add(document.id)
            if before and document.id not in before:
                updated += 1
                self._replaced.update(before)
                self._replacing.add(document.id)
            self._put(document)
        self._forget_unchanged()
        unchanged = len(documents) - added - updated - len(repeated)
        return Entered(tuple(new), added, updated, unchanged, tuple(repeated))

    def _with_relative_uploads(self, documents: Sequence[Document]) -> list[Document]:
        """The documents, uploads with paths within the index folder. These replace the absolute paths of earlier versions."""
        uploads = f"{self._home}{UPLOADS}/"
        self.clear([source for document in documents for source in document.sources if source.startswith(uploads)])
        return [
            replace(document, sources=tuple(source.removeprefix(self._home) for source in document.sources))
            if document.sources[0].startswith(uploads)
            else document
            for document in documents
        ]

    def _remember(self, stored: Iterable[DocumentEntry]) -> None:
        for entry in stored:
            if entry.id not in self._entries:
                self._entries[entry.id] = self._stored[entry.id] = entry
                for source in entry.sources:
                    self._ids_at.setdefault(source, set()).add(entry.id)

    def _put(self, document: Document) -> None:
        entry = self._entries.get(document.id, document)
        sources = tuple(sorted({*document.sources, *entry.sources}))
        self._entries[document.id] = replace(entry, sources=sources, date=document.date, date_from=document.date_from)
        for source in document.sources:
            self._take_from(source, self._ids_at.get(source, set()) - {document.id})
            self._ids_at[source] = {document.id}

    def _take_from(self, source: str, ids: Iterable[str]) -> None:
        """Note that documents are no longer at a source."""
        for id_ in ids:
            entry = self._entries[id_]
            self._entries[id_] = replace(entry, sources=tuple(other for other in entry.sources if other != source))

    def _forget_unchanged(self) -> None:
        for id_ in [id_ for id_, entry in self._stored.items() if entry == self._entries[id_]]:
            for source in self._entries.pop(id_).sources:
                self._ids_at.pop(source, None)
            del self._stored[id_]

    def gone(self, folder: str) -> list[str]:
        """The sources in a folder (a source string) whose files no longer exist, except in folders that could not be read."""
        closed = tuple(f"{place}/" for place in self._findings.closed)
        start = f"{folder.rstrip('/')}/"
        return [
            source
            for source in self._writer.snapshot().register.sources_under(start)
            if not _is_in(source, self._findings.seen) and not f"{source}/".startswith(closed)
        ]

    def moved(self, sources: Sequence[str]) -> int:
        """How many of the documents at these sources were read at a further source in this run."""
        return sum(entry.id in self._gained for entry in self._writer.snapshot().register.at(sources))

    def unread(self, files: Collection[str]) -> Iterator[str]:
        """The sources of stored lines of these JSONL files that were not read in this run."""
        snapshot = self._writer.snapshot()
        for file in sorted(files):
            lines = f"{file}#"
            for entry in snapshot.register.under(lines):
                yield from (source for source in entry.sources if source.startswith(lines) and source not in self._read)

    def clear(self, sources: Sequence[str]) -> None:
        """Note that there is no document at these sources any more."""
        self._remember(self._writer.snapshot().register.at(sources))
        for source in sources:
            ids = self._ids_at.get(source, set())
            self._replaced -= ids
            self._take_from(source, ids)
            ids.clear()

    def redate(self, days: Mapping[str, str]) -> None:
        """Note the dates of touched files, by their sources, for documents whose date comes from the time of their file."""
        self._remember(self._writer.snapshot().register.at(days))
        for source, day in days.items():
            for id_ in self._ids_at.get(source, ()):
                if self._entries[id_].date_from == FILE_TIME:
                    self._entries[id_] = replace(self._entries[id_], date=day)

    @property
    def waiting(self) -> tuple[int, int]:
        """The number of documents with pending changes, and of characters of the new ones."""
        return len(self._entries), sum(len(it.text) for it in self._entries.values() if isinstance(it, Document))

    def write(self) -> list[str]:
        """Write all pending changes. Returns the ids of new documents that replace none. Documents without a source stay until
        `remove_unsourced`, so that they can be found until their replacements can. The state may be committed.
        """
        entries = self._entries.values()
        new = [entry for entry in entries if isinstance(entry, Document)]
        known = (entry for entry in entries if isinstance(entry, DocumentEntry))
        changed = [entry for entry in known if entry != self._stored[entry.id]]
        self._writer.put_documents(new)
        self._writer.place_documents(changed)
        self._writer.put_files(self._marks, self._reading)
        self._marks = {}
        written: list[DocumentEntry | Document] = [*new, *changed]
        self.withdrawn += sum(not entry.sources for entry in written if entry.id not in self._replaced)
        added = [document.id for document in new if document.id not in self._replacing]
        self._begin()
        return added


def remove_unsourced(writer: Writer) -> None:
    """Remove the documents without a source, also those of an earlier run that was stopped."""
    writer.remove_documents(writer.snapshot().register.unsourced())


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What became of a document: it lost the sources `lost` and still has those `left`; without any left it was removed.
    A document that was removed before has no id, and the name by which it is called as its title.
    """

    id: str
    title: str
    lost: tuple[str, ...]
    left: tuple[str, ...]


def withdraw(writer: Writer, names: Collection[str]) -> list[Withdrawn]:
    """Remove documents that a user names by id, path or title. One that is named by a path stays if it has other sources.
    Raises: UsageError: a name fits no document, or a title fits several; nothing is written.
    """
    snapshot = writer.snapshot()
    already_removed: list[Withdrawn] = []
    lost: dict[DocumentEntry, list[str]] = {}
    for name in dict.fromkeys(names):
        try:
            for entry, source in _places(snapshot, name):
                lost.setdefault(entry, []).append(source)
        except UnknownName:
            if not writer.was_removed([name, _resolved(name)]):
                raise
            already_removed.append(Withdrawn("", name, (), ()))
    withdrawn = []
    for entry, named in lost.items():
        gone = tuple(source for source in entry.sources if source in named)
        kept = tuple(source for source in entry.sources if source not in named)
        withdrawn.append(Withdrawn(entry.id, entry.title, gone, kept))
        if kept:
            writer.place_documents([replace(entry, sources=kept)])
            writer.note_removed(gone)
    writer.note_removed(
        [one for name in names for one in (name, _resolved(name))]
    )  # a title, or the file of several lines
    writer.remove_documents([document.id for document in withdrawn if not document.left])
    return [*withdrawn, *already_removed]


class UnknownName(UsageError):
    """A name fits no document."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no document {name!r} in this index. `hoptrail show` lists ids, titles and paths.")


_LINES = re.compile(r"(.+?\.jsonl(?:\.gz)?)#", re.IGNORECASE | re.DOTALL)
"""The start of the source of a line of a JSONL file."""


def file_of(source: str) -> str:
    """The file of a source."""
    match = _LINES.match(source)
    return match[1] if match else source


def _is_in(source: str, files: Collection[str]) -> bool:
    """Whether a source is one of these files, or a line of one. File names may contain `#` too."""
    if source in files:
        return True
    parts = source.split("#")
    return any("#".join(parts[:number]) in files for number in range(1, len(parts)))


def _places(snapshot: Snapshot, given_name: str) -> list[tuple[DocumentEntry, str]]:
    """The documents and their sources that a name stands for. The path of a JSONL file stands for all its lines."""
    path = _resolved(given_name)
    name = given_name if _is_text(given_name) else path
    if not _is_text(name):
        raise UnknownName(given_name)
    if by_id := [(entry, source) for entry in snapshot.register.of([name]) for source in entry.sources]:
        return by_id
    entries = snapshot.register.at([name, path])
    for source in (name, path):
        if by_source := [(entry, source) for entry in entries if source in entry.sources]:
            return by_source
    lines = f"{path}#"
    entries = snapshot.register.under(lines)
    if by_line := [(entry, source) for entry in entries for source in entry.sources if source.startswith(lines)]:
        return by_line
    entries = snapshot.register.titled([name])
    if len(entries) > 1:
        ids = ", ".join(entry.id for entry in entries[:10])
        raise UsageError(f"{len(entries)} documents have the title {name!r}: name one by its id: {ids}.")
    if not entries:
        raise UnknownName(name)
    return [(entry, source) for entry in entries for source in entry.sources]


def _is_text(name: str) -> bool:
    """Whether a name can be in an index. A shell argument that is not valid Unicode cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _resolved(name: str) -> str:
    """The source string of a path; the name itself where it cannot be a path (a title may contain anything)."""
    try:
        return shown(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):
        return name
