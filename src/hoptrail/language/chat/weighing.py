"""Refine the number of a scale's word by the probabilities of all words of the scale.

With log-probabilities a "yes" that was nearly a "no" differs from a certain one: the number is the mean of the words' numbers,
weighted by their probabilities (yes 60 %, no 40 %: .6). Other tokens do not count. Without log-probabilities it is the number of
the written word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from hoptrail.language.chat.lenient import Scale
from hoptrail.models.logprobs import Token

R = TypeVar("R", bound=BaseModel)


def scales_of(reply: type[BaseModel]) -> dict[str, Scale]:
    """Field -> scale, for the fields of a reply that have one."""
    fields = reply.model_fields.items()
    return {name: one for name, field in fields for one in field.metadata if isinstance(one, Scale)}


def apply_logprobs(reply: R, tokens: Sequence[Token]) -> R:
    """`reply` with its numbers weighted by the probabilities in `tokens`."""
    numbers = {
        name: number
        for name, scale in scales_of(type(reply)).items()
        if (number := _mean(name, getattr(reply, name), scale.words, tokens)) is not None
    }
    return reply.model_copy(update=numbers) if numbers else reply


def _mean(field: str, said: float, words: Mapping[str, float], tokens: Sequence[Token]) -> float | None:
    """The weighted number; None if the tokens do not have the word `said` after the name of its field."""
    text = "".join(token[0][0] for token in tokens)
    named = rf"(?<!\w){field}\W{{1,12}}({'|'.join(words)})(?!\w)"
    found = next(reversed(list(re.finditer(named, text, re.IGNORECASE))), None)
    if found is None or words[found[1].lower()] != said:
        return None
    start, end = found.start(1), 0
    for token in tokens:
        end += len(token[0][0])
        if end > start:
            return _mean_of(dict(token), words)
    return None


def _mean_of(token: Mapping[str, float], words: Mapping[str, float]) -> float | None:
    """The mean over the words that one token's alternatives begin; None if they begin none."""
    shares = dict.fromkeys(words, 0.0)
    for text, logprob in token.items():
        begun = [word for word in words if _begins(text, word)]
        if len(begun) == 1:
            shares[begun[0]] += math.exp(logprob)
    total = sum(shares.values())
    return round(sum(share * words[word] for word, share in shares.items()) / total, 4) if total else None


def _begins(token: str, word: str) -> bool:
    """Whether a token is the word or its beginning: ` "yes`, `YES",`, `y`."""
    said = re.sub(r"^\W+", "", token).lower()
    return bool(said) and (word.startswith(said) or re.match(rf"{word}(?!\w)", said) is not None)
