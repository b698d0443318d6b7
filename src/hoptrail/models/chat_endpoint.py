"""A single try of a chat call to an endpoint with the OpenAI chat API, at the configured address and no other.

Replies are untrusted data (`client.py`, `completion.py`). The client's own retries are off, because `limiter.py` retries, and one
deadline applies to the whole exchange.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hoptrail.errors import HoptrailError
from hoptrail.models.chat import ChatRequest, ChatSettings
from hoptrail.models.client import Deadline, open_client
from hoptrail.models.completion import ChatReply, read_choices, read_stream
from hoptrail.models.dialect import Dialect
from hoptrail.models.environment import Address
from hoptrail.models.failures import SHOWN, CallFailed, FailureKind, failure_of_status, failure_within, words_of
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.redacting import without, without_whole
from hoptrail.types.json_object import JsonObject


class ChatEndpoint:
    """Makes single tries of calls. Thread-safe. `dialect` is what it accepts, as far as is known."""

    def __init__(self, address: Address, settings: ChatSettings) -> None:
        self.address = address
        self.dialect = Dialect(settings)
        self._settings = settings
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known; a stream has only one."""
        return "n" not in self.dialect.accepted.refused and not self._settings.stream

    def send_for(self, request: ChatRequest, count: int, left: Callable[[], None] | None = None) -> list[ChatReply]:
        """Ask once for up to `count` replies, and again at once if a refused parameter can be replaced or left out. `left` is
        called when the whole request has been passed to the operating system. An endpoint that returns fewer is asked for one at
        a time from then on.

        Neither the replies nor the reason of a failure contain the key, whatever the server says.
        Raises: CallFailed: there was no usable reply.
        """
        while True:
            body = self.dialect.body(request, count)
            try:
                replies = self._send(request, body, left)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT or not self.dialect.learn(failure.reason, request, body):
                    raise
            else:
                if len(replies) < count:
                    self.dialect.refuses({"n"})
                return replies[:count]

    def _send(self, request: ChatRequest, body: JsonObject, left: Callable[[], None] | None) -> list[ChatReply]:
        deadline = Deadline(self._settings.deadline_seconds, left)
        try:
            with deadline:
                return [self._without_key_in(reply) for reply in self._exchange(body, request)]
        except HoptrailError:  # from `left`
            raise
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything in the libraries; only this call fails
            failure = _failure(error, body)
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


def _failure(error: Exception, body: JsonObject) -> CallFailed:
    """The failure that an error stands for. A connection that was never made cost nothing; a lost one may have."""
    import httpx2
    import openai

    if isinstance(error, CallFailed):
        return error
    if isinstance(error, openai.APIStatusError):
        formed, words = "response_format" in body, words_of(error.body) or _words(error)
        return failure_of_status(
            *(error.status_code, error.response.headers, words), formed=formed, logprobs="logprobs" in body
        )
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        cause = error.__cause__ or error
        never = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
        words = " ".join(dict.fromkeys((str(error).rstrip("."), str(cause)))).strip()
        kind = FailureKind.UNREACHED if never else FailureKind.PASSING
        return CallFailed(kind, f"could not be asked: {words or type(cause).__name__}", paid=not never)
    if isinstance(error, openai.APIError) and error.body:  # an event of a stream
        failure = failure_within(error.body, "sent within its reply")
        failure.paid = True
        return failure
    return CallFailed(FailureKind.PASSING, f"sent a broken reply ({_words(error)[:SHOWN]})", paid=True)


def _words(error: Exception) -> str:
    words = " ".join(str(getattr(error, "message", None) or error).split())
    return re.sub(r"^Error code: \d+(?: - )?", "", words)
