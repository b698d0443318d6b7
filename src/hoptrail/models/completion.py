"""Parsing what a chat endpoint sends, a JSON body or a stream of events, into the text and the cost of a reply.

Strict where a wrong guess would cost (an HTML page with status 200 is not a reply, neither is a stream without an end); lenient
where servers differ (no usage, no role, content in parts), and where the connection broke after a complete reply, which was paid
for. Implausible usage is replaced by an estimate and flagged.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, TypeVar

from hoptrail.models.chat import ChatRequest
from hoptrail.models.client import CallFailed, FailureKind, failure_within
from hoptrail.models.prompt_text import estimated_tokens, start_of_loop, whole_text
from hoptrail.types import Usage

T = TypeVar("T")

LARGEST_TEXT = 400_000
"""The most characters of a reply that are kept; no model writes as many."""
ABSURD_FACTOR = 20
"""A server's count of prompt tokens that differs from our estimate by more than this factor is wrong."""
ABSURD_COMPLETION = 1_000_000
"""More completion tokens, reasoning included, are implausible."""
CHECK_EVERY = 2_000
"""Characters of a stream between two checks for endless repetition."""
TELL_EVERY = 0.05
"""Seconds between two times that the text of a stream is told."""

TOO_LONG = "context"
"""The `finish` of the placeholder for a reply when the prompt did not fit."""
BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Other words for an end that is a fault of the server."""
THOUGHT = "<think>"
"""What a text begins with that came as reasoning alone, in whatever field: models write so themselves."""
ALTERNATIVES = 5
"""Alternatives requested per token: all endpoints with log-probabilities allow this many."""
KEPT = 24
"""The last tokens of a reply that are kept: its last field with name and quotes, and the closing of the reply."""

Token = tuple[tuple[str, float], ...]
"""A position in a reply: the token written there, then the most probable ones, each with its log-probability."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply as received: its text (reasoning in a field of its own only if there is nothing else), why it ended, what it cost.

    `finish` is the server's word, usually `stop`, `length` or `content_filter`; `refusal` is the field of that name. `estimated`:
    the server's count was missing or implausible. Without prompt tokens it is a placeholder, or another reply to the same request
    accounts for the call. `logprobs` are those of its last tokens, if requested and sent.
    """

    text: str
    finish: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    refusal: str = ""
    logprobs: tuple[Token, ...] = ()

    @property
    def usage(self) -> Usage:
        """The usage of this reply. The call counts once for replies that share it."""
        return Usage(int(self.prompt_tokens > 0), self.prompt_tokens, self.completion_tokens)


class _Written:
    """A reply as far as it was read."""

    def __init__(self, finish: str = "") -> None:
        self.finish = finish
        self.content, self.thought, self.refusal, self.arguments = StringIO(), StringIO(), StringIO(), StringIO()
        self.tokens: tuple[Token, ...] = ()

    def add(self, choice: Any, message: Any) -> None:
        """Add a message, or a piece of one. Raises: CallFailed: the reply ended with a fault of the server."""
        self.content.write(_text_of(message.get("content")))
        self.thought.write(_text_of(message.get("reasoning_content") or message.get("reasoning")))
        if isinstance(refusal := message.get("refusal"), str):
            self.refusal.write(refusal)
        with suppress(
            LookupError, TypeError, AttributeError
        ):  # a function called in place of a text, as some do unasked
            given = message["tool_calls"][0]["function"]["arguments"]
            self.arguments.write(given if isinstance(given, str) else json.dumps(given) if given else "")
        self.tokens = (*self.tokens, *read_logprobs(choice.get("logprobs")))[-KEPT:]
        self.finish = whole_text(str(choice.get("finish_reason") or self.finish))
        error = choice.get("error")
        if self.finish in BROKEN or (error and self.finish != "stop"):
            failure = failure_within(error or self.finish, "sent within its reply")
            failure.paid = True  # the model may have run
            raise failure

    @property
    def length(self) -> int:
        return self.content.tell() + self.thought.tell() + self.refusal.tell()

    def reply(self) -> ChatReply:
        """The reply, without its cost."""
        said = (self.content, self.thought, self.refusal, self.arguments)
        content, thought, refusal, arguments = (whole_text(written.getvalue()) for written in said)
        text = content or arguments
        text = THOUGHT + thought if thought and not text.strip() else text
        return ChatReply(text[:LARGEST_TEXT], self.finish, refusal=refusal, logprobs=self.tokens)


def read_choices(chunks: Iterable[bytes], request: ChatRequest) -> list[ChatReply]:
    """All replies of a JSON body, at least one.
    Raises: CallFailed: it is not a reply of a chat endpoint, or an error in place of one.
    """
    body = bytearray()
    for chunk in until_complete(chunks, lambda: _is_json(body)):
        body.extend(chunk)
    try:
        content = json.loads(body)
        if content.get("error") and not content.get("choices"):
            raise failure_within(content["error"], "answered with status 200 and")
        written = [_Written("stop") for _ in content["choices"]]
        for one, choice in zip(written, content["choices"], strict=True):
            one.add(choice, choice["message"])
        return _counted(written, content.get("usage"), request)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        start = " ".join(body[:200].decode("utf-8", "replace").split())
    if start.lower().startswith(("<!doctype", "<html")):
        said = f"answered with a web page, perhaps a login, not with a chat reply: {start[:80]}"
        raise CallFailed(FailureKind.NONSENSE, said)
    said = f"answered with something that is not a chat reply: {start[:80]!r}"
    raise CallFailed(FailureKind.PASSING, said, paid=True)


def read_stream(events: Any, request: ChatRequest) -> ChatReply:
    """Read a reply from the client's stream of chunks, and tell its text to who listens (`ChatRequest.heard`). Endless
    repetition is cut off, because reading on would cost.
    Raises: CallFailed: the stream ended before the model did.
    """
    written, heard = _Written(), request.heard or (lambda _: None)
    usage, checked, told = None, 0, 0.0
    for event in until_complete(events, lambda: bool(written.finish)):
        content = event.model_dump(warnings=False)
        usage = content.get("usage") or usage
        for choice in (content.get("choices") or [])[:1]:
            written.add(choice, choice["delta"])
        if written.length - checked >= CHECK_EVERY:
            checked, said = written.length, written.content.getvalue() or written.thought.getvalue()
            if checked > LARGEST_TEXT or start_of_loop(said) is not None:
                written.finish = "length"
                break
        if time.monotonic() - told >= TELL_EVERY:
            heard(written.content.getvalue())
            told = time.monotonic()
    if not written.finish and _is_json(written.content.getvalue()):
        written.finish = "stop"  # some servers never say so
    if not written.finish:
        raise CallFailed(FailureKind.PASSING, f"broke off after {written.length} characters of a stream", paid=True)
    [reply] = _counted([written], usage, request)
    heard(reply.text)
    return reply


def until_complete(pieces: Iterable[T], is_complete: Callable[[], bool]) -> Iterator[T]:
    """The pieces of a reply. An error ends them silently if the reply is complete by then."""
    try:
        yield from pieces
    except Exception:  # of the network or a library; re-raised unless the reply is complete
        if not is_complete():
            raise


def _is_json(body: bytearray | str) -> bool:
    """Whether it is a whole JSON object: of a number, the end may be missing."""
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _text_of(content: Any) -> str:
    """Content that is text, nothing, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError("content is neither text nor parts")
    return content


def _counted(written: Sequence[_Written], usage: Any, request: ChatRequest) -> list[ChatReply]:
    """The replies to a call with the server's usage, or with our estimate where that is missing or implausible. The first
    accounts for the call and its prompt, each for its share of the completion tokens.
    """
    replies, estimate = [one.reply() for one in written], request.prompt_tokens
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion = (
        count if type(count := counted.get(name)) is int else -1 for name in ("prompt_tokens", "completion_tokens")
    )
    near = estimate / ABSURD_FACTOR <= prompt <= (estimate + 1) * ABSURD_FACTOR
    estimated = not near or not any(reply.text for reply in replies) <= completion <= ABSURD_COMPLETION
    if estimated:
        texts = sum(estimated_tokens(reply.text) for reply in replies)
        prompt, completion = estimate, max(texts, sum(one.length for one in written) // 4)
    share = completion // max(len(replies), 1)
    first, *others = (replace(reply, completion_tokens=share, estimated=estimated) for reply in replies)
    rest = completion - share * len(others)
    return [replace(first, prompt_tokens=prompt, completion_tokens=rest), *others]


def read_logprobs(entry: Any) -> tuple[Token, ...]:
    """The last tokens in the field `logprobs` of a reply or an event; none where it is not as documented."""
    tokens: list[Token] = []
    try:
        for written in entry["content"][-KEPT:]:
            places = (written, *(written.get("top_logprobs") or [])[:ALTERNATIVES])
            tokens.append(tuple((whole_text(one["token"]), float(one["logprob"])) for one in places))
    except (AttributeError, LookupError, TypeError, ValueError):
        return ()
    if any(math.isnan(value) for token in tokens for _, value in token):
        return ()
    # Endpoints write -9999 for the impossible.
    return tuple(tuple((text, round(max(-9999.0, min(0.0, value)), 4)) for text, value in token) for token in tokens)
