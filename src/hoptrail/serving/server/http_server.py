"""Running the app: the address it may be bound to, patience with slow clients, a graceful stop.

On the first signal no new request is taken, those under way are finished, and jobs stop with what is finished kept; a second
signal ends at once.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hoptrail.errors import UsageError
from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.guard import is_loopback
from hoptrail.serving.server.keys import Keys, variable_of

if TYPE_CHECKING:
    from fastapi import FastAPI

SWITCH_SECONDS = 0.001
"""After which a thread that computes lets the event loop's thread go on: a request needs that several times."""

TOO_MANY_CONNECTIONS = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: text/plain\r\n"
    b"Content-Length: 41\r\n\r\nToo many connections from your address.\r\n"
)


def check_address(host: str, keys: Keys, workspace: str) -> None:
    """Refuse to be open to others without a key.

    Raises:
        UsageError: the address can be reached from elsewhere, and there is no key.
    """
    if not keys and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other machines, and no key is set: whoever reaches it could read and change every "
            f"document. Set {variable_of(workspace)} to a random text, give --key-file, or serve on 127.0.0.1."
        )


def serve_app(app: FastAPI, host: str, port: int, limits: ServerLimits) -> None:
    """Serve until a signal comes. Says on the log where, once it listens.

    Raises:
        UsageError: the address cannot be bound.
    """
    server = uvicorn.Server(server_config(app, host, port, limits))
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        server.run()
    except SystemExit as ended:  # so it says that it cannot listen; the reason is on the log
        raise UsageError(f"cannot listen on {host}, port {port}: is it in use?") from ended


def server_config(app: FastAPI, host: str, port: int, limits: ServerLimits) -> uvicorn.Config:
    """Without a log of requests: the guard writes its own, which holds no address of a document."""

    class Hurried(HurriedProtocol):
        patience = limits.header_seconds
        most_of_address = limits.address_connections
        of_address: ClassVar = Counter[str]()

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Hurried,
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


class HurriedProtocol(H11Protocol):
    """Closes a connection on which the head of a request does not arrive in time, and one too many from an address."""

    patience = 10.0
    most_of_address = 200
    of_address: ClassVar[Counter[str]] = Counter()
    _clock: asyncio.TimerHandle | None = None
    _address = ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        self.of_address[self._address] += 1
        if self.of_address[self._address] > self.most_of_address:
            transport.write(TOO_MANY_CONNECTIONS)
            transport.close()
        else:
            self._wind_up()

    def data_received(self, data: bytes) -> None:
        if self._clock is None and self._is_idle():
            self._wind_up()
        super().data_received(data)
        if not self._is_idle() and self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self.of_address[self._address] -= 1
        if not self.of_address[self._address]:
            del self.of_address[self._address]
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        return cycle is None or bool(cycle.response_complete)

    def _wind_up(self) -> None:
        self._clock = self.loop.call_later(self.patience, self._run_out)

    def _run_out(self) -> None:
        self._clock = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


def log_to_stderr() -> None:
    """One line a request, and what the server itself has to say."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    for name in ("hoptrail.server", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)
