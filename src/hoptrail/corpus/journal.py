"""What a server keeps for an index: the jobs that it has accepted, in `jobs.sqlite`, and its answers, in `history.sqlite`.

A job is stored and synced before it is acknowledged. It has a row, and one for each of its documents, which holds what is needed
to index or remove it later; when that is done only ids and outcomes are kept, so that no name of a removed document
remains. Each job has an owner: the process that does it. When an owner has ended, another process takes its jobs over.

Answers are kept with the documents that they came from. One that came from a document which is no longer in the index is erased
with that document's text: `Index` asks for it wherever text is erased. An answer that goes on from such a one names what that
found, so it is erased, too.

Both files have a rollback journal; at each commit SQLite removes it and syncs the folder (`synchronous = EXTRA`). Every call
opens and closes the file, because several processes use it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import apsw

from hoptrail.corpus.connecting import connected, translating_errors
from hoptrail.corpus.database import Row
from hoptrail.corpus.durable import make_folder, remove_files
from hoptrail.corpus.locations import HISTORY, JOBS, is_read_only
from hoptrail.corpus.sums import altered, keep_sums, seal
from hoptrail.errors import IndexDamaged


class State(StrEnum):
    WAITING = "waiting"
    READING = "reading"
    INDEXING = "indexing"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    DISCARDED = "discarded"


OVER = frozenset({State.DONE, State.FAILED, State.STOPPED, State.DISCARDED})
FINISHED = OVER - {State.STOPPED}  # what is stopped can be resumed

_TABLES = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, client TEXT NOT NULL,
    kind TEXT NOT NULL, cancelled INTEGER NOT NULL
) STRICT;
CREATE TABLE items (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, place INTEGER NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
    whole_name TEXT NOT NULL, ending TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, documents TEXT NOT NULL,
    notes TEXT NOT NULL, PRIMARY KEY (job, place)
) STRICT, WITHOUT ROWID;
"""

_COLUMNS = "id, name, state, whole_name, ending, reason, documents, notes"
"""Of items: the fields of `Item` in their order."""

_SETTINGS = """
PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;
"""

_WAIT = 10_000  # milliseconds that one process waits for another


@dataclass(slots=True)
class Item:
    """An upload (`documents`: the ids of what was read from it, by source), a document to remove, or a recipe to build for."""

    id: str
    name: str
    state: State = State.WAITING
    whole_name: str = ""
    ending: str = ""
    reason: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_left(self) -> bool:
        return self.state not in FINISHED

    def without_names(self) -> Item:
        """What is kept once nothing is left to do: what was read is identified by its ids alone."""
        if self.state is not State.DONE:
            return Item(self.id, self.name, self.state, reason=self.reason, notes=self.notes)
        return Item(self.id, self.id, self.state, documents={id_: id_ for id_ in self.documents.values()})


@dataclass(slots=True)
class JobRecord:
    """A job. `client` is the key whose turn it takes; `cancelled` jobs are not done unless they are resumed."""

    kind: str
    items: list[Item]
    client: str = ""
    id: str = field(default_factory=lambda: f"j{secrets.token_hex(10)}")
    cancelled: bool = False


class FileBeside:
    """A file with tables beside the index in a folder, made when it is first written. All methods of those who use it raise
    StorageError and IndexDamaged; nothing is written then.
    """

    name: str
    tables: str

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored; asking creates no file."""
        return (self._folder / self.name).exists()

    def _rows(self, sql: str, values: Sequence[str] = ()) -> list[Row]:
        if not self.exists:
            return []
        with self._writing() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with _opened(self._folder, self.name) as connection:
            connection.execute(_SETTINGS).fetchall()
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
                connection.execute(self.tables)
            keep_sums(connection)
            yield connection
            seal(connection)
            connection.execute("COMMIT")


class Journal(FileBeside):
    name = JOBS
    tables = _TABLES

    def append(self, job: JobRecord, owner: str) -> None:
        """Store a job: it is synced when this returns."""
        with self._writing() as connection:
            values = (job.id, owner, job.client, job.kind, job.cancelled)
            connection.execute("INSERT INTO jobs (id, owner, client, kind, cancelled) VALUES (?, ?, ?, ?, ?)", values)
            _write_items(connection, job.id, job.items)

    def set_items(self, job: JobRecord) -> None:
        """Store the states of the documents of a job. Their names are removed when all are finished."""
        finished = not any(item.is_left for item in job.items)
        items = [item.without_names() for item in job.items] if finished else job.items
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone():
                _write_items(connection, job.id, items)

    def set_cancelled(self, job: str, *, cancelled: bool) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE jobs SET cancelled = ? WHERE id = ?", (cancelled, job))

    def forget(self, job: str) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM jobs WHERE id = ?", (job,))

    def owners(self) -> set[str]:
        return {str(owner) for (owner,) in self._rows("SELECT DISTINCT owner FROM jobs")}

    def open_items(self) -> set[str]:
        return {str(id_) for id_, state in self._rows("SELECT id, state FROM items") if state not in FINISHED}

    def take_over(self, owners: Collection[str], by: str) -> list[JobRecord]:
        """Make `by` the owner of the jobs of `owners`. Returns these in the order in which they were accepted."""
        if not owners or not self.exists:
            return []
        with self._writing() as connection:
            if altered(connection):
                raise damaged_file(self._folder, JOBS)
            sql = "SELECT owner, kind, id, client, cancelled FROM jobs ORDER BY number"
            rows: list[Row] = connection.execute(sql).fetchall()
            jobs = [
                JobRecord(kind, _items(connection, job), client, job, bool(cancelled))
                for owner, kind, job, client, cancelled in rows
                if owner in owners
            ]
            connection.executemany("UPDATE jobs SET owner = ? WHERE id = ?", [(by, job.id) for job in jobs])
            return jobs


KEPT = 2000  # answers that are kept for one client: the oldest go first

_ANSWERS = """
CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, client TEXT NOT NULL, thread TEXT NOT NULL,
    at TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL
) STRICT;
CREATE TABLE cited (answer INTEGER NOT NULL REFERENCES answers (number) ON DELETE CASCADE, document TEXT NOT NULL) STRICT;
CREATE INDEX answers_by_thread ON answers (client, thread);
CREATE INDEX cited_by_answer ON cited (answer);
"""

_KEPT = "id, client, thread, at, name, content"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer of the thread that began with the answer `thread`: its time in ISO form, its name, and itself as JSON."""

    id: str
    client: str
    thread: str
    at: str
    name: str
    content: str


class History(FileBeside):
    name = HISTORY
    tables = _ANSWERS

    def keep(self, answer: KeptAnswer, documents: Collection[str]) -> None:
        """Keep an answer that came from these documents, and from those of the earlier answers of its thread."""
        with self._writing() as connection:
            values = (answer.id, answer.client, answer.thread, answer.at, answer.name, answer.content)
            connection.execute(f"INSERT INTO answers ({_KEPT}) VALUES (?, ?, ?, ?, ?, ?)", values)
            number = connection.last_insert_rowid()
            before = "SELECT document FROM cited, answers WHERE answer = number AND client = ? AND thread = ?"
            earlier = {str(one) for (one,) in connection.execute(before, (answer.client, answer.thread))}
            rows = [(number, document) for document in sorted(earlier.union(documents))]
            connection.executemany("INSERT INTO cited VALUES (?, ?)", rows)
            oldest = "SELECT number FROM answers WHERE client = ? ORDER BY number DESC LIMIT -1 OFFSET ?"
            connection.execute(f"DELETE FROM answers WHERE number IN ({oldest})", (answer.client, KEPT))

    def threads(self, client: str, words: str = "") -> list[KeptAnswer]:
        """The first answer of each thread of a client, newest first; only threads in which each of the `words` occurs."""
        occurs = "(instr(lower(name), ?) OR instr(lower(content), ?))"
        where = " AND ".join(["client = ?", *(occurs for _ in words.split())])
        values = [client, *(word for one in words.lower().split() for word in (one, one))]
        found = f"SELECT thread FROM answers WHERE {where}"
        first = f"SELECT min(number) FROM answers WHERE client = ? AND thread IN ({found}) GROUP BY thread"
        sql = f"SELECT {_KEPT} FROM answers WHERE number IN ({first}) ORDER BY number DESC"
        return [KeptAnswer(*map(str, row)) for row in self._rows(sql, (client, *values))]

    def owns(self, client: str, thread: str) -> bool:
        return bool(self._rows("SELECT 1 FROM answers WHERE client = ? AND id = ?", (client, thread)))

    def turns(self, name: str) -> list[tuple[KeptAnswer, frozenset[str]]]:
        """The answer with this id preceded by the earlier ones of its thread, each with the documents that it came from."""
        cited = "(SELECT json_group_array(document) FROM cited WHERE answer = number)"
        last = "(SELECT number AS last, client, thread FROM answers WHERE id = ?)"
        sql = f"SELECT {_KEPT}, {cited} FROM answers JOIN {last} USING (client, thread) WHERE number <= last ORDER BY number"
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
        return {str(document) for (document,) in self._rows("SELECT DISTINCT document FROM cited")}

    def forget(self, documents: Collection[str]) -> None:
        if documents:
            with self._writing() as connection:
                cited = "DELETE FROM answers WHERE number IN (SELECT answer FROM cited WHERE document = ?)"
                connection.executemany(cited, [(document,) for document in documents])

    def _changed(self, sql: str, values: Sequence[str]) -> bool:
        if not self.exists:
            return False
        with self._writing() as connection:
            connection.execute(sql, values)
            return connection.changes() > 0


def damaged_journal(folder: Path) -> dict[str, list[str]]:
    """The faults of the journal and of the history of an index, in words, by file; none where they are not there."""
    there = [name for name in (JOBS, HISTORY) if (folder / name).exists() and not is_read_only(folder)]
    return {name: faults for name in there if (faults := _faults(folder, name))}


def _faults(folder: Path, name: str) -> list[str]:
    try:
        with _opened(folder, name) as connection:
            faults = [fault for (fault,) in connection.execute("PRAGMA integrity_check") if fault != "ok"]
            if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sums'").fetchall():
                faults += [f"{table} does not match its checksums" for table in altered(connection)]
    except IndexDamaged as error:
        return [error.fault]
    return [f"{name}: {fault}" for fault in faults]


def drop_damaged_journal(folder: Path) -> list[str]:
    """Remove a damaged journal, and with it the jobs, and a damaged history. Returns the names of the files that were damaged."""
    damaged = list(damaged_journal(folder))
    remove_files([folder / f"{name}{end}" for name in damaged for end in ("", "-journal")])
    return damaged


def _items(connection: apsw.Connection, job: str) -> list[Item]:
    rows: Iterable[Row] = connection.execute(f"SELECT {_COLUMNS} FROM items WHERE job = ? ORDER BY place", (job,))
    return [
        Item(id_, name, State(state), whole_name, ending, reason, json.loads(documents), tuple(json.loads(notes)))
        for id_, name, state, whole_name, ending, reason, documents, notes in rows
    ]


def _write_items(connection: apsw.Connection, job: str, items: Sequence[Item]) -> None:
    connection.executemany(
        f"INSERT OR REPLACE INTO items (job, place, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(job, place, it.id, it.name, it.state, it.whole_name, it.ending, it.reason),
                json.dumps({} if it.is_left else dict(it.documents)),  # what is left to do is read again
                json.dumps(it.notes),
            )
            for place, it in enumerate(items)
        ],
    )


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[apsw.Connection]:
    """A connection to a file of the index, which is made if there is none."""
    try:
        with translating_errors(folder):
            make_folder(folder)
            connection = connected(str(folder / name))
            try:
                connection.set_busy_timeout(_WAIT)
                yield connection
            finally:
                connection.close(force=True)
    except IndexDamaged as error:
        raise damaged_file(folder, name) from error


def damaged_file(folder: Path, name: str) -> IndexDamaged:
    fault = f"{folder / name} is damaged"
    lost = "upload again what was not indexed yet" if name == JOBS else "ask again"
    return IndexDamaged(f"{fault}. Run `hoptrail repair --index {folder}`, which removes it, and {lost}.", fault)
