"""Writing documents: their text, blocks and sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hoptrail.corpus import rows
from hoptrail.corpus.connection import text_array
from hoptrail.corpus.database import Database
from hoptrail.corpus.numbering import next_number
from hoptrail.documents.marks import FileMark
from hoptrail.types import Document


class DocumentWriter:
    """The documents of a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, documents: Iterable[Document]) -> None:
        """Documents that are new, or have other sources or another date than before."""
        for document in documents:
            found = self._database.one("SELECT number FROM documents WHERE id = ?", document.id)
            number = int(found[0]) if found else next_number(self._database, "documents")
            if found is None:
                self._database.run(
                    "INSERT INTO documents (number, id, title, text, sentence_ends, notes, date, date_from) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    *rows.document_row(number, document),
                )
                self._database.run_each(
                    "INSERT INTO blocks (document, start, packed) VALUES (?, ?, ?)", rows.block_rows(number, document)
                )
            else:
                self._database.run(
                    "UPDATE documents SET date = ?, date_from = ? WHERE number = ?",
                    *(document.date, document.date_from, number),
                )
            self._database.run("DELETE FROM sources WHERE document = ?", number)
            self._database.run_each(
                "INSERT INTO sources (source, document) VALUES (?, ?)",
                [(source, number) for source in dict.fromkeys(document.sources)],
            )
            self._database.run(
                "DELETE FROM files WHERE document = ?1 AND path NOT IN (SELECT source FROM sources WHERE document = ?1)",
                number,
            )

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """How files are known again at which a document stands, and in which way they were read."""
        self._database.run_each(
            "INSERT OR REPLACE INTO files (path, document, size, modified, changed, digest, reading) "
            "SELECT ?1, document, ?2, ?3, ?4, ?5, ?6 FROM sources WHERE source = ?1",
            [(path, one.size, one.modified, one.changed, one.digest, reading) for path, one in files.items()],
        )

    def remove(self, ids: Collection[str]) -> None:
        """Documents that no unit is made from any more."""
        for id_ in ids:
            for table, column in (
                ("blocks", "document"),
                ("sources", "document"),
                ("files", "document"),
                ("documents", "number"),
            ):
                self._database.run(
                    f"DELETE FROM {table} WHERE {column} = (SELECT number FROM documents WHERE id = ?)", id_
                )

    def numbers(self, ids: Collection[str]) -> Mapping[str, int]:
        """The number of each document that units are made from.

        Raises:
            KeyError: there is no such document.
        """
        found: dict[str, int] = dict(
            self._database.rows(
                "SELECT d.id, d.number FROM carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)",
                text_array(ids),
            )
        )
        if lacking := sorted(set(ids) - found.keys()):
            raise KeyError(f"units are made from documents that are not stored: {', '.join(lacking[:5])}")
        return found
