"""The jobs that a server has accepted for an index, in `jobs.sqlite` beside it: a job is here, synced, before it is acknowledged.

A job has a row, and a row for each of its documents. What a document needs to be indexed or removed later is kept until that is
done; afterwards only ids and outcomes are, so that no name of a removed document stays. Each job has an owner, the mark of the
process that is to do it; another process takes the jobs of an owner over once it has ended.

The file has a rollback journal, which SQLite removes and whose folder it syncs at each commit (`synchronous = EXTRA`). Every
call opens the file and closes it again: several processes may use it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from hoptrail.corpus.connection import connected, keep_checksums
from hoptrail.corpus.durable import make_folder, remove_files
from hoptrail.corpus.places import JOBS, is_read_only
from hoptrail.corpus.refusals import telling
from hoptrail.errors import IndexDamaged

OPEN_STATES = ("waiting", "reading", "indexing", "stopped")
"""States of documents with which something is left to do."""

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

_SETTINGS = """
PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;
"""

_WAIT = 10_000
"""Milliseconds that one process waits for another."""


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """A document of a job. `whole_name` and `ending` (or none) are of an upload; `documents` are ids by their sources."""

    id: str
    name: str
    state: str
    whole_name: str = ""
    ending: str = ""
    reason: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    def without_names(self) -> ItemRecord:
        """As it is kept once nothing is left to do: what has been read goes by its ids alone."""
        if self.state != "done":
            return ItemRecord(self.id, self.name, self.state, reason=self.reason, notes=self.notes)
        return ItemRecord(self.id, self.id, self.state, documents={one: one for one in self.documents.values()})


@dataclass(frozen=True, slots=True)
class JobRecord:
    """`client` says whose turn is used; `cancelled` jobs are not done unless they are resumed."""

    id: str
    client: str
    kind: str
    cancelled: bool
    items: tuple[ItemRecord, ...]


class Journal:
    """The jobs of the index in a folder.

    All methods raise StorageError (the disk refuses) and IndexDamaged; what they were to write is not written then.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def exists(self) -> bool:
        return (self._folder / JOBS).exists()

    def append(self, job: JobRecord, owner: str) -> None:
        """Enter a job: when this returns, it is on the disk."""
        with self._writing() as connection:
            values = (job.id, owner, job.client, job.kind, job.cancelled)
            connection.execute("INSERT INTO jobs (id, owner, client, kind, cancelled) VALUES (?, ?, ?, ?, ?)", values)
            _write_items(connection, job.id, job.items)

    def set_items(self, job: str, items: Sequence[ItemRecord]) -> None:
        """Note what has become of the documents of a job. Names go when nothing of it is left to do."""
        if not any(item.is_open for item in items):
            items = [item.without_names() for item in items]
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job,)).fetchone():
                _write_items(connection, job, items)

    def set_cancelled(self, job: str, *, cancelled: bool) -> None:
        with self._writing() as connection:
            connection.execute("UPDATE jobs SET cancelled = ? WHERE id = ?", (cancelled, job))

    def forget(self, jobs: Iterable[str]) -> None:
        with self._writing() as connection:
            connection.executemany("DELETE FROM jobs WHERE id = ?", [(job,) for job in jobs])

    def owners(self) -> set[str]:
        if not self.exists:
            return set()
        with self._writing() as connection:
            found = connection.execute("SELECT DISTINCT owner FROM jobs").fetchall()
        return {str(owner) for (owner,) in found}

    def open_items(self) -> set[str]:
        """Ids of all documents with which something is left to do."""
        if not self.exists:
            return set()
        with self._writing() as connection:
            found = connection.execute("SELECT id, state FROM items").fetchall()
        return {str(id_) for id_, state in found if state in OPEN_STATES}

    def take_over(self, owners: Collection[str], by: str) -> list[JobRecord]:
        """Make the jobs of some owners those of another; in the order in which they were accepted."""
        if not owners or not self.exists:
            return []
        with self._writing() as connection:
            found = [
                (job, client, kind, bool(cancelled))
                for job, owner, client, kind, cancelled in connection.execute(
                    "SELECT id, owner, client, kind, cancelled FROM jobs ORDER BY number"
                )
                if owner in owners
            ]
            connection.executemany("UPDATE jobs SET owner = ? WHERE id = ?", [(by, job) for job, *_ in found])
            return [
                JobRecord(job, client, kind, cancelled, _items(connection, job))
                for job, client, kind, cancelled in found
            ]

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """A transaction, which is on the disk when it has ended."""
        with _telling(self._folder):
            make_folder(self._folder)
            connection = connected(str(self._folder / JOBS))
            try:
                connection.set_busy_timeout(_WAIT)
                keep_checksums(connection)
                connection.execute(_SETTINGS).fetchall()
                connection.execute("BEGIN IMMEDIATE")
                if not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
                    connection.execute(_TABLES)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close(force=True)


def damaged_journal(folder: Path) -> list[str]:
    """What is wrong with the journal of an index, in words; nothing where there is none."""
    if not (folder / JOBS).exists() or is_read_only(folder):
        return []
    try:
        with _telling(folder):
            connection = connected(str(folder / JOBS))
            try:
                connection.set_busy_timeout(_WAIT)
                found = [what for (what,) in connection.execute("PRAGMA integrity_check") if what != "ok"]
            finally:
                connection.close(force=True)
    except IndexDamaged as error:
        return [str(error)]
    return [f"{JOBS}: {what}" for what in found]


def drop_damaged_journal(folder: Path) -> list[str]:
    """Remove a journal that is damaged; the names of the files that went. The jobs in it are lost."""
    if not damaged_journal(folder):
        return []
    remove_files([folder / JOBS, folder / f"{JOBS}-journal"])
    return [JOBS]


def _items(connection: apsw.Connection, job: str) -> tuple[ItemRecord, ...]:
    rows = connection.execute(
        "SELECT id, name, state, whole_name, ending, reason, documents, notes FROM items WHERE job = ? ORDER BY place",
        (job,),
    )
    return tuple(
        ItemRecord(id_, name, state, whole_name, ending, reason, json.loads(documents), tuple(json.loads(notes)))
        for id_, name, state, whole_name, ending, reason, documents, notes in rows
    )


def _write_items(connection: apsw.Connection, job: str, items: Sequence[ItemRecord]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                job,
                place,
                item.id,
                item.name,
                item.whole_name,
                item.ending,
                item.state,
                item.reason,
                json.dumps(dict(item.documents)),
                json.dumps(item.notes),
            )
            for place, item in enumerate(items)
        ],
    )


@contextmanager
def _telling(folder: Path) -> Iterator[None]:
    try:
        with telling(folder):
            yield
    except IndexDamaged as error:
        raise IndexDamaged(
            f"{folder / JOBS} is damaged. Run `hoptrail repair --index {folder}`, which removes it, and upload again what was "
            f"not indexed yet."
        ) from error
