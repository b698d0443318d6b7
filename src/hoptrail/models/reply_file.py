"""The SQLite file of paid replies (`remembered.py`): its tables, its connection, its transactions.

calls      one row per try: its state, its cost
replies    one row per answered request: the reply, and the call that paid for it; for a prompt that did not fit a placeholder,
           and the call that was refused
mentions   the documents whose text is in a request, so that removing a document removes its replies
rungs      the working rung of the ladder, per endpoint and model (`billing.py`)
dialects   the refused parameters, per endpoint and model
totals     one row: the sums over calls, for limits. Triggers update it in the transactions of `calls`

Files of earlier formats are upgraded when they are opened.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hoptrail.errors import StorageError

FORMAT = 6
"""Up to format 5 a reply did not say whether its prompt was cut; earlier ones lack tables, which are made."""
WAIT_SECONDS = 60.0
"""How long a writer waits for the transaction of another."""
POLL_SECONDS = 0.05

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, task TEXT NOT NULL, place TEXT NOT NULL, model TEXT NOT NULL,
    state TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, money REAL,
    estimated INTEGER NOT NULL, process INTEGER NOT NULL, sent REAL NOT NULL, reason TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS calls_in_flight ON calls (key) WHERE state IN ('entered', 'sent');
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, task TEXT NOT NULL, place TEXT NOT NULL, model TEXT NOT NULL, reply TEXT NOT NULL, call INTEGER);
CREATE TABLE IF NOT EXISTS mentions (document TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (document, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rungs (place TEXT NOT NULL, model TEXT NOT NULL, rung TEXT NOT NULL, PRIMARY KEY (place, model));
CREATE TABLE IF NOT EXISTS dialects (
    place TEXT NOT NULL, model TEXT NOT NULL, dialect TEXT NOT NULL, PRIMARY KEY (place, model));
CREATE TABLE IF NOT EXISTS totals (
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, money REAL NOT NULL);
"""
_COUNT = """
UPDATE totals SET calls = calls {sign} 1, prompt_tokens = prompt_tokens {sign} {row}.prompt_tokens,
    completion_tokens = completion_tokens {sign} {row}.completion_tokens, money = money {sign} coalesce({row}.money, 0.0)
WHERE {row}.state != 'refused';
"""
_BEFORE, _AFTER = _COUNT.format(sign="-", row="old"), _COUNT.format(sign="+", row="new")
_TRIGGERS = (
    f"CREATE TRIGGER IF NOT EXISTS call_entered AFTER INSERT ON calls BEGIN {_AFTER} END",
    f"CREATE TRIGGER IF NOT EXISTS call_changed AFTER UPDATE ON calls BEGIN {_BEFORE} {_AFTER} END",
    f"CREATE TRIGGER IF NOT EXISTS call_removed AFTER DELETE ON calls BEGIN {_BEFORE} END",
)


class ReplyFile:
    """The file at `path`, made by the first transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0

    def rows(self, statement: str, *values: str | float) -> list[tuple[Any, ...]]:
        """The rows that a statement selects; none where there is no file yet."""
        if not self.path.exists():
            return []
        with self.transaction(write=False) as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction, for one thread at a time. Raises: StorageError: the file cannot be used."""
        try:
            with self._lock:
                connection = self._connected()
                if write:
                    connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    if write:
                        connection.execute("ROLLBACK")
                    raise
                if write:
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot use the replies in {self.path}: {error}. Free some space or check the permissions. If the file is "
                "damaged, move it away: then the replies in it are paid for again"
            ) from error

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process; a forked child opens its own."""
        if self._connection is None or self._owner != os.getpid():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(f"cannot make the folder of {self.path}: {error.strerror or error}.") from error
            connection = sqlite3.connect(self.path, WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            version = _prepare(connection)
            if version > FORMAT:
                connection.close()
                raise StorageError(f"{self.path} was written by a newer hoptrail (format {version}). Update hoptrail.")
            self._connection, self._owner = connection, os.getpid()
        return self._connection

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


def _prepare(connection: sqlite3.Connection) -> int:
    """Make or upgrade the tables. Returns the format, which may be a newer one.

    SQLite does not wait for another process that changes the journal mode, so this does.
    """
    give_up = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version == 0:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;")
            if version < FORMAT:
                version = _upgrade(connection)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            time.sleep(POLL_SECONDS)
        else:
            return version


def _upgrade(connection: sqlite3.Connection) -> int:
    """Make the tables that an empty or older file lacks, unless another process was faster. Returns the format."""
    connection.execute("BEGIN IMMEDIATE")
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found < FORMAT:
        for statement in (*_TABLES.split(";"), *_TRIGGERS, f"PRAGMA user_version = {FORMAT}"):
            connection.execute(statement)
    connection.execute("COMMIT")
    return max(found, FORMAT)
