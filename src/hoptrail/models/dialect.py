"""The body of a request in the dialect of an endpoint: servers differ in the names of parameters and in those they know.

A new endpoint is sent `max_tokens` and every parameter of the settings. A parameter that it refuses by name is renamed or left
out from then on; so are the limits of a schema. A refusal costs nothing but a request, so the dialect is stored for the next
process (`billing.py`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.failures import names_format
from hoptrail.models.logprobs import ALTERNATIVES, names_logprobs
from hoptrail.models.prompt_text import whole_text
from hoptrail.types.json_object import JsonObject

OLDER, NEWER = "max_tokens", "max_completion_tokens"
OPTIONAL = ("temperature", "seed", "n", "frequency_penalty")
"""Parameters that a request can do without: replies are then less alike, fewer, or longer."""
PENALTY = 0.5
"""The frequency penalty for plain text: models that write no JSON often do not stop either, and this stops them. Endpoints
document .1 to 1 for that.
"""
_WARNED = frozenset(OPTIONAL) - {"n"}
"""Parameters whose absence changes replies, which is logged as a warning. Without `n` replies are requested one by one."""
LOGPROBS = frozenset({"logprobs", "top_logprobs"})
LIMITS = ("maxLength", "maxItems")
"""Keywords that a schema can do without: some endpoints refuse them, those that decode by a grammar use them."""

_WITHOUT_LOGPROBS = "log-probabilities are no longer requested from the endpoint: %s"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What an endpoint accepts, as far as is known: its name for the most tokens of a reply, the parameters that it refuses, and
    the rungs on which it refuses the limits of a schema.
    """

    output: str = OLDER
    refused: frozenset[str] = frozenset()
    unlimited: frozenset[Rung] = frozenset()

    def as_json(self) -> str:
        """Text that `from_json` reads."""
        content = {"output": self.output, "refused": sorted(self.refused), "unlimited": sorted(self.unlimited)}
        return json.dumps(content, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Accepted:
        """Reads what `as_json` wrote."""
        content = json.loads(text)
        return cls(content["output"], frozenset(content["refused"]), frozenset(map(Rung, content["unlimited"])))


class Dialect:
    """The dialect of one endpoint, as far as is known. Thread-safe."""

    def __init__(self, settings: ChatSettings) -> None:
        self._lock = threading.Lock()
        self._settles = settings.output_parameter == "auto"
        self._accepted = Accepted(OLDER if self._settles else settings.output_parameter)
        self._guessed: frozenset[str] = frozenset()  # probably refused, but not by name
        self._recalled = False

    @property
    def accepted(self) -> Accepted:
        """What the endpoint has accepted, or refused by name."""
        with self._lock:
            return self._accepted

    def recall(self, accepted: Accepted) -> None:
        """Use what an earlier process found, except where the settings say otherwise."""
        with self._lock:
            output = accepted.output if self._settles else self._accepted.output
            self._accepted = replace(accepted, output=output)
            self._recalled = True
        if left_out := accepted.refused & _WARNED:
            _log.warning("the endpoint has refused %s before, which is left out", " and ".join(sorted(left_out)))

    def body(self, request: ChatRequest, count: int = 1) -> JsonObject:
        """The body of `request` for `count` replies."""
        with self._lock:
            accepted, left_out = self._accepted, self._accepted.refused | self._guessed
        body: JsonObject = {
            "model": request.model,
            "messages": [{"role": message.role, "content": whole_text(message.text)} for message in request.messages],
            accepted.output: request.max_output_tokens,
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
        body = {name: value for name, value in body.items() if name not in left_out}
        return body | _form(request, limited=request.rung not in accepted.unlimited)

    @property
    def takes_several(self) -> bool:
        """Whether one request may ask for several replies, as far as is known."""
        with self._lock:
            return "n" not in self._accepted.refused

    def ignores_several(self) -> None:
        """Note that one reply came where several were requested."""
        self._refuses({"n"})

    def learn(self, words: str, request: ChatRequest, body: JsonObject) -> bool:
        """Learn from the words with which `body` was refused. Returns whether the same request has another body now."""
        rung = request.rung
        if rung.carries_schema and _REFUSED_LIMITS.search(words):
            with self._lock:
                known, before = self._accepted, self._accepted.unlimited
                self._accepted = replace(known, unlimited=before | {rung})
            if rung not in before:
                return True
        if "logprobs" in body and names_logprobs(words):
            _log.info(_WITHOUT_LOGPROBS, words)
            self._refuses(LOGPROBS)
            return True
        if names_format(words):
            return False  # some quote the whole request, so that names of parameters mean nothing
        if self._other_output(words, body):
            return True
        named = {name for name in OPTIONAL if name in body and _names(name, words)}
        if new := self._refuses(named) & _WARNED:
            _log.warning("the endpoint refuses %s, which is left out from now on: %s", " and ".join(sorted(new)), words)
        if "logprobs" in body and not named:  # they may be the reason, and are not essential
            _log.info(_WITHOUT_LOGPROBS, words)
            with self._lock:
                self._guessed |= LOGPROBS
            return True
        return bool(named)

    def _other_output(self, words: str, body: JsonObject) -> bool:
        """Switch the name for the most tokens if the older one is refused, or the newer one that was recalled. Returns whether it
        was switched.
        """
        unknown = _UNKNOWN.search(words) is not None
        with self._lock:
            if not self._settles:
                return False
            if OLDER in body and _names(OLDER, words) and (_names(NEWER, words) or unknown):
                self._accepted = replace(self._accepted, output=NEWER)
                return True
            if self._recalled and NEWER in body and _names(NEWER, words) and unknown:
                self._accepted, self._recalled = replace(self._accepted, output=OLDER), False
                return True
            return False

    def _refuses(self, names: Iterable[str]) -> frozenset[str]:
        """Note parameters as refused. Returns those that were not before."""
        with self._lock:
            new = frozenset(names) - self._accepted.refused
            self._accepted = replace(self._accepted, refused=self._accepted.refused | new)
        return new


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


def _form(request: ChatRequest, *, limited: bool) -> JsonObject:
    """The parameters that request the form of the reply: none where the messages describe it."""
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
            function = {"name": request.task, "description": "Gives the reply.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": function}],
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
