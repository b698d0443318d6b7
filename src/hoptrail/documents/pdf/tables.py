"""Tables on a PDF page without drawn lines, by the alignment of what stands on its lines; doubtful cases stay in the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from math import inf
from typing import NamedTuple

from hoptrail.documents.pdf.fragments import MARK, Fragment, PdfTable, offset_between
from hoptrail.documents.pdf.layout import LEADERS, differ_in_size, first_word_width
from hoptrail.documents.sheet_rows import VALUE

_FEWEST_ROWS = 3
_LONGEST_CELL = 80  # characters; a longer part is prose
_ALIGNED = 0.8  # minimal share of a column's cells with a common left edge, right edge or centre


class _Column(NamedTuple):
    """Parts of lines that stand below one another: their edges, and the numbers of their lines as bits."""

    left: float
    right: float
    lines: int

    def overlaps(self, part: Fragment) -> bool:
        return part.left < self.right and self.left < part.right


class _Row(NamedTuple):
    """The lines of a row, and its cell in each column, None where it is empty."""

    lines: Sequence[Fragment]
    cells: tuple[Fragment | None, ...]

    @property
    def filled(self) -> list[Fragment]:
        return [cell for cell in self.cells if cell]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(cell.text if cell else "" for cell in self.cells)


def with_tables(lines: Iterable[Fragment]) -> Iterator[Fragment]:
    """Yield the lines of a column, each table in place of its lines: consecutive lines whose parts stand in columns, without
    leaders, in at least three rows; in two if they have three parts, or differ in their type.

    In a form, each line of labels with the line of values below it is a table, and so is each of several columns of labels beside
    their values; the latter have a line above that names them, or none.
    """
    for is_ruled, group in groupby(lines, lambda line: any(part.table for part in line.parts)):
        run, start = list(group), 0
        while start < len(run):
            tables, length = ([], 0) if is_ruled or len(run[start].parts) < 2 else _tables_at(run[start:])
            end = start + (length if tables else 1)
            # Where many lines are no table, none is looked for at each of them: that would take the square of the time.
            while not tables and length > 40 and end < len(run) and _are_alike(run[end - 1], run[end]):
                end += 1
            yield from [run[start]._replace(text="", table=table) for table in tables] or run[start:end]
            start = end


def _are_alike(before: Fragment, line: Fragment) -> bool:
    same = len(before.parts) == len(line.parts) and before.bold == line.bold and not differ_in_size(before, line)
    return same and 0 <= line.base - before.base < 1.6 * line.size


def _tables_at(lines: Sequence[Fragment]) -> tuple[Sequence[PdfTable], int]:
    """The tables that begin with the first line, as far as they belong together, and the number of their lines."""
    rows = _rows_of(lines)
    while rows and len(rows[-1].filled) == 1:
        rows.pop()
    columns = [column for column in zip(*(row.cells for row in rows), strict=True) if any(column)]
    rows = [_Row(row.lines, cells) for row, cells in zip(rows, zip(*columns, strict=True), strict=True)]
    tables = _tables(rows) if len(rows) > 1 and all(map(_is_aligned, columns)) else []
    return tables, sum(len(row.lines) for row in rows)


def _tables(rows: Sequence[_Row]) -> Sequence[PdfTable]:
    width, full = len(rows[0].cells), [row for row in rows if all(row.cells)]
    first = {row.texts[0] for row in rows}
    if len(first) == 1 or not any(map(str.isalnum, "".join(first))):  # lines begin with a mark: a comment or list
        return []
    if _have_labels(full) and full == rows:
        return [_beside(rows, [])]
    if _have_labels(full) and full == rows[1:] and all(rows[0].cells[::2]) and not any(rows[0].cells[1::2]):
        return [_beside(full, rows[0].texts[::2])]
    if len(rows) > 2 and _alternate(rows):
        return [PdfTable((labels.texts, values.texts), 1) for labels, values in zip(rows[::2], rows[1::2], strict=True)]
    filled = sum(len(row.filled) for row in rows)
    if len(rows) == 2:
        return [PdfTable((rows[0].texts, rows[1].texts), 1 if _differs(*rows) else None)] if _is_pair(*rows) else []
    enough = 2 * len(full) >= len(rows) if width == 2 else 2 * filled >= width * len(rows)
    headers = 0 if any(cell.is_filled_in for cell in rows[0].filled) else None
    return [PdfTable(tuple(row.texts for row in rows), headers)] if enough else []


def _rows_of(lines: Sequence[Fragment]) -> list[_Row]:
    """The rows that begin with the first line, as far as the parts of their lines stand in columns."""
    columns: list[_Column] = []
    taken: list[Fragment] = []
    for number, line in enumerate(lines):
        before = taken[-1] if taken else line
        near = 0 <= line.base - before.base <= 3 * max(line.size, before.size)
        long = any(len(part.text) > _LONGEST_CELL for part in line.parts)
        if line.mono or long or not near or LEADERS.search(line.text) or MARK.fullmatch(line.parts[0].text):
            break
        grown = _with_line(columns, number, line)
        if not grown:
            break
        columns = grown
        taken.append(line)
    gaps = sorted((below.base - line.base) / below.size for line, below in pairwise(taken))
    gaps = [gap for gap in gaps if gap >= 0.95]
    within = next((gap for gap, wider in pairwise(gaps) if wider > 1.15 * gap), 0.0)
    rows: list[_Row] = []
    for line, following in zip(taken, [*taken[1:], *taken[-1:]], strict=True):
        is_label = line.bold and not all(one.bold for one in taken)
        is_head = is_label or (len(rows) == 1 and len(line.parts) > len(rows[0].filled))
        farthest = inf if is_label else within
        joins = rows and _continues(rows[-1], line, following, columns, farthest, is_head=is_head)
        group = [*rows.pop().lines, line] if joins else [line]
        rows.append(_Row(group, _cells(group, columns)))
    return rows


def _with_line(columns: Sequence[_Column], number: int, line: Fragment) -> list[_Column]:
    """The columns with the parts of a line; none if one stands below two beside each other, or two below the same."""
    grown = list(columns)
    for part in line.parts:
        over = [column for column in grown if column.overlaps(part)]
        left, right, known = part.left, part.right, 1 << number
        for column in over:
            if known & column.lines:
                return []
            left, right, known = min(left, column.left), max(right, column.right), known | column.lines
        grown = [*(column for column in grown if column not in over), _Column(left, right, known)]
    return sorted(grown)


def _cells(lines: Sequence[Fragment], columns: Sequence[_Column]) -> tuple[Fragment | None, ...]:
    parts = sorted((part for line in lines for part in line.parts), key=lambda part: part.base)
    return tuple(_cell([part for part in parts if column.overlaps(part)]) for column in columns)


def _cell(parts: Sequence[Fragment]) -> Fragment | None:
    if not parts:
        return None
    left, right = min(part.left for part in parts), max(part.right for part in parts)
    return parts[0]._replace(text=" ".join(part.text for part in parts), left=left, right=right)


def _continues(
    row: _Row, line: Fragment, following: Fragment, columns: Sequence[_Column], farthest: float, *, is_head: bool
) -> bool:
    """Whether the cells of a row go on in a line: it overlaps the row, or is no farther than the lines of a cell are and, except
    in a header, nothing of it would have fitted on the line above; or it is near, has fewer parts, each below its cell, and
    nothing in the first column, unless that goes on in lower case or the next line is further off.
    """
    before = row.lines[-1]
    gap = line.base - before.base
    if gap > 1.35 * line.size or before.bold > line.bold or differ_in_size(before, line):
        return False
    above, below = _cells([before], columns), _cells([line], columns)
    pairs = [(one, other) for one, other in zip(row.cells, below, strict=True) if one and other]
    if any(VALUE.fullmatch(one.text) and VALUE.fullmatch(other.text) for one, other in pairs):
        return False
    if gap < 0.75 * line.size:
        return True
    lines = zip(above, below, columns, strict=True)
    full = all(not (one and other and fits(one, other, column.right)) for one, other, column in lines)
    has_words = any(" " in one.text for one, _ in pairs)
    if gap <= farthest * line.size and (is_head or (full and has_words)):
        return True
    apart = below[0] is None or below[0].text[0].islower() or gap < 0.8 * (following.base - line.base)
    level = all(offset_between(one, other) < 0.35 * line.size for one, other in pairs)
    return has_words and apart and level and len(pairs) == len(line.parts) < len(row.filled)


def fits(above: Fragment, below: Fragment, edge: float) -> bool:
    """Whether the first word of a line would have fitted on the line above, or both are values."""
    are_values = VALUE.fullmatch(above.text) is not None and VALUE.fullmatch(below.text) is not None
    return are_values or above.right + first_word_width(below) <= edge


def _is_pair(above: _Row, below: _Row) -> bool:
    """Whether two rows are a table: the first is of another type, or three parts begin at the left edges of others."""
    pairs = list(zip(above.filled, below.filled, strict=False))
    full = all((*above.cells, *below.cells))
    level = all(abs(one.left - other.left) < 0.3 * one.size for one, other in pairs)
    worded = all(sum(map(str.isalpha, cell.text)) > 1 and not cell.text[0].islower() for cell in above.filled)
    return full and level and ((worded and len(pairs) >= _FEWEST_ROWS) or _differs(above, below))


def _differs(one: _Row, other: _Row) -> bool:
    return one.lines[0].bold > other.lines[0].bold or differ_in_size(one.lines[0], other.lines[0])


def _alternate(rows: Sequence[_Row]) -> bool:
    """Whether rows are lines of labels, each with its values below: of another type, or nearer than the next labels."""
    pairs = list(zip(rows[::2], rows[1::2], strict=False))
    cells = [cell for one, other in pairs for cell in zip(one.cells, other.cells, strict=True)]
    if len(rows) % 2 or any(value and not label for label, value in cells):
        return False
    if all(_differs(labels, values) for labels, _ in pairs for _, values in pairs):
        return True
    within = [values.lines[0].base - labels.lines[-1].base for labels, values in pairs]
    between = [labels.lines[0].base - values.lines[-1].base for (_, values), (labels, _) in pairwise(pairs)]
    return all(map(all, cells)) and max(within) < 0.8 * min(between)


def _have_labels(rows: Sequence[_Row]) -> bool:
    """Whether every other of at least four columns has the labels of the one after it: with colons, or of another type."""
    pairs = [pair for row in rows for pair in zip(row.filled[::2], row.filled[1::2], strict=False)]
    colons = all(label.text.endswith(":") and not value.text.endswith(":") for label, value in pairs)
    even = len(rows) > 1 and len(rows[0].cells) >= 4 and len(rows[0].cells) % 2 == 0
    return even and (colons or all(label.bold > value.bold or differ_in_size(label, value) for label, value in pairs))


def _beside(rows: Sequence[_Row], names: Sequence[str]) -> PdfTable:
    """The columns of a form one after another, each row after the name of its column."""
    columns = enumerate(range(0, len(rows[0].cells), 2))
    cells = ((*names[at : at + 1], *row.texts[column : column + 2]) for at, column in columns for row in rows)
    return PdfTable(tuple(cells), 0)


def _is_aligned(column: Sequence[Fragment | None]) -> bool:
    cells = [cell for cell in column if cell]
    tolerance = 0.5 * cells[0].size
    edges = zip(*((cell.left, cell.right, (cell.left + cell.right) / 2) for cell in cells), strict=True)
    middles = ((sorted(places)[len(places) // 2], places) for places in edges)
    near = (sum(abs(place - middle) <= tolerance for place in places) for middle, places in middles)
    return any(count / len(cells) >= _ALIGNED for count in near)
