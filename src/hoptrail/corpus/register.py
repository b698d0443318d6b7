"""Which document was read from which source, and updating that.

The same content at two sources is one document with two sources; its date is that of the one read last. A source holds one
document at a time: when another one is read there, the earlier document loses that source. A document without sources is
removed. The same holds for lines that are no longer in their JSONL file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import normpath
from pathlib import Path

from hoptrail.corpus.documents import DocumentEntry, Documents
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.source_files import file_of, is_gone, title_of
from hoptrail.corpus.writer import Writer
from hoptrail.documents.marks import FileMark
from hoptrail.documents.read_sources import is_titled_by_file
from hoptrail.documents.walking import shown
from hoptrail.errors import UsageError
from hoptrail.types import Document


def clear(writer: Writer, sources: Collection[str], reading: str = "") -> int:
    """Store that there is no document at these sources any more. Returns how many documents have no source left: they stay until
    they are removed, before which nothing may be committed. `reading`: see `SourceChanges.write`.
    """
    changes = SourceChanges(writer)
    changes.look_up(writer.documents.at(sources))
    for source in sources:
        changes.take_from(source, changes.ids_at.get(source, ()))
    left = [id_ for id_, entry in changes.now.items() if not entry.sources]
    vacant = sorted({source for id_ in left for source in changes.stored[id_].sources})
    writer.documents.note_removed([*vacant, *map(file_of, vacant)])
    changes.write({}, reading)
    return len(left)


class SourceChanges:
    """Changes of the sources of some documents, which are looked up first."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.stored: dict[str, DocumentEntry] = {}  # the documents by id as they were
        self.now: dict[str, DocumentEntry | Document] = {}
        """The documents by id as they will be; new ones are Documents."""
        self.ids_at: dict[str, set[str]] = {}  # the documents at each source

    def look_up(self, stored: Iterable[DocumentEntry]) -> None:
        for entry in stored:
            self.now[entry.id] = self.stored[entry.id] = entry
            for source in entry.sources:
                self.ids_at.setdefault(source, set()).add(entry.id)

    def put(self, document: Document) -> None:
        """Make a document, new or not, the only one at its sources, beside those that it has."""
        entry = self.now.get(document.id, document)
        sources = tuple(sorted({*document.sources, *entry.sources}))
        self.now[document.id] = replace(entry, sources=sources, date=document.date, date_from=document.date_from)
        for source in document.sources:
            self.take_from(source, self.ids_at.get(source, set()) - {document.id})
            self.ids_at[source] = {document.id}

    def take_from(self, source: str, ids: Iterable[str]) -> None:
        for id_ in ids:
            entry = self.now[id_]
            self.now[id_] = replace(entry, sources=tuple(other for other in entry.sources if other != source))

    def write(self, marks: Mapping[str, FileMark], reading: str) -> list[str]:
        """Write what has changed, with the marks of files and the way in which they were read. Returns the ids of new documents,
        and of those that have a new title with the name of their file.
        """
        documents = self._writer.documents
        new = [entry for entry in self.now.values() if isinstance(entry, Document)]
        known = (entry for entry in self.now.values() if isinstance(entry, DocumentEntry))
        changed = [entry for entry in known if entry != self.stored[entry.id]]
        self._writer.put_documents(new)
        for entry in sorted(changed, key=lambda entry: entry.number):
            documents.place(entry.number, entry)
        renamed = [it for entry in changed if (it := _renamed(self.stored[entry.id], entry.sources, documents))]
        moved = documents.files([source for it in renamed for source in it.sources], reading)
        self._writer.remove_documents([document.id for document in renamed])
        self._writer.put_documents(renamed)
        documents.put_files({**marks, **moved}, reading)
        return [document.id for document in (*new, *renamed)]


def _renamed(before: DocumentEntry, sources: Sequence[str], stored: Documents) -> Document | None:
    """A stored document under the name of one of its sources, if its title is that of a file that it has lost (or all)."""
    titles = list(map(title_of, sources))
    lost = {*map(title_of, {*before.sources}.difference(sources))}
    if not titles or before.title in titles or (before.sources and before.title not in lost):
        return None
    [document] = stored.read([before.id])
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
    already_removed: list[Withdrawn] = []
    lost: dict[DocumentEntry, list[str]] = {}
    for name in dict.fromkeys(names):
        try:
            for entry, source in _places(writer.documents, name):
                lost.setdefault(entry, []).append(source)
        except UnknownName:
            if not writer.documents.was_removed([name, *_paths(name)]):
                raise
            already_removed.append(Withdrawn("", name, (), ()))
    withdrawn: list[Withdrawn] = []
    for entry, named in lost.items():
        kept = tuple(source for source in entry.sources if source not in named)
        if all(map(is_gone, kept)):
            kept = ()
        gone = tuple(source for source in entry.sources if source not in kept)
        withdrawn.append(Withdrawn(entry.id, entry.title, gone, kept))
    clear(writer, [source for document in withdrawn for source in document.lost])
    # These may be a title, or a file of several lines.
    writer.documents.note_removed([one for name in names for one in (name, *_paths(name))])
    writer.remove_documents([document.id for document in withdrawn if not document.left])
    return [*withdrawn, *already_removed]


def named(snapshot: Snapshot, name: str) -> set[str]:
    """The ids of the documents with this id, path, folder or title. Raises: UsageError: as `withdraw`."""
    return {entry.id for entry, _ in _places(snapshot.register, name)}


class UnknownName(UsageError):
    """A name fits no document."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no document {name!r} in this index. `hoptrail show` lists titles and files.")


def _places(documents: Documents, given_name: str) -> list[tuple[DocumentEntry, str]]:
    """The documents and their sources that a name stands for. The path of a JSONL file stands for all its lines, that of a folder
    for all documents below, and one that a document had before it was moved for that document.
    """
    paths = _paths(given_name)
    name = given_name if _is_text(given_name) else paths[-1]
    if not _is_text(name) or not name:  # an empty name would be that of the current folder
        raise UnknownName(given_name)
    if by_id := [(entry, source) for entry in documents.of([name]) for source in entry.sources]:
        return by_id
    entries = documents.at([name, *paths])
    for source in (name, *paths):
        if by_source := [(entry, source) for entry in entries if source in entry.sources]:
            return by_source
    below = _sources_below(documents, paths, lines=not name.endswith("/"))
    entries = documents.titled([name])
    if below and entries and not name.endswith("/"):
        raise UsageError(
            f"{name!r} is a title and also a folder: name the folder as {name}/, or the document by its id."
        )
    if below:
        return [(entry, source) for entry in documents.at(below) for source in entry.sources if source in below]
    if not entries and is_gone(paths[-1]):
        entries = documents.at(paths[-1:], formerly=True)
    if len(entries) > 1:
        ids = ", ".join(entry.id for entry in entries[:10])
        raise UsageError(f"{len(entries)} documents have the title {name!r}: name one by its id: {ids}.")
    if not entries:
        raise UnknownName(name)
    return [(entry, source) for entry in entries for source in entry.sources]


def _sources_below(documents: Documents, paths: Collection[str], *, lines: bool) -> set[str]:
    """The lines of the JSONL files at these paths, if `lines` are asked for and there are any, else what folders there hold. A
    folder may have taken the name of a file whose lines are still in the index.
    """
    found = [(path, source) for path in paths for source in documents.sources_under(path)]
    of_files = {source for path, source in found if file_of(source) == path} if lines else set()
    return of_files or {source for path, source in found if source.startswith(f"{path.rstrip('/')}/")}


def _is_text(name: str) -> bool:
    """Whether a name can be in an index. A shell argument that is not valid Unicode cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _paths(name: str) -> list[str]:
    """The source strings of a path: as it is written, because a link that is followed is a source under its own path, and where
    it leads. The name itself where it cannot be a path (a title may contain anything).
    """
    try:
        path = Path(name).expanduser()
        return [shown(Path(normpath(path.absolute()))), shown(path.resolve())]
    except (OSError, RuntimeError, ValueError):
        return [name]
