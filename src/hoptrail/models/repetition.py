"""Whether a text has fallen into repeating itself without end, as models do when they are lost. Looks at its end only."""

from __future__ import annotations

LONGEST_PERIOD = 300
REPEATS = 8
SHORTEST = 400
"""Characters that the repetition must fill: tables and lists repeat a little, and rightly."""


def is_endless(text: str) -> bool:
    """Whether the last characters are one piece (of at most LONGEST_PERIOD characters) REPEATS times or more."""
    return start_of_loop(text) is not None


def start_of_loop(text: str) -> int | None:
    """Where the repetition at the end of `text` begins, or None."""
    tail = text.rstrip()[-max(SHORTEST, LONGEST_PERIOD * REPEATS) :]
    for period in range(1, LONGEST_PERIOD + 1):
        length = max(SHORTEST, period * REPEATS)
        if length > len(tail):
            return None
        piece = tail[-length:]
        if piece[period:] == piece[:-period]:
            return len(text.rstrip()) - length
    return None
