"""Line breaks in formats where a line break is a space: kept where the line was too short to have been wrapped."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from hoptrail.text.sentences import FULL_LINE, is_labelled_pair


def line_break(line: str, following: str) -> str:
    """What stands for the end of `line` before the line `following`.

    A full line was wrapped, and gets a space; between Chinese or Japanese characters nothing. Lines with labels were not.
    """
    if _columns(line[-FULL_LINE:]) < FULL_LINE or is_labelled_pair(f"{line}\n{following}", 0, len(line) + 1):
        return "\n"
    return "" if _columns(line[-1:]) == 2 == _columns(following[:1]) else " "


def unwrapped(text: str, source: str = "") -> str:
    """A text with its lines joined again that were wrapped, to be seen in `source` where that has as many lines."""
    lines, written = text.split("\n"), source.split("\n")
    if len(written) != len(lines):
        written = lines
    breaks = [line_break(*pair) for pair in pairwise(written)]
    return "".join(line + end for line, end in zip(lines, [*breaks, ""], strict=True))


def _columns(line: str) -> int:
    if line.isascii():
        return len(line)
    return len(line) + sum(unicodedata.east_asian_width(character) in "WF" for character in line)
