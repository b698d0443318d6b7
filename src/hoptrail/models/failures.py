"""How one try of a model call can fail, so that whoever owns the retries can decide. Never leaves `models`, see `paying`."""

from __future__ import annotations

from enum import StrEnum

SHOWN = 500
"""Characters of a server's words that are passed on."""


class FailureKind(StrEnum):
    """What a failed try calls for."""

    BUSY = "busy"  # everybody waits, then again
    PASSING = "passing"  # this call waits, then again
    UNREACHED = "unreached"  # the same: no connection was made
    REFUSED = "refused"  # stop at once
    FORMAT = "format"  # the request is not understood; with a reply format, one without may be
    CONTEXT = "context"  # the prompt is too long for the model
    NONSENSE = "nonsense"  # not an answer of a chat endpoint, or none to this request


class CallFailed(Exception):
    """One try failed.

    `paid` is whether the server may have billed it: true wherever the model may have run. `wait` is what the server asked
    us to wait, in seconds.
    """

    def __init__(self, kind: FailureKind, reason: str, *, paid: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.paid = paid
        self.wait = wait
