"""Who may write: one process at a time. In a folder, by an operating-system lock that dies with its holder.

A lock file left behind by a dead process holds nothing and needs no cleaning, and a pid used again cannot be mistaken for
the holder. Beside the lock stands a note naming the holder, for the message that the second writer shows. An object store has
no such locks: there a lease does it (`lease.py`), and readers are not seen at all.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hoptrail.errors import IndexBusy, StorageError
from hoptrail.store.lease import Lease
from hoptrail.store.place import Place

LOCK = "writer.lock"
NOTE = "writer.json"


StillHeld = Callable[[], None]
"""Raises IndexBusy where the right to write has been lost."""


@contextmanager
def writers_lock(place: Place, term: float) -> Iterator[StillHeld]:
    """Hold the right to write to `place`; on an object store, for `term` seconds after this process has died.

    Raises:
        IndexBusy: another process holds it; the message names it.
        StorageError: the lock cannot be made.
    """
    if place.is_local:
        with _folder_lock(place.folder):
            yield lambda: None
        return
    lease = Lease(place, term, _told(_note()))
    lease.take()
    try:
        yield lease.check
    finally:
        lease.give_back()


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise IndexBusy(f"{folder} is being written by {_holder(folder)}. Wait for it to end, or stop it.") from error
    except OSError as error:
        raise StorageError(f"cannot lock {folder}: {error.strerror or error}. Is the folder writable?") from error
    try:
        _leave_note(folder)
        yield
    finally:
        (folder / NOTE).unlink(missing_ok=True)
        lock.release()


def _note() -> dict[str, str | int]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200],
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _told(note: dict[str, str | int]) -> str:
    return f"process {note['pid']} on {note['host']} (`{note['command']}`, since {note['since']})"


def _leave_note(folder: Path) -> None:
    try:
        (folder / NOTE).write_text(json.dumps(_note()), encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}.") from error


def _holder(folder: Path) -> str:
    """A name for the holder; the note may be half written, since only the lock itself is reliable."""
    try:
        return _told(json.loads((folder / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


READERS = "readers.lock"


def join_readers(place: Place) -> int | None:
    """Announce a reader until the returned descriptor is closed: old versions are not swept away meanwhile.

    None where that cannot be announced: an object store, a folder without the file that we may not write to, or no such locks
    on this system.
    """
    if not place.is_local:
        return None
    folder = place.folder
    try:
        import fcntl

        try:
            descriptor = os.open(folder / READERS, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # not ours to write, or the whole file system is mounted to be read only
            descriptor = os.open(folder / READERS, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def reads_alone(descriptor: int) -> bool:
    """Whether no reader but the one of this descriptor has the index in the folder open.

    That one is not announced for a moment: whoever asks holds the writer's lock, so that nobody sweeps meanwhile.
    """
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # also after a refusal, which takes the lock that was held away
    return True


@contextmanager
def readers_absent(folder: Path) -> Iterator[bool]:
    """Whether no reader has the index in this folder open; while the body runs, new readers wait."""
    try:
        import fcntl
    except ImportError:
        yield False
        return
    descriptor = os.open(folder / READERS, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
