"""Writing a file as a whole, so that nobody ever finds half of it."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a whole file: at every instant there is the old one or the new one. A pipe or a terminal is written to as it is.

    Raises:
        OSError: it could not be written; the old one is intact.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    written = path.with_name(path.name + ".new")
    with written.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
