"""Which document was read from which source, and updating that.

The same content at two sources is one document with two sources; its date is that of the one read last. A source holds one
document at a time: when another one is read there, the earlier document loses that source. A document without sources is
removed. The same holds for lines that are no longer in their JSONL file.

A document that takes the source of another one is held back while the sources are read. Afterwards it takes its place, in one
commit with everything made from it: until then readers have the earlier one.

The source of an upload is its path within the index folder, so that it remains valid when the folder is moved or restored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from hoptrail.corpus.documents import DocumentEntry
from hoptrail.corpus.held_documents import HeldDocuments
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.source_files import file_of, is_gone, title_of
from hoptrail.corpus.writer import Writer
from hoptrail.documents.marks import FILE_TIME, FileMark
from hoptrail.documents.read_sources import is_titled_by_file
from hoptrail.documents.walking import Findings, shown
from hoptrail.errors import UsageError
from hoptrail.types import Document
from hoptrail.types.sources import UPLOADS


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
    """Number of documents that were read at the same source before."""
    repeated: tuple[str, ...]
    """Sources at which another document was read before in the same run; that one is kept."""
    further: tuple[Document, ...] = ()
    """Known documents at a source where none was read before."""


class Register:
    """The sources of documents during one run of reading. Changes are collected, then written together by `write`."""

    def __init__(
        self,
        writer: Writer,
        index: Path,
        findings: Findings | None = None,
        reading: str = "",
        *,
        hold_new: bool = False,
    ) -> None:
        """`index`: its folder. `findings` has the marks of files, stored so that unchanged ones are recognised (`reading`).
        `hold_new`: hold back documents at new sources, too.
        """
        self._writer = writer
        self._hold_new = hold_new
        self.holding = True
        """Whether documents are held back: until all is read. Then the held ones are entered."""
        self.held = HeldDocuments(index)
        self.moving = HeldDocuments(index)
        """Held documents that are stored already, and move to the sources of others."""
        self.held_at: dict[str, str] = {}
        """The ids of the documents that were held back, by source."""
        self._home = f"{shown(index.resolve())}/"
        self._findings, self._reading = findings or Findings(), reading
        self._marks: dict[str, FileMark] = {}
        """Marks of files whose documents have been entered."""
        self._read: set[str] = set()
        """Sources that were read in this run."""
        self.withdrawn = 0
        """Number of documents that lost their last source without being replaced."""
        self.gained: dict[str, set[str]] = {}
        """The sources at which documents were read that were known by other sources, by their ids."""
        self._begin()

    def _begin(self) -> None:
        """Begin without pending changes."""
        self._stored: dict[str, DocumentEntry] = {}
        """The stored entries of documents that were looked up, by id; `_entries` has them as they will be, and new documents."""
        self._entries: dict[str, DocumentEntry | Document] = {}
        self._ids_at: dict[str, set[str]] = {}
        """The documents at each source that was looked up."""
        self._replaced: set[str] = set()
        """Documents that lost a source to another one."""

    def enter(self, documents: Sequence[Document]) -> Entered:
        """Note that each of these documents is now the only one at its sources, or hold it back."""
        new: list[Document] = []
        further: list[Document] = []
        repeated: list[str] = []
        absolute: list[str] = []
        added = updated = held = 0
        for given, document in zip(documents, self._looked_up(documents), strict=True):
            source = document.sources[0]
            before = self._ids_at.get(source, set())
            first = {self.held_at[source]} if source in self.held_at else before
            if source in self._read and document.id not in first:
                repeated.append(source)
                continue
            self._read.add(source)
            if self.holding and document.id not in before and (before or self._hold_new):
                self.held_at[source] = document.id
                (self.moving if document.id in self._entries else self.held).put([given])
                held += 1
                continue
            if given is not document:
                absolute += given.sources
            if mark := self._findings.marks.pop(source, None):
                self._marks[source] = mark
            if document.id not in self._entries:
                new.append(document)
                added += not before
            elif not before:
                self.gained.setdefault(document.id, set()).add(source)
                further.append(document)
            if before and document.id not in before:
                updated += 1
                self._replaced.update(before)
            self._put(document)
        self.clear(absolute)
        self._forget_unchanged()
        unchanged = len(documents) - added - updated - len(further) - len(repeated) - held
        return Entered(tuple(new), added, updated, unchanged, tuple(repeated), tuple(further))

    def _looked_up(self, documents: Sequence[Document]) -> list[Document]:
        """The documents, uploads with relative paths. What is stored of them and at their sources is remembered."""
        documents = [_with_relative_upload(document, self._home) for document in documents]
        register = self._writer.snapshot().register
        self._remember(register.of([document.id for document in documents]))
        sources = [source for document in documents for source in document.sources]
        self._remember(register.at([source for source in sources if source not in self._ids_at]))
        return documents

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

    def gone(self, place: Path) -> list[str]:
        """The sources in a folder, or of a file, that were not read: the file is gone, unreadable, or left out. Not those in
        places that could not be reached.
        """
        closed = tuple(f"{one}/" for one in self._findings.closed)
        start = f"{shown(place).rstrip('/')}/" if place.is_dir() else shown(place)
        return [
            source
            for source in self._writer.snapshot().register.sources_under(start)
            if (start.endswith("/") or start in (source, file_of(source)))
            and source not in self._read
            and not _is_in(source, self._findings.seen)
            and not f"{source}/".startswith(closed)
        ]

    def dead(self) -> list[str]:
        """The sources whose files are gone, of documents that have other sources, one of them read in this run."""
        gone = lru_cache(maxsize=None)(is_gone)
        return [
            source
            for entry in self._writer.snapshot().register.at_several()
            if any(_is_in(other, self._findings.seen) for other in entry.sources)
            for source in entry.sources
            if not _is_in(source, self._findings.seen) and gone(source)
        ]

    def unread(self, files: Collection[str]) -> Iterator[str]:
        """The sources of documents from these JSONL files, as a whole or of their lines, that were not read in this run."""
        snapshot = self._writer.snapshot()
        for file in sorted(files):
            stored = [file, *snapshot.register.sources_under(f"{file}#")]
            yield from (source for source in stored if source not in self._read)

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
        """Write all pending changes. Returns the ids of new documents. Documents without a source stay until they are removed,
        before which nothing may be committed; only entering held documents and `clear` leave such documents.
        """
        entries = self._entries.values()
        new = [entry for entry in entries if isinstance(entry, Document)]
        known = (entry for entry in entries if isinstance(entry, DocumentEntry))
        changed = [entry for entry in known if entry != self._stored[entry.id]]
        lost = {source for entry in changed if not entry.sources for source in self._stored[entry.id].sources}
        vacant = sorted(source for source in lost if not self._ids_at.get(source))
        self._writer.documents.note_removed([*vacant, *map(file_of, vacant)])
        self._writer.put_documents(new)
        for entry in sorted(changed, key=lambda entry: entry.number):
            self._writer.documents.place(entry.number, entry)
        snapshot = self._writer.snapshot()
        renamed = [it for entry in changed if (it := _renamed(self._stored[entry.id], entry.sources, snapshot))]
        self._marks |= snapshot.register.files([source for it in renamed for source in it.sources], self._reading)
        self._writer.remove_documents([document.id for document in renamed])
        self._writer.put_documents(renamed)
        self._writer.documents.put_files(self._marks, self._reading)
        self._marks = {}
        written: list[DocumentEntry | Document] = [*new, *changed]
        self.withdrawn += sum(not entry.sources for entry in written if entry.id not in self._replaced)
        self._begin()
        return [document.id for document in (*new, *renamed)]


def _renamed(before: DocumentEntry, sources: Sequence[str], snapshot: Snapshot) -> Document | None:
    """A stored document under the name of one of its sources, if its title is that of a file that it has lost (or all)."""
    titles = list(map(title_of, sources))
    lost = {*map(title_of, {*before.sources}.difference(sources))}
    if not titles or before.title in titles or (before.sources and before.title not in lost):
        return None
    [document] = snapshot.documents([before.id])
    return replace(document, title=titles[0], sources=tuple(sources)) if is_titled_by_file(document) else None


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
    """Remove documents that a user names by id, path, folder or title. One that is named by a path stays if it has other sources
    whose files exist.
    Raises: UsageError: a name fits no document, a title fits several, or a name is a title and a folder; nothing is written.
    """
    snapshot = writer.snapshot()
    already_removed: list[Withdrawn] = []
    lost: dict[DocumentEntry, list[str]] = {}
    for name in dict.fromkeys(names):
        try:
            for entry, source in _places(snapshot, name):
                lost.setdefault(entry, []).append(source)
        except UnknownName:
            if not writer.documents.was_removed([name, _resolved(name)]):
                raise
            already_removed.append(Withdrawn("", name, (), ()))
    withdrawn, renamed = list[Withdrawn](), list[Document]()
    for entry, named in lost.items():
        kept = tuple(source for source in entry.sources if source not in named)
        if all(map(is_gone, kept)):
            kept = ()
        gone = tuple(source for source in entry.sources if source not in kept)
        withdrawn.append(Withdrawn(entry.id, entry.title, gone, kept))
        if kept:
            writer.documents.place(entry.number, replace(entry, sources=kept))
            renamed += [document for document in [_renamed(entry, kept, snapshot)] if document]
            writer.documents.note_removed(gone)
    # These may be a title, or a file of several lines.
    writer.documents.note_removed([one for name in names for one in (name, _resolved(name))])
    leaving = [document.id for document in withdrawn if not document.left]
    writer.remove_documents([*leaving, *(document.id for document in renamed)])
    writer.put_documents(renamed)
    return [*withdrawn, *already_removed]


def named(snapshot: Snapshot, name: str) -> set[str]:
    """The ids of the documents with this id, path, folder or title. Raises: UsageError: as `withdraw`."""
    return {entry.id for entry, _ in _places(snapshot, name)}


class UnknownName(UsageError):
    """A name fits no document."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no document {name!r} in this index. `hoptrail show` lists titles and files.")


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


def _places(snapshot: Snapshot, given_name: str) -> list[tuple[DocumentEntry, str]]:
    """The documents and their sources that a name stands for. The path of a JSONL file stands for all its lines, that of a folder
    for all documents below, and one that a document had before it was moved for that document.
    """
    path = _resolved(given_name)
    name = given_name if _is_text(given_name) else path
    if not _is_text(name) or not name:  # an empty name would be that of the current folder
        raise UnknownName(given_name)
    if by_id := [(entry, source) for entry in snapshot.register.of([name]) for source in entry.sources]:
        return by_id
    entries = snapshot.register.at([name, path])
    for source in (name, path):
        if by_source := [(entry, source) for entry in entries if source in entry.sources]:
            return by_source
    inside = f"{path.rstrip('/')}/"  # of a folder; or a line of a JSONL file
    below = {it for it in snapshot.register.sources_under(path) if file_of(it) == path or it.startswith(inside)}
    entries = snapshot.register.titled([name])
    if below and entries and not name.endswith("/"):
        raise UsageError(
            f"{name!r} is a title and also a folder: name the folder as {name}/, or the document by its id."
        )
    if below:
        return [(entry, source) for entry in snapshot.register.at(below) for source in entry.sources if source in below]
    if not entries and is_gone(path):
        entries = snapshot.register.at([path], formerly=True)
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
