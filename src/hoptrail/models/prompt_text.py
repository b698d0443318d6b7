"""Text to and from a model: surrogates, tokens estimated without a tokeniser, endless repetition."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4
"""A common rule of thumb for English prose with current tokenisers; budgets need no more."""
LONGEST_PERIOD = 300
REPEATS = 8
SHORTEST = 400
"""The least characters of repetition: tables and lists legitimately repeat a little."""


def whole_text(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates (which a JSON escape can produce) replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def estimated_tokens(text: str) -> int:
    """Estimated tokens of a text: by the rule of thumb for Latin characters, one for each other character."""
    if text.isascii():
        return -(-len(text) // CHARACTERS_PER_TOKEN)
    beyond = sum(character > "\u024f" for character in text)
    return beyond + -(-(len(text) - beyond) // CHARACTERS_PER_TOKEN)


def fewest_tokens(text: str) -> int:
    """The least that a text can be: tokenisers get six or seven Latin characters into a token, or two and a half others."""
    beyond = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - beyond) / 6.5 + beyond * 0.4)


def start_of_loop(text: str) -> int | None:
    """Where the endless repetition of a piece of at most LONGEST_PERIOD characters at the end of `text` begins, or None."""
    tail = text.rstrip()[-max(SHORTEST, LONGEST_PERIOD * REPEATS) :]
    for period in range(1, LONGEST_PERIOD + 1):
        length = max(SHORTEST, period * REPEATS)
        if length > len(tail):
            return None
        piece = tail[-length:]
        if piece[period:] == piece[:-period]:
            return len(text.rstrip()) - length
    return None
