"""What one client may cost the server: the settings below `[server]`. What obeys them is in `serving/server/`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from hoptrail.documents.limits import MIB
from hoptrail.errors import UsageError


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Sizes are bytes, times seconds. What goes beyond one is refused with a message that names it."""

    body: int = MIB // 4
    """A request that brings no documents."""
    upload: int = 64 * MIB
    """A request that brings documents, all of them together."""
    files: int = 100
    """Documents that one request brings."""
    waiting_uploads: int = 512 * MIB
    """Uploads of a workspace that are not indexed yet. Those of cancelled jobs make room for others."""
    waiting_jobs: int = 1000
    """Jobs of a workspace that are not finished."""
    asks: int = 8
    """Questions that are worked on at once, of all workspaces together. One key has three quarters of them at the most."""
    queue: int = 64
    """Questions of one key that wait for that; more are told to come again."""
    ask_seconds: float = 300.0
    """A question: no further language task is begun after that."""
    body_seconds: float = 60.0
    """For the whole body of a request to arrive."""
    header_seconds: float = 10.0
    """For a request's head to arrive, on a new connection or one that is kept open."""
    connections: int = 1000
    address_connections: int = 200
    """Connections from one address. Behind a proxy all come from its address: then as many as `connections`."""
    stop_seconds: int = 20
    """For requests under way, when the server is told to stop."""

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "queue" else 1 if field.type == "int" else 0.001
            value = getattr(self, field.name)
            if value < least or not math.isfinite(value):
                raise UsageError(f"the limit {field.name} must be at least {least} and finite, not {value}.")
