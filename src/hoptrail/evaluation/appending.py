"""Crash-safe appending for the records of a run: a kill leaves the earlier content intact.

The caller keeps track of where the valid part of the file ends.
"""

from __future__ import annotations

import os
from pathlib import Path


def append_at(path: Path, end: int, content: bytes) -> None:
    """Write `content` at offset `end`, over anything that a kill left there, and flush it to disk.

    Raises:
        OSError: it could not be written. The content before `end` is intact, and it may be tried again.
    """
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(end)
        file.seek(end)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
