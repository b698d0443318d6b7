"""`index.sqlite`: opening it, queries, transactions, its write-ahead log, and copies of it.

Each request has its own connection. Threads of a request may share it and take turns; processes may not.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import RLock
from time import monotonic, sleep
from typing import Any, Self
from urllib.parse import quote

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import numbers_of
from hoptrail.corpus.durable import make_folder, sync_file
from hoptrail.corpus.places import DATABASE, check_file_system, is_read_only, refuse_old_index
from hoptrail.corpus.refusals import absent, translating_errors
from hoptrail.corpus.schema import ADDED, APPLICATION, FORMAT, TABLES
from hoptrail.errors import IndexBusy, IndexDamaged, IndexMismatch, StorageError

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

_RETRY = 0.002
"""Seconds between two tries to empty the log. SQLite's own waiting tries ten times a second, and where readers follow each other
closely it hardly ever meets the moment between two of them.
"""

_CACHE = "PRAGMA cache_size = -65536"
"""KiB of pages that a writer holds in memory before it writes them to the log."""


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

    def column(self, sql: str, *values: Value) -> list[Any]:
        """The values of the only column of a query."""
        return [value for (value,) in self.rows(sql, *values)]

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
        self.rows(sql, *values)

    def run_each(self, sql: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
        """Run a statement for each row of values."""
        with self._alone():
            self._connection.executemany(sql, rows)

    def delete(self, table: str, column: str, numbers: Collection[int] | NDArray[np.integer[Any]]) -> None:
        """Delete the rows of a table with one of these numbers in a column."""
        self.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM carray(?))", numbers)

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


class Database(Connection):
    """The database of an index folder, and the transaction of this connection. Use `to_read` or `to_write`."""

    _version: Sequence[int] = ()
    """SQLite's count of the commits of other connections, at the beginning of this connection's last transaction."""

    @classmethod
    def to_read(cls, folder: Path) -> Self:
        """Open the last commit; what this connection reads does not change until it is closed. Raises: as `Snapshot.open`."""
        path = folder / DATABASE
        refuse_old_index(folder)
        if not path.is_file():
            raise absent(folder)
        with translating_errors(folder):
            database = cls(folder, _open_read_only(path))
            with database.closed_on_error():
                database.run("BEGIN")
                database.check_format()
        return database

    @classmethod
    def to_write(cls, folder: Path) -> Self:
        """Open the only writing connection, of a new index if need be, and begin a transaction. Raises: as `writing_to`."""
        refuse_old_index(folder)
        with translating_errors(folder):
            make_folder(folder)
            check_file_system(folder)
            database = cls(folder, connected(str(folder / DATABASE)))
            with database.closed_on_error():
                database._prepare()
        return database

    def _prepare(self) -> None:
        set_up(self._connection)
        keep_checksums(self._connection)
        if self._connection.pragma("journal_mode", "wal") != "wal":
            raise StorageError(f"{self.folder} is on a file system that SQLite cannot keep a log on.")
        self._connection.execute(_CACHE)
        self._connection.set_busy_timeout(0)  # from here on, only another writer makes this one wait
        self.begin()
        if self.column("PRAGMA user_version") == [0] and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            self._connection.execute(TABLES)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}")
        self.check_format()
        tables = self.column("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if missing := [made for name, made in ADDED.items() if name not in tables]:
            self._connection.execute("".join(missing))
            self.commit()
            self.begin()

    def begin(self) -> None:
        """Begin a writing transaction.
        Raises: IndexBusy: another process writes, or has committed since this connection's last transaction.
        """
        self.run("BEGIN IMMEDIATE")
        version = self.column("PRAGMA data_version")
        if self._version and version != self._version:
            self.run("ROLLBACK")
            raise IndexBusy(
                f"{self.folder} was written by another process meanwhile; what this one had committed is kept. Run the same "
                f"command again."
            )
        self._version = version

    def commit(self) -> None:
        """Commit the transaction."""
        self.run("COMMIT")

    def roll_back(self) -> None:
        """Undo the transaction, or release the commit that is read, which keeps writers from emptying the log."""
        with self._alone():
            if self._connection.in_transaction:
                self.run("ROLLBACK")

    def empty_log(self, wait: float = 0.0) -> bool:
        """Move the log into the database and truncate it (step 4 of `durable.py`), between two transactions. Returns False if a
        reader of an earlier commit is still there after `wait` seconds.
        """
        end = monotonic() + wait

        def try_again(_tries: int) -> bool:
            sleep(_RETRY)
            return monotonic() < end

        with self._alone():
            self._connection.set_busy_handler(try_again)
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            finally:
                self._connection.set_busy_timeout(0)
            sync_file(self._log)
        return True

    def resume_reading(self) -> bool:
        """Read the last commit, which may be a newer one. Returns False where the file is gone."""
        if not (self.folder / DATABASE).is_file():
            return False
        self.run("BEGIN")
        self.check_format()
        return True

    def copy_to(self, path: Path) -> None:
        """Write the commit that is read, page by page, to a new file, which is not synced. Others may write meanwhile."""
        with self._alone(), closing(apsw.Connection(str(path), vfs=self._connection.open_vfs)) as copy:
            copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").fetchall()
            keep_checksums(copy)
            copy.execute("PRAGMA user_version = 1")  # checksums are computed once there is a first page
            with copy.backup("main", self._connection, "main") as backup:
                backup.step()

    @property
    def log_size(self) -> int:
        """Size of the log in bytes."""
        return self._log.stat().st_size if self._log.exists() else 0

    @property
    def _log(self) -> Path:
        return self.folder / f"{DATABASE}-wal"

    def check_format(self) -> None:
        """Raises: IndexUnavailable, IndexMismatch, IndexDamaged: the database is empty, of another format, or not ours."""
        [application], [version] = self.column("PRAGMA application_id"), self.column("PRAGMA user_version")
        if (application, version) == (0, 0) and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            raise absent(self.folder)  # its first writer was killed before it made the tables
        if application != APPLICATION:
            raise IndexDamaged(f"{self.folder / DATABASE} is not an index of hoptrail.")
        if version != FORMAT:
            raise IndexMismatch(
                f"{self.folder} has index format {version}; this hoptrail reads format {FORMAT}. Update hoptrail, "
                f"or index the documents into a new folder."
            )


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

    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")
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


def _open_read_only(path: Path) -> apsw.Connection:
    """A connection that only reads. On a read-only file system it needs no locks and no log."""
    if not is_read_only(path.parent):
        connection = connected(str(path), apsw.SQLITE_OPEN_READONLY)
        set_up(connection)
        return connection
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StorageError(
            f"{path.parent} is on a read-only medium, and its last commits are in a log beside it ({log.name}). Copy the folder "
            f"to a disk, or copy it to the medium again after `hoptrail verify` has ended."
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return connected(f"file:{quote(str(path.absolute()))}?immutable=1", flags)
