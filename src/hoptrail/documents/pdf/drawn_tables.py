"""Tables that the lines on a PDF page draw: at least two columns and two rows. Cells may span several, and sides may be open."""

from __future__ import annotations

import ctypes
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import median
from typing import Any, NamedTuple

from hoptrail.documents.markup import runs
from hoptrail.documents.pdf.fragments import Fragment, PdfTable
from hoptrail.documents.pdf.layout import lines_of
from hoptrail.documents.pdf.tables import fits

_MOST_PATHS = 4000  # paths examined per page; only drawings have more
_MOST_RULES = 700  # lines drawn on a page; one with more is a drawing and is not examined
_THIN = 3.0  # points. A path at most this wide is a line, and lines at most this far apart are one.
_SHORTEST = 8.0  # points of a line
_LARGEST_GRID = 60  # columns, and ten times as many rows
_FILLED = 0.5  # least share of a table's cells with text, and of its rows with several such; a diagram has fewer


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

    def order(line: DrawnLine) -> tuple[bool, float, float]:
        place, start = (line.left, line.top) if line.is_upright else (line.top, line.left)
        return line.is_upright, round(place / _THIN), start

    merged: list[DrawnLine] = []
    for line in sorted(lines, key=order):
        joins = merged and order(merged[-1])[:2] == order(line)[:2] and _touch(merged[-1], line)
        last = merged.pop() if joins else line
        merged.append(DrawnLine(*map(min, last[:2], line[:2]), *map(max, last[2:], line[2:])))
    return merged


def grids_of(rules: Sequence[DrawnLine], fragments: Sequence[Fragment]) -> list[tuple[Fragment, set[Fragment]]]:
    """The tables that the rules of a page draw around its fragments, each with those in it."""
    return list(filter(None, (_table(lines, fragments) for lines in _connected(rules))))


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


def _table(lines: Sequence[DrawnLine], fragments: Sequence[Fragment]) -> tuple[Fragment, set[Fragment]] | None:
    levels = [line for line in lines if not line.is_upright]
    # Where no upright line draws a side of the table, it ends with most of the others.
    sides = ([line.left for line in levels], [line.right for line in levels]) if levels else ()
    middles = [(median(side), side) for side in sides]
    ends = [middle for middle, side in middles if 2 * sum(abs(x - middle) <= _THIN for x in side) > len(side)]
    xs = _distinct([*ends, *(line.left for line in lines if line.is_upright)])
    ys = _distinct(line.top for line in levels)
    if not (3 <= len(xs) <= _LARGEST_GRID and 3 <= len(ys) <= 10 * _LARGEST_GRID):
        return None
    inside = [one for one in fragments if xs[0] <= (one.left + one.right) / 2 <= xs[-1]]
    breaks = set(_line_breaks(xs, ys, inside))
    grid = _Grid(lines, xs, sorted((*ys, *breaks)), breaks, inside)
    rows = grid.rows()
    parts, contents = grid.parts(rows)
    written = {cell: list(lines_of(parts[cell])) for row in rows for cell in row.values()}
    crowded = [len(line.parts) > 2 for of_cell in written.values() for line in of_cell]
    if sum(crowded) > _FILLED * len(crowded):  # the lines are not those between columns
        return None
    texts = {cell: " ".join(line.text for line in of_cell) for cell, of_cell in written.items()}
    shown = _shown(rows, texts)
    cells = tuple(tuple(texts[row[n]] if n in row else "" for n in range(len(xs) - 1)) for row in shown)
    wide = tuple(tuple((cell.left, cell.columns) for cell in row.values() if cell.columns > 1) for row in shown)
    size = max((one.size for one in contents), default=0.0)
    table = Fragment("", xs[0], xs[-1], ys[0] + 1, size, table=PdfTable(cells, spans=wide if any(wide) else ()))
    columns = {cell.left for row in shown for cell in row.values() if texts[cell]}
    filled = [[bool(texts[cell]) for cell in row.values() if cell.left in columns] for row in shown]
    enough = sum(map(sum, filled)) >= _FILLED * sum(map(len, filled))
    several = sum(sum(row) > 1 for row in filled) >= _FILLED * len(shown)
    return (table, contents) if len(shown) > 1 and len(columns) > 1 and enough and several else None


def _shown(rows: Sequence[Mapping[int, _Cell]], texts: dict[_Cell, str]) -> list[Mapping[int, _Cell]]:
    """The rows in which enough begins, or a cell with none above it. What begins in another joins the text of the cell above."""
    shown: list[Mapping[int, _Cell]] = []
    for number, row in enumerate(rows):
        filled = [cell for cell in row.values() if texts[cell]]
        begun = [cell for cell in filled if cell.row == number]
        if filled and (3 * len(begun) >= len(filled) or any(cell.left not in shown[-1] for cell in begun)):
            shown.append(row)
            continue
        for cell in begun:
            above = shown[-1][cell.left]
            texts[above] = f"{texts[above]} {texts[cell]}".strip()
    return shown


def _line_breaks(xs: Sequence[float], ys: Sequence[float], fragments: Sequence[Fragment]) -> Iterator[float]:
    """Yield where to divide drawn rows below the first into the rows of a list in them: several lines with texts in more than one
    column, most of which end although the next word would have fitted.
    """
    for within in _by_row(ys, fragments)[1:]:
        rows: list[dict[int | None, Fragment]] = []
        for line in lines_of(within):
            row = {_slot(xs, part.left + 0.25 * part.size): part for part in line.parts}
            if len(row) > 1 and not (rows and rows[-1].keys().isdisjoint(row)):
                rows.append(row)
        pairs = [(above[one], below[one]) for above, below in pairwise(rows) for one in below if one in above]
        kept = (fits(one, other, xs[min(bisect(xs, one.right), len(xs) - 1)]) for one, other in pairs)
        if 2 * sum(kept) > len(pairs):
            for above, below in pairwise(rows):
                one, other = next(iter(above.values())), next(iter(below.values()))
                yield (one.base + other.base) / 2 - 0.3 * one.size


class _Cell(NamedTuple):
    """The row and the column in which a cell begins, and how many columns it spans."""

    row: int
    left: int
    columns: int


@dataclass(frozen=True, slots=True)
class _Grid:
    """Drawn lines, the places of those between columns and rows, with further breaks of rows, and the texts between them."""

    lines: Sequence[DrawnLine]
    xs: Sequence[float]
    ys: Sequence[float]
    breaks: Set[float]
    inside: Sequence[Fragment]

    def rows(self) -> list[dict[int, _Cell]]:
        """The cells of each row by their first columns, one over several rows in each. They end where a line is drawn, or
        would be between two texts, and at the breaks.
        """
        rows: list[dict[int, _Cell]] = []
        last: dict[_Cell | None, Fragment] = {}  # the last line of each cell
        for number, texts in enumerate(_by_row(self.ys, self.inside)):
            edges = list(pairwise(self._edges(number, texts)))
            within = {left: [one for one in texts if self._is_in(one, left, right)] for left, right in edges}
            written = {left: list(lines_of(inside)) for left, inside in within.items()}
            over = {left: rows[-1].get(left) if rows else None for left, _ in edges}
            ruled = [one for one in self.lines if not one.is_upright and bisect(self.ys, one.top) - 1 == number]
            middles = {left: (self.xs[left] + self.xs[right]) / 2 for left, right in edges}
            ended = {left for left, x in middles.items() if any(one.left <= x <= one.right for one in ruled)}
            for left, right in edges:
                before, lines = last.get(over[left]), written[left]
                begins = before and lines and max(len(before.parts), len(lines[0].parts)) > 1
                begins = begins or (before and lines and fits(before, lines[0], self.xs[right]))  # does not continue it
                if lines and (self.ys[number] in self.breaks or begins):
                    ended.add(left)
            bases = [line.base for left in ended for line in written[left]]
            row = {}
            for left, right in edges:
                cell = over[left] if left not in ended else None
                beside = any(abs(base - line.base) < 1 for base in bases for line in written[left])
                goes_on = cell and cell.columns == right - left and not (beside and cell in last)
                row[left] = cell if cell and goes_on else _Cell(number, left, right - left)
                last.update((row[left], line) for line in written[left])
            rows.append(row)
        return rows

    def parts(self, rows: Sequence[Mapping[int, _Cell]]) -> tuple[dict[_Cell, list[Fragment]], set[Fragment]]:
        """The texts in each cell, divided at its edges, and all that are in one."""
        parts: dict[_Cell, list[Fragment]] = defaultdict(list)
        contents, starts = set(), {round(one.left) for one in self.inside}
        for row, texts in zip(rows, _by_row(self.ys, self.inside), strict=True):
            edges = [*row, len(self.xs) - 1]
            for fragment in texts:
                for place, part in _split_at_columns(fragment, [self.xs[edge] for edge in edges], starts):
                    parts[row[edges[place]]].append(part)
                    contents.add(fragment)
        return parts, contents

    def _is_in(self, fragment: Fragment, left: int, right: int) -> bool:
        return fragment.left < self.xs[right] - _THIN and self.xs[left] + _THIN < fragment.right

    def _edges(self, number: int, texts: Sequence[Fragment]) -> list[int]:
        """The edges of the cells of a row, with those that are not drawn here but lie between its texts."""
        middle = (self.ys[number] + self.ys[number + 1]) / 2
        drawn = (one for one in self.lines if one.is_upright and one.top <= middle <= one.bottom)
        edges = {0, len(self.xs) - 1, *(bisect(self.xs, one.left) - 1 for one in drawn)}
        for left, right in pairwise(sorted(edges)):
            within = [one for one in texts if self._is_in(one, left, right)]
            for column in range(left + 1, right):
                place = self.xs[column]
                if {(one.left >= place - _THIN) - (one.right <= place + _THIN) for one in within} == {-1, 1}:
                    edges.add(column)
        return sorted(edges)


def _by_row(ys: Sequence[float], fragments: Sequence[Fragment]) -> list[list[Fragment]]:
    rows: list[list[Fragment]] = [[] for _ in ys[1:]]
    for fragment in fragments:
        row = _slot(ys, fragment.base - 0.3 * fragment.size)
        if row is not None:
            rows[row].append(fragment)
    return rows


def _split_at_columns(fragment: Fragment, xs: Sequence[float], starts: Set[int]) -> Iterator[tuple[int, Fragment]]:
    """Split a fragment at the lines between columns; yields each part with its column. What follows a word that a line cuts is
    in the column of that word, unless a text elsewhere begins there (`starts`): a cell may reach into the next one.
    """
    columns: dict[int, list[tuple[str, float]]] = {}
    width, end, column = (fragment.right - fragment.left) / max(1, len(fragment.text)), fragment.left, 0
    for word, left in zip(fragment.text.split(" "), fragment.lefts, strict=False):
        own = min(max(bisect(xs, left + 0.25 * fragment.size) - 1, 0), len(xs) - 2)
        is_cut = columns and end > xs[column + 1] + _THIN and left - end < 0.6 * fragment.size
        column = column if is_cut and round(left) not in starts else own
        columns.setdefault(column, []).append((word, left))
        end = left + width * len(word)
    for column, words in columns.items():
        yield column, fragment._replace(text=" ".join(word for word, _ in words), left=words[0][1])


def _distinct(places: Iterable[float]) -> list[float]:
    """The places in order, without those close to the one before."""
    return [near[0] for near in runs(sorted(places), lambda near, place: place - near[0] <= _THIN)]


def _slot(edges: Sequence[float], place: float) -> int | None:
    number = bisect(edges, place) - 1
    return number if 0 <= number < len(edges) - 1 else None
