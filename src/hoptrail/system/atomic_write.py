"""Writing a whole file atomically."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def refuse_unwritable(path: Path) -> None:
    """Raises: OSError: `replace_file` could probably not write the file. Asked before the work that makes its content."""
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        _beside(path).touch()
        _beside(path).unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file in one step; a pipe or a terminal is written to. Raises: OSError: the old file is intact."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    written = _beside(path)
    with written.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".new")
