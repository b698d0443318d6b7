"""A real server in a thread, for clients that need an address."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.http_server import server_config


@contextmanager
def listening(app: ASGIApp, limits: ServerLimits | None = None) -> Iterator[str]:
    """The address of `app`, served while the body runs."""
    server = uvicorn.Server(server_config(app, "127.0.0.1", 0, limits or ServerLimits(stop_seconds=5)))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
