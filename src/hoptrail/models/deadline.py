"""A deadline for a whole HTTP exchange. The HTTP library's own time limits are per read: one byte per second passes them all.

At the deadline another thread shuts the connection down, which wakes the thread that waits for the status line, headers or body.
Looking up host names is not covered; the operating system limits that.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


class Deadline:
    """Applies to every request of this thread inside `with` that `attach` is a hook of. Connections must not be reused.

    `left` is called each time the last byte of a request has been passed to the operating system.
    """

    def __init__(self, seconds: float, left: Callable[[], None] | None = None) -> None:
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._left = left
        self._method = b""
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
        """Called by the HTTP library at every step. Notes new connections and sent requests."""
        if event.endswith(("connect_tcp.complete", "connect_unix_socket.complete")):
            self._note_connection(details)
        elif event.endswith("send_request_headers.started"):
            self._method = details["request"].method
        elif event.endswith("send_request_body.complete") and self._left and self._method != b"CONNECT":
            self._left()  # not for CONNECT, which asks a proxy and is not the request

    def _note_connection(self, details: dict[str, Any]) -> None:
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
