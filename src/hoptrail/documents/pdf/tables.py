"""Detects tables on a PDF page.

Ruled lines draw a table if they form a grid of at least two columns and two rows with text in most cells. Without ruled lines,
consecutive lines whose parts are aligned in columns are one; doubtful cases stay in the flow of the text.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple

from hoptrail.documents.pdf.fragments import MARK, Fragment, PdfTable, offset_between
from hoptrail.documents.pdf.layout import differ_in_size, lines_of

_MOST_PATHS = 4000
"""Paths examined per page; only drawings have more."""
_MOST_RULES = 700
"""Lines drawn on a page; one with more is a drawing and is not examined."""
_THIN = 3.0
"""Points. A path at most this wide is a line, and lines at most this far apart are one."""
_SHORTEST = 8.0
_LARGEST_GRID = 60
"""Columns, and ten times as many rows."""
_FILLED = 0.5
"""Minimal share of a table's cells with text; a diagram has fewer."""


class DrawnLine(NamedTuple):
    """What is drawn on a page: the edges of a line or rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def is_upright(self) -> bool:
        return self.bottom - self.top > self.right - self.left


def rules_of(page: Any, *, backwards: bool = False) -> list[DrawnLine]:
    """The ruled lines of an upright page, including the edges of rectangles. `backwards`: x grows to the left."""
    lines: list[DrawnLine] = []
    for drawn in _drawn(page):
        box = drawn._replace(left=-drawn.right, right=-drawn.left) if backwards else drawn
        width, height = box.right - box.left, box.bottom - box.top
        if min(width, height) > _THIN:
            lines += [box._replace(top=y, bottom=y) for y in (box.top, box.bottom)]
            lines += [box._replace(left=x, right=x) for x in (box.left, box.right)]
        elif max(width, height) >= _SHORTEST:
            lines.append(box)
    return _merge(lines)


def _merge(lines: Sequence[DrawnLine]) -> list[DrawnLine]:
    """Merge lines that continue each other, such as the edges of cells."""

    def order(line: DrawnLine) -> tuple[bool, float, float]:
        place, start = (line.left, line.top) if line.is_upright else (line.top, line.left)
        return line.is_upright, round(place / _THIN), start

    merged: list[DrawnLine] = []
    for line in sorted(lines, key=order):
        last = merged[-1] if merged else None
        if last is not None and order(last)[:2] == order(line)[:2] and _touch(last, line):
            merged[-1] = DrawnLine(*map(min, last[:2], line[:2]), *map(max, last[2:], line[2:]))
        else:
            merged.append(line)
    return merged


def grids_of(rules: Sequence[DrawnLine], fragments: Sequence[Fragment]) -> list[tuple[Fragment, set[Fragment]]]:
    """The tables that the rules of a page draw around its fragments, each with those in it."""
    grids = (_grid(lines, fragments) for lines in _connected(rules))
    return [grid for grid in grids if grid is not None]


def _drawn(page: Any) -> Iterator[DrawnLine]:
    import pypdfium2.raw as pdfium

    # The library's own objects for these would take as long again.
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    objects = (pdfium.FPDFPage_GetObject(page, place) for place in range(pdfium.FPDFPage_CountObjects(page)))
    paths = (one for one in objects if pdfium.FPDFPageObj_GetType(one) == pdfium.FPDF_PAGEOBJ_PATH)
    for path in islice(paths, _MOST_PATHS):
        if pdfium.FPDFPath_CountSegments(path) > 6:
            yield from _segments(pdfium, path)
        elif pdfium.FPDFPageObj_GetBounds(path, left, bottom, right, top):
            yield DrawnLine(left.value, -top.value, right.value, -bottom.value)


def _segments(pdfium: Any, path: Any) -> Iterator[DrawnLine]:
    matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_float(), ctypes.c_float()
    if not pdfium.FPDFPageObj_GetMatrix(path, matrix):
        return
    before: tuple[float, float] | None = None
    for number in range(min(pdfium.FPDFPath_CountSegments(path), _MOST_PATHS)):
        segment = pdfium.FPDFPath_GetPathSegment(path, number)
        if not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        across = matrix.a * x.value + matrix.c * y.value + matrix.e
        point = across, -(matrix.b * x.value + matrix.d * y.value + matrix.f)
        if before is not None and pdfium.FPDFPathSegment_GetType(segment) == pdfium.FPDF_SEGMENT_LINETO:
            yield DrawnLine(*map(min, before, point), *map(max, before, point))
        before = point


def _connected(rules: Sequence[DrawnLine]) -> Iterator[list[DrawnLine]]:
    """Yield the lines that touch each other, directly or by others."""
    waiting = set(rules) if len(rules) <= _MOST_RULES else set()
    while waiting:
        group, fresh = list[DrawnLine](), {waiting.pop()}
        while fresh:
            group += fresh
            fresh = {line for line in waiting if any(_touch(line, other) for other in fresh)}
            waiting -= fresh
        yield group


def _touch(one: DrawnLine, other: DrawnLine) -> bool:
    beside = one.left <= other.right + _THIN and other.left <= one.right + _THIN
    return beside and one.top <= other.bottom + _THIN and other.top <= one.bottom + _THIN


def _grid(lines: Sequence[DrawnLine], fragments: Sequence[Fragment]) -> tuple[Fragment, set[Fragment]] | None:
    xs = _distinct(line.left for line in lines if line.is_upright)
    ys = _distinct(line.top for line in lines if not line.is_upright)
    if not (3 <= len(xs) <= _LARGEST_GRID and 3 <= len(ys) <= 10 * _LARGEST_GRID):
        return None
    cells: list[list[list[Fragment]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    contents = set()
    for fragment in fragments:
        row = _slot(ys, fragment.base - 0.3 * fragment.size)
        for column, part in _split_at_columns(fragment, xs) if row is not None else ():
            cells[row or 0][column].append(part)
            contents.add(fragment)
    rows = [tuple(" ".join(line.text for line in lines_of(cell)) for cell in row) for row in cells]
    size = max((one.size for one in contents), default=0.0)
    table = Fragment("", xs[0], xs[-1], ys[0] + 1, size, table=PdfTable(tuple(filter(any, rows))))
    return (table, contents) if _is_table(rows) else None


def _split_at_columns(fragment: Fragment, xs: Sequence[float]) -> Iterator[tuple[int, Fragment]]:
    """Split a fragment at the lines between columns; yields each part with its column."""
    columns: dict[int, list[tuple[str, float]]] = {}
    for word, left in zip(fragment.text.split(" "), fragment.lefts, strict=False):
        column = _slot(xs, left + 0.25 * fragment.size)
        if column is not None:
            columns.setdefault(column, []).append((word, left))
    for column, words in columns.items():
        yield column, fragment._replace(text=" ".join(word for word, _ in words), left=words[0][1])


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    full, columns = sum(map(any, rows)), sum(map(any, zip(*rows, strict=True)))
    cells = sum(bool(cell) for row in rows for cell in row)
    return full > 1 and columns > 1 and cells >= _FILLED * full * columns


def _distinct(places: Iterable[float]) -> list[float]:
    """The places in order, without those close to the one before."""
    distinct: list[float] = []
    for place in sorted(places):
        if not distinct or place - distinct[-1] > _THIN:
            distinct.append(place)
    return distinct


def _slot(edges: Sequence[float], place: float) -> int | None:
    number = bisect(edges, place) - 1
    return number if 0 <= number < len(edges) - 1 else None


_FEWEST_ROWS = 3
_LONGEST_CELL = 80
"""Characters; a longer part is prose."""
_ALIGNED = 0.8
"""Minimal share of a column's cells with a common left edge, right edge or centre."""
LEADERS = re.compile(r"(?:\s?[.·…]){5,}\s*")
"""Dots from an entry of a table of contents to its page."""


def with_tables(lines: Iterable[Fragment]) -> Iterator[Fragment]:
    """Yield the lines of a column, each table in place of its lines: at least three consecutive ones with the same number of
    parts, aligned in columns, and without leaders; two if they have three parts, or differ in their type. A line with fewer parts
    close below a row, each at the left edge of a column, continues that row's cells: the first only within its column, and if
    the next row is further off.

    In a form, each line of labels with the line of values below it is a table, and so is each of several columns of labels beside
    their values; the latter have a line above that names them, or none.
    """
    for is_ruled, group in groupby(lines, lambda line: any(part.table for part in line.parts)):
        run, start = list(group), 0
        while start < len(run):
            tables, end = ([], start) if is_ruled else _tables_at(run, start)
            yield from [run[start]._replace(text="", table=table) for table in tables] or run[start : start + 1]
            start = end if tables else start + 1


def _tables_at(lines: Sequence[Fragment], start: int) -> tuple[Sequence[PdfTable], int]:
    """The tables that begin with this line, as far as they belong together, and the line after them."""
    rows, end = _run(lines, start)
    if len(rows) == 1 and end < len(lines):
        titled, after = _run(lines, end)
        if _name_columns(lines[start].parts, titled):
            return [_beside(titled, [name.text for name in lines[start].parts])], after
    sparse = _sparse_rows(lines, start)
    aligned = len(rows) > 1 and _in_columns([row[0] for row in rows])
    if len(sparse) > _FEWEST_ROWS and not (aligned and len(rows) >= _FEWEST_ROWS):
        return [PdfTable(tuple(sparse))], start + len(sparse)
    if aligned and _have_labels(rows):
        return [_beside(rows, [])], end
    if not aligned or (len(rows) < _FEWEST_ROWS and not _is_pair(rows)):
        return [], end
    texts = tuple(map(_texts, rows))
    if len(rows) > 2 and _alternate(rows):
        return [PdfTable(texts[place : place + 2], 1) for place in range(0, len(rows), 2)], end
    return [PdfTable(texts, 1 if len(rows) == 2 and _differs(rows[0][0], rows[1][0]) else None)], end


def _is_pair(rows: Sequence[Sequence[Fragment]]) -> bool:
    """Whether two aligned rows are a table: the first is of another type, or three parts begin at the left edges of others."""
    above, below = rows[0][0], rows[1][0]
    pairs = zip(above.parts, below.parts, strict=True)
    level = all(abs(one.left - other.left) < 0.3 * one.size for one, other in pairs)
    worded = all(sum(map(str.isalpha, cell.text)) > 1 for cell in above.parts)
    return level and ((worded and len(above.parts) >= _FEWEST_ROWS) or _differs(above, below))


def _differs(one: Fragment, other: Fragment) -> bool:
    """Whether labels are of another type than their values: bold, or of another size."""
    return one.bold > other.bold or differ_in_size(one, other)


def _alternate(rows: Sequence[Sequence[Fragment]]) -> bool:
    """Whether rows are lines of labels, each with its values below: of another type, or nearer than the next labels."""
    if len(rows) % 2:
        return False
    labels, values = [row[0] for row in rows[::2]], [row[0] for row in rows[1::2]]
    if all(_differs(label, value) for label in labels for value in values):
        return True
    within = [value.base - label.base for label, value in zip(labels, values, strict=True)]
    between = [label.base - row[-1].base for label, row in zip(labels[1:], rows[1::2], strict=False)]
    return max(within) < 0.8 * min(between)


def _have_labels(rows: Sequence[Sequence[Fragment]]) -> bool:
    """Whether every other of at least four columns has the labels of the one after it: with colons, or of another type."""
    cells = [row[0].parts for row in rows]
    pairs = [pair for row in cells for pair in zip(row[::2], row[1::2], strict=False)]
    colons = all(label.text.endswith(":") and not value.text.endswith(":") for label, value in pairs)
    even = len(cells[0]) >= 4 and len(cells[0]) % 2 == 0
    return even and (colons or all(_differs(label, value) for label, value in pairs))


def _name_columns(heads: Sequence[Fragment], rows: Sequence[Sequence[Fragment]]) -> bool:
    """Whether each of these stands above a column of labels that have their values beside them."""
    if len(rows) < 2 or not _in_columns([row[0] for row in rows]) or not _have_labels(rows):
        return False
    labels = rows[0][0].parts[::2]
    near = rows[0][0].base - heads[0].base < 3 * heads[0].size
    return near and [_under(heads, label) for label in labels] == list(range(len(heads)))


def _beside(rows: Sequence[Sequence[Fragment]], names: Sequence[str]) -> PdfTable:
    """The columns of a form one after another, each row after the name of its column."""
    texts = list(map(_texts, rows))
    columns = enumerate(range(0, len(texts[0]), 2))
    return PdfTable(
        tuple((*names[at : at + 1], *row[column : column + 2]) for at, column in columns for row in texts), 0
    )


def _sparse_rows(lines: Sequence[Fragment], start: int) -> list[tuple[str, ...]]:
    """A line of headers and the lines below it whose parts all stand under one of them, with the cells that are empty; no rows
    if a column or half of the cells are.
    """
    heads = _parts(lines[start])
    if len(heads) < _FEWEST_ROWS or lines[start].mono or LEADERS.search(lines[start].text):
        return []
    rows = [tuple(head.text for head in heads)]
    for before, line in pairwise(lines[start:]):
        columns = [_under(heads, part) for part in line.parts]
        if line.base - before.base > 3 * line.size or line.mono or columns != sorted(set(columns)) or -1 in columns:
            break
        texts = dict(zip(columns, (part.text for part in line.parts), strict=True))
        rows.append(tuple(texts.get(column, "") for column in range(len(heads))))
    filled = sum(bool(cell) for row in rows[1:] for cell in row)
    return rows if all(map(any, zip(*rows[1:], strict=True))) and 2 * filled >= len(heads) * (len(rows) - 1) else []


def _under(heads: Sequence[Fragment], part: Fragment) -> int:
    """The column under whose header a part stands, aligned on the left, on the right or in the middle; -1 for none."""
    if len(part.text) > _LONGEST_CELL:
        return -1
    aligned = (offset_between(part, head) < 0.5 * part.size for head in heads)
    return next((number for number, is_aligned in enumerate(aligned) if is_aligned), -1)


def _run(lines: Sequence[Fragment], start: int) -> tuple[list[list[Fragment]], int]:
    """The rows that begin with this line, each with the lines that continue its cells, and the line after them."""
    parts = len(_parts(lines[start]))
    rows: list[list[Fragment]] = []
    for place in range(start, len(lines)):
        line = lines[place]
        gap = line.base - lines[place - 1].base if rows else 0.0
        long = any(len(fragment.text) > _LONGEST_CELL for fragment in line.parts)
        if parts < 2 or line.mono or long or LEADERS.search(line.text) or not 0 <= gap <= 3 * line.size:
            return rows, place
        if len(_parts(line)) == parts:
            rows.append([line])
            continue
        following = next((one for one in lines[place + 1 : place + 2] if len(_parts(one)) == parts), line)
        apart = gap < 0.8 * (following.base - line.base)
        near = rows and gap < 1.35 * line.size
        first = 0 if near and apart and line.parts[0].right < rows[-1][0].parts[1].left else 1
        if not near or any(_column_at(rows[-1][0], fragment) < first for fragment in line.parts):
            return rows, place
        rows[-1].append(line)
    return rows, len(lines)


def _column_at(row: Fragment, fragment: Fragment) -> int:
    """The column at whose left edge a fragment stands; -1 if there is none."""
    near = (abs(fragment.left - cell.left) < 0.3 * fragment.size for cell in row.parts)
    return next((number for number, alike in enumerate(near) if alike), -1)


def _texts(row: Sequence[Fragment]) -> tuple[str, ...]:
    texts = [fragment.text for fragment in row[0].parts]
    for line in row[1:]:
        for fragment in line.parts:
            texts[_column_at(row[0], fragment)] += f" {fragment.text}"
    return tuple(texts)


def _parts(line: Fragment) -> tuple[Fragment, ...]:
    return line.parts if not MARK.fullmatch(line.parts[0].text) else ()


def _in_columns(lines: Sequence[Fragment]) -> bool:
    columns = list(zip(*(line.parts for line in lines), strict=True))
    apart = all(max(cell.right for cell in one) < min(cell.left for cell in other) for one, other in pairwise(columns))
    marks = len({cell.text for cell in columns[0]}) == 1  # every line begins with the same mark: a comment or list
    return apart and not marks and all(_is_aligned(column) for column in columns)


def _is_aligned(cells: Sequence[Fragment]) -> bool:
    tolerance = 0.5 * cells[0].size
    edges = zip(*((cell.left, cell.right, (cell.left + cell.right) / 2) for cell in cells), strict=True)
    middles = ((sorted(places)[len(places) // 2], places) for places in edges)
    near = (sum(abs(place - middle) <= tolerance for place in places) for middle, places in middles)
    return any(count / len(cells) >= _ALIGNED for count in near)
