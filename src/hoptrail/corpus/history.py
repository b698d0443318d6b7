"""The answers that a server keeps for its clients, in `history.sqlite`, with the documents that they came from.

An answer that came from a document which is no longer in the index is erased with that document's text: `Index` asks for it
wherever text is erased. An answer that goes on from such a one names what that found, so it is erased, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import apsw

from hoptrail.corpus.database import Row
from hoptrail.corpus.journal import transaction
from hoptrail.corpus.places import HISTORY

KEPT = 2000
"""Answers that are kept for one client: the oldest go first."""

_TABLES = """
CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, thread TEXT NOT NULL,
    at TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL
) STRICT;
CREATE TABLE cited (answer INTEGER NOT NULL REFERENCES answers (number) ON DELETE CASCADE, document TEXT NOT NULL) STRICT;
CREATE INDEX answers_by_thread ON answers (client, thread);
CREATE INDEX cited_by_answer ON cited (answer);
"""

_COLUMNS = "id, client, thread, at, name, content"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer of the thread that began with the answer `thread`. `at` is the time in ISO form, `name` what it is called, and
    `content` the answer as JSON.
    """

    id: str
    client: str
    thread: str
    at: str
    name: str
    content: str


class History:
    """The kept answers of the index in a folder. All methods raise StorageError and IndexDamaged; nothing is written then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def exists(self) -> bool:
        """Whether an answer was ever kept; asking creates no file."""
        return (self._folder / HISTORY).exists()

    def keep(self, answer: KeptAnswer, documents: Collection[str]) -> None:
        """Keep an answer that came from these documents, and from those of the earlier answers of its thread."""
        with self._writing() as connection:
            values = (answer.id, answer.client, answer.thread, answer.at, answer.name, answer.content)
            connection.execute(f"INSERT INTO answers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", values)
            number = connection.last_insert_rowid()
            before = "SELECT document FROM cited, answers WHERE answer = number AND client = ? AND thread = ?"
            earlier = {str(one) for (one,) in connection.execute(before, (answer.client, answer.thread))}
            rows = [(number, document) for document in sorted(earlier.union(documents))]
            connection.executemany("INSERT INTO cited VALUES (?, ?)", rows)
            oldest = "SELECT number FROM answers WHERE client = ? ORDER BY number DESC LIMIT -1 OFFSET ?"
            connection.execute(f"DELETE FROM answers WHERE number IN ({oldest})", (answer.client, KEPT))

    def threads(self, client: str, words: str = "") -> list[KeptAnswer]:
        """The first answer of each thread of a client, newest first; only threads in which each of the `words` occurs."""
        where = " AND ".join(
            ["client = ?", *("(instr(lower(name), ?) OR instr(lower(content), ?))" for _ in words.split())]
        )
        values = [client, *(word for one in words.lower().split() for word in (one, one))]
        found = f"SELECT thread FROM answers WHERE {where}"
        first = f"SELECT min(number) FROM answers WHERE client = ? AND thread IN ({found}) GROUP BY thread"
        sql = f"SELECT {_COLUMNS} FROM answers WHERE number IN ({first}) ORDER BY number DESC"
        return [KeptAnswer(*map(str, row)) for row in self._rows(sql, (client, *values))]

    def owns(self, client: str, thread: str) -> bool:
        """Whether a client has kept a thread of this id."""
        return bool(self._rows("SELECT 1 FROM answers WHERE client = ? AND id = ?", (client, thread)))

    def turns(self, name: str) -> list[tuple[KeptAnswer, frozenset[str]]]:
        """The answer with this id preceded by the earlier ones of its thread, each with the documents that it came from."""
        cited = "(SELECT json_group_array(document) FROM cited WHERE answer = number)"
        last = "(SELECT number AS last, client, thread FROM answers WHERE id = ?)"
        sql = f"SELECT {_COLUMNS}, {cited} FROM answers JOIN {last} USING (client, thread) WHERE number <= last ORDER BY number"
        return [(KeptAnswer(*map(str, row)), frozenset(json.loads(found))) for *row, found in self._rows(sql, (name,))]

    def rename(self, client: str, thread: str, name: str) -> bool:
        """Give a thread another name. Returns False if there is none."""
        return self._changed("UPDATE answers SET name = ? WHERE client = ? AND id = ?", (name, client, thread))

    def delete(self, client: str, threads: Sequence[str] | None = None) -> bool:
        """Erase threads of a client, by default all. Returns False if there is none of them."""
        if threads is None:
            return self._changed("DELETE FROM answers WHERE client = ?", (client,))
        marks = ", ".join("?" * len(threads))
        return self._changed(f"DELETE FROM answers WHERE client = ? AND thread IN ({marks})", (client, *threads))

    def documents(self) -> set[str]:
        """All documents from which kept answers came."""
        return {str(document) for (document,) in self._rows("SELECT DISTINCT document FROM cited")}

    def forget(self, documents: Collection[str]) -> None:
        """Erase the answers that came from one of these documents."""
        if documents:
            with self._writing() as connection:
                cited = "DELETE FROM answers WHERE number IN (SELECT answer FROM cited WHERE document = ?)"
                connection.executemany(cited, [(document,) for document in documents])

    def _rows(self, sql: str, values: Sequence[str] = ()) -> list[Row]:
        if not self.exists:
            return []
        with self._writing() as connection:
            return connection.execute(sql, values).fetchall()

    def _changed(self, sql: str, values: Sequence[str]) -> bool:
        if not self.exists:
            return False
        with self._writing() as connection:
            connection.execute(sql, values)
            return connection.changes() > 0

    def _writing(self) -> AbstractContextManager[apsw.Connection]:
        return transaction(self._folder, HISTORY, _TABLES)
