"""Setting up and querying a connection to a SQLite file.

Each request has its own connection. Threads of a request may share it and take turns; processes may not.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import numbers_of
from hoptrail.corpus.refusals import translating_errors

Row = tuple[Any, ...]

Value = None | int | float | str | bytes | Collection[str] | Collection[int] | NDArray[np.integer[Any]]
"""A value of a query. Texts or numbers (below 2^31) are the values of its `carray(?) c`, which texts must be compared with as
`CAST(c.value AS TEXT)`.
"""

_CHECKSUM = 8
"""Bytes at the end of each page."""

_OPENING = 2000
"""Milliseconds to wait for the file. The last user to close it locks it for a moment; so does one that recovers its log."""

_READ_AHEAD = 1024
"""Rows that a stream fetches at a time."""

_SETTINGS = """
PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;
"""


class Connection:
    """Runs queries and statements, one thread at a time."""

    def __init__(self, folder: Path, connection: apsw.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._process = os.getpid()
        self._turn = RLock()

    def rows(self, sql: str, *values: Value) -> list[Row]:
        """All rows of a query."""
        with self._alone():
            return self._connection.execute(sql, tuple(map(_binding, values))).fetchall()

    def one(self, sql: str, *values: Value) -> Row | None:
        """The first row of a query."""
        with self._alone():
            return self._connection.execute(sql, tuple(map(_binding, values))).fetchone()

    def each(self, sql: str, *values: Value) -> Iterator[Row]:
        """The rows of a query as a stream."""
        with self._alone():
            cursor = self._connection.cursor().execute(sql, tuple(map(_binding, values)))
        while True:
            with self._alone():
                batch = list(islice(cursor, _READ_AHEAD))
            yield from batch
            if len(batch) < _READ_AHEAD:
                return

    def run(self, sql: str, *values: Value) -> None:
        """Run a statement."""
        with self._alone():
            self._connection.execute(sql, tuple(map(_binding, values)))

    def run_each(self, sql: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
        """Run a statement for each row of values."""
        with self._alone():
            self._connection.executemany(sql, rows)

    def close(self) -> None:
        """Close the connection and roll back an open transaction; does nothing in a forked child."""
        if os.getpid() == self._process:
            with self._turn:
                self._connection.close(force=True)

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Close the connection if the block raises."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"the index {self.folder} was opened before this process was forked: open it again in the child"
            )
        with self._turn, translating_errors(self.folder):
            yield


def connected(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection that verifies the checksums of pages."""
    return apsw.Connection(name, flags=flags, vfs=_checksum_vfs())


def keep_checksums(connection: apsw.Connection) -> None:
    """Give each page of a new file a checksum. Call it before the first table is made."""
    reserved = ctypes.c_int(_CHECKSUM)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(reserved))


@cache
def _checksum_vfs() -> str:
    """Load SQLite's file layer that keeps a checksum in each page and refuses a page that does not match. Returns its name."""
    import apsw.sqlite_extra

    connection = apsw.Connection(":memory:")
    apsw.sqlite_extra.load(connection, "cksumvfs")
    connection.close()
    return "cksmvfs"


def set_up(connection: apsw.Connection) -> None:
    """Let only writers empty the log, and keep its file when it is empty, so that users without write access can read."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    keep = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(keep))
    connection.set_busy_timeout(_OPENING)
    connection.execute(_SETTINGS).fetchall()  # some return a row; the statements after it run only when it is fetched


def _binding(value: Value) -> apsw.Binding:
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    values = value if isinstance(value, np.ndarray) else tuple(value)
    if not len(values):
        return None  # `carray` then has no rows
    if not isinstance(values[0], str):
        return apsw.carray(numbers_of(values))
    # Texts with a null character can only be passed as bytes.
    return apsw.carray(tuple(text.encode() for text in values) if any("\0" in text for text in values) else values)
