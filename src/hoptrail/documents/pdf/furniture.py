"""What stands on every page of a PDF beside its text: running heads, footers and page numbers, found by repetition.

A line at the top or the bottom of a page is left out where the same words, digits apart, stand at the same height on pages near
it, and a gap is between them and the text. A page's only line is never left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from hoptrail.documents.pdf.fragments import Fragment
from hoptrail.documents.pdf.layout import Line, lines_of

_EDGE = 3
"""Lines from the top and from the bottom that may be such."""
_NEAR = 6
"""Pages before and after that are looked at: a running head changes with the chapter."""
_GAP = 1.6
"""From there to the text, in sizes of the text, at least."""
_HEIGHT = 4.0
"""Points that its height may vary."""
_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[ivxlc]+(?![^\W\d_])", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|seite|s\.|página|pagina)? ?[-–—|]? ?(?P<page>\d{1,4}) ?[-–—|]?(?: ?(?:of|von|de|/) ?\d{1,4})?",
    re.IGNORECASE,
)

_Key = tuple[str, int]


def without_furniture(pages: Sequence[Sequence[Fragment]]) -> list[list[Fragment]]:
    """The fragments of every page without those of running heads, footers and page numbers."""
    lines = [list(lines_of(page)) for page in pages]
    seen: dict[_Key, list[int]] = defaultdict(list)
    for number, rows in enumerate(lines):
        for key in {key for line in (*rows[:_EDGE], *rows[-_EDGE:]) for key in _keys(line)}:
            seen[key].append(number)
    kept = []
    for number, page in enumerate(pages):
        repeated = [
            _is_repeated(number, line, seen, len(pages)) or _is_page_number(line, number + 1) for line in lines[number]
        ]
        dropped = {*_edge(lines[number], repeated), *_edge(lines[number][::-1], repeated[::-1])}
        kept.append([fragment for fragment in page if fragment not in dropped])
    return kept


def _edge(lines: Sequence[Line], repeated: Sequence[bool]) -> Iterator[Fragment]:
    """What to leave out of lines that begin at an edge of the page: the repeated ones before a gap, if text comes after it."""
    alike = 0
    while alike < min(_EDGE, len(lines) - 1) and repeated[alike]:
        alike += 1
    while alike and abs(lines[alike].base - lines[alike - 1].base) < _GAP * lines[alike].size:
        alike -= 1
    for line in lines[:alike]:
        yield from line.fragments


def _is_page_number(line: Line, number: int) -> bool:
    """Whether it says nothing but which page this is."""
    found = _PAGE_NUMBER.fullmatch(line.text)
    return found is not None and int(found["page"]) == number


def _keys(line: Line) -> tuple[_Key, _Key]:
    """Its words without digits and its height, twice: one that is a little off has one of them in common."""
    words = _NUMBER.sub("#", line.text)
    return (words, round(line.base / _HEIGHT)), (words, round(line.base / _HEIGHT + 0.5) + 1_000_000)


def _is_repeated(number: int, line: Line, seen: dict[_Key, list[int]], pages: int) -> bool:
    """Of two pages alone, only what counts them: two letters may begin alike."""
    near = max(sum(abs(page - number) <= _NEAR for page in seen[key]) for key in _keys(line))
    return near >= 2 and _NUMBER.search(line.text) is not None if pages == 2 else near >= 3
