"""Log-probabilities of the tokens of a reply and of their alternatives, where an endpoint sends them (`logprobs`).

Only those of the end of a reply are kept, which has the requested word: all of them would be many times the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hoptrail.models.prompt_text import whole_text
from hoptrail.types.json_object import JsonObject

ALTERNATIVES = 5
"""Alternatives requested per token: all endpoints with log-probabilities allow this many."""
KEPT = 24
"""The last tokens of a reply that are kept: its last field with name and quotes, and the closing of the reply."""

Token = tuple[tuple[str, float], ...]
"""A position in a reply: the token written there, then the most probable ones, each with its log-probability."""

_NAMED = re.compile(r"logprobs|log[ -]?probabilit", re.IGNORECASE)


def names_logprobs(words: str) -> bool:
    """Whether a server's words are about log-probabilities."""
    return _NAMED.search(words) is not None


def read_logprobs(entry: Any) -> tuple[Token, ...]:
    """The last tokens in the field `logprobs` of a reply or an event; none where it is not as documented."""
    try:
        content = entry["content"] if isinstance(entry, dict) else entry.content
        return tuple(_token(one if isinstance(one, dict) else one.model_dump()) for one in content[-KEPT:])
    except (AttributeError, LookupError, TypeError, ValueError):
        return ()


def last_tokens(tokens: Iterable[Iterable[Iterable[Any]]]) -> tuple[Token, ...]:
    """The last tokens, from stored ones or from those of a stream."""
    return tuple(tuple((text, logprob) for text, logprob in token) for token in tokens)[-KEPT:]


def _token(entry: JsonObject) -> Token:
    others = entry.get("top_logprobs") or []
    return tuple((whole_text(one["token"]), _logprob(one["logprob"])) for one in (entry, *others[:ALTERNATIVES]))


def _logprob(value: Any) -> float:
    """A log-probability of at most 0 and at least -9999, which endpoints use for the impossible."""
    number = float(value)
    if number != number:  # not a number
        raise ValueError("no logarithm")
    return round(max(-9999.0, min(0.0, number)), 4)
