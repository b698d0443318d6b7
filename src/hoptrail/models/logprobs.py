"""How probable each token of a reply was, and which others stood to choose from, where an endpoint tells (`logprobs`).

Only the end of a reply is kept, where the word stands that it was asked for: the whole would be many times its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hoptrail.models.prompt_text import whole_text

ALTERNATIVES = 5
"""Tokens asked for at each place: as many as every endpoint gives that gives any."""
KEPT = 24
"""Tokens of a reply's end that are kept: the last field with its name and quotes, and what closes the reply."""

Token = tuple[tuple[str, float], ...]
"""A place in a reply: the token written there, then the most probable ones, each with the logarithm of its probability."""

_NAMED = re.compile(r"logprobs|log[ -]?probabilit", re.IGNORECASE)


def names_logprobs(words: str) -> bool:
    """Whether a server's words are about log-probabilities."""
    return _NAMED.search(words) is not None


def read_logprobs(entry: Any) -> tuple[Token, ...]:
    """The last tokens of what a reply or an event of a stream has under `logprobs`; none where that is not as documented."""
    try:
        content = entry["content"] if isinstance(entry, dict) else entry.content
        return tuple(_token(one if isinstance(one, dict) else one.model_dump()) for one in content[-KEPT:])
    except (AttributeError, LookupError, TypeError, ValueError):
        return ()


def last_tokens(tokens: Iterable[Iterable[Iterable[Any]]]) -> tuple[Token, ...]:
    """Tokens as they were stored, or gathered from a stream."""
    return tuple(tuple((text, logprob) for text, logprob in token) for token in tokens)[-KEPT:]


def _token(entry: dict[str, Any]) -> Token:
    others = entry.get("top_logprobs") or []
    return tuple((whole_text(one["token"]), _logprob(one["logprob"])) for one in (entry, *others[:ALTERNATIVES]))


def _logprob(value: Any) -> float:
    """At most 0; what endpoints give for the impossible is -9999."""
    number = float(value)
    if number != number:  # not a number
        raise ValueError("no logarithm")
    return round(max(-9999.0, min(0.0, number)), 4)
