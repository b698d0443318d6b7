"""What refusals of SQLite and of the disk mean, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from hoptrail.corpus.places import DATABASE, readers_of, writer_of
from hoptrail.errors import HoptrailError, IndexBusy, IndexDamaged, IndexUnavailable, StillRead, StorageError
from hoptrail.exhaustion import exhausted

_READ_THROUGH = 1 << 20
"""Bytes that are read at a time to see whether the disk gives all of a file."""


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
