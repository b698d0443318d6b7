"""Detecting endless repetition at the end of a text, into which models can fall."""

from __future__ import annotations

LONGEST_PERIOD = 300
REPEATS = 8
SHORTEST = 400
"""The least characters of repetition: tables and lists legitimately repeat a little."""


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
