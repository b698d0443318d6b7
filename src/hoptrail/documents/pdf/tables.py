"""Detects tables on a PDF page.

Ruled lines draw a table if they form a grid of at least two columns and two rows with text in most cells. Without ruled lines,
consecutive lines whose parts are aligned in columns are one; doubtful cases stay in the flow of the text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple

from hoptrail.documents.pdf.fragments import MARK, Fragment, offset_between
from hoptrail.documents.pdf.layout import TextLine, differ_in_size, lines_of

_MOST_PATHS = 4000
"""Paths examined per page; only drawings have more."""
_MOST_PAIRS = 40_000
"""Pairs of a horizontal and a vertical line; a page with more is a drawing and is not examined."""
_THIN = 3.0
"""Points. A path at most this wide is a line, and lines at most this far apart are one."""
_SHORTEST = 8.0
_LARGEST_GRID = 60
"""Columns, and ten times as many rows."""
_FILLED = 0.5
"""Minimal share of a table's cells with text; a diagram has fewer."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the edges of its columns and rows, the texts of its cells, and the fragments in them."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    fragments: frozenset[Fragment]


class _Box(NamedTuple):
    """What is drawn on a page: the edges of a line or rectangle."""

    left: float
    top: float
    right: float
    bottom: float


Rules = tuple[Sequence[_Box], Sequence[_Box]]
"""Horizontal and vertical lines."""


def rules_of(page: Any, *, backwards: bool = False) -> Rules:
    """The ruled lines of an upright page, including the edges of rectangles. `backwards`: x grows to the left."""
    horizontal, vertical = [], []
    for drawn in _boxes(page):
        box = drawn._replace(left=-drawn.right, right=-drawn.left) if backwards else drawn
        width, height = box.right - box.left, box.bottom - box.top
        if height <= _THIN and width >= _SHORTEST:
            horizontal.append(box)
        elif width <= _THIN and height >= _SHORTEST:
            vertical.append(box)
        elif width > _THIN and height > _THIN:
            horizontal += [_Box(box.left, y, box.right, y) for y in (box.top, box.bottom)]
            vertical += [_Box(x, box.top, x, box.bottom) for x in (box.left, box.right)]
    return _merge(horizontal, across=True), _merge(vertical, across=False)


def _merge(lines: Sequence[_Box], *, across: bool) -> list[_Box]:
    """Merge lines that continue each other, such as the edges of cells. `across`: the lines are horizontal."""

    def order(line: _Box) -> tuple[float, float]:
        return (round(line.top / _THIN), line.left) if across else (round(line.left / _THIN), line.top)

    merged: list[_Box] = []
    for line in sorted(lines, key=order):
        last = merged[-1] if merged else None
        if last is not None and order(last)[0] == order(line)[0] and _touch(last, line):
            right, bottom = max(last.right, line.right), max(last.bottom, line.bottom)
            merged[-1] = _Box(min(last.left, line.left), min(last.top, line.top), right, bottom)
        else:
            merged.append(line)
    return merged


def grids_of(rules: Rules, fragments: Sequence[Fragment]) -> list[Grid]:
    """The tables that the rules of a page draw around its fragments."""
    grids = (_grid(lines, fragments) for lines in _connected(*rules))
    return [grid for grid in grids if grid is not None]


def _boxes(page: Any) -> Iterator[_Box]:
    import pypdfium2.raw as pdfium

    # The library's own objects for these would take as long again.
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    objects = (pdfium.FPDFPage_GetObject(page, place) for place in range(pdfium.FPDFPage_CountObjects(page)))
    paths = (one for one in objects if pdfium.FPDFPageObj_GetType(one) == pdfium.FPDF_PAGEOBJ_PATH)
    for path in islice(paths, _MOST_PATHS):
        if pdfium.FPDFPath_CountSegments(path) > 6:
            yield from _segments(pdfium, path)
        elif pdfium.FPDFPageObj_GetBounds(path, left, bottom, right, top):
            yield _Box(left.value, -top.value, right.value, -bottom.value)


def _segments(pdfium: Any, path: Any) -> Iterator[_Box]:
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
            yield _Box(*map(min, before, point), *map(max, before, point))
        before = point


def _connected(horizontal: Sequence[_Box], vertical: Sequence[_Box]) -> Iterator[tuple[list[_Box], list[_Box]]]:
    waiting_h, waiting_v = list(horizontal), list(vertical)
    if not (waiting_h and waiting_v) or len(waiting_h) * len(waiting_v) > _MOST_PAIRS:
        return
    while waiting_h:
        group_h, group_v, fresh = [waiting_h.pop()], list[_Box](), True
        while fresh:
            new_v, waiting_v = _split_by_touch(waiting_v, group_h)
            group_v += new_v
            new_h, waiting_h = _split_by_touch(waiting_h, new_v)
            group_h += new_h
            fresh = bool(new_h)
        yield group_h, group_v


def _split_by_touch(lines: Sequence[_Box], others: Sequence[_Box]) -> tuple[list[_Box], list[_Box]]:
    parts: tuple[list[_Box], list[_Box]] = [], []
    for line in lines:
        parts[not any(_touch(line, other) for other in others)].append(line)
    return parts


def _touch(one: _Box, other: _Box) -> bool:
    beside = one.left <= other.right + _THIN and other.left <= one.right + _THIN
    return beside and one.top <= other.bottom + _THIN and other.top <= one.bottom + _THIN


def _grid(lines: tuple[list[_Box], list[_Box]], fragments: Sequence[Fragment]) -> Grid | None:
    xs = _distinct(line.left for line in lines[1])
    ys = _distinct(line.top for line in lines[0])
    if not (3 <= len(xs) <= _LARGEST_GRID and 3 <= len(ys) <= 10 * _LARGEST_GRID):
        return None
    cells: list[list[list[Fragment]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    contents = set()
    for fragment in fragments:
        row = _slot(ys, fragment.base - 0.3 * fragment.size)
        for column, part in _split_at_columns(fragment, xs) if row is not None else ():
            cells[row or 0][column].append(part)
            contents.add(fragment)
    rows = tuple(tuple(" ".join(line.text for line in lines_of(cell)) for cell in row) for row in cells)
    return Grid(xs, ys, tuple(row for row in rows if any(row)), frozenset(contents)) if _is_table(rows) else None


def _split_at_columns(fragment: Fragment, xs: Sequence[float]) -> Iterator[tuple[int, Fragment]]:
    """Split a fragment at the lines between columns; yields each part with its column."""
    columns: dict[int, list[tuple[str, float]]] = {}
    for word, left in zip(fragment.text.split(" "), fragment.lefts, strict=False):
        column = _slot(xs, left + 0.25 * fragment.size)
        if column is not None:
            columns.setdefault(column, []).append((word, left))
    for column, words in columns.items():
        yield column, replace(fragment, text=" ".join(word for word, _ in words), left=words[0][1])


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    full, columns = sum(map(any, rows)), sum(map(any, zip(*rows, strict=True)))
    cells = sum(bool(cell) for row in rows for cell in row)
    return full > 1 and columns > 1 and cells >= _FILLED * full * columns


def _distinct(places: Iterable[float]) -> tuple[float, ...]:
    """The places in order, without those close to the one before."""
    distinct: list[float] = []
    for place in sorted(places):
        if not distinct or place - distinct[-1] > _THIN:
            distinct.append(place)
    return tuple(distinct)


def _slot(edges: Sequence[float], place: float) -> int | None:
    return next((number for number in range(len(edges) - 1) if edges[number] <= place < edges[number + 1]), None)


_FEWEST_ROWS = 3
_LONGEST_CELL = 80
"""Characters; a longer part is prose."""
_ALIGNED = 0.8
"""Minimal share of a column's cells with a common left edge, right edge or centre."""
LEADERS = re.compile(r"(?:\s?[.·…]){5,}\s*")
"""Dots from an entry of a table of contents to its page."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table with the same number of cells; `first` and `last` are its lines in the column. `headers`: how many of the
    rows name columns; None where their content decides.
    """

    rows: tuple[tuple[str, ...], ...]
    first: int
    last: int
    headers: int | None = None


def aligned_tables(lines: Sequence[TextLine]) -> Iterator[TableRows]:
    """Yield tables: at least three consecutive lines with the same number of parts, aligned in columns, and without leaders; two
    if they have three parts, or differ in their type. A line with fewer parts close below a row, each at the left edge of a
    column after the first, continues that row's cells.

    In a form, each line of labels with the line of values below it is a table, and so is each of several columns of labels beside
    their values; the latter have a line above that names them, or none.
    """
    start = 0
    while start < len(lines):
        found = _tables_at(lines, start)
        yield from found
        start = found[-1].last + 1 if found else start + 1


def _tables_at(lines: Sequence[TextLine], start: int) -> Sequence[TableRows]:
    """The tables that begin with this line, as far as they belong together."""
    rows, end = _run(lines, start)
    if len(rows) == 1 and end < len(lines):
        titled, after = _run(lines, end)
        if _name_columns(lines[start].fragments, titled):
            return [_beside(titled, start, after, [name.text for name in lines[start].fragments])]
    sparse = _sparse_rows(lines, start)
    aligned = len(rows) > 1 and _in_columns([row[0] for row in rows])
    if len(sparse) > _FEWEST_ROWS and not (aligned and len(rows) >= _FEWEST_ROWS):
        return [TableRows(tuple(sparse), start, start + len(sparse) - 1)]
    if aligned and _have_labels(rows):
        return [_beside(rows, start, end, [])]
    if not aligned or (len(rows) < _FEWEST_ROWS and not _is_pair(rows)):
        return []
    if len(rows) > 2 and _alternate(rows):
        ends = [start - 1 + count for count in accumulate(map(len, rows))][1::2]
        pairs = [tuple(map(_texts, rows[place : place + 2])) for place in range(0, len(rows), 2)]
        return [TableRows(*pair, 1) for pair in zip(pairs, [start, *(end + 1 for end in ends)], ends, strict=False)]
    marked = 1 if len(rows) == 2 and _differs(rows[0][0], rows[1][0]) else None
    return [TableRows(tuple(map(_texts, rows)), start, end - 1, marked)]


def _is_pair(rows: Sequence[Sequence[TextLine]]) -> bool:
    """Whether two aligned rows are a table: the first is of another type, or three parts begin at the left edges of others."""
    above, below = rows[0][0], rows[1][0]
    pairs = zip(above.fragments, below.fragments, strict=True)
    level = all(abs(one.left - other.left) < 0.3 * one.size for one, other in pairs)
    worded = all(sum(map(str.isalpha, cell.text)) > 1 for cell in above.fragments)
    return level and ((worded and len(above.fragments) >= _FEWEST_ROWS) or _differs(above, below))


def _differs(one: TextLine | Fragment, other: TextLine | Fragment) -> bool:
    """Whether labels are of another type than their values: bold, or of another size."""
    return one.bold > other.bold or differ_in_size(one, other)


def _alternate(rows: Sequence[Sequence[TextLine]]) -> bool:
    """Whether rows are lines of labels, each with its values below: of another type, or nearer than the next labels."""
    if len(rows) % 2:
        return False
    labels, values = [row[0] for row in rows[::2]], [row[0] for row in rows[1::2]]
    if all(_differs(label, value) for label in labels for value in values):
        return True
    within = [value.base - label.base for label, value in zip(labels, values, strict=True)]
    between = [label.base - row[-1].base for label, row in zip(labels[1:], rows[1::2], strict=False)]
    return max(within) < 0.8 * min(between)


def _have_labels(rows: Sequence[Sequence[TextLine]]) -> bool:
    """Whether every other of at least four columns has the labels of the one after it: with colons, or of another type."""
    cells = [row[0].fragments for row in rows]
    pairs = [pair for row in cells for pair in zip(row[::2], row[1::2], strict=False)]
    colons = all(label.text.endswith(":") and not value.text.endswith(":") for label, value in pairs)
    even = len(cells[0]) >= 4 and len(cells[0]) % 2 == 0
    return even and (colons or all(_differs(label, value) for label, value in pairs))


def _name_columns(heads: Sequence[Fragment], rows: Sequence[Sequence[TextLine]]) -> bool:
    """Whether each of these stands above a column of labels that have their values beside them."""
    if len(rows) < 2 or not _in_columns([row[0] for row in rows]) or not _have_labels(rows):
        return False
    labels = rows[0][0].fragments[::2]
    near = rows[0][0].base - heads[0].base < 3 * heads[0].size
    return near and [_under(heads, label) for label in labels] == list(range(len(heads)))


def _beside(rows: Sequence[Sequence[TextLine]], start: int, end: int, names: Sequence[str]) -> TableRows:
    """The columns of a form one after another, each row after the name of its column."""
    texts = list(map(_texts, rows))
    columns = enumerate(range(0, len(texts[0]), 2))
    fields = [(*names[at : at + 1], *row[column : column + 2]) for at, column in columns for row in texts]
    return TableRows(tuple(fields), start, end - 1, 0)


def _sparse_rows(lines: Sequence[TextLine], start: int) -> list[tuple[str, ...]]:
    """A line of headers and the lines below it whose parts all stand under one of them, with the cells that are empty; no rows
    if a column or half of the cells are.
    """
    heads = _parts(lines[start])
    if len(heads) < _FEWEST_ROWS or lines[start].mono or LEADERS.search(lines[start].text):
        return []
    rows = [tuple(head.text for head in heads)]
    for before, line in pairwise(lines[start:]):
        columns = [_under(heads, part) for part in line.fragments]
        if line.base - before.base > 3 * line.size or line.mono or columns != sorted(set(columns)) or -1 in columns:
            break
        texts = dict(zip(columns, (part.text for part in line.fragments), strict=True))
        rows.append(tuple(texts.get(column, "") for column in range(len(heads))))
    filled = sum(bool(cell) for row in rows[1:] for cell in row)
    return rows if all(map(any, zip(*rows[1:], strict=True))) and 2 * filled >= len(heads) * (len(rows) - 1) else []


def _under(heads: Sequence[Fragment], part: Fragment) -> int:
    """The column under whose header a part stands, aligned on the left, on the right or in the middle; -1 for none."""
    if len(part.text) > _LONGEST_CELL:
        return -1
    aligned = (offset_between(part, head) < 0.5 * part.size for head in heads)
    return next((number for number, is_aligned in enumerate(aligned) if is_aligned), -1)


def _run(lines: Sequence[TextLine], start: int) -> tuple[list[list[TextLine]], int]:
    parts = len(_parts(lines[start]))
    rows: list[list[TextLine]] = []
    for place in range(start, len(lines)):
        line = lines[place]
        gap = line.base - lines[place - 1].base if rows else 0.0
        long = any(len(fragment.text) > _LONGEST_CELL for fragment in line.fragments)
        if parts < 2 or line.mono or long or LEADERS.search(line.text) or not 0 <= gap <= 3 * line.size:
            return rows, place
        if len(_parts(line)) == parts:
            rows.append([line])
        elif rows and gap < 1.35 * line.size and all(_column_at(rows[-1][0], fragment) for fragment in line.fragments):
            rows[-1].append(line)
        else:
            return rows, place
    return rows, len(lines)


def _column_at(row: TextLine, fragment: Fragment) -> int:
    """The column after the first at whose left edge a fragment stands; 0 if there is none."""
    near = (abs(fragment.left - cell.left) < 0.3 * fragment.size for cell in row.fragments)
    return next((number for number, alike in enumerate(near) if alike), 0)


def _texts(row: Sequence[TextLine]) -> tuple[str, ...]:
    texts = [fragment.text for fragment in row[0].fragments]
    for line in row[1:]:
        for fragment in line.fragments:
            texts[_column_at(row[0], fragment)] += f" {fragment.text}"
    return tuple(texts)


def _parts(line: TextLine) -> tuple[Fragment, ...]:
    return line.fragments if not MARK.fullmatch(line.fragments[0].text) else ()


def _in_columns(lines: Sequence[TextLine]) -> bool:
    columns = list(zip(*(line.fragments for line in lines), strict=True))
    apart = all(max(cell.right for cell in one) < min(cell.left for cell in other) for one, other in pairwise(columns))
    marks = len({cell.text for cell in columns[0]}) == 1  # every line begins with the same mark: a comment or list
    return apart and not marks and all(_is_aligned(column) for column in columns)


def _is_aligned(cells: Sequence[Fragment]) -> bool:
    tolerance = 0.5 * cells[0].size
    edges = zip(*((cell.left, cell.right, (cell.left + cell.right) / 2) for cell in cells), strict=True)
    middles = ((sorted(places)[len(places) // 2], places) for places in edges)
    near = (sum(abs(place - middle) <= tolerance for place in places) for middle, places in middles)
    return any(count / len(cells) >= _ALIGNED for count in near)
