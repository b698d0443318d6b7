"""A server of objects in this process, with faults on demand: moto's, which speaks S3, or another. Knows nothing of indexes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.request import Request, urlopen

import pytest

REFUSAL = b"<Error><Code>AccessDenied</Code><AWSAccessKeyId>%s</AWSAccessKeyId></Error>"
KEY, SECRET = "AKIA-of-nobody", "secret-of-nobody"


App = Callable[..., Iterable[bytes]]
"""As WSGI has it."""


class Fault(Enum):
    REFUSED = "not done, and said so: 403"
    FAILED = "not done, and an internal error: 500"
    LOST = "done, but the answer is an internal error: 500"
    CUT = "done, but the connection breaks before the answer"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: `condition` is its If-Match or If-None-Match."""

    method: str
    path: str
    condition: str


@dataclass
class FaultyStore:
    """A server; `fault` is asked of every request."""

    app: App
    fault: Callable[[Asked], Fault | None] = lambda _: None
    heeds_conditions: bool = True
    requests: list[Asked] = field(default_factory=list)
    url: str = ""

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        condition = environ.get("HTTP_IF_MATCH") or environ.get("HTTP_IF_NONE_MATCH") or ""
        asked = Asked(environ["REQUEST_METHOD"], environ["PATH_INFO"], condition)
        self.requests.append(asked)
        fault = self.fault(asked)
        if not self.heeds_conditions:
            environ.pop("HTTP_IF_MATCH", None)
            environ.pop("HTTP_IF_NONE_MATCH", None)
        if fault in {Fault.LOST, Fault.CUT}:
            list(self.app(environ, lambda *_: lambda _: None))
        if fault is Fault.CUT:
            environ["werkzeug.socket"].shutdown(2)
        if fault is Fault.REFUSED:
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [REFUSAL % KEY.encode()]
        if fault is not None:
            start("500 Internal Server Error", [("Content-Type", "text/plain")])
            return [b"injected"]
        return self.app(environ, start)

    def make_bucket(self, name: str) -> None:
        with urlopen(Request(f"{self.url}/{name}", method="PUT")):  # noqa: S310 - the server above
            pass

    @contextmanager
    def failing(self, fault: Callable[[Asked], Fault | None]) -> Iterator[None]:
        self.fault = fault
        try:
            yield
        finally:
            self.fault = lambda _: None


def nth(number: int, fault: Fault, *, again: bool, method: str = "PUT") -> Callable[[Asked], Fault | None]:
    """The fault befalls the request of that number (from 0) and of that method and, with `again`, all after it."""
    seen = [-1]
    lock = threading.Lock()

    def decide(asked: Asked) -> Fault | None:
        if asked.method != method:
            return None
        with lock:
            seen[0] += 1
            return fault if seen[0] == number or (again and seen[0] > number) else None

    return decide


def moto() -> App:
    """S3 alone: moto's usual door looks through all its services to find out whom a request is for, which takes as long again."""
    from moto.moto_server.werkzeug_app import create_backend_app

    found: App = create_backend_app("s3")
    return found


@contextmanager
def serving(app: App | None = None) -> Iterator[FaultyStore]:
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: object) -> None:
            """A line for each request helps nobody."""

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    store = FaultyStore(app or moto())
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=Quiet)
    server.daemon_threads = True  # type: ignore[attr-defined]
    store.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(store: FaultyStore) -> dict[str, str]:
    """What a user has to set to reach it."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": store.url,
    }


def use(store: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(store).items():
        monkeypatch.setenv(name, value)
