"""Recognising errors whose cause is that memory, threads or open files ran out: nothing is damaged then."""

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
"""Words in the messages of other libraries."""

_NO_MEMORY = {"NoMemError", "MemoryError"}
_SQLITE_NO_MEMORY = {3082, 5386}
"""SQLite's IOERR_NOMEM and IOERR_SHMMAP."""


def exhausted(error: BaseException | None) -> OutOfResources | None:
    """The error to raise in place of one that was caused by exhaustion; None for any other."""
    while error is not None:
        if isinstance(error, OutOfResources):
            return error
        if resource := _exhausted_resource(error):
            return OutOfResources(
                f"the system gave no more {resource}. Nothing is damaged, and what was committed is kept: raise the limit of "
                f"this process (`ulimit -a` shows it) or end others, then run the same command again."
            )
        error = error.__cause__
    return None


def _exhausted_resource(error: BaseException) -> str:
    """What ran out; empty where nothing did."""
    if isinstance(error, MemoryError) or type(error).__name__ in _NO_MEMORY:
        return "memory"
    if getattr(error, "extendedresult", 0) in _SQLITE_NO_MEMORY:
        return "memory"
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return _NUMBERS[error.errno]
    if isinstance(error, HoptrailError):
        return ""
    message = str(error).lower()
    return next((resource for words, resource in _WORDS.items() if words in message), "")
