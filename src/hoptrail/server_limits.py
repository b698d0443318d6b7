"""Limits on what one client may cost the server: the settings below `[server]`, enforced in `serving/server/`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from hoptrail.documents.limits import MIB
from hoptrail.errors import UsageError


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Sizes are bytes, times seconds. A request beyond a limit is refused with a message that names the limit."""

    body: int = MIB // 4
    """Size of a request without documents."""
    upload: int = 64 * MIB
    """Size of a request with documents, all of them together."""
    files: int = 100
    """Documents in one request."""
    waiting_uploads: int = 512 * MIB
    """Uploads of a workspace that are not indexed yet. Uploads of cancelled jobs do not count."""
    waiting_jobs: int = 1000
    """Unfinished jobs of a workspace."""
    asks: int = 8
    """Questions answered at once, over all workspaces. One key gets at most three quarters of them."""
    queue: int = 64
    """Waiting questions of one key; further ones are refused with a request to retry."""
    ask_seconds: float = 300.0
    """Time for a question; no language task is started after it."""
    body_seconds: float = 60.0
    """Time for the whole body of a request to arrive."""
    header_seconds: float = 10.0
    """Time for the head of a request to arrive, on a new or a kept-alive connection."""
    connections: int = 1000
    address_connections: int = 200
    """Connections from one address. Behind a proxy all have its address: set it to `connections` there."""
    stop_seconds: int = 20
    """Time for running requests when the server stops."""

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "queue" else 1 if field.type == "int" else 0.001
            value = getattr(self, field.name)
            if value < least or not math.isfinite(value):
                raise UsageError(f"the limit {field.name} must be at least {least} and finite, not {value}.")
