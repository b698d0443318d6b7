"""Connections to the SQLite files of an index, and what is in a write-ahead log."""

from __future__ import annotations

import ctypes
from pathlib import Path
from urllib.parse import quote

import apsw
import numpy as np

from hoptrail.corpus.places import is_read_only
from hoptrail.corpus.sums import use_checksums
from hoptrail.errors import StorageError

_OPENING = 2000
"""Milliseconds to wait for the file. The last user to close it locks it for a moment; so does one that recovers its log."""

_LOG_HEADER, _FRAME = 32, 24
"""Bytes at the start of a write-ahead log, and before each page in it."""

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
    connection.execute(_SETTINGS).fetchall()  # some return a row; the statements after it run only when it is fetched


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
