"""A connection to `index.sqlite`: how it is set up, and what its refusals mean.

One request is one connection and one snapshot: threads of a request may share it and take turns, processes may not.
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
from typing import Any, Self
from urllib.parse import quote

import apsw

from hoptrail.corpus.durable import make_folder, sync_file
from hoptrail.corpus.places import DATABASE, check_file_system, is_read_only, readers_of, refuse_old_index, writer_of
from hoptrail.corpus.schema import APPLICATION, FILES, FORMAT, TABLES
from hoptrail.errors import (
    HoptrailError,
    IndexBusy,
    IndexDamaged,
    IndexMismatch,
    IndexUnavailable,
    StillRead,
    StorageError,
)
from hoptrail.exhaustion import exhausted

Row = tuple[Any, ...]

WAIT = 5.0
"""Seconds that a removal waits for readers of what it removes."""

_CHECKSUM = 8
"""Bytes at the end of each page."""

_READ_AHEAD = 1024
"""Rows of a stream that are fetched at a time."""

_READ_THROUGH = 1 << 20
"""Bytes that are read at a time to see whether the disk gives all of a file."""

_SETTINGS = """
PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;
"""

_CACHE = "PRAGMA cache_size = -65536"
"""KiB of pages that a writer holds before it writes them to the log."""


class Database:
    """One connection with its transaction. Use `to_read` or `to_write`."""

    def __init__(self, folder: Path, connection: apsw.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._process = os.getpid()
        self._turn = RLock()
        self._seen: Row | None = None
        """What counts the commits of other connections, as it was when this one began to write."""

    @classmethod
    def to_read(cls, folder: Path) -> Self:
        """A view of the last commit, which does not change until it is closed.

        Raises:
            IndexUnavailable: there is no index.
            IndexMismatch: it is of another format.
            StorageError, IndexDamaged: the file cannot be read.
        """
        path = folder / DATABASE
        refuse_old_index(folder)
        if not path.is_file():
            raise absent(folder)
        with telling(folder):
            database = cls(folder, _opened(path))
            try:
                database.run("BEGIN")
                database.check_format()
            except BaseException:
                database.close()
                raise
        return database

    @classmethod
    def to_write(cls, folder: Path) -> Self:
        """The only connection that writes, with its first transaction begun; makes an index where there is none.

        Raises:
            IndexBusy: another process writes; the message names it.
            IndexMismatch, IndexDamaged, StorageError: see `to_read`; also a folder on a network file system.
        """
        refuse_old_index(folder)
        with telling(folder):
            make_folder(folder)
            check_file_system(folder)
            database = cls(folder, connected(str(folder / DATABASE)))
            try:
                database._prepare()
            except BaseException:
                database.close()
                raise
        return database

    def _prepare(self) -> None:
        _set_up(self._connection)
        keep_checksums(self._connection)
        if self._connection.pragma("journal_mode", "wal") != "wal":
            raise StorageError(f"{self.folder} is on a file system that SQLite cannot keep a log on.")
        self._connection.execute(_CACHE)
        self.begin()
        if self.one("PRAGMA user_version") == (0,) and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            self._connection.execute(TABLES + FILES)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}")
            self.commit()
            self.begin()
        self.check_format()
        if not self.rows("SELECT 1 FROM sqlite_schema WHERE name = 'files'"):
            self._connection.execute(FILES)
            self.commit()
            self.begin()

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

    def begin(self) -> None:
        """Begin a transaction that writes.

        Raises:
            IndexBusy: another process writes, or has committed since this connection's last transaction.
        """
        try:
            self.run("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            raise IndexBusy(
                f"{self.folder} is being written by {writer_of(self.folder)}. Wait for it to end, or stop it."
            ) from error
        now = self.one("PRAGMA data_version")
        if self._seen is not None and now != self._seen:
            self.run("ROLLBACK")
            raise IndexBusy(
                f"{self.folder} was written by another process meanwhile; what this one had committed is kept. Run the same "
                f"command again."
            )
        self._seen = now

    def commit(self) -> None:
        with self._alone():
            self.run("COMMIT")

    def roll_back(self) -> None:
        """Forget what was written in this transaction, if one has begun."""
        with self._alone():
            if self._connection.in_transaction:
                self.run("ROLLBACK")

    def empty_log(self, wait: float = 0.0) -> bool:
        """Move the log into the database and cut it to nothing (step 4 of `durable.py`), between two transactions. False where
        a reader of an earlier commit has not ended after so many seconds.
        """
        with self._alone():
            self._connection.set_busy_timeout(int(wait * 1000))
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            finally:
                self._connection.set_busy_timeout(0)
            sync_file(self._log)
        return True

    def end_reading(self) -> None:
        """Let go of the view, which keeps writers from clearing the log."""
        self.roll_back()

    def resume_reading(self) -> bool:
        """A view of the last commit, which may be another than before; False where the file is gone."""
        if not (self.folder / DATABASE).is_file():
            return False
        self.run("BEGIN")
        self.check_format()
        return True

    def copy_to(self, path: Path) -> None:
        """Write the state that is read here, page by page, to a new file, which is not synced. Others may write meanwhile."""
        with self._alone():
            copy = apsw.Connection(str(path), vfs=self._connection.open_vfs)
            try:
                copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").fetchall()
                keep_checksums(copy)
                copy.execute("PRAGMA user_version = 1")  # writes a first page, from which on checksums are reckoned
                with copy.backup("main", self._connection, "main") as backup:
                    backup.step()
            finally:
                copy.close()

    @property
    def log_size(self) -> int:
        """Bytes of the log."""
        return self._log.stat().st_size if self._log.exists() else 0

    @property
    def _log(self) -> Path:
        return self.folder / f"{DATABASE}-wal"

    def check_format(self) -> None:
        """Raises: IndexUnavailable, IndexMismatch, IndexDamaged: the database is empty, of another format, or not ours."""
        application, found = self.one("PRAGMA application_id"), self.one("PRAGMA user_version")
        if (application, found) == ((0,), (0,)) and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            raise absent(self.folder)  # as a process leaves it that was killed while it made the first tables
        if application != (APPLICATION,):
            raise IndexDamaged(f"{self.folder / DATABASE} is not an index of hoptrail.")
        if found != (FORMAT,):
            raise IndexMismatch(
                f"{self.folder} has index format {found and found[0]}; this hoptrail reads format {FORMAT}. Update hoptrail, or "
                f"index the documents into a new folder."
            )

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


def _opened(path: Path) -> apsw.Connection:
    """A connection that only reads. On a medium that nobody can write to, the file is all there is."""
    if not is_read_only(path.parent):
        connection = connected(str(path), apsw.SQLITE_OPEN_READONLY)
        _set_up(connection)
        return connection
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StorageError(
            f"{path.parent} is on a medium that cannot be written to, and its last commits are in a log beside it ({log.name}). "
            f"Copy the folder to a disk, or copy it to the medium again after `hoptrail verify` has ended."
        )
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return connected(f"file:{quote(str(path.absolute()))}?immutable=1", flags)


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


def _set_up(connection: apsw.Connection) -> None:
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


def absent(folder: Path) -> IndexUnavailable:
    return IndexUnavailable(
        f"there is no index at {folder}. Make one with `hoptrail index SOURCE... --index {folder}`."
    )


def still_read(folder: Path) -> StillRead:
    return StillRead(
        f"what was removed from {folder} is gone from the index, but its text is still in the log, because an earlier state is "
        f"being read by {readers_of(folder)}. End it and run the same command again."
    )


def _damaged(folder: Path, error: Exception) -> HoptrailError:
    """SQLite also says so where the disk refused a read, so the file is read through to tell one from the other."""
    try:
        with (folder / DATABASE).open("rb", buffering=0) as file:
            while file.read(_READ_THROUGH):
                pass
    except OSError as refused:
        return StorageError(
            f"{folder} cannot be read: {refused.strerror or refused}. The disk refuses; once it can be read again, run the same "
            f"command again, or restore a backup."
        )
    return IndexDamaged(f"{folder / DATABASE} is damaged ({error}). Run `hoptrail repair --index {folder}`.")


@contextmanager
def telling(folder: Path) -> Iterator[None]:
    """Refusals of SQLite and of the disk, as ours. What was not committed is as if it had never been written."""
    try:
        yield
    except HoptrailError:
        raise
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _damaged(folder, error) from error
    except apsw.BusyError as error:
        raise IndexBusy(f"{folder} is being written by {writer_of(folder)}. Wait for it to end, or stop it.") from error
    except (
        apsw.FullError,
        apsw.IOError,
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.PermissionsError,
        apsw.NoMemError,
        MemoryError,
        OSError,
    ) as error:
        if out := exhausted(error):
            raise out from error
        extended = getattr(error, "extendedresult", 0)
        if extended == apsw.SQLITE_IOERR_DATA:  # a page does not match its checksum
            raise _damaged(folder, error) from error
        if (
            extended == apsw.SQLITE_READONLY_ROLLBACK
        ):  # it was stopped before its first commit, which alone needs a journal
            raise absent(folder) from error
        raise StorageError(
            f"{folder} cannot be read or written: {error}. The index is as it was last committed; free space or mend the "
            f"permissions, then run the same command again."
        ) from error
