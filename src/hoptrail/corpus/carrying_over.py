"""Carrying over an index of version 0.2, which had checksums of pages and none of rows, in the first transaction of a writer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from hoptrail.corpus.arrays import ARRAYS, ArrayRecord, StoredArray, file_name, is_intact, packed_sums
from hoptrail.corpus.connecting import damaged, set_up, translating_errors
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.schema import FORMAT
from hoptrail.corpus.sums import ROWS, checksum_of

_CHECKING = "cksmvfs"


def carry_over(connection: apsw.Connection, folder: Path) -> None:
    """Give rows and arrays checksums, but no array that does not match its old one. Raises: IndexDamaged: a page does not."""
    check_pages(folder)
    connection.execute("ALTER TABLE postings DROP COLUMN df")  # the length of `docs`
    for table in ROWS:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
        connection.execute(f"UPDATE {table} SET checksum = {checksum_of(table)}")
    connection.execute("ALTER TABLE arrays ADD COLUMN sums BLOB")
    files: Any = connection.execute(
        "SELECT segment, name, type, shape, checksum FROM arrays WHERE data IS NULL"
    ).fetchall()
    for segment, *columns in files:
        described = ArrayRecord(*columns)
        path = folder / ARRAYS / file_name(segment, described.name)
        if is_intact(path, described):
            sums = packed_sums(StoredArray(path, described).array)
            connection.execute(
                "UPDATE arrays SET sums = ? WHERE segment = ? AND name = ?", (sums, segment, described.name)
            )
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def check_pages(folder: Path) -> None:
    """Compare the pages of an index of version 0.2 with the checksums at their ends. Raises: IndexDamaged, StorageError."""
    with translating_errors(folder), closing(_with_page_checksums(folder / DATABASE)) as connection:
        set_up(connection)
        faults = [fault for (fault,) in connection.execute("PRAGMA integrity_check") if fault != "ok"]
    if faults:
        raise damaged(folder, " ".join(faults[0].split()))


def _with_page_checksums(path: Path) -> apsw.Connection:
    """A connection through SQLite's file layer that refuses a page that does not match the checksum at its end."""
    import apsw.sqlite_extra

    usual = apsw.vfs_names()[0]
    if _CHECKING not in apsw.vfs_names():
        with closing(apsw.Connection(":memory:")) as connection:
            apsw.sqlite_extra.load(connection, "cksumvfs")
        apsw.set_default_vfs(usual)  # loading it has made it the default
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=_CHECKING)
