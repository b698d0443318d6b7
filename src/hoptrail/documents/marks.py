"""Detects unchanged files without parsing: by size and times, and if these have changed, by their bytes.

Programs cannot set the time of the last change of a file's inode (`changed`), so it reveals restored backups and modification
times that were set back. Two writes within one tick of the file system's clock leave the same times. For a file read that soon
after its change, the times do not count and the bytes are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

FILE_TIME = "file time"  # the origin of a document's date that is only the time of its file's last change

TICK = 2_000_000_000  # nanoseconds: the coarsest clock of a file system


@dataclass(frozen=True, slots=True)
class FileMark:
    """Size in bytes, times in nanoseconds (`changed` 0: times do not count), digest of the bytes."""

    size: int
    modified: int
    changed: int
    digest: bytes

    def has_times_of(self, path: Path) -> bool:
        """Whether the file has the size and times of this mark. False also if it cannot be examined."""
        try:
            return self.changed > 0 and (self.size, self.modified, self.changed) == times_of(path)
        except OSError:
            return False


Known = Callable[[Sequence[str]], Mapping[str, FileMark]]
"""Maps source strings to the marks of those files that were read before and whose documents still exist."""


def nothing_known(_: Sequence[str]) -> Mapping[str, FileMark]:
    """No known files, so that every file is read."""
    return {}


def day_of(modified: int) -> str:
    """The day of a time in nanoseconds (UTC, ISO 8601)."""
    return datetime.fromtimestamp(modified / 1e9, UTC).date().isoformat()


def times_of(path: Path) -> tuple[int, int, int]:
    """Size in bytes, and the times in nanoseconds of the last change of content and inode."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def mark_of(times: tuple[int, int, int], data: bytes) -> FileMark:
    """The mark of a file with these bytes and, when they were read, these times."""
    size, modified, changed = times
    if time.time_ns() - max(modified, changed) < TICK:
        changed = 0
    return FileMark(size, modified, changed, blake2b(data, digest_size=16).digest())
