"""Which document was read from which source, and what follows when that changes.

The same content at two sources is one document with two sources. A source holds one document at a time: when something else
is read there, the document before loses that source, and a document that has lost its last source goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.store.snapshot import DocumentEntry
from hoptrail.store.writer import Writer
from hoptrail.types import Document


class Register:
    """Changes are gathered in memory and written by `write`."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._entries = {entry.id: entry for entry in writer.snapshot().entries}
        self._before: dict[str, tuple[str, ...]] = {}
        """The written sources of the documents that something has been noted of."""
        self._documents_at: dict[str, tuple[str, ...]] = {}
        for entry in self._entries.values():
            for source in entry.sources:
                self._documents_at[source] = (*self._documents_at.get(source, ()), entry.id)

    def enter(self, document: Document) -> bool:
        """Note that this document, and no other, now stands at its sources. True if the index does not know it yet."""
        known = self._entries.get(document.id)
        sources = tuple(sorted({*document.sources, *(known.sources if known else ())}))
        if known:
            self._before.setdefault(document.id, known.sources)
        self._entries[document.id] = DocumentEntry(document.id, document.title, sources)
        for source in document.sources:
            for other in self._documents_at.get(source, ()):
                if other != document.id:
                    self.withdraw(other, source)
            self._documents_at[source] = (document.id,)
        return known is None

    def withdraw(self, name: str, source: str) -> None:
        """Note that a document no longer stands at a source."""
        entry = self._entries[name]
        self._before.setdefault(name, entry.sources)
        self._entries[name] = replace(entry, sources=tuple(other for other in entry.sources if other != source))
        self._documents_at[source] = tuple(other for other in self._documents_at[source] if other != name)

    def places(self, name: str) -> list[tuple[DocumentEntry, str]]:
        """The documents, and the sources of each, that a user means by an id, a path or a title.

        The path of a JSONL file means all of its lines.

        Raises:
            UsageError: nothing is called that, or several documents have that title.
        """
        if name in self._entries:
            return self._all_places([name])
        path = _resolved(name)
        for source in (name, path):
            if self._documents_at.get(source):
                return [(self._entries[document], source) for document in sorted(self._documents_at[source])]
        lines = [place for place in self._all_places(sorted(self._entries)) if place[1].startswith(f"{path}#")]
        return lines or self._all_places([self._titled(name)])

    def write(self, documents: Sequence[Document] = ()) -> int:
        """Write new documents and all that has been noted; how many documents went because they have no source left.

        After it, every source has one document, so that a checkpoint here is a state that may be published.
        """
        self._writer.add_documents(self._as_noted(documents))
        new = {document.id for document in documents}
        gone = {name for name in self._before.keys() | new if not self._entries[name].sources}
        moved = {name for name, before in self._before.items() if before != self._entries[name].sources} - gone - new
        if moved:
            self._writer.put_documents(self._as_noted(self._writer.snapshot().documents(moved)))
        if gone:
            self._writer.remove_documents(gone)
        for name in gone:
            del self._entries[name]
        self._before.clear()
        return len(gone)

    def _as_noted(self, documents: Iterable[Document]) -> list[Document]:
        return [replace(document, sources=self._entries[document.id].sources) for document in documents]

    def _all_places(self, names: Iterable[str]) -> list[tuple[DocumentEntry, str]]:
        return [(self._entries[name], source) for name in names for source in self._entries[name].sources]

    def _titled(self, title: str) -> str:
        found = sorted(name for name, entry in self._entries.items() if entry.title == title)
        if not found:
            raise UsageError(
                f"there is no document {title!r} in this index. `hoptrail show` lists ids, titles and paths."
            )
        if len(found) > 1:
            raise UsageError(
                f"{len(found)} documents have the title {title!r}: name one by its id: {', '.join(found[:10])}."
            )
        return found[0]


def _resolved(name: str) -> str:
    """The source string of a path; of what can be no path (a title may hold anything), the name itself."""
    try:
        return Path(name).expanduser().resolve().as_posix()
    except (OSError, RuntimeError, ValueError):
        return name
