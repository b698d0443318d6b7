"""How a file is known again without being parsed: by its size and times, and where these have changed, by its bytes.

The time of the last change of a file's entry (`changed`) cannot be set by programs, so that a restored backup and a time of last
change of the content that was set back show. Two writes within one tick of the file system's clock leave the same times: of a
file that was read so shortly after its change, the times are not relied on, and its bytes are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

FILE_TIME = "file time"
"""Where the date of a document comes from that is only that of its file's last change."""

_TICK = 2_000_000_000
"""Nanoseconds: the coarsest clock of a file system."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """Size in bytes, times in nanoseconds (`changed` 0: they are not relied on), digest of the bytes."""

    size: int
    modified: int
    changed: int
    digest: bytes

    def has_times_of(self, path: Path) -> bool:
        """Whether the file looks as it did; also False where it cannot be looked at."""
        try:
            return self.changed > 0 and (self.size, self.modified, self.changed) == times_of(path)
        except OSError:
            return False


Known = Callable[[Sequence[str]], Mapping[str, FileMark]]
"""Of some files, as source strings, the marks of those that were read before and whose documents are still there."""


def nothing_known(_: Sequence[str]) -> Mapping[str, FileMark]:
    """For callers that want every file read."""
    return {}


def day_of(modified: int) -> str:
    """The day of a time in nanoseconds (UTC, ISO)."""
    return datetime.fromtimestamp(modified / 1e9, UTC).date().isoformat()


def times_of(path: Path) -> tuple[int, int, int]:
    """Size, and the times of the last change of content and of entry.

    Raises:
        OSError: the file cannot be looked at.
    """
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def mark_of(times: tuple[int, int, int], data: bytes) -> FileMark:
    """The mark of a file that had these times when its bytes were read."""
    size, modified, changed = times
    if time.time_ns() - max(modified, changed) < _TICK:
        changed = 0
    return FileMark(size, modified, changed, blake2b(data, digest_size=16).digest())
