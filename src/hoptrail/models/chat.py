"""What a chat call is: the endpoint's settings, the messages, the form asked for, and the key by which the reply is known."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Literal

from hoptrail.errors import UsageError
from hoptrail.models.prompt_text import estimated_tokens

MESSAGE_TOKENS = 4
"""What a message costs beside its text: role and separators. The usual figure for chat templates."""


class Rung(StrEnum):
    """How the form of a reply is asked for, from the strictest down."""

    SCHEMA = "schema"  # response_format: json_schema
    JSON_WITH_SCHEMA = "json-with-schema"  # response_format: json_object, with a schema beside it (llama.cpp)
    TOOLS = "tools"  # a call of one function, whose arguments are the reply
    JSON = "json"  # response_format: json_object
    PROMPT = "prompt"  # the schema in the prompt
    PLAIN = "plain"  # no JSON: the reply in a few words after a mark

    @property
    def carries_schema(self) -> bool:
        """Whether the schema goes beside the messages."""
        return self in {Rung.SCHEMA, Rung.JSON_WITH_SCHEMA, Rung.TOOLS}

    @property
    def is_formed(self) -> bool:
        """Whether the server is asked for a form, so that it may refuse it."""
        return self not in {Rung.PROMPT, Rung.PLAIN}


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """One endpoint and how it is used. What is empty comes from the environment, see `environment.py`; the key always does.

    `structured` is `auto` or a rung to stay on (`schema`, `json-with-schema`, `tools`, `json`, `prompt`, `plain`).
    `output_parameter` is `auto` or the name under which the endpoint takes `max_output_tokens`. A `temperature` below 0 is not
    sent. `prompts` is a folder of one's own, whose files replace the prompts of the same names. Prices are for a million tokens
    in any currency, negative where unknown. Limits hold for all that was ever entered in one ledger; 0 is no limit.
    """

    base_url: str = ""
    model: str = ""
    api_key_variable: str = "OPENAI_API_KEY"
    temperature: float = 0.0
    max_output_tokens: int = 1024
    output_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    context_window: int = 8192
    prompts: str = ""
    structured: Literal["auto", "schema", "json-with-schema", "tools", "json", "prompt", "plain"] = "auto"
    stream: bool = False
    concurrency: int = 4
    deadline_seconds: float = 120.0
    attempts: int = 4
    backoff_seconds: float = 0.5
    longest_wait_seconds: float = 120.0
    prompt_price: float = -1.0
    completion_price: float = -1.0
    limit_calls: int = 0
    limit_tokens: int = 0
    limit_money: float = 0.0

    def __post_init__(self) -> None:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        endless = [name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)]
        if endless:  # with nan no comparison holds, so that a limit would not either
            raise UsageError(f"{', '.join(endless)} must be finite")
        if min(self.max_output_tokens, self.concurrency, self.attempts) < 1:
            raise UsageError("max_output_tokens, concurrency and attempts are at least 1")
        if self.context_window < 2 * self.max_output_tokens:
            raise UsageError("context_window is at least twice max_output_tokens: a prompt needs room as well")
        if not 0 < self.deadline_seconds < threading.TIMEOUT_MAX:
            raise UsageError("deadline_seconds is above 0")
        if min(self.backoff_seconds, self.longest_wait_seconds) < 0:
            raise UsageError("backoff_seconds and longest_wait_seconds are not negative")
        if min(self.limit_calls, self.limit_tokens, self.limit_money) < 0:
            raise UsageError("limit_calls, limit_tokens and limit_money are not negative; 0 is no limit")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True)
class ChatRequest:
    """Everything that shapes a reply, and what it is for.

    `task` names the schema; `schema` is JSON text, sent on the rungs that carry it; `documents` are those whose text the
    messages hold. A `seed` tells draws by chance apart: without one, the same request is the same reply. `logprobs` asks for
    log-probabilities of tokens beside the reply, which they do not change.
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
    logprobs: bool = False

    @cached_property
    def key(self) -> str:
        """The identity of the request by content: 32 hex digits."""
        form = self.schema if self.rung.carries_schema else ""
        messages = [[message.role, message.text] for message in self.messages]
        parts = [self.place, self.model, self.task, messages, self.rung, form, self.temperature, self.max_output_tokens]
        parts += [] if self.seed is None else [self.seed]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @cached_property
    def prompt_tokens(self) -> int:
        """Estimated, the schema included."""
        form = self.schema if self.rung.carries_schema else ""
        return estimated_tokens(form) + sum(
            estimated_tokens(message.text) + MESSAGE_TOKENS for message in self.messages
        )
