"""Errors as clients see them, in one form: `{"error": {"code", "message", "what_to_do"}}`.

Messages are for people elsewhere: they contain no path, key or document text and nothing about the machine. Errors of hoptrail
itself name folders, so clients only learn their type.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import Request, Response
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


_TEXTS = ("code", "message", "what_to_do")
_FAULT = {"type": "object", "required": list(_TEXTS), "properties": {name: {"type": "string"} for name in _TEXTS}}
_BODY = {"schema": {"type": "object", "required": ["error"], "properties": {"error": _FAULT}}}
_ERROR = {"description": f"A refusal; below {OPENAI} with `type` and `param`.", "content": {"application/json": _BODY}}
DESCRIBED: dict[int | str, JsonObject] = {"4XX": _ERROR, "5XX": _ERROR}
"""What every route may answer beside its result, for the description of the API."""


class Refusal(HTTPException):
    """Raised anywhere below a route; becomes the response."""

    def __init__(
        self, status: int, code: str, message: str, what_to_do: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.content = {"error": {"code": code, "message": message, "what_to_do": what_to_do}}

    @property
    def in_words(self) -> str:
        """The message and the advice, for clients that read a single text."""
        return f"{self.detail.rstrip('.')}. {self.content['error']['what_to_do']}"

    def response(self, path: str) -> JSONResponse:
        """The HTTP response to the request for `path`. OpenAI's API has OpenAI's form, whose message includes `what_to_do`."""
        error: dict[str, str | None] = {**self.content["error"]}
        if path.startswith(OPENAI):
            other = "server_error" if self.status_code >= 500 else "invalid_request_error"
            error |= {"message": self.in_words, "type": _OPENAI_TYPES.get(self.status_code, other), "param": None}
        return JSONResponse({"error": error}, self.status_code, self.headers)


def not_found(what: str) -> Refusal:
    """The refusal for what does not exist and, identically, for what belongs to somebody else."""
    return Refusal(404, "not_found", f"There is no such {what} here.", "Check the id, and the key you use.")


def not_valid(message: str, what_to_do: str = "Correct the request.") -> Refusal:
    return Refusal(400, "not_valid", message, what_to_do)


def too_large(what: str, most: int, what_to_do: str = "Send less at once.") -> Refusal:
    """The refusal of more than `most` bytes."""
    return Refusal(413, "too_large", f"{what} is larger than {most:,} bytes.", what_to_do)


_OPERATOR = "Ask the operator."
_VERIFY = "Ask the operator: `hoptrail verify` tells more."
_KINDS: dict[type[BaseException], tuple[int, str, str, str]] = {
    errors.EndpointBusy: (503, "model_busy", "The language model does not answer.", "Ask again in a few minutes."),
    errors.Interrupted: (504, "stopped", "The answer took longer than allowed, or was stopped.", "Ask again, or less."),
    errors.IndexBusy: (409, "busy", "Another process is writing to this workspace.", "Try again when it has finished."),
    errors.NotBuilt: (409, "not_built", "What this recipe searches was not built here.", "Choose another recipe."),
    errors.IndexUnavailable: (503, "workspace_unavailable", "The index of this workspace cannot be used.", _VERIFY),
    errors.StorageError: (507, "storage", "The server's disk or object store failed.", _OPERATOR),
    errors.OutOfResources: (503, "out_of_resources", "The server lacks memory, threads or files.", "Try again later."),
    errors.EndpointRefused: (502, "model_refused", "The language model refuses to serve.", _OPERATOR),
    errors.ModelUnavailable: (503, "model_unavailable", "A model is not available.", _OPERATOR),
    errors.HoptrailError: (400, "not_possible", "This cannot be done here.", "Check recipe, language and question."),
    BaseException: (500, "internal", "Something went wrong inside the server.", "Try again, or ask the operator."),
}
"""The first matching type counts."""


def as_refusal(error: BaseException) -> Refusal:
    """The refusal for an error: by its type for errors of hoptrail, without details for any other."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RequestValidationError):
        faults = error.errors()
        if any(isinstance(fault.get("input"), bytes) for fault in faults):  # a body that was not read
            what_to_do = "Set Content-Type: application/json."
            return Refusal(415, "wrong_type", "The content type of the request is not JSON.", what_to_do)
        return not_valid("; ".join(map(in_field, faults[:5])))
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            return not_found("address")
        if error.status_code == 405:
            what_to_do = "See /api/openapi.json."
            return Refusal(405, "not_allowed", "This method is not allowed here.", what_to_do, error.headers)
        return Refusal(error.status_code, "not_valid", "The request cannot be read.", "Correct the request.")
    error = exhausted(error) or error
    return next(Refusal(*refused) for kind, refused in _KINDS.items() if isinstance(error, kind))


async def refuse(request: Request, error: Exception) -> JSONResponse:
    refusal = as_refusal(error)
    if refusal.status_code == 429:
        await asyncio.sleep(random.uniform(*OVERLOAD_DELAY_SECONDS))  # noqa: S311 - nothing secret
    return refusal.response(request.url.path)


_Handlers = dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]]
HANDLERS: _Handlers = {HTTPException: refuse, RequestValidationError: refuse, errors.HoptrailError: refuse}


def in_field(fault: Mapping[str, Any]) -> str:
    """The field and the violated rule, without the value. `fault` is one of pydantic's."""
    place = ".".join(str(part) for part in fault.get("loc", ()) if part != "body")[:100]
    return f"{place or 'body'}: {fault.get('msg', 'not valid')}"
