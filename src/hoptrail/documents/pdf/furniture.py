"""Removes running heads, footers and page numbers from the pages of a PDF. They are detected by repetition.

A line at the top or bottom of a page is removed if the same words, apart from digits, stand at the same height on nearby pages,
and a gap separates it from the text. The only line of a page is never removed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hoptrail.documents.pdf.fragments import Fragment
from hoptrail.documents.pdf.layout import Line, lines_of

_EDGE = 3
"""Lines examined at the top and at the bottom."""
_NEAR = 6
"""Pages examined before and after: a running head changes with the chapter."""
_GAP = 1.6
"""Minimal gap to the text, in font sizes."""
_HEIGHT = 4.0
"""Points by which its height may vary."""
_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[ivxlc]+(?![^\W\d_])", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|seite|s\.|página|pagina)? ?[-–—|]? ?(?P<page>\d{1,4}) ?[-–—|]?(?: ?(?:of|von|de|/) ?\d{1,4})?",
    re.IGNORECASE,
)

_Key = tuple[str, int]


def without_furniture(pages: Sequence[Sequence[Fragment]]) -> list[list[Fragment]]:
    """The fragments of every page without those of running heads, footers and page numbers."""
    lines = [list(lines_of(page)) for page in pages]
    pages_by_key: dict[_Key, list[int]] = defaultdict(list)
    for number, rows in enumerate(lines):
        for key in {key for line in (*rows[:_EDGE], *rows[-_EDGE:]) for key in _keys(line)}:
            pages_by_key[key].append(number)
    remaining = []
    for number, page in enumerate(pages):
        repeated = [
            _is_repeated(number, line, pages_by_key, len(pages)) or _is_page_number(line, number + 1)
            for line in lines[number]
        ]
        dropped = {*_edge(lines[number], repeated), *_edge(lines[number][::-1], repeated[::-1])}
        remaining.append([fragment for fragment in page if fragment not in dropped])
    return remaining


def _edge(lines: Sequence[Line], repeated: Sequence[bool]) -> Iterator[Fragment]:
    """Yield the fragments of repeated lines before a gap and further text, given the lines from an edge of the page."""
    count = 0
    while count < min(_EDGE, len(lines) - 1) and repeated[count]:
        count += 1
    while count and abs(lines[count].base - lines[count - 1].base) < _GAP * lines[count].size:
        count -= 1
    for line in lines[:count]:
        yield from line.fragments


def _is_page_number(line: Line, number: int) -> bool:
    match = _PAGE_NUMBER.fullmatch(line.text)
    return match is not None and int(match["page"]) == number


def _keys(line: Line) -> tuple[_Key, _Key]:
    """The words of a line without digits and its height, rounded in two ways: lines of nearly the same height share a key."""
    words = _NUMBER.sub("#", line.text)
    return (words, round(line.base / _HEIGHT)), (words, round(line.base / _HEIGHT + 0.5) + 1_000_000)


def _is_repeated(number: int, line: Line, pages_by_key: dict[_Key, list[int]], pages: int) -> bool:
    """Whether nearby pages repeat a line. In a document of two pages it must have a number, as two letters may begin alike."""
    near = max(sum(abs(page - number) <= _NEAR for page in pages_by_key[key]) for key in _keys(line))
    return near >= 2 and _NUMBER.search(line.text) is not None if pages == 2 else near >= 3
