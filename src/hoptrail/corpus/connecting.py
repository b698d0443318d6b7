"""Connections to the SQLite files of an index, what is in a write-ahead log, and what errors of SQLite and of the disk mean."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw
import numpy as np

from hoptrail.corpus.locations import DATABASE, is_read_only, users_of
from hoptrail.corpus.sums import use_checksums
from hoptrail.errors import HoptrailError, IndexBusy, IndexDamaged, IndexUnavailable, StillRead, StorageError, exhausted

_OPENING = 2000
"""Milliseconds to wait for the file. The last user to close it locks it for a moment; so does one that recovers its log."""

_LOG_HEADER, _FRAME = 32, 24  # bytes at the start of a write-ahead log, and before each page in it

_SETTINGS = """
PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;
"""


def connected(name: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """A connection that keeps checksums of rows."""
    connection = apsw.Connection(name, flags=flags)
    use_checksums(connection)
    return connection


def set_up(connection: apsw.Connection) -> None:
    """Let only writers empty the log, and keep its file when it is empty, so that users without write access can read."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    keep = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(keep))
    connection.set_busy_timeout(_OPENING)
    connection.execute(_SETTINGS).fetchall()  # some return a row; the commands after it run only when it is fetched


def open_read_only(path: Path) -> apsw.Connection:
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


def pages_in_log(log: Path, size: int) -> set[int]:
    """The numbers of the pages in the commits of a write-ahead log."""
    if not log.exists() or log.stat().st_size <= _LOG_HEADER:
        return set()
    content = np.memmap(log, np.uint8, "r")
    frames = content[_LOG_HEADER:][: (len(content) - _LOG_HEADER) // (size + _FRAME) * (size + _FRAME)]
    headers = frames.reshape(-1, size + _FRAME)[:, :16].copy().view(">u4")  # page, size after a commit, two salts
    valid = (headers[:, 2:] == content[16:24].view(">u4")).all(axis=1)
    last = np.flatnonzero(valid & (headers[:, 1] > 0))
    return set(headers[: last[-1] + 1, 0][valid[: last[-1] + 1]].tolist()) if len(last) else set()


_READ_THROUGH = 1 << 20  # bytes that are read at a time to test whether the disk returns all of a file


def absent(folder: Path) -> IndexUnavailable:
    return IndexUnavailable(
        f"there is no index at {folder}. Make one with `hoptrail index SOURCE... --index {folder}`."
    )


def still_read(folder: Path) -> StillRead:
    """The error for a removal whose text a reader keeps in the log."""
    return StillRead(
        f"what was removed from {folder} is gone from the index, but its text is still in the log, because an earlier state is "
        f"being read by {users_of(folder, writing=False)}. End it and run the same command again."
    )


def _damaged(folder: Path, error: Exception) -> HoptrailError:
    """SQLite also reports damage where the disk refused a read, so this reads the whole file to tell the two apart."""
    try:
        with (folder / DATABASE).open("rb", buffering=0) as file:
            while file.read(_READ_THROUGH):
                pass
    except OSError as refused:
        return StorageError(
            f"{folder} cannot be read: {refused.strerror or refused}. Run the same command again once the disk can be read, or "
            f"restore a backup."
        )
    return damaged(folder, str(error))


def damaged(folder: Path, fault: str) -> IndexDamaged:
    return repairable(folder, f"{folder / DATABASE} is damaged ({fault})")


def repairable(folder: Path, fault: str) -> IndexDamaged:
    """The error for a fault that `hoptrail repair` mends as far as possible."""
    return IndexDamaged(f"{fault}. Run `hoptrail repair --index {folder}`.", fault)


@contextmanager
def translating_errors(folder: Path, *further: type[Exception]) -> Iterator[None]:
    """Raise errors of SQLite and of the disk as ours. `further` ones mean damage, as a text that is none does."""
    damage: tuple[type[Exception], ...] = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError, *further)
    try:
        yield
    except HoptrailError:
        raise
    except damage as error:
        raise _damaged(folder, error) from error
    except apsw.BusyError as error:
        raise IndexBusy(
            f"{folder} is being written by {users_of(folder, writing=True)}. Wait for it to end, or stop it."
        ) from error
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
        if extended == apsw.SQLITE_IOERR_DATA:  # a page of version 0.2 does not match its checksum
            raise _damaged(folder, error) from error
        if extended == apsw.SQLITE_READONLY_ROLLBACK:  # stopped before the first commit, the only one with a journal
            raise absent(folder) from error
        raise StorageError(
            f"{folder} cannot be read or written: {error}. The index is as it was last committed; free space or mend the "
            f"permissions, then run the same command again."
        ) from error
