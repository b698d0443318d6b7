"""A single try of a chat call to an endpoint with the OpenAI chat API, at the configured address and no other.

Replies are untrusted data (`client.py`, `completion.py`). The client's own retries are off, because `billing.py` retries, and one
deadline applies to the whole exchange.

Servers differ in the names of parameters and in those they know. A new endpoint is sent `max_tokens` and every parameter of the
settings. What it refuses by name is renamed or left out from then on, and so are the limits of a schema. A refusal costs nothing
but a request, so it is stored for the next process (`billing.py`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.client import Deadline, open_client
from hoptrail.models.completion import ALTERNATIVES, ChatReply, read_choices, read_stream
from hoptrail.models.environment import Address, without, without_whole
from hoptrail.models.failures import NAMES_FORMAT, NAMES_LOGPROBS, CallFailed, FailureKind, failure_of
from hoptrail.models.prompt_text import whole_text
from hoptrail.types.json_object import JsonObject

OLDER, NEWER = "max_tokens", "max_completion_tokens"
OPTIONAL = ("temperature", "seed", "n", "frequency_penalty", "stream", "stream_options")
"""Parameters that a request can do without: replies are then less alike, fewer, longer, or come at once."""
PENALTY = 0.5
"""The frequency penalty for plain text: models that write no JSON often do not stop either, and this stops them. Endpoints
document .1 to 1 for that.
"""
LOGPROBS = frozenset({"logprobs", "top_logprobs"})
LIMITS = ("maxLength", "maxItems")
"""Keywords that a schema can do without: some endpoints refuse them, those that decode by a grammar use them."""
_WARNED = frozenset({"temperature", "seed", "frequency_penalty"})
"""Parameters whose absence changes replies, which is logged as a warning."""

_log = logging.getLogger(__name__)


class ChatEndpoint:
    """Makes single tries of calls. Thread-safe. `dialect` is what it accepts, as far as is known."""

    def __init__(self, address: Address, settings: ChatSettings) -> None:
        self.address = address
        self.dialect = Dialect(stream=settings.stream)
        self._settings = settings
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known; a stream has only one."""
        return "n" not in self.dialect.refused and not self._settings.stream

    def send_for(self, request: ChatRequest, count: int) -> list[ChatReply]:
        """Ask once for up to `count` replies, and again at once if a refused parameter can be replaced or left out. An endpoint
        that returns fewer is asked for one at a time from then on.

        Neither the replies nor the reason of a failure contain the key, whatever the server says.
        Raises: CallFailed: there was no usable reply.
        """
        while True:
            body = self.dialect.body(request, count)
            try:
                replies = self._send(request, body)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT or not self.dialect.learn(failure.reason, request, body):
                    raise
            else:
                if len(replies) < count:
                    self.dialect.refuses({"n"})
                return replies[:count]

    def _send(self, request: ChatRequest, body: JsonObject) -> list[ChatReply]:
        deadline = Deadline(self._settings.deadline_seconds)
        try:
            with deadline:
                return [self._without_key_in(reply) for reply in self._exchange(body, request)]
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything in the libraries; only this call fails
            failure = failure_of(error, body)
        if deadline.expired:
            spent = f"did not finish within {self._settings.deadline_seconds:g} seconds"
            failure = CallFailed(FailureKind.PASSING, spent, paid=True)
        reason = without(whole_text(failure.reason), self.address.secrets)
        # Without its cause: the library's errors contain the request, and servers echo the key.
        raise CallFailed(failure.kind, reason, paid=failure.paid, wait=failure.wait) from None

    def _exchange(self, body: JsonObject, request: ChatRequest) -> list[ChatReply]:
        """The replies, in whichever form they come: some servers send no stream where one is asked for."""
        with self.client().chat.completions.with_streaming_response.create(**body) as response:
            form = response.headers.get("content-type", "")
            if "stream" in body and "json" not in form and "html" not in form:
                if heard := request.heard:
                    request = replace(request, heard=lambda text: heard(without(text, self.address.secrets)))
                return [read_stream(response.parse(), request)]
            return read_choices(response.iter_bytes(), request)

    def client(self) -> Any:
        """The HTTP client, made on first use. That takes up to a second, so callers do it before entering a call as sent."""
        with self._lock:
            if self._client is None:
                self._client = open_client(self.address, self._settings.deadline_seconds)
            return self._client

    def _without_key_in(self, reply: ChatReply) -> ChatReply:
        key = self.address.key
        text = without_whole(reply.text, key)
        logprobs = reply.logprobs if text == reply.text else ()  # they spell it out as well
        return replace(reply, text=text, refusal=without_whole(reply.refusal, key), logprobs=logprobs)


class Dialect:
    """What one endpoint refuses, as far as is known: parameters by their names, `max_tokens` for its newer name, and `maxLength`
    for the limits of a schema. Thread-safe. With `stream` every call asks for a stream.
    """

    def __init__(self, *, stream: bool) -> None:
        self._lock = threading.Lock()
        self._stream = stream
        self._guessed: frozenset[str] = frozenset()  # probably refused, but not by name
        self._recalled = False
        self.refused: frozenset[str] = frozenset()

    def recall(self, refused: Iterable[str]) -> None:
        """Use what an earlier process found."""
        self._recalled = True
        if left_out := self.refuses(refused) & _WARNED:
            _log.warning("the endpoint has refused %s before, which is left out", " and ".join(sorted(left_out)))

    def body(self, request: ChatRequest, count: int = 1) -> JsonObject:
        """The body of `request` for `count` replies."""
        left_out = self.refused | self._guessed
        body: JsonObject = {
            "model": request.model,
            "messages": [{"role": message.role, "content": whole_text(message.text)} for message in request.messages],
            "temperature": request.temperature if request.temperature >= 0 else None,
            "seed": request.seed,
            "n": count if count > 1 else None,
            "frequency_penalty": PENALTY if request.rung is Rung.PLAIN else None,
        }
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        if (self._stream or request.heard) and "stream" not in left_out:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body = {name: value for name, value in body.items() if value is not None and name not in left_out}
        body[NEWER if OLDER in left_out else OLDER] = request.max_output_tokens
        if request.rung is Rung.SCHEMA:
            schema = json.loads(request.schema)
            schema = _without_limits(schema) if LIMITS[0] in left_out else schema
            form = {"name": request.task, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def refuses(self, names: Iterable[str]) -> frozenset[str]:
        """Note parameters as refused. Returns those that were not before."""
        with self._lock:
            new = frozenset(names) - self.refused
            self.refused |= new
        return new

    def learn(self, words: str, request: ChatRequest, body: JsonObject) -> bool:
        """Learn from the words with which `body` was refused. Returns whether the same request has another body now."""
        if request.rung is Rung.SCHEMA and _REFUSED_LIMITS.search(words) and self.refuses({LIMITS[0]}):
            return True
        if "logprobs" in body and NAMES_LOGPROBS.search(words):
            _log.info("log-probabilities are no longer requested from the endpoint: %s", words)
            return bool(self.refuses(LOGPROBS))
        if NAMES_FORMAT.search(words):
            return False  # some quote the whole request, so that names of parameters mean nothing
        unknown = _UNKNOWN.search(words) is not None
        if OLDER in body and _names(OLDER, words) and (unknown or _names(NEWER, words)):
            return bool(self.refuses({OLDER}))
        if self._recalled and NEWER in body and _names(NEWER, words) and unknown:  # by an older server at this address
            self.refused, self._recalled = self.refused - {OLDER}, False
            return True
        words = words.replace("include_usage", "stream_options")  # by what is in it
        named = {name for name in OPTIONAL if name in body and _names(name, words)}
        if new := self.refuses(named) & _WARNED:
            _log.warning("the endpoint refuses %s, which is left out from now on: %s", " and ".join(sorted(new)), words)
        if "logprobs" in body and not named:  # they may be the reason, and are not essential
            self._guessed |= LOGPROBS
            return True
        return bool(named)


def _names(parameter: str, words: str) -> bool:
    """Whether a server's words contain the name of a parameter; a single letter must be in quotes."""
    name = re.escape(parameter)
    return re.search(rf"['\"`]{name}['\"`]" if len(parameter) == 1 else rf"(?<!\w){name}(?!\w)", words) is not None


_UNKNOWN = re.compile(
    r"un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|permitted|allowed)|extra", re.IGNORECASE
)
_REFUSED_LIMITS = re.compile(
    r"max_?(?:length|items)|number of repetitions|too many states|(?:feature|keyword)s?\W.{0,40}(?:not |un)support|"
    r"(?:not |un)support(?:ed)?.{0,60}(?:feature|keyword)",
    re.IGNORECASE,
)
"""What endpoints say about a schema with limits that they do not know, or that make its grammar too large."""


def _without_limits(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_limits(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: _without_limits(value) for key, value in part.items() if key not in LIMITS}
