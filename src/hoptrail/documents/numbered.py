"""Numbered headings of plain text: sections (`1.2 Scope`) and releases (`Changes in 2.4`, `*** Version 3.0 ***`, `News in 251:`).

A heading stands alone between blank lines, or above indented lines or list items. To exclude sentences with a number, sections
must start with number 0 or 1, and there must be at least two release headings that differ only in their numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from hoptrail.documents.changelogs import LineHeading

_SECTION = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,5})(?P<dot>\.?)[ \t]+(?=[A-Z])")
_NUMBER = re.compile(r"\bv?\d+(?:\.\d+)+[\w.+~-]*|\b\d{4}-\d\d-\d\d\b|\b[vV]\d+\b|\b\d+\b\W*:$")
_WORD = re.compile(r"[^\W\d_]{3,}")
_BELOW = re.compile(r"[ \t]+\S|[-*+o][ \t]+\S|\(?\d{1,3}[.)][ \t]")
"""The start of a line that may directly follow a heading."""
_ITEM = re.compile(r"(?P<mark>[-*+•‣])+[ \t]")
_FRAME = " \t*=#-:"
RELEASE_RANK = -10
"""Rank of release headings: after all underlined ones, and before sections, which follow by depth."""
_LONGEST = 80
_NO_HEADING = (".", ",", ";", "?", "!")


def numbered_headings(text: str, paragraphs: Iterable[tuple[int, int]]) -> dict[int, LineHeading]:
    """The headings by start offset, in order. `paragraphs`: start and end of each paragraph."""
    lines = list(_first_lines(text, paragraphs))
    sections = {start: number for start, _, line in lines if (number := _section(line))}
    if len(sections) < 2 or next(iter(sections.values())) not in {"0", "1"}:
        sections = {}
    releases: dict[str, set[str]] = defaultdict(set)
    for _, _, line in lines:
        releases[_NUMBER.sub("#", line)].add(line)
    headings: dict[int, LineHeading] = {}
    for start, end, line in lines:
        shape = _NUMBER.sub("#", line)
        if start in sections:
            depth = sections[start].count(".") + 1
            headings[start] = LineHeading(line.rstrip(":"), end, RELEASE_RANK + depth)
        elif shape != line and len(releases[shape]) > 1 and _WORD.search(shape):
            headings[start] = LineHeading(line.strip(_FRAME), end, RELEASE_RANK)
    return headings


def _first_lines(text: str, paragraphs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end of the first line and first line of each paragraph that may begin with a heading."""
    for start, stop in paragraphs:
        end = text.find("\n", start, stop) + 1 or stop
        line = text[start:end].rstrip()
        below = text[end:stop]
        alone = not below.strip() or _BELOW.match(below) is not None
        if alone and 0 < len(line) <= _LONGEST and not line[0].isspace() and not line.endswith(_NO_HEADING):
            item = _ITEM.match(line)
            if item is None or line.endswith(item["mark"]):
                yield start, end, line


def _section(line: str) -> str:
    """The section number that a line begins with, or empty; `1. Do this` is a list item."""
    match = _SECTION.match(line)
    return "" if match is None or (match["dot"] and "." not in match["number"]) else match["number"]
