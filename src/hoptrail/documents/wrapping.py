"""Line breaks in formats where a line break is a space; kept after lines too short to have been wrapped."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from hoptrail.text.sentences import FULL_LINE, is_labelled_pair


def line_break(line: str, following: str) -> str:
    """The separator between two lines: a line break, or if the first was wrapped a space (nothing in Chinese and Japanese).

    A line was wrapped if it is full and the two are not lines with labels.
    """
    if _columns(line[-FULL_LINE:]) < FULL_LINE or is_labelled_pair(f"{line}\n{following}", 0, len(line) + 1):
        return "\n"
    return "" if _columns(line[-1:]) == 2 == _columns(following[:1]) else " "


def unwrapped(text: str, source: str = "") -> str:
    """`text` with wrapped lines joined. `source` is its markup, whose line lengths decide if it has as many lines."""
    lines, source_lines = text.split("\n"), source.split("\n")
    if len(source_lines) != len(lines):
        source_lines = lines
    breaks = [line_break(*pair) for pair in pairwise(source_lines)]
    return "".join(line + end for line, end in zip(lines, [*breaks, ""], strict=True))


def _columns(line: str) -> int:
    if line.isascii():
        return len(line)
    return len(line) + sum(unicodedata.east_asian_width(character) in "WF" for character in line)
