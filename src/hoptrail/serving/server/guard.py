"""Middleware in front of every route: access, size and time limits of requests, and headers of every response.

It wraps the whole app, so no route escapes it: where there are keys, every path outside OPEN requires one. It checks the Host
(a foreign web page that points its own name at this server gets nothing), the Origin, and the length and pace of the body. It
logs one line per request, without question, key or query.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Collection
from traceback import walk_tb
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hoptrail.errors import UsageError
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.refusals import Refusal, as_refusal, too_large
from hoptrail.serving.server.services import Services

log = logging.getLogger("hoptrail.server")

OPEN = frozenset({"/", "/health", "/api/openapi.json"})
"""Paths that need no key, besides the files of the page."""
PAGE_FILES = "/page/"
MOST_HEADERS = 100
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Scripts, styles and connections from this server only; no text can become markup, even if our code has a bug."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")


class Guard:
    """ASGI middleware. It sets `request.state`: `workspaces`, the names of those that the request may use, with the labels that
    limit its key there; and `client`, a fingerprint of the key, empty without keys. `hosts` are the names that the server answers
    to, without port.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], keys: Keys, services: Services) -> None:
        self._app = app
        self._hosts = hosts
        self._keys = keys
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # there are no routes for websockets
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=list(message.get("headers", [])))
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
                message = {**message, "headers": headers.raw}
            await send(message)

        # `/mcp/` is `/mcp` without a redirect, which would name the scheme and host behind a proxy; the protocol's
        # implementation leaves out the body of an answer to HEAD.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        scope = {**scope, "method": method, "path": scope["path"].rstrip("/") or "/"}
        limits = self._services.limits
        most = limits.upload if scope["path"] == "/api/documents" else limits.body
        try:
            key = self._admit(scope, most)
            state = scope.setdefault("state", {})
            state["workspaces"], state["client"] = self._opened_by(key, scope["path"]), self._keys.mark_of(key)
            await self._app(scope, _limited(receive, most, limits.body_seconds), respond)
        except Exception as error:  # noqa: BLE001 - the border of the process: a request's failure is that request's alone
            refusal = as_refusal(error)
            if refusal.status_code == 500:  # its line, without the message, which may contain document text
                *_, (frame, line) = walk_tb(error.__traceback__)
                log.error("failed: %s in %s:%s", type(error).__name__, frame.f_globals.get("__name__"), line)
            if not status:  # the response has not begun
                await refusal.response(scope["path"])(scope, receive, respond)
        finally:
            route, seconds = getattr(scope.get("route"), "path", "(none)"), time.perf_counter() - started
            self._services.metrics.requests.labels(route, str(status)).inc()
            self._services.metrics.seconds.labels(route).observe(seconds)
            log.info("%s %s %d %.3f s", scope["method"], route, status, seconds)

    def _admit(self, scope: Scope, most: int) -> str:
        """The key of the request. Raises: Refusal: wrong host, foreign origin, or a body that is packed or over `most` bytes."""
        if len(scope["headers"]) > MOST_HEADERS:
            raise Refusal(431, "too_large", "The request has too many headers.", "Send fewer.")
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name_of(f"//{hosts[0]}") not in self._hosts:
            what_to_do = "Use the name it was started for."
            raise Refusal(421, "wrong_host", "This server does not answer to that name.", what_to_do)
        # Browsers name the origin of a request: only our own page may send some.
        foreign = "origin" in headers and urlsplit(headers["origin"]).netloc.lower() != hosts[0].lower()
        if foreign or (headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate"):
            raise Refusal(403, "foreign_origin", "Other sites may not call this server.", "Call it from its own page.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > most:
            raise too_large("The request", most)
        if headers.get("content-encoding", "identity") != "identity":
            raise Refusal(415, "not_valid", "Compressed requests are not supported.", "Send the body uncompressed.")
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return key.strip() if scheme.lower() == "bearer" else ""

    def _opened_by(self, key: str, path: str) -> dict[str, frozenset[str] | None]:
        """The workspaces that a key opens, with its labels. Raises: Refusal: none, and the path needs one."""
        if not self._keys:
            return dict.fromkeys(self._services.workspaces)
        names = self._keys.opened_by(key)
        if not names and path not in OPEN and not path.startswith(PAGE_FILES):
            what_to_do = "Send it as `Authorization: Bearer KEY`."
            headers = {"WWW-Authenticate": 'Bearer realm="hoptrail"'}
            raise Refusal(401, "no_key", "This needs the key of a workspace.", what_to_do, headers)
        return {name: names[name] for name in self._services.workspaces if name in names}


def _limited(receive: Receive, most: int, seconds: float) -> Receive:
    """`receive` for a body of at most `most` bytes, which arrives within some seconds."""
    arrived, whole = 0, False
    deadline = asyncio.get_running_loop().time() + seconds

    async def limited() -> Message:
        nonlocal arrived, whole
        try:
            async with asyncio.timeout_at(None if whole else deadline):  # only a disconnect can follow the whole body
                message = await receive()
        except TimeoutError:
            raise Refusal(408, "too_slow", "The request took too long to arrive.", "Send it again.") from None
        arrived += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if arrived > most:
            raise too_large("The request", most)
        return message

    return limited


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to `host`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(given: str) -> str:
    """A host as requests name it. Raises: UsageError: it is not a bare name or address, without scheme, port or path."""
    name = given.lower().removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        if _HOST_NAME.fullmatch(name):
            return name
    raise UsageError(f"{given!r} is not a host name: give it without scheme, port or path, like answers.example.org.")


def _name_of(address: str) -> str:
    try:
        parts = urlsplit(address)
        return "" if "@" in parts.netloc or parts.port == 0 else (parts.hostname or "")
    except ValueError:
        return ""
