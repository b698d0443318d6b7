"""Limits on what one client may cost the server: the settings below `[server]`, enforced in `serving/server/`."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.documents.limits import MIB
from hoptrail.setting_limits import Above0, AtLeast0, AtLeast1, Limited


@dataclass(frozen=True, slots=True)
class ServerLimits(Limited):
    """Sizes are bytes, times seconds. A request beyond a limit is refused with a message that names the limit."""

    body: AtLeast1 = MIB // 4
    """Size of a request without documents."""
    upload: AtLeast1 = 64 * MIB
    """Size of a request with documents, all of them together."""
    files: AtLeast1 = 100
    """Documents in one request."""
    waiting_uploads: AtLeast1 = 512 * MIB
    """Uploads of a workspace that are not indexed yet. Uploads of cancelled jobs do not count."""
    waiting_jobs: AtLeast1 = 1000
    """Unfinished jobs of a workspace."""
    asks: AtLeast1 = 8
    """Questions answered at once, over all workspaces. One key gets at most three quarters of them."""
    queue: AtLeast0 = 64
    """Waiting questions of one key; further ones are refused with a request to retry."""
    ask_seconds: Above0 = 300.0
    """Time for a question; no language task is started after it."""
    body_seconds: Above0 = 60.0
    """Time for the whole body of a request to arrive."""
    header_seconds: Above0 = 10.0
    """Time for the head of a request to arrive, on a new or a kept-alive connection."""
    connections: AtLeast1 = 1000
    address_connections: AtLeast1 = 200
    """Connections from one address. Behind a proxy all have its address: set it to `connections` there."""
    stop_seconds: AtLeast1 = 20
    """Time for running requests when the server stops."""
