"""A single try of a chat call to an endpoint with the OpenAI chat API, at the configured address and no other.

A new endpoint is sent `max_tokens` and every parameter of the settings. What it refuses by name is renamed or left out from then
on, and so are the limits of a schema. A refusal costs nothing but a request, so it is stored for the next process (`billing.py`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from hoptrail.models.chat import ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.client import NAMES_FORMAT, CallFailed, FailureKind, exchanged
from hoptrail.models.completion import ChatReply, read_replies
from hoptrail.models.environment import Address, without, without_whole
from hoptrail.models.prompt_text import whole_text
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
        """Learn from the words with which `body` was refused."""
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
            _log.warning(
                "the endpoint refuses %s, which is left out from now on: %s", " and ".join(sorted(warned)), words
            )
        self.refused |= new

    async def _replies(self, client: Any, request: ChatRequest, body: JsonObject) -> list[ChatReply]:
        if heard := request.heard:
            request = replace(request, heard=lambda text: heard(without(text, self.address.secrets)))
        async with client.chat.completions.with_streaming_response.create(**body) as response:
            return [self._without_key_in(reply) for reply in await read_replies(response.iter_bytes(), request)]

    def _without_key_in(self, reply: ChatReply) -> ChatReply:
        key = self.address.key
        return replace(reply, text=without_whole(reply.text, key), refusal=without_whole(reply.refusal, key))


def _names(parameter: str, words: str) -> bool:
    """Whether a server's words contain the name of a parameter; a single letter must be in quotes."""
    name = re.escape(parameter)
    return re.search(rf"['\"`]{name}['\"`]" if len(parameter) == 1 else rf"(?<!\w){name}(?!\w)", words) is not None


_REFUSED_SYSTEM = re.compile(
    r"system role|role\b(?!\\?['\"]\s*:).{0,40}\bsystem\b|(?:developer|system)[ _]instruction|roles must alternate",
    re.IGNORECASE,
)
"""Not the `'role': 'system'` of a request that is quoted, whatever is refused in it."""
_UNKNOWN = re.compile(
    r"un(?:supported|known|recogni[sz]ed|expected)|not (?:supported|permitted|allowed)|extra", re.IGNORECASE
)
_REFUSED_LIMITS = re.compile(
    r"max_?(?:length|items)|number of repetitions|too many states|(?:feature|keyword)s?\W.{0,40}(?:not |un)support|"
    r"(?:not |un)support(?:ed)?.{0,60}(?:feature|keyword)",
    re.IGNORECASE,
)
"""What endpoints say about a schema with limits that they do not know, or that make its grammar too large."""
