"""Runs the app: checks the address, times out slow clients, stops gracefully.

Once it is asked to stop the server accepts no new request, finishes those in progress, and stops jobs, keeping finished work.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hoptrail.errors import UsageError
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.guard import is_loopback
from hoptrail.serving.server.keys import Keys, variable_of

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

SWITCH_SECONDS = 0.001
"""Seconds after which a computing thread yields to the event loop; each request needs the loop several times."""

TOO_MANY_CONNECTIONS = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 41\r\n\r\nToo many connections from your address.\r\n"
)


def check_address(host: str, keys: Keys, workspace: str) -> None:
    """Raises: UsageError: other machines can reach the address, and there is no key."""
    if not keys and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and no key is set: anyone who reaches it could read and change every "
            f"document. Set {variable_of(workspace)} to a random text, give --key-file, or serve on 127.0.0.1."
        )


def serve_app(app: FastAPI, host: str, port: int, limits: ServerLimits, stopped: Callable[[], bool]) -> None:
    """Serve until `stopped` returns True. Logs the address once it listens. Raises: UsageError: the address cannot be bound."""
    server = Server(server_config(app, host, port, limits))
    server.stopped = stopped
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        server.run()
    except SystemExit as ended:  # how uvicorn reports that it cannot listen; the reason is in the log
        raise UsageError(f"cannot listen on {host}, port {port}: is it in use?") from ended


class Server(uvicorn.Server):
    """Handles no signals: it asks `stopped` ten times a second."""

    stopped: Callable[[], bool] = staticmethod(lambda: False)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to `interrupts`."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Whether to end."""
        return await super().on_tick(counter) or self.stopped()


def server_config(app: ASGIApp, host: str, port: int, limits: ServerLimits) -> uvicorn.Config:
    """Configuration without uvicorn's request log: the guard writes its own, which contains no document id."""

    class ConfiguredProtocol(LimitedProtocol):
        patience = limits.header_seconds
        address_limit = limits.address_connections
        connections_by_address: ClassVar = Counter[str]()

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=ConfiguredProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=max(1, round(limits.header_seconds)),
        timeout_graceful_shutdown=limits.stop_seconds,
    )


class LimitedProtocol(H11Protocol):
    """Closes a connection if the head of a request does not arrive in time, or its address has too many connections."""

    patience: float
    address_limit: int
    connections_by_address: ClassVar[Counter[str]]
    _clock: asyncio.TimerHandle
    _address: str

    def connection_made(self, transport: Any) -> None:
        """Counts the connection; one too many for its address gets an error and is closed."""
        super().connection_made(transport)
        self._start_clock()
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        self.connections_by_address[self._address] += 1
        if self.connections_by_address[self._address] > self.address_limit:
            transport.write(TOO_MANY_CONNECTIONS)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Starts the clock when the head of a further request begins, and stops it when the head is complete."""
        if self._clock.cancelled() and self._is_idle():
            self._start_clock()
        super().data_received(data)
        if not self._is_idle():
            self._clock.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock and takes the connection off the count of its address."""
        self._clock.cancel()
        self.connections_by_address[self._address] -= 1
        if not self.connections_by_address[self._address]:
            del self.connections_by_address[self._address]
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, despite its type
        return cycle is None or bool(cycle.response_complete)

    def _start_clock(self) -> None:
        self._clock = self.loop.call_later(self.patience, self._on_timeout)

    def _on_timeout(self) -> None:
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


def log_to_stderr() -> None:
    """Log one line per request, and the server's messages, to standard error."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    for name in ("hoptrail.server", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)
