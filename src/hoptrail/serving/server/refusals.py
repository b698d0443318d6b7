"""Errors as clients see them, in one form: `{"error": {"code", "message", "what_to_do"}}`.

Messages are for people elsewhere: they contain no path, key or document text and nothing about the machine. Errors of hoptrail
itself name folders, so clients only learn their type.
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

from hoptrail import errors
from hoptrail.errors import exhausted
from hoptrail.types.json_object import JsonObject

OPENAI = "/v1/"
"""Prefix of the paths that speak OpenAI's API."""
OVERLOAD_DELAY_SECONDS = (1.0, 3.0)
"""Bounds of the random delay before a 429. Without a delay, a client that retries at once keeps the server busy with refusals;
with a fixed one, many clients retry at the same time.
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
        """`for_agents` is the advice for agents, which have tools in place of addresses, keys and options."""
        super().__init__(message)
        self._for_agents = for_agents
        self.status = status
        self.content = {"error": {"code": code, "message": message, "what_to_do": what_to_do}}
        self.headers = dict(headers or {})

    def in_words(self, *, to_agent: bool = False) -> str:
        """The message and the advice, for clients that read a single text."""
        error = self.content["error"]
        what_to_do = (to_agent and self._for_agents) or error["what_to_do"]
        return f"{error['message'].rstrip('.')}. {what_to_do}"

    def response(self, path: str = "") -> JSONResponse:
        """The HTTP response. `path` is that of the request: clients of OpenAI's API get OpenAI's form, whose message includes
        `what_to_do`.
        """
        error: dict[str, str | None] = {**self.content["error"]}
        if path.startswith(OPENAI):
            kind = _OPENAI_TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
            error |= {"message": self.in_words(), "type": kind, "param": None}
        return JSONResponse({"error": error}, self.status, self.headers)


def not_found(what: str) -> Refusal:
    """The refusal for what does not exist and, identically, for what belongs to somebody else."""
    return Refusal(
        404,
        "not_found",
        f"There is no such {what} here.",
        "Check the id, and the key you use.",
        for_agents="Use an id from the result of a tool or from a list of resources.",
    )


def not_valid(message: str, what_to_do: str = "Correct the request.", for_agents: str = "") -> Refusal:
    """The refusal of an invalid request."""
    return Refusal(400, "not_valid", message, what_to_do, for_agents=for_agents)


def stopping() -> Refusal:
    """The refusal while the server stops."""
    return Refusal(503, "stopping", "The server is stopping.", "Try again when it is back.")


def too_large(what: str, most: int) -> Refusal:
    """The refusal of more than `most` bytes."""
    return Refusal(413, "too_large", f"{what} is larger than {most:,} bytes.", "Send less at once.")


def too_many(what: str, what_to_do: str, seconds: int) -> Refusal:
    """The refusal of what may be tried again after some seconds."""
    return Refusal(429, "too_many", what, what_to_do, {"Retry-After": str(seconds)})


def as_refusal(error: BaseException) -> Refusal:
    """The refusal for an error: by its type for errors of hoptrail, without details for any other."""
    if isinstance(error, Refusal):
        return error
    error = exhausted(error) or error
    for kind, (status, code, message, what_to_do) in _KINDS.items():
        if isinstance(error, kind):
            return Refusal(status, code, message, what_to_do)
    return Refusal(
        500, "internal", "Something went wrong inside the server.", "Try again; if it persists, ask the operator."
    )


_KINDS: dict[type[BaseException], tuple[int, str, str, str]] = {
    errors.EndpointBusy: (
        503,
        "model_busy",
        "The language model does not answer, or demands too long a wait.",
        "Ask again in a few minutes.",
    ),
    errors.Interrupted: (504, "stopped", "The answer took longer than allowed, or was stopped.", "Ask again, or less."),
    errors.IndexBusy: (409, "busy", "Another process is writing to this workspace.", "Try again when it has finished."),
    errors.NotBuilt: (
        409,
        "not_built",
        "What this recipe searches was not built in this workspace.",
        "Choose another recipe, or ask the operator to build it.",
    ),
    errors.IndexUnavailable: (
        503,
        "workspace_unavailable",
        "The index of this workspace cannot be used.",
        "Ask the operator: `hoptrail verify` tells more.",
    ),
    errors.StorageError: (507, "storage", "The server's disk or object store failed.", "Ask the operator."),
    errors.OutOfResources: (
        503,
        "out_of_resources",
        "The server has no more memory, threads or open files.",
        "Try again in a minute.",
    ),
    errors.EndpointRefused: (502, "model_refused", "The language model refuses to serve.", "Ask the operator."),
    errors.ModelUnavailable: (503, "model_unavailable", "A model is not available.", "Ask the operator."),
    errors.HoptrailError: (400, "not_possible", "This cannot be done here.", "Check recipe, language and question."),
}
"""The first matching type counts."""


_TEXTS = ("code", "message", "what_to_do")
_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": list(_TEXTS),
            "properties": {**{name: {"type": "string"} for name in _TEXTS}, "type": {"type": "string"}},
            "description": f"Paths below {OPENAI} also have `type` and `param`, as OpenAI's API has.",
        }
    },
}
_MEANINGS: dict[int | str, str] = {
    400: "The request is not valid, or cannot be done here.",
    401: "No valid key was sent.",
    403: "The key, or the site that sends the request, may not do this.",
    404: "There is none here, or it belongs to somebody else.",
    408: "The request took too long to arrive.",
    409: "The state of the workspace, document or job does not allow it.",
    413: "The request is too large.",
    415: "The content type or encoding is not supported.",
    421: "The server does not answer to this name.",
    429: "Too many at once; `Retry-After` says when to try again.",
    431: "The request has too many headers.",
    499: "The client left before the answer.",
    500: "An error inside the server.",
    502: "The language model refuses to serve.",
    503: "The server is stopping, or lacks a model, resources or the index; try again.",
    504: "The answer took longer than allowed.",
    507: "The server's disk or object store failed.",
    "default": "Any other refusal.",
}
DESCRIBED: dict[int | str, JsonObject] = {
    status: {"description": what, "content": {"application/json": {"schema": _SCHEMA}}}
    for status, what in _MEANINGS.items()
}
"""What every route may answer beside its result, for the description of the API."""


def install(app: FastAPI) -> None:
    """Answer every failure of a route in the one form."""

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        refusal = as_refusal(error)
        if refusal.status == 429:
            await asyncio.sleep(random.uniform(*OVERLOAD_DELAY_SECONDS))  # noqa: S311 - nothing secret
        return refusal.response(request.url.path)

    async def refuse_http(request: Request, error: Exception) -> JSONResponse:
        status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
        if isinstance(error.__cause__, Refusal):  # raised while the body was read, and wrapped by the reader
            refusal = error.__cause__
        elif status == 404:
            refusal = not_found("address")
        elif status == 405:
            refusal = Refusal(405, "not_allowed", "This method is not allowed here.", "See /api/openapi.json.", headers)
        else:
            refusal = Refusal(status, "not_valid", "The request cannot be read.", "Correct the request.", headers)
        return refusal.response(request.url.path)

    async def refuse_fields(request: Request, error: Exception) -> JSONResponse:
        faults = error.errors() if isinstance(error, RequestValidationError) else []
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not kind.endswith("json") and any(tuple(fault["loc"]) == ("body",) for fault in faults):
            return Refusal(
                415, "wrong_type", "The content type of the request is not JSON.", "Set Content-Type: application/json."
            ).response(request.url.path)
        return not_valid("; ".join(map(in_field, faults[:5])) or "The request is not valid.").response(request.url.path)

    app.add_exception_handler(Refusal, refuse)
    app.add_exception_handler(errors.HoptrailError, refuse)
    app.add_exception_handler(HTTPException, refuse_http)
    app.add_exception_handler(RequestValidationError, refuse_fields)


def in_field(fault: Mapping[str, Any], whole: str = "body") -> str:
    """The field and the violated rule, without the value; `whole` names what has no field. `fault` is one of pydantic's."""
    place = ".".join(str(part) for part in fault.get("loc", ()) if part != "body")[:100]
    return f"{place or whole}: {fault.get('msg', 'not valid')}"
