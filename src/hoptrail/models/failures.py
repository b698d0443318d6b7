"""How a single try of a model call can fail. `limiter.py` decides whether to retry; callers of `billing.py` see other errors."""

from __future__ import annotations

from enum import StrEnum

SHOWN = 500
"""The most characters of a server's message that are passed on."""


class FailureKind(StrEnum):
    """What to do after a failed try."""

    BUSY = "busy"  # all calls wait, then retry
    PASSING = "passing"  # this call waits, then retries
    UNREACHED = "unreached"  # the same; no connection was made
    REFUSED = "refused"  # stop at once
    FORMAT = "format"  # the request is not understood; one without a reply format may be
    CONTEXT = "context"  # the prompt is too long for the model
    NONSENSE = "nonsense"  # not a reply of a chat endpoint, or not to this request


class CallFailed(Exception):
    """One try failed.

    `paid`: the server may have billed it, because the model may have run. `wait`: the seconds that the server asked us to wait.
    """

    def __init__(self, kind: FailureKind, reason: str, *, paid: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.paid = paid
        self.wait = wait
