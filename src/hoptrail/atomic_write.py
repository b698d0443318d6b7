"""Writing a file as a whole, so that nobody ever finds half of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def refuse_unwritable(path: Path) -> None:
    """To be called before the work that makes a file's content.

    Raises:
        OSError: `replace_file` could not write it, as far as can be told now.
    """
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.is_file() or not path.exists():
        _beside(path).touch()
        _beside(path).unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a whole file: at every instant there is the old one or the new one. A pipe or a terminal is written to as it is.

    Raises:
        OSError: it could not be written; the old one is intact.
    """
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
