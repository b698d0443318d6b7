"""What a chat call is, and one try of it at an endpoint that speaks the OpenAI chat API, at the address configured and no other.

What comes back is treated as data from a stranger (`client.py`, `completion.py`). The client's own retries are off (retries have
one owner, `limiter.py`), and one deadline holds for the whole exchange. Knows nothing of tasks, prompts, money or what was asked
before.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from hoptrail.errors import HoptrailError, UsageError
from hoptrail.models.client import open_client
from hoptrail.models.completion import ChatReply, read_completion, read_stream
from hoptrail.models.deadline import Deadline
from hoptrail.models.environment import Address
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.redacting import without, without_whole
from hoptrail.models.text import estimated_tokens, whole_text

MESSAGE_TOKENS = 4
"""What a message costs beside its text: role and separators. The usual figure for chat templates."""
SHOWN = 500
"""Characters of a server's words that are passed on."""


class Rung(StrEnum):
    """How the form of a reply is asked for, from the strictest down."""

    SCHEMA = "schema"
    JSON = "json"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """One endpoint and how it is used. What is empty comes from the environment, see `environment.py`; the key always does.

    `structured` is `auto` or a rung to stay on (`schema`, `json`, `prompt`). A `temperature` below 0 is not sent. Prices are
    for a million tokens in any currency, negative where unknown. Limits hold for all that was ever entered in one ledger; 0 is
    no limit.
    """

    base_url: str = ""
    model: str = ""
    api_key_variable: str = "OPENAI_API_KEY"
    temperature: float = 0.0
    max_output_tokens: int = 1024
    output_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    context_window: int = 8192
    structured: Literal["auto", "schema", "json", "prompt"] = "auto"
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

    `task` names the schema; `schema` is JSON text, sent on the rung `schema` alone; `documents` are those whose text the
    messages hold. A `seed` tells draws by chance apart: without one, the same request is the same reply.
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

    @cached_property
    def key(self) -> str:
        """The identity of the request by content: 32 hex digits."""
        form = self.schema if self.rung is Rung.SCHEMA else ""
        messages = [[message.role, message.text] for message in self.messages]
        parts = [self.place, self.model, self.task, messages, self.rung, form, self.temperature, self.max_output_tokens]
        parts += [] if self.seed is None else [self.seed]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    @cached_property
    def prompt_tokens(self) -> int:
        """Estimated, the schema included."""
        form = self.schema if self.rung is Rung.SCHEMA else ""
        return estimated_tokens(form) + sum(
            estimated_tokens(message.text) + MESSAGE_TOKENS for message in self.messages
        )


class ChatEndpoint:
    """One try of a call. For any number of threads."""

    def __init__(self, address: Address, settings: ChatSettings) -> None:
        self.address = address
        self._settings = settings
        self._lock = threading.Lock()
        self._client: Any = None

    def send(self, request: ChatRequest, left: Callable[[], None] | None = None) -> ChatReply:
        """Ask once. `left` is called when the whole request has been handed to the operating system.

        Neither the reply nor the reason of a failure holds the key, whatever the server says.

        Raises:
            CallFailed: no reply, or nothing that is one.
        """
        import httpx2
        import openai

        deadline = Deadline(self._settings.deadline_seconds, left)
        failure: CallFailed
        try:
            with deadline:
                reply = self._exchange(request)
                key = self.address.key
                return replace(reply, text=without_whole(reply.text, key), refusal=without_whole(reply.refusal, key))
        except CallFailed as error:
            failure = error
        except openai.APIStatusError as error:
            failure = failure_of_status(error.status_code, error.response.headers, _words_of_status(error))
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            failure = _lost_connection(error)
        except HoptrailError:  # from `left`
            raise
        except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes provoke in the libraries costs this call only
            failure = CallFailed(FailureKind.PASSING, f"sent a broken reply ({_words_of(error)[:SHOWN]})", paid=True)
        if deadline.expired:
            spent = f"did not finish within {self._settings.deadline_seconds:g} seconds"
            failure = CallFailed(FailureKind.PASSING, spent, paid=True)
        # Without its cause: the library's errors carry the request, and servers echo the key.
        raise CallFailed(
            failure.kind, self._without_key(failure.reason), paid=failure.paid, wait=failure.wait
        ) from None

    def _exchange(self, request: ChatRequest) -> ChatReply:
        completions = self.client().chat.completions
        if self._settings.stream:
            options = {"include_usage": True}
            with completions.create(**self._body(request), stream=True, stream_options=options) as events:
                return read_stream(events, request.prompt_tokens)
        with completions.with_streaming_response.create(**self._body(request)) as response:
            return read_completion(response.iter_bytes(), request.prompt_tokens)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": whole_text(message.text)} for message in request.messages],
            self._settings.output_parameter: request.max_output_tokens,
        }
        if request.temperature >= 0:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if request.rung is Rung.SCHEMA:
            form = {"name": request.task, "schema": json.loads(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif request.rung is Rung.JSON:
            body["response_format"] = {"type": "json_object"}
        return body

    def client(self) -> Any:
        """The HTTP client, made on first use: that takes up to a second, so it is done before a call is entered as sent."""
        with self._lock:
            if self._client is None:
                self._client = open_client(self.address, self._settings.deadline_seconds)
            return self._client

    def _without_key(self, text: str) -> str:
        return without(whole_text(text), self.address.secrets)


_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|funds|balance|credit)|exceeded[_ ](?:your )?current[_ ]quota", re.IGNORECASE
)
_RATE = re.compile(r"\bper[ -](?:sec|min|hour|day)|rate[ _-]?limit|(?:try again|retry) (?:in|after)", re.IGNORECASE)
_TIME = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?)?(?![a-z])"
_WAIT = re.compile(rf"(?:try again|retry) (?:in|after)\s+((?:{_TIME}\s*)+)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TOO_LONG = re.compile(
    r"context[_ ]length|context (?:window|size)|maximum (?:context|(?:prompt|model) length)|maximum.{0,20}tokens|too many tokens|"
    r"(?:prompt|input) is too long|`inputs` (?:tokens|must have less)",
    re.IGNORECASE,
)
_MODERATED = re.compile(r"flagged|moderat|content[_ ]policy|guardrail", re.IGNORECASE)
_GATEWAY_TIMEOUTS = {504, 524}
"""What stands between us and the server stopped waiting for it; the model may have run on, and been billed."""


def failure_of_status(status: int, headers: Mapping[str, str], words: str) -> CallFailed:
    """What a status other than 200 calls for, by its number and, where that says too little, by the server's words."""
    reason = f"answered with status {status}" + (f": {words[:SHOWN]}" if words else "")
    wait = _wait(headers, words)
    if status == 403 and _MODERATED.search(words):
        return CallFailed(FailureKind.NONSENSE, reason)  # what was asked was refused, not who asked
    # Servers say "check your plan and billing" also to those who only ask too often in a minute.
    no_credit = wait is None and _NO_CREDIT.search(words) and not _RATE.search(words)
    if status in {401, 402, 403, 404} or (status == 429 and no_credit):
        return CallFailed(FailureKind.REFUSED, reason)
    if status == 429 or (status in {503, 529} and wait is not None):
        return CallFailed(FailureKind.BUSY, reason, wait=wait)
    if status in {400, 413, 422, 500} and _TOO_LONG.search(words):
        return CallFailed(FailureKind.CONTEXT, reason)
    if status in {400, 422, 501}:
        return CallFailed(FailureKind.FORMAT, reason)
    if status in {408, 409, 425} or status >= 500:
        return CallFailed(FailureKind.PASSING, reason, paid=status in _GATEWAY_TIMEOUTS)
    return CallFailed(FailureKind.NONSENSE, reason)


def _wait(headers: Mapping[str, str], words: str) -> float | None:
    """Seconds that `Retry-After` asks for, given as such or as a date by the server's own clock, or else the server's words
    ("try again in 1m3.5s"); None where neither does.
    """
    named = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", named):
        return float(named)
    try:
        until = parsedate_to_datetime(named)
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        said = _WAIT.search(words)
    if said is None:
        return None
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in re.findall(_TIME, said[1], re.IGNORECASE))


def _lost_connection(error: Exception) -> CallFailed:
    """A connection that was never made cost nothing; after that nobody knows."""
    import httpx2

    cause = error.__cause__ or error
    never = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
    words = " ".join(dict.fromkeys((str(error).rstrip("."), str(cause)))).strip()
    kind = FailureKind.UNREACHED if never else FailureKind.PASSING
    return CallFailed(kind, f"could not be asked: {words or type(cause).__name__}", paid=not never)


def _words_of_status(error: Any) -> str:
    """What a server says of a status: its message, and the names that it gives the fault (an `insufficient_quota` may stand
    there alone). Some send the error in a list.
    """
    content = error.body[0] if isinstance(error.body, list) and error.body else error.body
    content = content.get("error", content) if isinstance(content, dict) else content
    named = isinstance(content, dict)
    told = [content.get(name) for name in ("message", "type", "code", "status")] if named else [content]
    words = [" ".join(text.split()) for text in told if isinstance(text, str)]
    return " ".join(dict.fromkeys(filter(None, words))) or _words_of(error)


def _words_of(error: Exception) -> str:
    words = " ".join(str(getattr(error, "message", None) or error).split())
    return re.sub(r"^Error code: \d+(?: - )?", "", words)
