"""Adding to a file so that a kill leaves what stood before it whole: what the records of a run are written with.

Knows nothing of what is written. The caller knows where the good part of the file ends.
"""

from __future__ import annotations

import os
from pathlib import Path


def append_at(path: Path, end: int, content: bytes) -> None:
    """Write `content` at `end`, over whatever a kill left there; when this returns, it is on the disk.

    Raises:
        OSError: it could not be written. What stands before `end` is intact, and it may be tried again.
    """
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(end)
        file.seek(end)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
