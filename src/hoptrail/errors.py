"""Every error that hoptrail raises on purpose. Each message says what failed, on which item, and what to do.

The command ends with exit code 2 for a UsageError, 4 for a DocumentError, and 3 for EndpointRefused and whatever is Interrupted.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoptrail.types import Usage


class HoptrailError(Exception):
    """The root of the tree."""


class UsageError(HoptrailError, ValueError):
    """The call makes no sense: an unknown recipe, an empty question, a value out of range.

    Also a ValueError, so that pydantic collects it with the other faults when a settings class raises it.
    """


class MadeByAnother(UsageError):
    """Another language made structures of the index. `fact` says which; the advice depends on the caller."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(f"{fact}. {advice}")
        self.fact = fact


class DocumentError(HoptrailError):
    """One document could not be read.

    `source` is where it was to be read from; `reason` says in one sentence why it was not, and what to do. It is `temporary` if
    the file may be sound: it could not be opened, changed meanwhile, or its parser ran out of time.
    """

    def __init__(self, source: str, reason: str, temporary: bool = False) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason
        self.temporary = temporary

    def __reduce__(self) -> tuple[type[DocumentError], tuple[str, str, bool]]:
        """Pickle by the parts: `args` holds the joined message."""
        return type(self), (self.source, self.reason, self.temporary)


class IndexUnavailable(HoptrailError):
    """There is no index at this place, or it cannot be used."""


class NotBuilt(IndexUnavailable):
    """The index is sound, but does not hold what a recipe searches; the message says what to build."""


class IndexBusy(IndexUnavailable):
    """Another process holds the writer's lock."""


class IndexDamaged(IndexUnavailable):
    """A file of the index is missing or altered. `fault` says which, without the remedy, of which the message speaks too."""

    def __init__(self, message: str, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault or message


class IndexMismatch(IndexUnavailable):
    """The index was made by another encoder, or has the format of another version of hoptrail."""


class StorageError(HoptrailError):
    """The file system or the object store refused a write or a read; the last committed state is intact."""


@contextmanager
def disk_errors(what: str, advice: str = ".") -> Iterator[None]:
    """Raise an OSError in the body as a StorageError: `what` could not be done, the system's reason, and the advice."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{what}: {error.strerror or error}{advice}") from error


class OutOfResources(HoptrailError):
    """The system ran out of memory, threads or open files."""


class ModelUnavailable(HoptrailError):
    """Weights are missing, an optional package is not installed, or an endpoint does not answer sensibly."""


class EndpointRefused(ModelUnavailable):
    """An endpoint will not serve this user or this model. It is not asked again for a minute."""


class TaskFailed(HoptrailError):
    """A language task got no usable reply. `usage` is what trying cost, where that is known."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class EndpointUnreached(TaskFailed):
    """A language task failed because no connection to the endpoint could be made: nothing is wrong with the task."""


class WorkFailed(HoptrailError):
    """Other processes could not be started, or a batch given to them ended without a result; the message names the batch."""


class DataError(HoptrailError):
    """Evaluation data or a predictions file is missing or not in the documented layout."""


class RecordingError(DataError):
    """A recording of replies does not hold what the run asks for."""


class Interrupted(HoptrailError):
    """Work was stopped after saving what was finished: on request, or because it cannot go on now."""


class StillRead(Interrupted):
    """Removed text is out of the index, but not yet out of its files: a process still reads an earlier commit."""


class BudgetExhausted(Interrupted):
    """The next call could pass the limit on calls, tokens or money."""


class EndpointBusy(Interrupted):
    """An endpoint asked us to wait for longer, or more often, than the settings allow."""


# --- errors whose cause is that memory, threads or open files ran out: nothing is damaged then

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
