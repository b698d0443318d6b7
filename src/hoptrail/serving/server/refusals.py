"""What clients are told when something cannot be done: one shape, `{"error": {"code", "message", "what_to_do"}}`.

Messages here are written for people elsewhere: they hold no path, no key, no text of a document, nothing of the machine. The
errors of hoptrail itself name folders, so only their kind is passed on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hoptrail.errors import (
    EndpointBusy,
    EndpointRefused,
    HoptrailError,
    IndexBusy,
    IndexUnavailable,
    Interrupted,
    ModelUnavailable,
    NotBuilt,
    OutOfResources,
    StorageError,
)
from hoptrail.exhaustion import exhausted

OPENAI = "/v1/"
"""Addresses below it speak OpenAI's API."""
TOO_MANY_SECONDS = (1.0, 3.0)
"""Between which a client is told that it asks too much: one that asks again at once would keep the server busy with refusing, and
many that are told at the same time ask again at the same time.
"""
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """Raised anywhere below a route; becomes the response. `code` is for programs and does not change lightly."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        what_to_do: str,
        headers: Mapping[str, str] | None = None,
        for_agents: str = "",
    ) -> None:
        """`for_agents` is what to do for those who have tools in the place of addresses, keys and options."""
        super().__init__(message)
        self._for_agents = for_agents
        self.status = status
        self.content = {"error": {"code": code, "message": message, "what_to_do": what_to_do}}
        self.headers = dict(headers or {})

    @property
    def code(self) -> str:
        return self.content["error"]["code"]

    def in_words(self, *, to_agent: bool = False) -> str:
        """What happened and what to do, for clients that read one text."""
        error = self.content["error"]
        what_to_do = (to_agent and self._for_agents) or error["what_to_do"]
        return f"{error['message'].rstrip('.')}. {what_to_do}"

    def response(self, path: str = "") -> JSONResponse:
        """`path` is that of the request: clients of OpenAI's API are answered in its shape."""
        content = openai_shape(self) if path.startswith(OPENAI) else self.content
        return JSONResponse(content, self.status, self.headers)


def openai_shape(refusal: Refusal) -> dict[str, dict[str, str | None]]:
    """An error object as clients of OpenAI's API read it; `what_to_do` is said in its message too."""
    error = refusal.content["error"]
    kind = _OPENAI_TYPES.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
    return {"error": {**error, "message": refusal.in_words(), "type": kind, "param": None}}


def not_found(what: str) -> Refusal:
    """The same for what does not exist and for what belongs to somebody else."""
    return Refusal(
        404,
        "not_found",
        f"There is no such {what} here.",
        "Check the id, and the key you use.",
        for_agents="Take the id from what a tool or a list of resources gave.",
    )


def not_valid(message: str, what_to_do: str = "Correct the request.", for_agents: str = "") -> Refusal:
    return Refusal(400, "not_valid", message, what_to_do, for_agents=for_agents)


def stopping() -> Refusal:
    return Refusal(503, "stopping", "The server is stopping.", "Try again when it is back.")


def too_large(what: str, most: int) -> Refusal:
    return Refusal(413, "too_large", f"{what} is larger than {most:,} bytes.", "Send less at once.")


def as_refusal(error: BaseException) -> Refusal:
    """What a client is told of an error: of ours by its kind, of any other nothing but that it happened."""
    if isinstance(error, Refusal):
        return error
    error = exhausted(error) or error
    for kind, (status, code, message, what_to_do) in _KINDS.items():
        if isinstance(error, kind):
            return Refusal(status, code, message, what_to_do)
    return Refusal(
        500, "internal", "Something went wrong inside the server.", "Try again; if it stays, ask who runs it."
    )


_KINDS: dict[type[BaseException], tuple[int, str, str, str]] = {
    EndpointBusy: (
        503,
        "model_busy",
        "The language model does not answer, or asks to wait longer than allowed.",
        "Ask again in a few minutes.",
    ),
    Interrupted: (504, "stopped", "The answer took longer than allowed, or was stopped.", "Ask again, or less."),
    IndexBusy: (409, "busy", "Somebody else is writing to this workspace.", "Try again when that is done."),
    NotBuilt: (
        409,
        "not_built",
        "What this recipe searches was not built in this workspace.",
        "Choose another recipe, or ask who runs the server to build it.",
    ),
    IndexUnavailable: (
        503,
        "workspace_unavailable",
        "The index of this workspace cannot be used.",
        "Ask who runs the server: `hoptrail verify` tells more.",
    ),
    StorageError: (507, "storage", "The server's disk or object store refused.", "Ask who runs the server."),
    OutOfResources: (
        503,
        "out_of_resources",
        "The server has no more memory, threads or open files.",
        "Try again in a minute.",
    ),
    EndpointRefused: (502, "model_refused", "The language model refuses to serve.", "Ask who runs the server."),
    ModelUnavailable: (503, "model_unavailable", "A model is not available.", "Ask who runs the server."),
    HoptrailError: (400, "not_possible", "This cannot be done here.", "Check recipe, language and question."),
}
"""The first kind that fits counts."""


def install(app: FastAPI) -> None:
    """Have every failure below the routes answered in the one shape."""

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        refusal = as_refusal(error)
        if refusal.status == 429:
            await asyncio.sleep(random.uniform(*TOO_MANY_SECONDS))  # noqa: S311 - nothing secret
        return refusal.response(request.url.path)

    async def refuse_http(request: Request, error: Exception) -> JSONResponse:
        if isinstance(error.__cause__, Refusal):  # raised while the body came in, and wrapped by whoever read it
            return error.__cause__.response(request.url.path)
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        if status == 404:
            return not_found("address").response(request.url.path)
        if status == 405:
            return Refusal(405, "not_allowed", "Not with this method.", "See /api/openapi.json.", headers).response(
                request.url.path
            )
        return Refusal(status, "not_valid", "The request cannot be read.", "Correct the request.", headers).response(
            request.url.path
        )

    async def refuse_fields(request: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else []
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.endswith("json") and any(tuple(fault["loc"]) == ("body",) for fault in faults):
            return Refusal(
                415, "wrong_type", "The request does not say that it is JSON.", "Set Content-Type: application/json."
            ).response(request.url.path)
        return not_valid("; ".join(map(_fault, faults[:5])) or "The request is not valid.").response(request.url.path)

    app.add_exception_handler(Refusal, refuse)
    app.add_exception_handler(HoptrailError, refuse)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_exception_handler(RequestValidationError, refuse_fields)


def _fault(fault: Mapping[str, Any]) -> str:
    """Which field, and the rule; never the value."""
    place = ".".join(str(part) for part in fault.get("loc", ()) if part != "body")[:100]
    return f"{place or 'body'}: {fault.get('msg', 'not valid')}"
