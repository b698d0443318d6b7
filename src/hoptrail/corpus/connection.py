"""A connection to a SQLite file: how it is set up, and how it is asked.

One request is one connection: threads of a request may share it and take turns, processes may not.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any

import apsw

from hoptrail.corpus.refusals import telling

Row = tuple[Any, ...]

_CHECKSUM = 8
"""Bytes at the end of each page."""

_READ_AHEAD = 1024
"""Rows of a stream that are fetched at a time."""

_SETTINGS = """
PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;
"""


class Connection:
    """Asks for rows and runs statements, one thread at a time."""

    def __init__(self, folder: Path, connection: apsw.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._process = os.getpid()
        self._turn = RLock()

    def rows(self, sql: str, *values: apsw.Binding) -> list[Row]:
        """All that a query finds."""
        with self._alone():
            return self._connection.execute(sql, values).fetchall()

    def one(self, sql: str, *values: apsw.Binding) -> Row | None:
        """The first row that a query finds."""
        with self._alone():
            return self._connection.execute(sql, values).fetchone()

    def each(self, sql: str, *values: apsw.Binding) -> Iterator[Row]:
        """What a query finds, as a stream."""
        with self._alone():
            found = self._connection.cursor().execute(sql, values)
        while True:
            with self._alone():
                some = list(islice(found, _READ_AHEAD))
            yield from some
            if len(some) < _READ_AHEAD:
                return

    def run(self, sql: str, *values: apsw.Binding) -> None:
        with self._alone():
            self._connection.execute(sql, values)

    def run_each(self, sql: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
        """The same statement for each of some rows."""
        with self._alone():
            self._connection.executemany(sql, rows)

    def close(self) -> None:
        """Give up the connection, and a transaction that was not committed. In a child of the process that opened it, nothing
        is done: the connection is not the child's.
        """
        if os.getpid() == self._process:
            with self._turn:
                self._connection.close(force=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"the index {self.folder} was opened before this process was forked: open it again in the child"
            )
        with self._turn, telling(self.folder):
            yield


def connected(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection that checks the sum of each page that has one."""
    return apsw.Connection(name, flags=flags, vfs=_checking())


def keep_checksums(connection: apsw.Connection) -> None:
    """To be called before the first table is made: each page of the file has a checksum."""
    reserved = ctypes.c_int(_CHECKSUM)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(reserved))


@cache
def _checking() -> str:
    """The file layer of SQLite that keeps a checksum in each page, and refuses a page that does not match."""
    import apsw.sqlite_extra

    connection = apsw.Connection(":memory:")
    apsw.sqlite_extra.load(connection, "cksumvfs")
    connection.close()
    return "cksmvfs"


def set_up(connection: apsw.Connection) -> None:
    """The log is emptied by writers alone, and stays when it is empty: whoever may not write to the folder can read then."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    keep = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(keep))
    connection.execute(_SETTINGS).fetchall()  # some answer with a row, after which the rest waits


def text_array(texts: Iterable[str]) -> apsw.Binding:
    """Some texts, at least one, as a parameter `c` of a query, which compares with `CAST(c.value AS TEXT)`: a text that contains
    a null character can only be given as bytes.
    """
    every = tuple(texts)
    return apsw.carray(tuple(text.encode() for text in every) if any("\0" in text for text in every) else every)
