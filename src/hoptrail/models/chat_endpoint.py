"""A single try of a chat call to an endpoint with the OpenAI chat API, at the configured address and no other.

A new endpoint is sent `max_tokens` and every parameter of the settings. What it refuses by name is renamed or left out from then
on, and so are the limits of a schema. A refusal costs nothing but a request, so it is stored for the next process (`billing.py`).

A JSON body or a stream of events comes back. Which of the two is seen from what comes: servers send either, whatever was asked
for and whatever they call it. It is read strictly where a wrong guess would cost (an HTML page with status 200 is not a reply,
neither is a stream without an end); leniently where servers differ (no usage, no role, content in parts), and where the
connection broke after a complete reply, which was paid for. Implausible usage is replaced by an estimate and flagged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.client import NAMES_FORMAT, CallFailed, FailureKind, exchanged, failure_within
from hoptrail.models.environment import Address, without, without_whole
from hoptrail.models.prompt_text import estimated_tokens, start_of_loop, whole_text
from hoptrail.types.json_object import JsonObject

OLDER, NEWER = "max_tokens", "max_completion_tokens"
SYSTEM = "system"
"""The role that some models and chat templates refuse: what it says then stands before what the user says."""
OPTIONAL = ("temperature", "seed", "n", "frequency_penalty", "stream", "stream_options")
"""Parameters that a request can do without: replies are then less alike, fewer, longer, or come at once."""
PENALTY = 0.5
"""The frequency penalty for plain text: models that write no JSON often do not stop either, and this stops them. Endpoints
document .1 to 1 for that.
"""
LIMITS = ("maxLength", "maxItems")
"""Keywords that a schema can do without: some endpoints refuse them, those that decode by a grammar use them."""
_WARNED = frozenset({"temperature", "seed", "frequency_penalty"})
"""Parameters whose absence changes replies, which is logged as a warning."""

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

BROKEN = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Other words for an end that is a fault of the server."""
_ENDS = dict.fromkeys(("max_tokens", "max_output_tokens", "model_length"), "length")
_FILTERED = ("sensitive", "safety", "recitation", "prohibited_content", "blocklist", "content_filtered")
_ENDS |= dict.fromkeys(_FILTERED, "content_filter")
"""What other servers call an end."""
THOUGHT = "<think>"
"""What a text begins with that came as reasoning alone, in whatever field: models write so themselves."""

_log = logging.getLogger(__name__)


class ChatEndpoint:
    """Makes single tries of calls. Thread-safe. `refused` is what it refuses, as far as is known: parameters by their names,
    `max_tokens` for its newer name, and `maxLength` for the limits of a schema.
    """

    def __init__(self, address: Address, settings: ChatSettings) -> None:
        self.address = address
        self.refused: frozenset[str] = frozenset()
        self._settings = settings
        self._lock = threading.Lock()

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known; a stream has only one."""
        return "n" not in self.refused and not self._settings.stream

    def recall(self, refused: Iterable[str]) -> None:
        """Leave out what an earlier process found to be refused."""
        self.refused |= set(refused)
        if left_out := self.refused & _WARNED:
            _log.warning("the endpoint has refused %s before, which is left out", " and ".join(sorted(left_out)))

    def send_for(self, request: ChatRequest, count: int) -> list[ChatReply]:
        """Ask once for up to `count` replies, and again at once as long as a refusal teaches to send another body. An endpoint
        that returns fewer is asked for one at a time from then on.

        Neither the replies nor the reason of a failure contain the key, whatever the server says.
        Raises: CallFailed: there was no usable reply.
        """
        tried: list[JsonObject] = []
        while True:
            body = self._body(request, count)
            try:
                read = partial(self._replies, request=request, body=body)
                replies = exchanged(self.address, self._settings.deadline_seconds, read, body)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT:
                    raise
                tried.append(body)
                with self._lock:
                    self._learn(failure.reason, body)
                if self._body(request, count) in tried:
                    raise
            else:
                if len(replies) < count:
                    with self._lock:
                        self.refused |= {"n"}
                return replies[:count]

    def _body(self, request: ChatRequest, count: int) -> JsonObject:
        left_out = self.refused
        streamed = self._settings.stream or request.heard is not None
        messages = request.messages
        if SYSTEM in left_out:
            instructions, asked, *more = messages
            messages = (Message("user", f"{instructions.text}\n\n{asked.text}"), *more)
        body = {
            "model": request.model,
            "messages": [{"role": message.role, "content": whole_text(message.text)} for message in messages],
            NEWER if OLDER in left_out else OLDER: request.max_output_tokens,
            "temperature": request.temperature if request.temperature >= 0 else None,
            "seed": request.seed,
            "n": count if count > 1 else None,
            "frequency_penalty": PENALTY if request.rung is Rung.PLAIN else None,
            "stream": streamed or None,
            "stream_options": {"include_usage": True} if streamed and "stream" not in left_out else None,
        }
        if request.rung is Rung.SCHEMA:
            limits = LIMITS if LIMITS[0] in left_out else ()
            schema = json.loads(
                request.schema, object_hook=lambda part: {key: part[key] for key in part if key not in limits}
            )
            form = {"name": request.task, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return {name: value for name, value in body.items() if value is not None and name not in left_out}

    def _learn(self, words: str, body: JsonObject) -> None:
        new: set[str] = set()
        if "response_format" in body and LIMITS[0] not in self.refused and _REFUSED_LIMITS.search(words):
            new = {LIMITS[0]}
        elif SYSTEM not in self.refused and _REFUSED_SYSTEM.search(words):
            new = {SYSTEM}
        elif not NAMES_FORMAT.search(words):  # some quote the whole request, so that names of parameters mean nothing
            unknown = _UNKNOWN.search(words)
            if OLDER in body and _names(OLDER, words) and (unknown or _names(NEWER, words)):
                new = {OLDER}
            elif NEWER in body and _names(NEWER, words) and unknown:  # by an older server at this address
                self.refused -= {OLDER}
            else:
                said = words.replace("include_usage", "stream_options")  # by what is in it
                new = {name for name in OPTIONAL if name in body and _names(name, said)}
        if warned := new & _WARNED - self.refused:
            names = " and ".join(sorted(warned))
            _log.warning("the endpoint refuses %s, which is left out from now on: %s", names, words)
        self.refused |= new

    async def _replies(self, client: Any, request: ChatRequest, body: JsonObject) -> list[ChatReply]:
        if heard := request.heard:
            request = replace(request, heard=lambda text: heard(without(text, self.address.secrets)))
        async with client.chat.completions.with_streaming_response.create(**body) as response:
            replies, key = await read_replies(response.iter_bytes(), request), self.address.key
        return [
            replace(reply, text=without_whole(reply.text, key), refusal=without_whole(reply.refusal, key))
            for reply in replies
        ]


def _names(parameter: str, words: str) -> bool:
    """Whether a server's words contain the name of a parameter; a single letter must be in quotes."""
    name = re.escape(parameter)
    return re.search(rf"['\"`]{name}['\"`]" if len(parameter) == 1 else rf"(?<!\w){name}(?!\w)", words) is not None


_REFUSED_SYSTEM = re.compile(
    r"(?i)system role|role\b(?!\\?['\"]\s*:).{0,40}\bsystem\b|(?:developer|system)[ _]instruction|roles must alternate"
)
"""Not the `'role': 'system'` of a request that is quoted, whatever is refused in it."""
_UNKNOWN = re.compile(r"(?i)un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|permitted|allowed)|extra")
_REFUSED_LIMITS = re.compile(
    r"(?i)max_?(?:length|items)|number of repetitions|too many states|(?:feature|keyword)s?\W.{0,40}(?:not |un)support|"
    r"(?:not |un)support(?:ed)?.{0,60}(?:feature|keyword)"
)
"""What endpoints say about a schema with limits that they do not know, or that make its grammar too large."""


# --- reading what comes back


class _Written:
    def __init__(self, finish: str = "") -> None:
        self.finish = finish
        self.content, self.thought, self.refusal, self.arguments = StringIO(), StringIO(), StringIO(), StringIO()
        self.usage: Any = None
        self.checked = 0

    def add(self, choice: Any, message: Any) -> None:
        """Add a choice, whole or a piece of one. Raises: CallFailed: the reply ended with a fault of the server."""
        reasoning = next(filter(None, (message.get(f"reasoning{name}") for name in ("_content", "", "_details"))), None)
        _write(message.get("content"), self.content, self.thought)
        _write(reasoning, self.thought, self.thought)
        if isinstance(refusal := message.get("refusal"), str):
            self.refusal.write(refusal)
        with suppress(LookupError, TypeError, AttributeError):  # a function called unasked, in place of a text
            called = message.get("function_call") or message["tool_calls"][0]["function"]
            given = called["arguments"]
            self.arguments.write(given if isinstance(given, str) else json.dumps(given) if given else "")
        finish, error = whole_text(str(choice.get("finish_reason") or self.finish)), choice.get("error")
        if finish in BROKEN or (error and finish != "stop"):
            raise _failure_in_reply(error or finish)
        self.finish = _ENDS.get(finish.lower(), finish)

    def take(self, event: Any) -> None:
        """Add an event of a stream. Raises: CallFailed: it is an error."""
        if event.get("error") and not event.get("choices"):
            raise _failure_in_reply(event["error"])
        self.usage = event.get("usage") or self.usage
        for choice in (event.get("choices") or [])[:1]:
            self.add(choice, choice.get("delta") or choice.get("message") or {})

    @property
    def length(self) -> int:
        return self.content.tell() + self.thought.tell() + self.refusal.tell()

    def is_endless(self) -> bool:
        """Whether it is too long, or repeats itself; looked at now and then."""
        if self.length - self.checked < CHECK_EVERY:
            return False
        self.checked = self.length
        said = self.content.getvalue() or self.thought.getvalue()
        return self.checked > LARGEST_TEXT or start_of_loop(said) is not None

    def reply(self) -> ChatReply:
        said = (self.content, self.thought, self.refusal, self.arguments)
        content, thought, refusal, arguments = (whole_text(written.getvalue()) for written in said)
        text = content or arguments
        text = THOUGHT + thought if thought and not text.strip() else text
        return ChatReply(text[:LARGEST_TEXT], self.finish, refusal=refusal)


async def read_replies(chunks: AsyncIterable[bytes], request: ChatRequest) -> list[ChatReply]:
    """All replies that a server sends, at least one; the text of a stream is told as it comes (`ChatRequest.heard`). Endless
    repetition is cut off, because reading on would cost.
    Raises: CallFailed: it is not a reply of a chat endpoint, an error in place of one, or it ended before the model did.
    """
    body, written, streamed, told = bytearray(), _Written(), False, 0.0
    heard = request.heard or (lambda _: None)
    try:
        async for event in _events(chunks, body):
            streamed = True
            written.take(event)
            if written.is_endless():
                written.finish = "length"
                break
            if time.monotonic() - told >= TELL_EVERY:
                heard(written.content.getvalue())
                told = time.monotonic()
    except (Exception, asyncio.CancelledError):  # of the network, what was sent, the time: no harm to a whole reply
        if not (written.finish if streamed else _is_json(body)):
            raise
    if not streamed:
        return _read_whole(body, request)
    if not written.finish and _is_json(written.content.getvalue()):
        written.finish = "stop"  # some servers never say so
    if not written.finish:
        raise CallFailed(FailureKind.PASSING, f"broke off after {written.length} characters of a stream", paid=True)
    [reply] = _counted([written], written.usage, request)
    heard(reply.text)
    return [reply]


def _failure_in_reply(error: Any) -> CallFailed:
    failure = failure_within(error, "sent within its reply")
    failure.paid = True  # the model may have run
    return failure


async def _events(chunks: AsyncIterable[bytes], body: bytearray) -> AsyncIterator[JsonObject]:
    """The objects in the events of a stream, as they come; `body` becomes all that was sent."""
    read = 0
    async for chunk in chunks:
        body += chunk
        if _EMPTY_LINE.search(body, len(body) - len(chunk) - 3):
            *events, rest = _EMPTY_LINE.split(bytes(body[read:]))
            read = len(body) - len(rest)
            for event in events:
                for content in _contents(event):
                    yield content
    for content in _contents(bytes(body[read:])):
        yield content


_EMPTY_LINE = re.compile(rb"(?>\r\n|\n|\r){2}")


def _contents(event: bytes) -> Iterator[JsonObject]:
    """The object in the lines of an event, or in each of them where a server sends no empty lines."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    lines = [line for line in lines if line not in {b"", b"[DONE]"}]
    try:
        contents: Iterable[Any] = [json.loads(b"\n".join(lines))]
    except ValueError:
        contents = map(json.loads, lines)
    yield from (content for content in contents if isinstance(content, dict))


def _read_whole(body: bytearray, request: ChatRequest) -> list[ChatReply]:
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


def _is_json(body: bytearray | str) -> bool:
    """Whether it is a whole JSON object: of a number, the end may be missing."""
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _write(content: Any, text: StringIO, thought: StringIO) -> None:
    """Write content (text, nothing, an object, or a list of parts, some of them reasoning) where it belongs."""
    if isinstance(content, str):
        text.write(content)
    elif isinstance(content, dict):
        text.write(json.dumps(content))
    else:
        for part in content or ():
            _write(part.get("text"), text, thought)
            _write(part.get("thinking"), thought, thought)


def _counted(written: Sequence[_Written], usage: Any, request: ChatRequest) -> list[ChatReply]:
    """The replies to a call with the server's usage, or with our estimate where that is missing or implausible. The first
    accounts for the call and its prompt, each for its share of the completion tokens.
    """
    replies, estimate = [one.reply() for one in written], request.prompt_tokens
    counted = usage if isinstance(usage, dict) else {}
    prompt, completion, *cached = (
        count if type(count := counted.get(name)) is int else -1
        for name in ("prompt_tokens", "completion_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    prompt += sum(cached) if max(cached) > prompt >= 0 else 0  # more than all of it: they are counted beside it
    near = estimate / ABSURD_FACTOR <= prompt <= (estimate + 1) * ABSURD_FACTOR
    estimated = not near or not any(reply.text for reply in replies) <= completion <= ABSURD_COMPLETION
    if estimated:
        texts = sum(estimated_tokens(reply.text) for reply in replies)
        prompt, completion = estimate, max(texts, sum(one.length for one in written) // 4)
    share = completion // max(len(replies), 1)
    first, *others = (replace(reply, completion_tokens=share, estimated=estimated) for reply in replies)
    rest = completion - share * len(others)
    return [replace(first, prompt_tokens=prompt, completion_tokens=rest), *others]
