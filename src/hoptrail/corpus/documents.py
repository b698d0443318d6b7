"""The documents of an index: looking them up by id, title or source, and writing them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hoptrail.corpus import rows
from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.database import Database, Value
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.corpus.sums import checksum_of
from hoptrail.documents.blocks import pack
from hoptrail.documents.marks import FileMark
from hoptrail.types import Document


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document without its text."""

    number: int
    id: str
    title: str
    sources: tuple[str, ...]
    date: str = ""
    date_from: str = ""


@dataclass(frozen=True, slots=True)
class Sizes:
    documents: int
    characters: int
    sentences: int


class Documents:
    def __init__(self, database: Database) -> None:
        self._database = database

    def __len__(self) -> int:
        return int(*self._database.column("SELECT count(*) FROM documents"))

    def read(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Whole documents as a stream, by number: all, or those of `ids` that exist."""
        if ids is None:
            numbers = self._database.column("SELECT number FROM documents ORDER BY number")
        else:
            numbers = sorted(entry.number for entry in self.of(ids))
        return rows.documents(self._database, numbers)

    @cached_property
    def entries(self) -> tuple[DocumentEntry, ...]:
        """Every document without its text, by id."""
        return tuple(self._entries("SELECT number FROM documents"))

    def of(self, ids: Collection[str]) -> list[DocumentEntry]:
        """The documents with these ids that exist, by id."""
        return self._entries(_matching("documents", "number", "id"), ids)

    def at(self, sources: Collection[str], *, formerly: bool = False) -> list[DocumentEntry]:
        """The documents that were read at one of these sources, by id; or `formerly`, before they were moved."""
        return self._entries(_matching("former" if formerly else "sources", "document", "source"), sources)

    def at_several(self) -> list[DocumentEntry]:
        return self._entries("SELECT document FROM sources GROUP BY document HAVING count(*) > 1")

    def sources_under(self, start: str) -> Iterator[str]:
        """The sources that start with `start`, in order, as a stream."""
        sql = "SELECT DISTINCT source FROM sources WHERE source >= ?1 AND source < ?1 || char(1114111) ORDER BY source"
        return (source for (source,) in self._database.each(sql, start))

    def files(self, paths: Collection[str], reading: str = "") -> dict[str, FileMark]:
        """The marks of these files, of those whose document is still there and, if given, that were read in the way `reading`."""
        marks = self._database.rows(
            "SELECT f.path, f.size, f.modified, f.changed, f.digest FROM carray(?) c CROSS JOIN files f "
            "ON f.path = CAST(c.value AS TEXT) JOIN sources s ON s.source = f.path AND s.document = f.document "
            "WHERE ? IN ('', f.reading)",
            *(paths, reading),
        )
        return {path: FileMark(*mark) for path, *mark in marks}

    def titled(self, titles: Collection[str]) -> list[DocumentEntry]:
        """The documents with exactly one of these titles, by id."""
        return self._entries(_matching("documents", "number", "title"), titles)

    def unsourced(self) -> list[str]:
        sql = "SELECT id FROM documents WHERE number NOT IN (SELECT document FROM sources) ORDER BY number"
        return self._database.column(sql)

    def unread(self) -> dict[str, str]:
        """Unread files of the last run over their folder, and folders (with a slash at the end), with reasons, by path."""
        if not self._database.rows("SELECT 1 FROM main.sqlite_schema WHERE name = 'unread'"):
            return {}  # an index of an earlier version, before it is written
        return dict(self._database.rows("SELECT path, reason FROM unread ORDER BY path"))

    def sizes(self, ids: Collection[str] | None = None) -> Sizes:
        among, values = rows.among_documents(ids)
        sql = f"SELECT count(*), total(length(d.text)), total(length(d.sentence_ends) / 4) FROM {among}"
        [totals] = self._database.rows(sql, *values)
        return Sizes(*map(int, totals))

    def ids(self, numbers: Numbers | None = None) -> list[str]:
        """The ids of all documents, by number; or of those with these numbers, in their order."""
        if numbers is None:
            return self._database.column("SELECT id FROM documents ORDER BY number")
        return rows.ids_of(self._database, "documents", numbers)

    def _entries(self, numbers: str, *values: Value) -> list[DocumentEntry]:
        sources = "SELECT json_group_array(source ORDER BY source) FROM sources WHERE document = d.number"
        sql = f"SELECT d.number, d.id, d.title, ({sources}), d.date, d.date_from FROM documents d WHERE d.number IN ({numbers})"
        return [
            DocumentEntry(number, id_, title, tuple(json.loads(found)), *dates)
            for number, id_, title, found, *dates in self._database.rows(f"{sql} ORDER BY d.id", *values)
        ]


def _matching(table: str, number: str, column: str) -> str:
    """SQL for the numbers of the documents of the rows of a table with one of some texts in a column."""
    return f"SELECT t.{number} FROM carray(?) c CROSS JOIN {table} t ON t.{column} = CAST(c.value AS TEXT)"


_MOST_REMOVALS = 10_000
"""Names of removed documents that are kept, the latest: as digests, so that a removal that is repeated can be told from a wrong
name, and no name is kept.
"""


class DocumentWriter(Documents):
    def __init__(self, segments: SegmentWriter) -> None:
        super().__init__(segments.database)
        self._segments = segments
        self.has_files = False  # whether marks of files were written

    def put(self, documents: Collection[Document]) -> set[str]:
        """Add documents, or update the sources and the date of those that are stored. Returns the ids of the new ones."""
        numbers = rows.numbers_by_id(self._database, "documents", [document.id for document in documents])
        new = {document.id: document for document in documents if document.id not in numbers}
        first = rows.next_number(self._database, "documents")
        numbers |= {id_: number for number, id_ in enumerate(new, first)}
        self._database.insert("documents", (_row(numbers[id_], document) for id_, document in new.items()))
        blocks = ((numbers[id_], block) for id_, document in new.items() for block in document.blocks)
        self._database.insert("blocks", ((number, block.start, pack((block,))) for number, block in blocks))
        for document in documents:
            self.place(numbers[document.id], document)
        return set(new)

    def place(self, number: int, given: Document | DocumentEntry) -> None:
        self._segments.changed = True
        checksum = checksum_of("documents").replace("date, date_from", "?1, ?2")
        sql = f"UPDATE documents SET date = ?1, date_from = ?2, checksum = {checksum} WHERE number = ?3"
        self._database.run(sql, given.date, given.date_from, number)
        self._database.run("DELETE FROM sources WHERE document = ?", number)
        self._database.run_each(
            "INSERT INTO sources (source, document) VALUES (?, ?)",
            [(source, number) for source in dict.fromkeys(given.sources)],
        )
        self._database.run(
            "DELETE FROM files WHERE document = ?1 AND path NOT IN (SELECT source FROM sources WHERE document = ?1)",
            number,
        )

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """Store the marks of files that hold a document, which are no change for readers, and the way in which they were read."""
        self.has_files |= bool(files)
        self._database.run_each(
            "INSERT OR REPLACE INTO files (path, document, size, modified, changed, digest, reading) "
            "SELECT ?1, document, ?2, ?3, ?4, ?5, ?6 FROM sources WHERE source = ?1",
            [(path, mark.size, mark.modified, mark.changed, mark.digest, reading) for path, mark in files.items()],
        )

    def put_moves(self, moved: Iterable[tuple[str, str]]) -> None:
        """Note former sources of documents, each with an id, so that these are found by them."""
        sql = "INSERT OR REPLACE INTO former (source, document) SELECT ?, number FROM documents WHERE id = ?"
        self._database.run_each(sql, moved)

    def put_unread(self, places: Collection[str], files: Mapping[str, str]) -> None:
        """Replace what is known about unread files in `places` (files or folders) by `files`, with reasons."""
        below = tuple(f"{place.rstrip('/')}/" for place in places)

        def among(found: Mapping[str, str]) -> dict[str, str]:
            return {path: reason for path, reason in found.items() if path in places or path.startswith(below)}

        before, now = among(self.unread()), among(files)
        if before != now:
            self._segments.changed = True
            self._database.run_each("DELETE FROM unread WHERE path = ?", [(path,) for path in before])
            self._database.run_each("INSERT INTO unread (path, reason) VALUES (?, ?)", list(now.items()))

    def note_removed(self, names: Iterable[str]) -> None:
        """Enter names by which a document can no longer be found (`was_removed`)."""
        digests = [(_digest(name),) for name in dict.fromkeys(names)]
        self._database.run_each("INSERT OR REPLACE INTO removals (digest) VALUES (?)", digests[-_MOST_REMOVALS:])
        latest = "DELETE FROM removals WHERE rowid <= (SELECT max(rowid) FROM removals) - ?"
        self._database.run(latest, _MOST_REMOVALS)

    def was_removed(self, names: Iterable[str]) -> bool:
        sql = "SELECT 1 FROM removals WHERE digest = ?"
        return any(self._database.rows(sql, _digest(name)) for name in names)

    def remove(self, ids: Collection[str]) -> None:
        """Remove documents that no unit is made from any more."""
        self._segments.changed = True
        numbers = rows.numbers_by_id(self._database, "documents", ids).values()
        for table in ("blocks", "sources", "files", "former"):
            self._database.delete(table, "document", numbers)
        self._database.delete("documents", "number", numbers)


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:16]


def _row(number: int, document: Document) -> tuple[int | str | bytes, ...]:
    ends, notes = rows.packed_ends(document.sentence_ends), json.dumps(document.notes, ensure_ascii=False)
    return number, document.id, document.title, document.text, ends, notes, document.date, document.date_from
