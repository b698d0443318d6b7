"""The SQLite file of paid replies: its connection and its transactions. The tables are in `reply_tables.py`."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hoptrail.errors import StorageError
from hoptrail.models.reply_tables import FORMAT, WAIT_SECONDS, prepare


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
            version = prepare(connection)
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
