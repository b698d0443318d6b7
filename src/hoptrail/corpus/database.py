"""`index.sqlite`: opening it, queries, transactions, its write-ahead log, and copies of it.

Each request has its own connection. Threads of a request may share it and take turns; processes may not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import RLock
from time import monotonic, sleep
from typing import Any, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.carrying_over import carry_over, check_pages
from hoptrail.corpus.columns import numbers_of
from hoptrail.corpus.connecting import (
    absent,
    connected,
    damaged,
    open_read_only,
    pages_in_log,
    set_up,
    translating_errors,
)
from hoptrail.corpus.durable import make_folder, sync_file
from hoptrail.corpus.locations import DATABASE, check_file_system
from hoptrail.corpus.schema import APPLICATION, FORMAT, OLD_FORMAT, TABLES, refuse_other_format
from hoptrail.corpus.sums import ROWS, altered, insert, is_sealed, keep_sums, row_checksum, seal
from hoptrail.errors import IndexBusy, IndexDamaged, StorageError

Row = tuple[Any, ...]

Value = None | int | float | str | bytes | Collection[str] | Collection[int] | NDArray[np.integer[Any]]
"""A value of a query. Texts or numbers (below 2^31) are the values of its `carray(?) c`, which texts must be compared with as
`CAST(c.value AS TEXT)`.
"""

_READ_AHEAD = 1024  # rows that a stream fetches at a time

_RETRY = 0.002
"""Seconds between two tries to empty the log. SQLite's own waiting tries ten times a second, and where readers follow each other
closely it hardly ever meets the moment between two of them.
"""

_CACHE = "PRAGMA cache_size = -65536"
"""KiB of pages that a writer holds in memory before it writes them to the log."""


class Connection:
    """Runs queries and commands, one thread at a time. Raises: IndexBusy, IndexDamaged, StorageError: what SQLite reports."""

    def __init__(self, folder: Path, connection: apsw.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._process = os.getpid()
        self._turn = RLock()

    def rows(self, sql: str, *values: Value) -> list[Row]:
        with self._alone():
            return self._connection.execute(sql, tuple(map(_binding, values))).fetchall()

    def column(self, sql: str, *values: Value) -> list[Any]:
        """The values of the only column of a query."""
        return [value for (value,) in self.rows(sql, *values)]

    def each(self, sql: str, *values: Value) -> Iterator[Row]:
        """The rows of a query as a stream."""
        with self._alone():
            cursor = self._connection.cursor().execute(sql, tuple(map(_binding, values)))
            batch = list(islice(cursor, _READ_AHEAD))
        while True:
            yield from batch
            if len(batch) < _READ_AHEAD:
                return
            with self._alone():
                batch = list(islice(cursor, _READ_AHEAD))

    def run(self, sql: str, *values: Value) -> None:
        self.rows(sql, *values)

    def run_each(self, sql: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
        with self._alone():
            self._connection.executemany(sql, rows)

    def delete(self, table: str, column: str, numbers: Collection[int] | NDArray[np.integer[Any]]) -> None:
        self.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM carray(?))", numbers)

    def close(self) -> None:
        """Close the connection and roll back an open transaction; does nothing in a forked child."""
        if os.getpid() == self._process:
            with self._turn:
                self._connection.close(force=True)

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
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


class CheckedConnection(Connection):
    """Compares what is read of the database with its checksums, and its file with its size."""

    has_checksums = True
    """Whether rows have checksums: not in an index of version 0.2 until a command has written to it."""

    def check_format(self) -> None:
        """Raises: IndexUnavailable, IndexMismatch, IndexDamaged: the database is empty, of another format, or not ours."""
        [application], [version] = self.column("PRAGMA application_id"), self.column("PRAGMA user_version")
        if (application, version) == (0, 0) and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            raise absent(self.folder)  # its first writer was killed before it made the tables
        if application != APPLICATION:
            raise IndexDamaged(f"{self.folder / DATABASE} is not an index of hoptrail.")
        if version != FORMAT:
            refuse_other_format(self.folder, version)
        self.has_checksums = version != OLD_FORMAT

    def check_whole(self) -> None:
        """Check the format, the description of the tables, and that the file has all of its pages. Raises: as `check_format`."""
        has_sums = bool(self.rows("SELECT 1 FROM sqlite_schema WHERE name = 'sums'"))
        sealed = not has_sums or is_sealed(self._connection)
        if sealed:
            self.check_format()
        if not sealed or has_sums != self.has_checksums:
            raise damaged(self.folder, "its tables are not as they were made")
        if self.excess() < 0:
            raise damaged(self.folder, "its end is missing")

    def checked(self, table: str, tables: str, *values: Value, beside: str = "") -> Iterator[Row]:
        """Rows of `t`, one of `sums.ROWS` among `tables`, with what is `beside` each. Raises: IndexDamaged: by its checksum."""
        own = ROWS[table].split(", ")
        columns = ", ".join([*(f"t.{name}" for name in own), "t.checksum" if self.has_checksums else "NULL"])
        size, also = len(own), beside and f", {beside}"
        for row in self.each(f"SELECT {columns}{also} FROM {tables}", *values):
            if row[size] is not None and row[size] != row_checksum(*row[:size]):
                raise damaged(self.folder, "a row does not match its checksum")
            yield (*row[:size], *row[size + 1 :])

    def faults(self) -> Iterator[str]:
        """What is damaged in the rows and pages of the commit that is read, in words. Reads all of them."""
        if not self.has_checksums:
            check_pages(self.folder)
        yield from (" ".join(it.split()) for it in self.column("PRAGMA integrity_check") if it != "ok")
        yield from (f"its table {table} does not match its checksums" for table in self.altered())

    def altered(self, *tables: str) -> list[str]:
        """The tables, all or those named, that do not match their checksums; none where there are none. Reads all of them."""
        with self._alone():
            return altered(self._connection, tables) if self.has_checksums else []

    def excess(self) -> int:
        """By how many bytes the file is longer than the pages of the commit that is read; negative where it lacks some."""
        [size], [pages] = self.column("PRAGMA page_size"), self.column("PRAGMA page_count")
        excess: int = (self.folder / DATABASE).stat().st_size - pages * size
        if excess < 0 and set(range(pages + excess // size + 1, pages + 1)) <= pages_in_log(self._log, size):
            return 0  # they are yet to be moved from the log
        return excess

    @property
    def _log(self) -> Path:
        return self.folder / f"{DATABASE}-wal"


def _file_at(path: Path) -> tuple[int, int] | None:
    """The device and the inode of a file; None where there is none."""
    with suppress(FileNotFoundError, NotADirectoryError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


class Database(CheckedConnection):
    """The database of an index folder, and the transaction of this connection. Use `to_read` or `to_write`."""

    _version: Sequence[int] = ()  # SQLite's count of the commits of other connections, when this one last looked
    _file: tuple[int, int] | None = None  # the file that is read

    @classmethod
    def to_read(cls, folder: Path) -> Self:
        """Open the last commit; what this connection reads does not change until it is closed. Raises: as `Snapshot.open`."""
        path = folder / DATABASE
        if not path.is_file():
            raise absent(folder)
        with translating_errors(folder, apsw.SQLError):  # tables are not as they were made
            file = _file_at(path)  # before opening: one that takes its place meanwhile is not mistaken for it
            database = cls(folder, open_read_only(path))
            database._file = file
            with database.closed_on_error():
                database.run("BEGIN")
                database.check_whole()
        return database

    @classmethod
    def to_repair(cls, folder: Path) -> Self:
        """Open a database that may be damaged, without checks: move its log into it if possible, and begin a transaction."""
        with translating_errors(folder, apsw.SQLError):
            database = cls(folder, connected(str(folder / DATABASE), apsw.SQLITE_OPEN_READWRITE))
            with database.closed_on_error():
                set_up(database._connection)
                with suppress(IndexDamaged):
                    database.empty_log()
                database.begin()
                columns = database.column("SELECT name FROM pragma_table_info('documents')")
                database.has_checksums = "checksum" in columns
        return database

    @classmethod
    def to_write(cls, folder: Path) -> Self:
        """Open the only writing connection, of a new index if need be, and begin a transaction. Raises: as `writing_to`."""
        with translating_errors(folder, apsw.SQLError):
            make_folder(folder)
            check_file_system(folder)
            database = cls(folder, connected(str(folder / DATABASE)))
            with database.closed_on_error():
                database._prepare()
        return database

    def _prepare(self) -> None:
        if self._connection.readonly("main"):  # SQLite opens it all the same
            raise StorageError(
                f"{self.folder} cannot be written: it may only be read. Mend the permissions, or copy it to a disk that can be "
                f"written, then run the same command again."
            )
        set_up(self._connection)
        if self._connection.pragma("journal_mode", "wal") != "wal":
            raise StorageError(f"{self.folder} is on a file system that SQLite cannot keep a log on.")
        self._connection.execute(_CACHE)
        self._connection.set_busy_timeout(0)  # from here on, only another writer makes this one wait
        self.begin()
        if self.column("PRAGMA user_version") == [0] and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}")
        else:
            self.check_whole()
        self._connection.execute(TABLES)
        if not self.has_checksums:
            carry_over(self._connection, self.folder)
            self.has_checksums = True
        if keep_sums(self._connection):
            self.commit()
            self.begin()

    def insert(self, table: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
        """Insert rows into a table that has checksums, in the order of the columns in `sums.ROWS`."""
        with self._alone():
            insert(self._connection, table, rows)

    def begin(self) -> None:
        """Begin to write. Raises: IndexBusy: another process writes, or has committed since this one's last transaction."""
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
        with self._alone():
            seal(self._connection)
        self.run("COMMIT")

    def roll_back(self) -> None:
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

    def stop_reading(self) -> None:
        """Release the commit that is read, which keeps writers from emptying the log. What hides rows stays."""
        self.run("COMMIT")

    @property
    def is_in_place(self) -> bool:
        """Whether its file is still that of the folder, which may have been moved, or replaced by a backup."""
        return self._file is not None and _file_at(self.folder / DATABASE) == self._file

    def resume_reading(self) -> bool:
        """Read the last commit, which may be a newer one. Returns False where the file is gone or another one."""
        if not self.is_in_place:
            return False
        self.run("BEGIN")
        version = self.column("PRAGMA data_version")
        if version != self._version:
            self.check_format()
            self._version = version
        return True

    def copy_to(self, path: Path) -> None:
        """Write the commit that is read, page by page, to a new file, which is not synced. Others may write meanwhile."""
        with self._alone(), closing(apsw.Connection(str(path))) as copy:
            copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").fetchall()
            with copy.backup("main", self._connection, "main") as backup:
                backup.step()

    @property
    def log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def cut_excess(self) -> bool:
        """Remove what follows the last page of the file. Requires a writing transaction, of which nothing is kept."""
        if self.excess() <= 0:
            return False
        self.roll_back()
        emptied = self.empty_log()
        self.begin()
        path = self.folder / DATABASE
        if emptied:
            sync_file(path, path.stat().st_size - self.excess())
        self.roll_back()  # SQLite finds the new size when it begins
        self.begin()
        return emptied


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
