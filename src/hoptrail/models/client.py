"""The HTTP client of chat models and encoders for endpoints with an OpenAI API.

Redirects are not followed. The size of everything that is read is bounded, including what the library reads by itself: bodies of
error statuses, single events of a stream. A query in the address (`?api-version=...`) is sent with every request.

A deadline applies to a whole exchange: the library's own time limits are per read, and one byte per second passes them all. At
the deadline another thread shuts the connection down, which wakes the thread that waits for the status line, headers or body; so
a connection serves one request. Looking up host names is not covered; the operating system limits that.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hoptrail.models.environment import Address, certificates, hide_in_logs
from hoptrail.models.failures import CallFailed, FailureKind

LARGEST_BODY = 64_000_000
"""The most bytes of a reply, decompressed, that are read."""

_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def open_client(address: Address, seconds: float, retries: int = 0) -> Any:
    """A client with a time limit of `seconds` per read, whose log shows no secret of the address.

    Beside the library's own errors it raises CallFailed for replies that are too large.
    """
    import httpx2
    import openai

    parts = urlsplit(address.base_url)
    client = openai.OpenAI(
        base_url=urlunsplit(parts._replace(query="", fragment="")),
        api_key=address.key,
        max_retries=retries,
        timeout=seconds,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            verify=certificates(),
            params=parts.query,
            event_hooks={"request": [attach], "response": [_bound]},
            limits=httpx2.Limits(max_keepalive_connections=0),
        ),
    )
    hide_in_logs(address.secrets)
    return client


def _bound(response: Any) -> None:
    """A response hook that limits the size of the body."""
    unbounded = response.iter_bytes

    def bounded(chunk_size: int | None = None) -> Iterator[bytes]:
        total = 0
        for chunk in unbounded(chunk_size):
            total += len(chunk)
            if total > LARGEST_BODY:
                response.close()
                reason = f"sent more than {LARGEST_BODY:,} bytes"
                raise CallFailed(FailureKind.NONSENSE, reason, paid=response.is_success)
            yield chunk

    response.iter_bytes = bounded


class Deadline:
    """Applies to every request of this thread inside `with` that `attach` is a hook of. Connections must not be reused."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.expired = False

    def __enter__(self) -> Deadline:
        self._token = _CURRENT.set(self)
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        _CURRENT.reset(self._token)
        with self._lock:
            for copy in self._sockets:
                copy.close()
            self._sockets.clear()

    def watch(self, event: str, details: dict[str, Any]) -> None:
        """Called by the HTTP library at every step. Notes new connections."""
        if not event.endswith(("connect_tcp.complete", "connect_unix_socket.complete")):
            return
        original = details["return_value"].get_extra_info("socket")
        if original is None:
            return
        # A second handle on the same connection: shutting it down leaves the state of the first, TLS included, untouched.
        copy = socket.fromfd(original.fileno(), original.family, original.type)
        with self._lock:
            self._sockets.append(copy)
            if self.expired:
                _shut(copy)

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            for copy in self._sockets:
                _shut(copy)


def attach(request: Any) -> None:
    """A request hook for the HTTP client: lets the current deadline watch the request's connection."""
    deadline = _CURRENT.get()
    if deadline is not None:
        request.extensions = {**request.extensions, "trace": deadline.watch}


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        connection.shutdown(socket.SHUT_RDWR)
