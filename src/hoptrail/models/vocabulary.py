"""Common English words: the whole words in the vocabulary of the encoder that ships."""

from __future__ import annotations

from functools import cache

from hoptrail.errors import ModelUnavailable
from hoptrail.models.minilm import packaged_folder


@cache
def common_words() -> frozenset[str]:
    """About 20,000 words in lower case; none where the weights are not installed."""
    try:
        lines = (packaged_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    except (ModelUnavailable, FileNotFoundError):
        return frozenset()
    return frozenset(word for word in lines if word.isalpha())
