"""Running out of memory, threads or open files, told from whatever else fails by it: nothing is damaged then."""

from __future__ import annotations

import errno

from hoptrail.errors import HoptrailError, OutOfResources

_NUMBERS = {errno.ENOMEM: "memory", errno.EMFILE: "open files", errno.ENFILE: "open files"}

_WORDS = {
    "can't start new thread": "threads",
    "cannot allocate memory": "memory",
    "failed to map segment": "memory",
    "bad_alloc": "memory",
    "failed to allocate memory": "memory",
    "error return without exception set": "memory",  # a library whose loading lost its MemoryError
}
"""How parts that are not ours say it."""

_NO_MEMORY = {"NoMemError", "MemoryError"}
_SQLITE_NO_MEMORY = {3082, 5386}
"""SQLite's IOERR_NOMEM and IOERR_SHMMAP."""


def exhausted(error: BaseException | None) -> OutOfResources | None:
    """The error to raise in the place of one whose cause is that the system gave no more of something."""
    while error is not None:
        if isinstance(error, OutOfResources):
            return error
        if what := _what(error):
            return OutOfResources(
                f"the system gave no more {what}. Nothing is damaged, and what was committed is kept: raise the limit of this "
                f"process (`ulimit -a` shows it) or end others, then run the same command again."
            )
        error = error.__cause__
    return None


def _what(error: BaseException) -> str:
    """What has run out; empty where nothing has."""
    if isinstance(error, MemoryError) or type(error).__name__ in _NO_MEMORY:
        return "memory"
    if getattr(error, "extendedresult", 0) in _SQLITE_NO_MEMORY:
        return "memory"
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    if isinstance(error, HoptrailError):
        return ""
    said = str(error).lower()
    return next((what for words, what in _WORDS.items() if words in said), "")
