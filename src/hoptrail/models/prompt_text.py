"""Text on its way to a model: made fit to leave Python, and measured. Knows no tokeniser."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4
"""A common rule of thumb for English prose with current tokenisers; budgets need no more."""


def whole_text(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates (a JSON escape can bring them in) replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def estimated_tokens(text: str) -> int:
    """Tokens of a text, estimated: characters by the rule of thumb, but at least one for each character beyond Latin."""
    if text.isascii():
        return -(-len(text) // CHARACTERS_PER_TOKEN)
    beyond = sum(character > "\u024f" for character in text)
    return beyond + -(-(len(text) - beyond) // CHARACTERS_PER_TOKEN)
