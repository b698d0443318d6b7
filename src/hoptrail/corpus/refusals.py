"""Translating errors of SQLite and of the disk into ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from hoptrail.corpus.places import DATABASE, readers_of, writer_of
from hoptrail.errors import HoptrailError, IndexBusy, IndexDamaged, IndexUnavailable, StillRead, StorageError, exhausted

_READ_THROUGH = 1 << 20
"""Bytes that are read at a time to test whether the disk returns all of a file."""


def absent(folder: Path) -> IndexUnavailable:
    """The error for a folder without an index."""
    return IndexUnavailable(
        f"there is no index at {folder}. Make one with `hoptrail index SOURCE... --index {folder}`."
    )


def still_read(folder: Path) -> StillRead:
    """The error for a removal whose text a reader keeps in the log."""
    return StillRead(
        f"what was removed from {folder} is gone from the index, but its text is still in the log, because an earlier state is "
        f"being read by {readers_of(folder)}. End it and run the same command again."
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
    """The error for a damaged database."""
    return repairable(folder, f"{folder / DATABASE} is damaged ({fault})")


def repairable(folder: Path, fault: str) -> IndexDamaged:
    """The error for a fault that `hoptrail repair` mends as far as possible."""
    return IndexDamaged(f"{fault}. Run `hoptrail repair --index {folder}`.", fault)


@contextmanager
def translating_errors(folder: Path, *further: type[Exception]) -> Iterator[None]:
    """Raise errors of SQLite and of the disk as ours. What was not committed is not stored. `further` ones mean damage, as a text
    that is none does.
    """
    damage: tuple[type[Exception], ...] = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError, *further)
    try:
        yield
    except HoptrailError:
        raise
    except damage as error:
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
        if extended == apsw.SQLITE_IOERR_DATA:  # a page of version 0.2 does not match its checksum
            raise _damaged(folder, error) from error
        if extended == apsw.SQLITE_READONLY_ROLLBACK:  # stopped before the first commit, the only one with a journal
            raise absent(folder) from error
        raise StorageError(
            f"{folder} cannot be read or written: {error}. The index is as it was last committed; free space or mend the "
            f"permissions, then run the same command again."
        ) from error
