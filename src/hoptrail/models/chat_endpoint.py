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
from hoptrail.models.client import open_client
from hoptrail.models.completion import ChatReply, read_choices, read_stream
from hoptrail.models.deadline import Deadline
from hoptrail.models.dialect import Accepted, Dialect
from hoptrail.models.environment import Address
from hoptrail.models.failures import SHOWN, CallFailed, FailureKind, failure_of_status
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.redacting import without, without_whole
from hoptrail.types.json_object import JsonObject


class ChatEndpoint:
    """Makes single tries of calls. Thread-safe."""

    def __init__(self, address: Address, settings: ChatSettings) -> None:
        self.address = address
        self._settings = settings
        self._dialect = Dialect(settings)
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known; a stream has only one."""
        return self._dialect.takes_several and not self._settings.stream

    @property
    def accepted(self) -> Accepted:
        """The dialect of the endpoint, as far as it is known."""
        return self._dialect.accepted

    def recall(self, accepted: Accepted) -> None:
        """Use the dialect that an earlier process found."""
        self._dialect.recall(accepted)

    def send_for(self, request: ChatRequest, count: int, left: Callable[[], None] | None = None) -> list[ChatReply]:
        """Ask once for up to `count` replies, and again at once if a refused parameter can be replaced or left out. `left` is
        called when the whole request has been passed to the operating system. An endpoint that returns fewer is asked for one at
        a time from then on.

        Neither the replies nor the reason of a failure contain the key, whatever the server says.
        Raises: CallFailed: there was no usable reply.
        """
        while True:
            body = self._dialect.body(request, count)
            try:
                replies = self._send(request, body, left)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT or not self._dialect.learn(failure.reason, request, body):
                    raise
            else:
                if len(replies) < count:
                    self._dialect.ignores_several()
                return replies[:count]

    def _send(self, request: ChatRequest, body: JsonObject, left: Callable[[], None] | None) -> list[ChatReply]:
        import httpx2
        import openai

        deadline = Deadline(self._settings.deadline_seconds, left)
        failure: CallFailed
        try:
            with deadline:
                return [self._without_key_in(reply) for reply in self._exchange(body, request.prompt_tokens)]
        except CallFailed as error:
            failure = error
        except openai.APIStatusError as error:
            words, formed = _words_of_status(error), request.rung.is_formed
            failure = failure_of_status(
                *(error.status_code, error.response.headers, words), formed=formed, logprobs="logprobs" in body
            )
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            failure = _lost_connection(error)
        except HoptrailError:  # from `left`
            raise
        except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything in the libraries; only this call fails
            failure = CallFailed(FailureKind.PASSING, f"sent a broken reply ({_words_of(error)[:SHOWN]})", paid=True)
        if deadline.expired:
            spent = f"did not finish within {self._settings.deadline_seconds:g} seconds"
            failure = CallFailed(FailureKind.PASSING, spent, paid=True)
        # Without its cause: the library's errors contain the request, and servers echo the key.
        raise CallFailed(
            failure.kind, self._without_key(failure.reason), paid=failure.paid, wait=failure.wait
        ) from None

    def _exchange(self, body: JsonObject, prompt_tokens: int) -> list[ChatReply]:
        completions = self.client().chat.completions
        if self._settings.stream:
            options = {"include_usage": True}
            with completions.create(**body, stream=True, stream_options=options) as events:
                return [read_stream(events, prompt_tokens)]
        with completions.with_streaming_response.create(**body) as response:
            return read_choices(response.iter_bytes(), prompt_tokens)

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

    def _without_key(self, text: str) -> str:
        return without(whole_text(text), self.address.secrets)


def _lost_connection(error: Exception) -> CallFailed:
    """A connection that was never made cost nothing; a lost one may have."""
    import httpx2

    cause = error.__cause__ or error
    never = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
    words = " ".join(dict.fromkeys((str(error).rstrip("."), str(cause)))).strip()
    kind = FailureKind.UNREACHED if never else FailureKind.PASSING
    return CallFailed(kind, f"could not be asked: {words or type(cause).__name__}", paid=not never)


def _words_of_status(error: Any) -> str:
    """The server's message for a status, and its names for the fault (sometimes only `insufficient_quota`). Some servers send
    the error in a list.
    """
    content = error.body[0] if isinstance(error.body, list) and error.body else error.body
    content = content.get("error", content) if isinstance(content, dict) else content
    named = isinstance(content, dict)
    parts = [content.get(name) for name in ("message", "type", "code", "status", "param")] if named else [content]
    words = [" ".join(text.split()) for text in parts if isinstance(text, str)]
    return " ".join(dict.fromkeys(filter(None, words))) or _words_of(error)


def _words_of(error: Exception) -> str:
    words = " ".join(str(getattr(error, "message", None) or error).split())
    return re.sub(r"^Error code: \d+(?: - )?", "", words)
