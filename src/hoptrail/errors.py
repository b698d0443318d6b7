"""Every error that hoptrail raises on purpose. Each message says what failed, on which item, and what to do.

HoptrailError
├── UsageError               wrong call: an unknown name, an impossible value (exit code 2)
├── DocumentError            one document could not be read; the others go on (exit code 4)
├── IndexUnavailable         there is no index here, or it cannot be used
│   ├── IndexBusy            another process is writing to it
│   ├── IndexDamaged         a file of it is missing or altered
│   └── IndexMismatch        made by another encoder, or by a newer format
├── StorageError             the disk refused: full, read-only, not permitted
├── ModelUnavailable         an encoder, reranker or endpoint is missing or answers nonsense
├── TaskFailed               one language task got no usable reply; costs that unit only
├── DataError                a data folder or predictions file is not as documented
└── Interrupted              stopped on request; the same command goes on from here (exit code 3)
"""

from __future__ import annotations


class HoptrailError(Exception):
    """The root: catch this to catch everything below."""


class UsageError(HoptrailError):
    """The call cannot be meant: an unknown recipe, an empty question, a value out of range."""


class DocumentError(HoptrailError):
    """One document could not be read.

    `source` is the place it was to be read from, `reason` why it was not and what to do, in one sentence.
    """

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class IndexUnavailable(HoptrailError):
    """No index at this place, or not one that can be used."""


class IndexBusy(IndexUnavailable):
    """Another process holds the writer's lock."""


class IndexDamaged(IndexUnavailable):
    """A file that the index needs is missing, truncated or altered."""


class IndexMismatch(IndexUnavailable):
    """The index was made by another encoder or by a newer version of hoptrail."""


class StorageError(HoptrailError):
    """The file system refused a write or a read; the last committed state is intact."""


class ModelUnavailable(HoptrailError):
    """Weights are missing, an optional package is not installed, or an endpoint does not answer sensibly."""


class TaskFailed(HoptrailError):
    """A language task got no usable reply."""


class DataError(HoptrailError):
    """Evaluation data or a predictions file is missing or not in the documented layout."""


class Interrupted(HoptrailError):
    """Work was stopped on request after saving what was finished."""
