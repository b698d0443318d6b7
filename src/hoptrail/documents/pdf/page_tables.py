"""Detects tables without ruled lines on a PDF page: consecutive lines whose parts are aligned in columns.

Doubtful cases stay in the flow of the text. For tables with ruled lines see `rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hoptrail.documents.pdf.fragments import Fragment
from hoptrail.documents.pdf.layout import Line

_FEWEST_ROWS = 3
_LONGEST_CELL = 80
"""Characters; a longer part is prose."""
_ALIGNED = 0.8
"""Minimal share of a column's cells with a common left edge, right edge or centre."""
_MARK = re.compile(r"[•‣◦▪●○■□·*–—-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]")
"""The bullet or number of a list item."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of a table with the same number of cells; `first` and `last` are its lines in the column."""

    rows: tuple[tuple[str, ...], ...]
    first: int
    last: int


def aligned_tables(lines: Sequence[Line], is_none: Callable[[Line], bool]) -> Iterator[Cells]:
    """Yield tables: at least three consecutive lines with the same number of parts, aligned in columns. `is_none` excludes lines.

    A line with fewer parts close below a row, each at the left edge of a column after the first, continues that row's cells.
    """
    start = 0
    while start < len(lines):
        rows, end = _run(lines, start, is_none)
        if len(rows) >= _FEWEST_ROWS and _in_columns([row[0] for row in rows]):
            yield Cells(tuple(_texts(row) for row in rows), start, end - 1)
            start = end
        else:
            start += 1


def _run(lines: Sequence[Line], start: int, is_none: Callable[[Line], bool]) -> tuple[list[list[Line]], int]:
    parts = len(_parts(lines[start]))
    rows: list[list[Line]] = []
    for place in range(start, len(lines)):
        line = lines[place]
        gap = line.base - lines[place - 1].base if rows else 0.0
        long = any(len(fragment.text) > _LONGEST_CELL for fragment in line.fragments)
        if parts < 2 or line.mono or long or is_none(line) or gap > 3 * line.size:
            return rows, place
        if len(_parts(line)) == parts:
            rows.append([line])
        elif rows and gap < 1.35 * line.size and all(_slot(rows[-1][0], fragment) for fragment in line.fragments):
            rows[-1].append(line)
        else:
            return rows, place
    return rows, len(lines)


def _slot(row: Line, fragment: Fragment) -> int:
    """The column after the first at whose left edge a fragment stands; 0 if there is none."""
    near = (abs(fragment.left - cell.left) < 0.3 * fragment.size for cell in row.fragments)
    return next((number for number, alike in enumerate(near) if alike), 0)


def _texts(row: Sequence[Line]) -> tuple[str, ...]:
    texts = [fragment.text for fragment in row[0].fragments]
    for line in row[1:]:
        for fragment in line.fragments:
            texts[_slot(row[0], fragment)] += f" {fragment.text}"
    return tuple(texts)


def _parts(line: Line) -> tuple[Fragment, ...]:
    return line.fragments if not _MARK.fullmatch(line.fragments[0].text) else ()


def _in_columns(lines: Sequence[Line]) -> bool:
    columns = list(zip(*(line.fragments for line in lines), strict=True))
    apart = all(max(cell.right for cell in one) < min(cell.left for cell in other) for one, other in pairwise(columns))
    marks = len({cell.text for cell in columns[0]}) == 1  # every line begins with the same mark: a comment or list
    return apart and not marks and all(_is_aligned(column) for column in columns)


def _is_aligned(cells: Sequence[Fragment]) -> bool:
    tolerance = 0.5 * cells[0].size
    for places in zip(*((cell.left, cell.right, (cell.left + cell.right) / 2) for cell in cells), strict=True):
        middle = sorted(places)[len(places) // 2]
        if sum(abs(place - middle) <= tolerance for place in places) / len(places) >= _ALIGNED:
            return True
    return False
