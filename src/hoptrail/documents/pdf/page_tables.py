"""Tables on a PDF page, as far as they can be made out for sure: a grid of ruled lines with text in it, or lines whose parts
stand below each other in columns.

Knows nothing of what a page means. What is not surely a table stays in the flow of the text.
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
"""Characters: what is longer is prose."""
_ALIGNED = 0.8
"""Share of a column's cells that share their left or right edge."""
_MARK = re.compile(r"[•‣◦▪●○■□·*–—-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]")
"""What stands before a list item."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of a table, each with as many cells; `first` and `last` are the lines of the column that it takes."""

    rows: tuple[tuple[str, ...], ...]
    first: int
    last: int


def aligned_tables(lines: Sequence[Line], is_none: Callable[[Line], bool]) -> Iterator[Cells]:
    """Runs of at least three lines that each have as many parts, which stand below each other; no line of one `is_none`.

    A line with fewer parts close below a row, each at the left edge of a column after the first, goes on with the row's cells.
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
    """The lines of each row from `start` on, and where they end."""
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
    """The column of a row, after the first, at whose left edge a fragment stands; 0 if there is none."""
    near = (abs(fragment.left - cell.left) < 0.3 * fragment.size for cell in row.fragments)
    return next((number for number, alike in enumerate(near) if alike), 0)


def _texts(row: Sequence[Line]) -> tuple[str, ...]:
    texts = [fragment.text for fragment in row[0].fragments]
    for line in row[1:]:
        for fragment in line.fragments:
            texts[_slot(row[0], fragment)] += f" {fragment.text}"
    return tuple(texts)


def _parts(line: Line) -> tuple[Fragment, ...]:
    """A line whose first part is the mark of a list item has no others."""
    return line.fragments if not _MARK.fullmatch(line.fragments[0].text) else ()


def _in_columns(lines: Sequence[Line]) -> bool:
    columns = list(zip(*(line.fragments for line in lines), strict=True))
    apart = all(max(cell.right for cell in one) < min(cell.left for cell in other) for one, other in pairwise(columns))
    marks = len({cell.text for cell in columns[0]}) == 1  # what begins each line is the mark of a comment or a list
    return apart and not marks and all(_is_aligned(column) for column in columns)


def _is_aligned(cells: Sequence[Fragment]) -> bool:
    tolerance = 0.5 * cells[0].size
    edges = (
        [cell.left for cell in cells],
        [cell.right for cell in cells],
        [(cell.left + cell.right) / 2 for cell in cells],
    )
    return any(_share_alike(places, tolerance) >= _ALIGNED for places in edges)


def _share_alike(places: Sequence[float], tolerance: float) -> float:
    middle = sorted(places)[len(places) // 2]
    return sum(abs(place - middle) <= tolerance for place in places) / len(places)
