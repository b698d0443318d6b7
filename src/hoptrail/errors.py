"""Every error that hoptrail raises on purpose. Each message says what failed, on which item, and what to do.

HoptrailError
├── UsageError               wrong call: an unknown name, an impossible value (exit code 2)
│   └── MadeByAnother        another language has made what this one was to make
├── DocumentError            one document could not be read; the others go on (exit code 4)
├── IndexUnavailable         there is no index here, or it cannot be used
│   ├── NotBuilt             it is sound, and lacks what a recipe searches
│   ├── IndexBusy            another process is writing to it
│   ├── IndexDamaged         a file of it is missing or altered
│   └── IndexMismatch        made by another encoder, or by a newer format
├── StorageError             the disk or object store refused: full, read-only, not permitted, not to be reached
├── OutOfResources           the system gave no more memory, threads or open files; nothing is damaged
├── ModelUnavailable         an encoder, reranker or endpoint is missing or answers nonsense
│   └── EndpointRefused      it will not serve us: wrong key, no credit, no such model; not asked again for a minute (exit code 3)
├── TaskFailed               one language task got no usable reply; costs that unit only
│   └── EndpointUnreached    because nobody was there to be asked
├── WorkFailed               work given to other processes came to nothing; what was finished is kept
├── DataError                a data folder or predictions file is not as documented
│   └── RecordingError       a recording of replies lacks the reply that is asked for, or was altered
└── Interrupted              stopped before the end; the same command goes on from here (exit code 3)
    ├── StillRead            a removal is committed, but a reader keeps the removed text in the log
    ├── BudgetExhausted      the limit on calls, tokens or money is reached
    └── EndpointBusy         the endpoint kept asking us to wait
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoptrail.types import Usage


class HoptrailError(Exception):
    """The root: catch this to catch everything below."""


class UsageError(HoptrailError, ValueError):
    """The call cannot be meant: an unknown recipe, an empty question, a value out of range.

    Also a ValueError, so that settings classes may raise it and the checking library gathers it with the other faults.
    """


class MadeByAnother(UsageError):
    """Another language has made structures of an index. `fact` says which; what to do hangs on who wanted them made."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(f"{fact}. {advice}")
        self.fact = fact


class DocumentError(HoptrailError):
    """One document could not be read.

    `source` is the place it was to be read from, `reason` why it was not and what to do, in one sentence.
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason

    def __reduce__(self) -> tuple[type[DocumentError], tuple[str, str]]:
        """Made again from its parts when it comes from another process."""
        return type(self), (self.source, self.reason)


class IndexUnavailable(HoptrailError):
    """No index at this place, or not one that can be used."""


class NotBuilt(IndexUnavailable):
    """The index is sound, and does not hold what a recipe searches; the message says what to build."""


class IndexBusy(IndexUnavailable):
    """Another process holds the writer's lock."""


class IndexDamaged(IndexUnavailable):
    """A file that the index needs is missing, truncated or altered."""


class IndexMismatch(IndexUnavailable):
    """The index was made by another encoder or by a newer version of hoptrail."""


class StorageError(HoptrailError):
    """The file system or the object store refused a write or a read; the last committed state is intact."""


class OutOfResources(HoptrailError):
    """The system gave no more memory, threads or open files."""


class ModelUnavailable(HoptrailError):
    """Weights are missing, an optional package is not installed, or an endpoint does not answer sensibly."""


class EndpointRefused(ModelUnavailable):
    """An endpoint will not serve this user or this model. Asking again at once would change nothing, so nothing is asked."""


class TaskFailed(HoptrailError):
    """A language task got no usable reply. `usage` is what trying cost, where that is known."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class EndpointUnreached(TaskFailed):
    """A language task failed because no connection to the endpoint could be made: nothing is wrong with the task."""


class WorkFailed(HoptrailError):
    """Other processes could not be had, or work given to them ended without a result; the message names the batch."""


class DataError(HoptrailError):
    """Evaluation data or a predictions file is missing or not in the documented layout."""


class RecordingError(DataError):
    """A recording of replies does not hold what the run asks for."""


class Interrupted(HoptrailError):
    """Work was stopped after saving what was finished: on request, or because going on must wait."""


class StillRead(Interrupted):
    """What was removed is out of the index, but not yet out of its files: a process still reads the state before."""


class BudgetExhausted(Interrupted):
    """The next call could pass the limit on calls, tokens or money."""


class EndpointBusy(Interrupted):
    """An endpoint asked us to wait for longer, or more often, than the settings allow."""
