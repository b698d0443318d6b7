"""The body of a request, in the dialect that an endpoint takes: servers differ in names of parameters, and in which they know.

An endpoint is first spoken to as all were once: `max_tokens`, and every parameter that the settings send. What it refuses by
name is said in the other way, or left out, from then on; so are the limits of a schema. A refusal costs nothing.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from typing import Any

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.logprobs import ALTERNATIVES, names_logprobs
from hoptrail.models.statuses import names_format
from hoptrail.models.text import whole_text

OLDER, NEWER = "max_tokens", "max_completion_tokens"
OPTIONAL = ("temperature", "seed", "n", "frequency_penalty")
"""What a request can do without: replies are then less alike, fewer, or longer."""
PENALTY = 0.5
"""On words said before, in plain text: models that write no JSON often do not end either, and this ends them. Endpoints document
.1 to 1 for that.
"""
LIMITS = ("maxLength", "maxItems")
"""What a schema can do without: endpoints whose models end by themselves refuse it, those that decode by a grammar honour it."""

_log = logging.getLogger(__name__)


class Dialect:
    """What one endpoint takes, as far as it has shown. For any number of threads."""

    def __init__(self, settings: ChatSettings) -> None:
        self._lock = threading.Lock()
        self._settles = settings.output_parameter == "auto"
        self._output = OLDER if self._settles else settings.output_parameter
        self._refused: frozenset[str] = frozenset()
        self._unlimited: frozenset[Rung] = frozenset()

    def body(self, request: ChatRequest, count: int = 1) -> dict[str, Any]:
        """What is sent for `request` now, for `count` replies to it."""
        with self._lock:
            output, refused, unlimited = self._output, self._refused, self._unlimited
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": whole_text(message.text)} for message in request.messages],
            output: request.max_output_tokens,
        }
        if request.temperature >= 0:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        if count > 1:
            body["n"] = count
        if request.rung is Rung.PLAIN:
            body["frequency_penalty"] = PENALTY
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        body = {name: value for name, value in body.items() if name not in refused}
        return body | _form(request, limited=request.rung not in unlimited)

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known."""
        with self._lock:
            return "n" not in self._refused

    def ignores_several(self) -> None:
        """One reply came where several were asked for."""
        with self._lock:
            self._refused |= {"n"}

    def learn(self, words: str, request: ChatRequest, body: dict[str, Any]) -> bool:
        """From the words with which `body` was refused; whether the same request would have another body now."""
        rung = request.rung
        if rung.carries_schema and _REFUSED_LIMITS.search(words):
            with self._lock:
                known, self._unlimited = rung in self._unlimited, self._unlimited | {rung}
            if not known:
                return True
        if "logprobs" in body and names_logprobs(words):
            self._refuses_logprobs(words)
            return True
        if names_format(words):
            return False  # some quote the whole request beside what they mean
        with self._lock:
            unknown = _names(OLDER, words) and (_names(NEWER, words) or _UNKNOWN.search(words))
            if self._settles and OLDER in body and unknown:
                self._output = NEWER
                return True
            named = {name for name in OPTIONAL if name in body and _names(name, words)}
            if new := named - self._refused - {"n"}:  # without it each reply is asked for by itself
                _log.warning(
                    "the endpoint refuses %s, which is left out from now on: %s", " and ".join(sorted(new)), words
                )
            self._refused |= named
        if "logprobs" in body and not named:  # it may be them, and nothing is lost with them
            self._refuses_logprobs(words)
            return True
        return bool(named)

    def _refuses_logprobs(self, words: str) -> None:
        _log.info("the endpoint is asked without log-probabilities from now on: %s", words)
        with self._lock:
            self._refused |= {"logprobs", "top_logprobs"}


def _names(parameter: str, words: str) -> bool:
    """Whether a server's words name this parameter; a single letter must stand in quotes."""
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
"""What endpoints say of a schema whose limits they do not know, or whose grammar grows too large by them."""


def _form(request: ChatRequest, *, limited: bool) -> dict[str, Any]:
    """How the form of the reply is asked for: nothing where the messages say it all."""
    if request.rung.carries_schema:
        schema = json.loads(request.schema)
        schema = schema if limited else _without_limits(schema)
    match request.rung:
        case Rung.SCHEMA:
            form = {"name": request.task, "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        case Rung.JSON_WITH_SCHEMA:
            return {"response_format": {"type": "json_object", "schema": schema}}
        case Rung.TOOLS:
            told = {"name": request.task, "description": "Gives the reply.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": told}],
                "tool_choice": {"type": "function", "function": {"name": request.task}},
            }
        case Rung.JSON:
            return {"response_format": {"type": "json_object"}}
        case Rung.PROMPT | Rung.PLAIN:
            return {}


def _without_limits(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_limits(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: _without_limits(value) for key, value in part.items() if key not in LIMITS}
