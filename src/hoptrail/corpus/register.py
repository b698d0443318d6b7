"""Which document was read from which source, and what follows when that changes.

The same content at two sources is one document with two sources; its date is that of the one read last. A source holds one
document at a time: when something else is read there, the document before loses that source, and a document that has lost its
last source goes. So do lines of a JSONL file that are no longer in it.

The source of an upload is its path within the index folder, so that a folder that was moved or restored still knows it.
"""

from __future__ import annotations

import hashlib
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
from hoptrail.execution.executor import batched
from hoptrail.types import Document

BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 4_000_000
"""Documents are stored in batches of at most this many, or about this many characters: what reading holds in memory."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What became of documents that were read."""

    new: tuple[Document, ...]
    """Those that are not stored yet."""
    added: int
    """How many of the new stand where nothing stood."""
    updated: int
    """How many stand where another one stood."""
    unchanged: int
    repeated: tuple[str, ...]
    """Sources that had given another document before, in the same run; that one is kept."""


class Register:
    """For one run of reading. Changes are gathered and written together. `index` is the index folder."""

    def __init__(self, writer: Writer, index: Path, findings: Findings | None = None, reading: str = "") -> None:
        """`findings` of what is read, and in which way it is read: so that the files are known again."""
        self._writer = writer
        self._home = f"{shown(index.resolve())}/"
        self._findings, self._reading = findings or Findings(), reading
        self._marks: dict[str, FileMark] = {}
        """Of files whose documents are noted."""
        self._read: set[str] = set()
        """Sources that were read in this run."""
        self._noted = _Noted()
        self._replaced: set[str] = set()
        """Documents in whose place another was read, and of which that is still to be written; `_replacing` are the others."""
        self._replacing: set[str] = set()
        self.withdrawn = 0
        """How many documents have lost their last source, and none was read in their place."""
        self._gained: set[str] = set()
        """Documents that were stored and have been read at a further source."""

    def enter(self, documents: Sequence[Document]) -> Entered:
        """Note that each of these documents, and no other, now stands at its sources, for `write`."""
        noted = self._noted
        documents = self._uploads_within(documents)
        self._look_up(documents)
        new: list[Document] = []
        repeated: list[str] = []
        added = updated = 0
        for document in documents:
            source = document.sources[0]
            if source in self._read and not noted.stands(document.id, source):
                repeated.append(source)
                continue
            self._read.add(source)
            if mark := self._findings.marks.pop(source, None):
                self._marks[source] = mark
            stood = noted.at(source)
            is_new = noted.enter(document)
            if is_new:
                new.append(document)
            if not stood:
                added += is_new
                if not is_new:
                    self._gained.add(document.id)
            elif document.id not in stood:
                updated += 1
                self._replaced.update(stood)
                self._replacing.add(document.id)
        noted.forget_unchanged()
        unchanged = len(documents) - added - updated - len(repeated)
        return Entered(tuple(new), added, updated, unchanged, tuple(repeated))

    def gone(self, folder: str) -> list[str]:
        """The sources in a folder (a source string) whose files are no longer there; of places closed to us nothing is known."""
        closed = tuple(f"{place}/" for place in self._findings.closed)
        start = f"{folder.rstrip('/')}/"
        return [
            source
            for source in self._writer.snapshot().register.sources_under(start)
            if not _is_in(source, self._findings.seen) and not f"{source}/".startswith(closed)
        ]

    def moved(self, sources: Sequence[str]) -> int:
        """How many of the documents at these sources have been read at a further one in this run."""
        return sum(entry.id in self._gained for entry in self._writer.snapshot().register.at(sources))

    def _uploads_within(self, documents: Sequence[Document]) -> list[Document]:
        """The documents; uploads with their paths within the index folder, in place of whole paths of earlier versions."""
        uploads = f"{self._home}{UPLOADS}/"
        self.clear([source for document in documents for source in document.sources if source.startswith(uploads)])
        return [
            replace(document, sources=tuple(source.removeprefix(self._home) for source in document.sources))
            if document.sources[0].startswith(uploads)
            else document
            for document in documents
        ]

    def unread(self, files: Collection[str]) -> Iterator[str]:
        """The sources of lines that these JSONL files have had, but not in this run."""
        snapshot = self._writer.snapshot()
        for file in sorted(files):
            lines = f"{file}#"
            for entry in snapshot.register.under(lines):
                yield from (source for source in entry.sources if source.startswith(lines) and source not in self._read)

    def clear(self, sources: Sequence[str]) -> None:
        """Note that nothing stands at these sources any more, for `write`."""
        self._noted.remember(self._writer.snapshot().register.at(sources))
        for source in sources:
            self._replaced.difference_update(self._noted.at(source))
            self._noted.clear(source)

    def redate(self, days: Mapping[str, str]) -> None:
        """Note the days of the times of files that were not read again, by their sources, for `write`."""
        self._noted.remember(self._writer.snapshot().register.at(days))
        for source, day in days.items():
            self._noted.redate(source, day)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many documents there is something to write of, and how many characters the new ones have."""
        return len(self._noted), sum(len(document.text) for document in self._noted.new.values())

    def write(self) -> list[str]:
        """Store the new documents and all that has been noted; the ids of the new that replace none. Documents without a source
        stay until `remove_unsourced`, so that they are found until what replaces them is. The state may be committed.
        """
        new = [document for document in self._noted.new if document not in self._replacing]
        gone = self._noted.write(self._writer, keep=True)
        self._writer.put_files(self._marks, self._reading)
        self._marks = {}
        self.withdrawn += len(gone - self._replaced)
        self._noted, self._replaced, self._replacing = _Noted(), set(), set()
        return new

    def _look_up(self, documents: Sequence[Document]) -> None:
        """What is stored of these documents, and of others at their sources."""
        noted, snapshot = self._noted, self._writer.snapshot()
        noted.remember(snapshot.register.of([document.id for document in documents]))
        elsewhere = [source for document in documents for source in document.sources if not noted.knows(source)]
        noted.remember(snapshot.register.at(elsewhere))


def remove_unsourced(writer: Writer) -> None:
    """Remove the documents that have no source left, also those that a stopped run has left."""
    gone = writer.snapshot().register.unsourced()
    if gone:
        writer.remove_documents(gone)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What became of a document that was meant: it is no longer read from `lost`, still from `left`; without any left it went.
    One that the removal right before had removed by the same name has no id, and that name as its title.
    """

    id: str
    title: str
    lost: tuple[str, ...]
    left: tuple[str, ...]


def withdraw(writer: Writer, names: Iterable[str]) -> list[Withdrawn]:
    """Take documents away that a user means by ids, paths or titles. One that is named by a path stays where it has others.

    Raises:
        UsageError: a name fits no document, or a title fits several; nothing is written then.
    """
    snapshot, noted = writer.snapshot(), _Noted()
    done: list[str] = []
    places: list[tuple[DocumentEntry, str]] = []
    for name in names:
        try:
            places += _places(snapshot, name)
        except UnknownName:
            if removal_mark(name) not in snapshot.head.removed:
                raise
            done.append(name)
    entries = {entry.id: entry for entry, _ in places}
    noted.remember(entries.values())
    lost: dict[str, set[str]] = {name: set() for name in entries}
    for entry, source in places:
        noted.withdraw(entry.id, source)
        lost[entry.id].add(source)
    noted.write(writer)
    return [_withdrawn(entry, lost[entry.id]) for entry in entries.values()] + [
        Withdrawn("", name, (), ()) for name in dict.fromkeys(done)
    ]


def removal_mark(name: str) -> str:
    """A digest of a name that a user gives, and of the path that it means here."""
    return hashlib.sha256(f"{name}\0{_resolved(name)}".encode(errors="surrogatepass")).hexdigest()[:32]


class UnknownName(UsageError):
    """A name fits no document."""


def _withdrawn(entry: DocumentEntry, lost: Collection[str]) -> Withdrawn:
    left = tuple(source for source in entry.sources if source not in lost)
    return Withdrawn(entry.id, entry.title, tuple(source for source in entry.sources if source in lost), left)


class _Noted:
    """Some documents of the store and where they stand, with changes that are not written yet."""

    def __init__(self) -> None:
        self._entries: dict[str, DocumentEntry] = {}
        self._before: dict[str, DocumentEntry] = {}
        """What is written of the documents that something has been noted of."""
        self._documents_at: dict[str, tuple[str, ...]] = {}
        self.new: dict[str, Document] = {}
        """Documents that are not stored, by their ids."""

    def remember(self, stored: Iterable[DocumentEntry]) -> None:
        for entry in stored:
            if entry.id not in self._entries:
                self._entries[entry.id] = entry
                for source in entry.sources:
                    self._documents_at[source] = (*self._documents_at.get(source, ()), entry.id)

    def __len__(self) -> int:
        return len(self._entries)

    def knows(self, source: str) -> bool:
        """Whether all that stands at a source is known."""
        return source in self._documents_at

    def at(self, source: str) -> tuple[str, ...]:
        """Ids of the documents at a source."""
        return self._documents_at.get(source, ())

    def stands(self, document: str, source: str) -> bool:
        return document in self.at(source)

    def forget_unchanged(self) -> None:
        """Of what stands as it is written nothing need be held."""
        changed = {name for name, before in self._before.items() if before != self._entries[name]}
        for name in self._entries.keys() - changed - self.new.keys():
            for source in self._entries.pop(name).sources:
                self._documents_at.pop(source, None)
            self._before.pop(name, None)

    def enter(self, document: Document) -> bool:
        """Note that this document, and no other, now stands at its sources. True if it is not stored."""
        known = self._entries.get(document.id)
        sources = tuple(sorted({*document.sources, *(known.sources if known else ())}))
        if known:
            self._before.setdefault(document.id, known)
        else:
            self.new[document.id] = document
        entry = known or DocumentEntry(0, document.id, document.title, ())
        self._entries[document.id] = replace(entry, sources=sources, date=document.date, date_from=document.date_from)
        for source in document.sources:
            for other in self._documents_at.get(source, ()):
                if other != document.id:
                    self.withdraw(other, source)
            self._documents_at[source] = (document.id,)
        return known is None

    def withdraw(self, document: str, source: str) -> None:
        """Note that a document no longer stands at a source."""
        entry = self._entries[document]
        self._before.setdefault(document, entry)
        self._entries[document] = replace(entry, sources=tuple(other for other in entry.sources if other != source))
        self._documents_at[source] = tuple(other for other in self._documents_at[source] if other != document)

    def redate(self, source: str, day: str) -> None:
        """Note the day of a file's time for the document there, if that is where its date is from."""
        for name in self._documents_at.get(source, ()):
            entry = self._entries[name]
            if entry.date_from == FILE_TIME:
                self._before.setdefault(name, entry)
                self._entries[name] = replace(entry, date=day)

    def clear(self, source: str) -> None:
        for document in self._documents_at.get(source, ()):
            self.withdraw(document, source)

    def write(self, writer: Writer, *, keep: bool = False) -> set[str]:
        """Write new documents and all that has been noted; the documents that have no source left. They go, unless they are to
        be kept for now.
        """
        writer.put_documents(self._as_noted(self.new.values()))
        new = self.new.keys()
        gone = {name for name in self._before.keys() | new if not self._entries[name].sources}
        moved = {name for name, before in self._before.items() if before != self._entries[name]} - new
        if not keep:
            moved -= gone
        if moved:
            standing = writer.snapshot().documents(moved)
            for some in batched(standing, BATCH_DOCUMENTS, lambda document: len(document.text), BATCH_CHARACTERS):
                writer.put_documents(self._as_noted(some))
        if gone and not keep:
            writer.remove_documents(gone)
        return gone

    def _as_noted(self, documents: Iterable[Document]) -> list[Document]:
        noted = ((document, self._entries[document.id]) for document in documents)
        return [replace(one, sources=now.sources, date=now.date, date_from=now.date_from) for one, now in noted]


_LINES = re.compile(r"(.+?\.jsonl(?:\.gz)?)#", re.IGNORECASE | re.DOTALL)
"""How the source of a line of a JSONL file begins."""


def file_of(source: str) -> str:
    """The file that a source is in, or is."""
    found = _LINES.match(source)
    return found[1] if found else source


def _is_in(source: str, files: Collection[str]) -> bool:
    """Whether a source is one of these files, or a line of one; names may hold the mark that stands before a line."""
    if source in files:
        return True
    parts = source.split("#")
    return any("#".join(parts[:number]) in files for number in range(1, len(parts)))


def _places(snapshot: Snapshot, given: str) -> list[tuple[DocumentEntry, str]]:
    """The documents, and the sources of each, that a user means. The path of a JSONL file means all of its lines."""
    path = _resolved(given)
    name = given if _is_text(given) else path  # of what is no text, only a path may be known
    if not _is_text(name):
        raise _unknown(given)
    if named := [(entry, source) for entry in snapshot.register.of([name]) for source in entry.sources]:
        return named
    at = snapshot.register.at([name, path])
    for source in (name, path):
        if found := [(entry, source) for entry in at if source in entry.sources]:
            return found
    lines = f"{path}#"
    under = snapshot.register.under(lines)
    return [(entry, source) for entry in under for source in entry.sources if source.startswith(lines)] or [
        (entry, source) for entry in _titled(snapshot, name) for source in entry.sources
    ]


def _titled(snapshot: Snapshot, title: str) -> Sequence[DocumentEntry]:
    found = snapshot.register.titled([title])
    if not found:
        raise _unknown(title)
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} documents have the title {title!r}: name one by its id: {', '.join(entry.id for entry in found[:10])}."
        )
    return found


def _is_text(name: str) -> bool:
    """Whether a name can stand in an index: what a shell gives of bytes that are no Unicode cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown(name: str) -> UnknownName:
    return UnknownName(f"there is no document {name!r} in this index. `hoptrail show` lists ids, titles and paths.")


def _resolved(name: str) -> str:
    """The source string of a path; of what can be no path (a title may hold anything), the name itself."""
    try:
        return shown(Path(name).expanduser().resolve())
    except (OSError, RuntimeError, ValueError):
        return name
