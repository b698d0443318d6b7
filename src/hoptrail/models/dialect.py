"""The body of a request in the dialect of an endpoint: servers differ in the names of parameters and in those they know.

A new endpoint is sent `max_tokens` and every parameter of the settings. What it refuses by name is renamed or left out from then
on, and so are the limits of a schema. A refusal costs nothing but a request, so it is stored for the next process (`billing.py`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.completion import ALTERNATIVES
from hoptrail.models.failures import NAMES_FORMAT, NAMES_LOGPROBS
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


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an endpoint refuses, as far as is known: parameters by their names, `max_tokens` for its newer name, and `maxLength`
    for the limits of a schema.
    """

    refused: frozenset[str] = frozenset()

    def as_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps({"refused": sorted(self.refused)})

    @classmethod
    def from_json(cls, text: str) -> Accepted:
        """Reads what `as_json` wrote, also in earlier versions."""
        content = json.loads(text)
        older = ({OLDER} if content.get("output") == NEWER else set()) | (
            {LIMITS[0]} if content.get("unlimited") else set()
        )
        return cls(frozenset(content["refused"]) | older)


class Dialect:
    """The dialect of one endpoint, as far as is known. Thread-safe."""

    def __init__(self, settings: ChatSettings) -> None:
        self._lock = threading.Lock()
        self._fixed = settings.output_parameter if settings.output_parameter != "auto" else ""
        self._stream = settings.stream
        self._guessed: frozenset[str] = frozenset()  # probably refused, but not by name
        self._recalled = False
        self.accepted = Accepted()

    def recall(self, accepted: Accepted) -> None:
        """Use what an earlier process found."""
        self.accepted, self._recalled = accepted, True
        if left_out := accepted.refused & _WARNED:
            _log.warning("the endpoint has refused %s before, which is left out", " and ".join(sorted(left_out)))

    def body(self, request: ChatRequest, count: int = 1) -> JsonObject:
        """The body of `request` for `count` replies."""
        left_out = self.accepted.refused | self._guessed
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
        body[self._fixed or (NEWER if OLDER in left_out else OLDER)] = request.max_output_tokens
        if request.rung is Rung.SCHEMA:
            schema = json.loads(request.schema)
            schema = _without_limits(schema) if LIMITS[0] in left_out else schema
            form = {"name": request.task, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def refuses(self, names: Iterable[str]) -> frozenset[str]:
        """Note parameters as refused. Returns those that were not before."""
        with self._lock:
            new = frozenset(names) - self.accepted.refused
            self.accepted = Accepted(self.accepted.refused | new)
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
        if not self._fixed and self._other_output(words, body):
            return True
        words = words.replace("include_usage", "stream_options")  # by what is in it
        named = {name for name in OPTIONAL if name in body and _names(name, words)}
        if new := self.refuses(named) & _WARNED:
            _log.warning("the endpoint refuses %s, which is left out from now on: %s", " and ".join(sorted(new)), words)
        if "logprobs" in body and not named:  # they may be the reason, and are not essential
            self._guessed |= LOGPROBS
            return True
        return bool(named)

    def _other_output(self, words: str, body: JsonObject) -> bool:
        """Switch the name for the most tokens if the older one is refused, or the newer one that was recalled. Returns whether it
        was switched.
        """
        unknown = _UNKNOWN.search(words) is not None
        if OLDER in body and _names(OLDER, words) and (_names(NEWER, words) or unknown):
            return bool(self.refuses({OLDER}))
        if self._recalled and NEWER in body and _names(NEWER, words) and unknown:
            self.accepted, self._recalled = Accepted(self.accepted.refused - {OLDER}), False
            return True
        return False


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
