"""Chat requests and replies: the endpoint's settings, the messages, the form of the reply, the key of the request, the cost."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from hoptrail.errors import UsageError
from hoptrail.models.prompt_text import estimated_tokens, fewest_tokens
from hoptrail.types import Usage

MESSAGE_TOKENS = 4
"""The cost of a message's role and separators; the usual figure for chat templates."""

SHORT_PROMPT = 500
"""Tokens of a prompt that any server takes whole."""
TOO_LONG = "context"
"""The `finish` of the placeholder for a reply when the prompt did not fit."""


class Rung(StrEnum):
    """How the form of a reply is requested, from the strictest down."""

    SCHEMA = "schema"  # response_format: json_schema
    PROMPT = "prompt"  # the schema in the prompt
    PLAIN = "plain"  # no JSON: the reply in a few words after a mark


Role = Literal["build", "decompose", "read"]
"""Who a model is: it builds structures, decomposes questions and completes sub-questions, or performs all other tasks."""


@dataclass(frozen=True, slots=True)
class ChatLayer:
    """What a role has other than `[chat]`: what is empty, 0 or negative is as there. Another model has its own prices or none,
    and another address gets no key but that of its own variable.
    """

    base_url: str = ""
    model: str = ""
    api_key_variable: str = ""
    context_window: int = 0
    prompt_price: float = -1.0
    completion_price: float = -1.0

    def __post_init__(self) -> None:
        if self.context_window < 0:
            raise UsageError("context_window must be at least 0, which takes that of [chat]")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """One endpoint and how to use it. Empty values come from the environment (`environment.py`), the key always does.
    `build`, `decompose` and `read` lie over the rest, each for its role (`of`).

    `structured` is `auto` or a fixed rung (`schema`, `prompt`, `plain`). A `temperature` below 0 is not sent. Prices are per
    million tokens in any currency, negative where unknown. Limits apply to everything ever entered in a ledger; 0 is no limit.
    """

    former: ClassVar = {"prompts": ""}
    base_url: str = ""
    model: str = ""
    api_key_variable: str = "OPENAI_API_KEY"
    temperature: float = 0.0
    max_output_tokens: int = 1024
    context_window: int = 8192
    structured: Literal["auto", "schema", "prompt", "plain"] = "auto"
    stream: bool = False
    concurrency: int = 4
    deadline_seconds: float = 120.0
    attempts: int = 4
    backoff_seconds: float = 0.5
    prompt_price: float = -1.0
    completion_price: float = -1.0
    limit_calls: int = 0
    limit_tokens: int = 0
    limit_money: float = 0.0
    build: ChatLayer = ChatLayer()
    decompose: ChatLayer = ChatLayer()
    read: ChatLayer = ChatLayer()

    def of(self, role: Role) -> ChatSettings:
        """The settings of a role, without layers. Raises: UsageError: the layer does not fit the rest."""
        plain, layer = ChatLayer(), asdict(getattr(self, role))
        own = {key: value for key, value in layer.items() if value != getattr(plain, key)}
        for reason, keys in (("model", ("prompt_price", "completion_price")), ("base_url", ("api_key_variable",))):
            own |= {key: layer[key] for key in keys} if reason in own else {}
        return replace(self, **own, build=plain, decompose=plain, read=plain)

    @property
    def asking(self) -> tuple[ChatSettings, ...]:
        """Those of the roles of a question: who reads, and who decomposes if that is another."""
        return tuple(dict.fromkeys((self.of("read"), self.of("decompose"))))

    def __post_init__(self) -> None:
        if any(role != ChatLayer() for role in (self.build, self.decompose, self.read)):
            self.asking, self.of("build")  # raises for a layer that does not fit
        values = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        endless = [name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)]
        if endless:  # nan passes all comparisons below
            raise UsageError(f"{', '.join(endless)} must be finite")
        if min(self.max_output_tokens, self.concurrency, self.attempts) < 1:
            raise UsageError("max_output_tokens, concurrency and attempts must be at least 1")
        if self.context_window < 2 * self.max_output_tokens:
            raise UsageError("context_window must be at least twice max_output_tokens, because a prompt needs room too")
        if not 0 < self.deadline_seconds < threading.TIMEOUT_MAX:
            raise UsageError("deadline_seconds must be above 0")
        if self.backoff_seconds < 0:
            raise UsageError("backoff_seconds must not be negative")
        if min(self.limit_calls, self.limit_tokens, self.limit_money) < 0:
            raise UsageError("limit_calls, limit_tokens and limit_money must not be negative; 0 is no limit")


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


def tokens_of(messages: Iterable[Message]) -> int:
    """An estimate."""
    return sum(estimated_tokens(message.text) + MESSAGE_TOKENS for message in messages)


@dataclass(frozen=True)
class ChatRequest:
    """Everything that determines a reply, and its purpose.

    `task` is the name of the schema; `schema` is JSON text, sent on the rung that carries it; `documents` are those whose text is
    in the messages. Random draws differ in their `seed`; without one, equal requests have the same reply. `heard` asks for a
    stream and is told its text so far.
    """

    place: str
    model: str
    task: str
    messages: tuple[Message, ...]
    rung: Rung
    schema: str
    temperature: float
    max_output_tokens: int
    documents: tuple[str, ...] = ()
    seed: int | None = None
    heard: Callable[[str], None] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def key(self) -> str:
        """The identity of the request by content: 32 hex digits."""
        form = self.schema if self.rung is Rung.SCHEMA else ""
        parts: list[Any] = [self.place, self.model, self.task, self.messages, self.rung, form]
        parts += [self.temperature, self.max_output_tokens, *([] if self.seed is None else [self.seed])]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @cached_property
    def prompt_tokens(self) -> int:
        """An estimate, including the schema."""
        form = self.schema if self.rung is Rung.SCHEMA else ""
        return estimated_tokens(form) + tokens_of(self.messages)

    @property
    def fewest_tokens(self) -> int:
        """Fewer tokens no tokeniser makes of the messages: a server that counts fewer has cut them. 0 for short ones, which any
        server takes whole.
        """
        words = sum(fewest_tokens(message.text) for message in self.messages)
        return words if words > SHORT_PROMPT else 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply as received: its text (reasoning in a field of its own only if there is nothing else), why it ended, what it cost.

    `finish` is the server's word, usually `stop`, `length` or `content_filter`; `refusal` has the words of its refusal: the
    field of that name, or why the prompt did not fit. `estimated`: the server's count was missing or implausible. Without prompt
    tokens it is a placeholder, or another reply to the same request accounts for the call.
    """

    text: str
    finish: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    refusal: str = ""

    @property
    def usage(self) -> Usage:
        """The usage of this reply. The call counts once for replies that share it."""
        return Usage(int(self.prompt_tokens > 0), self.prompt_tokens, self.completion_tokens)
