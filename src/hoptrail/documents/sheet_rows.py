"""Turns the rows of tables into pieces. Header rows are detected by their content, and by cells that span columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, dropwhile, groupby, islice, pairwise, zip_longest
from typing import NamedTuple

from hoptrail.documents.blocks import Piece
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.types import BlockKind

SAMPLE = 50  # rows examined to decide whether the first is a header
_LONGEST_HEADER = 60  # characters; a longer cell is a sentence
_ABBREVIATED = 2
"""Words; a longer cell that ends in a period is a sentence, a shorter one an abbreviation: `No.`, `Qty. left`."""
_NAMED_SHARE = 0.6  # minimal share of columns that a header row names, unless only the first column has no name
VALUE = re.compile(
    r"[^\w]*\d[\d\s.,:/'’%°+*()–-]*\w{0,4}[^\w]*"  # a number, an amount, a date in digits, a time, a telephone number
    r"|[^\w]{0,2}\d[\d.,]*(?: ?[^\W\d]+){1,3}"  # a quantity with its unit
    r"|\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}"  # a date with the name of its month
    r"|[^\W\d]{3,9}\.? \d{1,2}, \d{4}"
    r"|\S+@\S+\.\S+|https?://\S+|-+|[✓✗✔✘]|[$€£¥]|[^\w]*[$€£¥]\s?\d.*|[^\w]*\d[\d.,' ]*[$€£¥]"
    r"|(?i:true|false|n/a|null|none|yes|no|x)"
)
_NAMES_TOO = frozenset({"yes", "no", "x"})  # values that may be headers
_CURRENCIES = frozenset("$€£¥")  # signs that are values by themselves, and headers above amounts
_AMOUNT = re.compile(r"[\d\s.,'’–-]*\d[\d\s.,'’–-]*|[–-]")  # a number without a currency sign, or a dash in its place
_YEAR = re.compile(r"(?:19|20)\d\d|[QH][1-4](?: ?(?:19|20)\d\d)?|(?:FY ?)?(?:19|20)?\d\d/\d\d")
"""Years, quarters and financial years: numbers that may be column headers."""

_MOST_HEADERS = 3  # header rows of a table, unless its file marks more


class GridRow(NamedTuple):
    """A row with its place in the file. `spans`: by its first column, the number of columns of each cell that spans several; the
    others are empty. None if the format has no such cells.
    """

    place: str
    cells: Sequence[str]
    spans: Mapping[int, int] | None = None


def has_header(rows: Sequence[Sequence[str]], *, repeats: bool = False) -> bool:
    """Whether the first of these rows (a table, or its first `SAMPLE` rows) names the columns.

    It does unless one of its cells is a value (number, date, address), is a sentence, occurs twice without values in some column,
    recurs in its column, or ends in a colon; or too many are empty; or there are two columns of keys and mixed values. Several
    years, or one above numbers beside another column of values, name columns of other values. A word such as `no` is a value if
    its column has another such word; else it is a name, as in `no, customer, town`. `repeats`: names may occur twice.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    columns = [[row[number].strip() if number < len(row) else "" for row in rows] for number in range(len(rows[0]))]
    heads = [(name, set(cells) - {""}) for name, *cells in columns if name or any(cells)]
    named = [name for name, _ in heads if name]
    enough = len(named) >= _NAMED_SHARE * len(heads) or all(name for name, _ in heads[1:])
    years = {name for name in named if _YEAR.fullmatch(name)}
    below = [cell for name, cells in heads if name in years for cell in cells]
    has_numbers = all(any(map(str.isdigit, cell)) for cell in below)
    of_years = len(years) > 1 or (bool(years) and has_numbers and heads_values(rows))
    by_year = of_years and 2 * sum(_YEAR.fullmatch(cell) is not None for cell in below) < len(below)
    are_names = all((by_year and name in years) or _names_a_column(name, cells) for name, cells in heads if name)
    distinct = repeats or len(set(named)) == len(named) or heads_values(rows)
    return bool(named) and enough and are_names and distinct and not _is_key_value(rows)


def _names_a_column(cell: str, column: Set[str] = frozenset()) -> bool:
    """Whether a cell can be the header of a column with these other cells."""
    if len(cell) > _LONGEST_HEADER or cell.endswith((":", ";")) or cell in column:
        return False
    if cell.endswith(".") and len(cell.split()) > _ABBREVIATED:
        return False
    if cell.lower() in _NAMES_TOO:
        return bool(column) and _NAMES_TOO.isdisjoint(map(str.lower, column))
    if cell in _CURRENCIES:
        return bool(column) and all(_AMOUNT.fullmatch(other) for other in column)
    return not VALUE.fullmatch(cell)


def _is_key_value(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of two columns has distinct names and the second some values and some other texts below the first row."""
    if len(rows[0]) > 2 or len(rows) < 3:
        return False
    values = [bool(VALUE.fullmatch(row[1].strip())) for row in rows[1:] if len(row) > 1 and row[1].strip()]
    names = [row[0].strip() if row else "" for row in rows[1:]]
    are_names = all(name and not name.endswith(".") and _names_a_column(name) for name in names)
    return are_names and len(set(names)) == len(names) and 0 < sum(values) < len(values)


def heads_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows has a text above a column of values."""
    texts = (column for column, cell in enumerate(rows[0]) if not VALUE.fullmatch(cell.strip()))
    return any(all(VALUE.fullmatch(row[column].strip()) for row in rows[1:] if column < len(row)) for column in texts)


def header_of(rows: Sequence[GridRow]) -> tuple[int, list[str]]:
    """The number of header rows above this table (or its first `SAMPLE` rows), and the name of each column: its cells in these
    rows, from the top down. A cell that spans columns, by its format or by cells to its right that are empty or repeat it, stands
    over the names in the row below it.
    """
    depth = 1
    while depth < min(_MOST_HEADERS, len(rows) - 1) and _is_over_names(rows[depth - 1 :]):
        depth += 1
    for count in range(min(depth, len(rows)), 0, -1):
        names = column_names(rows[:count])
        # The lowest names alone, as `2007 N` looks like a value.
        lowest = [_cell(rows[count - 1], column) or name for column, name in enumerate(names)]
        body = [row.cells for row in rows[count:]]
        repeats = bool(rows[count - 1].spans)
        if has_header([names, *body], repeats=repeats) or (count > 1 and has_header([lowest, *body], repeats=True)):
            return count, names
    return 0, []


def column_names(headers: Sequence[GridRow]) -> list[str]:
    names = [""] * max((len(row.cells) for row in headers), default=0)
    for row, below in zip_longest(headers, headers[1:]):
        for start, columns in _groups(row, below).items():
            cell = _cell(row, start)
            for column, name in enumerate(names[start : start + columns], start):
                names[column] = name if name.endswith(cell) else f"{name} {cell}".strip()
    return names


def _groups(row: GridRow, below: GridRow | None) -> dict[int, int]:
    """By the first column of each cell, the number of its columns."""
    if row.spans is not None or below is None:
        return {column: (row.spans or {}).get(column, 1) for column in range(len(row.cells))}
    groups: dict[int, int] = {}
    start = None
    for column in range(max(len(row.cells), len(below.cells))):
        cell, has_name = _cell(row, column), bool(_cell(below, column))
        if start is not None and has_name and cell in {"", _cell(row, start)}:
            groups[start] += 1
        else:
            groups[column] = 1
            start = column if cell and has_name else None
    return groups


def _is_over_names(rows: Sequence[GridRow]) -> bool:
    """Whether cells of the first of these rows span columns, and the second row names these columns and no others twice."""
    row, below, *body = rows
    groups = _groups(row, below)
    grouped = {column for start, width in groups.items() if width > 1 for column in range(start, start + width)}
    covered = {start + more for start, width in (below.spans or {}).items() for more in range(1, width)}
    named = sorted(grouped - covered)
    subordinate = [_cell(below, column) for column in named]
    columns = [{_cell(one, column) for one in body} - {""} for column in named]
    pairs = zip(subordinate, columns, strict=True)
    are_names = (_YEAR.fullmatch(cell) or _names_a_column(cell, cells) for cell, cells in pairs)
    if not grouped or not all(subordinate) or not all(are_names):
        return False
    others = [(_cell(row, column), _cell(below, column)) for column in groups if column not in grouped]
    if row.spans is None and any(above and name and above != name for above, name in others):
        return False
    have_values = any(cells and all(map(VALUE.fullmatch, cells)) for cells in columns)
    return row.spans is not None or have_values or len(set(subordinate)) < len(subordinate)


def _cell(row: GridRow, column: int) -> str:
    return row.cells[column].strip() if column < len(row.cells) else ""


def header_piece(headers: Sequence[str], place: str) -> Piece:
    return Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in headers if header.strip()), place=place)


def row_piece(headers: Sequence[str], cells: Sequence[str], place: str) -> Piece:
    """A row of values with their headers, as far as there are headers; empty values are left out."""
    pairs = zip(chain(headers, [""] * (len(cells) - len(headers))), cells, strict=False)
    return Piece(BlockKind.ROW, cells=tuple(pair for pair in pairs if pair[1].strip()), place=place)


def grid_pieces(rows: Sequence[GridRow], marked: int | None = None) -> Iterator[Piece]:
    """Yield the rows of a table with `marked` headers (None: by their content). One cell over all columns is a paragraph."""
    width = max((len(row.cells) for row in rows), default=0)
    across = [width > 1 and (row.spans or {}).get(0, 1) >= width for row in rows]
    title = next((number for number, is_across in enumerate(across) if not is_across), 0)
    table = [row for row, is_across in zip(rows, across, strict=True) if not is_across]
    count = min(max(0, (marked or 0) - title), len(table) - 1)
    count, names = header_of(table[:SAMPLE]) if marked is None else (count, column_names(table[:count]))
    headers = {id(row) for row in table[:count]}
    for row, is_across in zip(rows, across, strict=True):
        if is_across:
            yield Piece(BlockKind.PARAGRAPH, row.cells[0], place=row.place)
        elif id(row) in headers:
            yield header_piece(row.cells, row.place)
        else:
            yield row_piece(names, row.cells, row.place)


def sheet_pieces(rows: Iterable[GridRow], limits: ReadingLimits) -> Iterator[Piece]:
    """Yield the tables of a sheet, which blank rows separate, and empty columns if each table has a header. A row of one cell
    before a table is a paragraph. A table without a header that spans the same columns as the table above continues with its
    headers.
    Raises: Unreadable: there are more rows than the limit `rows`.
    """
    headers: Sequence[str] = ()
    extent = 0, 0
    for table in _tables(_bounded(rows, limits.rows)):
        sample = list(islice(table, SAMPLE))
        if starts := _starts_beside(sample):
            whole = [*sample, *table]
            for start, end in pairwise([0, *starts, max(len(row.cells) for row in whole)]):
                yield from sheet_pieces((_part(row, start, end) for row in whole), limits)
            headers = ()
            continue
        while sample and len(_filled(sample[0])) == 1:
            place, cells, _ = sample.pop(0)
            yield Piece(BlockKind.PARAGRAPH, next(filter(str.strip, cells)), place=place)
            sample += islice(table, 1)
        first, end = _extent(sample)
        known = [_part(row, first, end) for row in sample]
        labels = [cell for cell in known[0].cells if cell.strip().endswith(":")] if known else []
        continues = headers and (first, end) == extent and not labels
        count, names = header_of(known)
        if count and (not continues or heads_values([row.cells for row in known])):
            headers = [*[""] * first, *names]
            yield from (header_piece(row.cells, row.place) for row in sample[:count])
            sample = sample[count:]
        elif not continues:
            headers = ()
        extent = first, end
        for row in chain(sample, table):
            yield row_piece(headers, row.cells, row.place)


def _tables(rows: Iterable[GridRow]) -> Iterator[Iterator[GridRow]]:
    """Yield the tables between blank rows. A row alone belongs to the table below if it is its header, and that has no other,
    unless it may be a key with its value, or a row of a table above, which has a header or the same columns.
    """
    alone: list[GridRow] = []
    extent, is_headed = (0, 0), False
    for is_filled, run in groupby(rows, lambda row: bool(_filled(row))):
        table = iter(run if is_filled else ())
        sample = list(islice(table, SAMPLE))
        if not sample:
            continue
        has_header = header_of(list(dropwhile(lambda row: len(_filled(row)) == 1, sample)))[0] > 0
        if alone and (has_header or len(_filled(sample[0])) < 2 or not header_of([*alone, *sample])[0]):
            yield iter(alone)
            alone = []
        is_alone = len(sample) == 1 and len(_filled(sample[0])) > 2 and _extent(sample) != extent
        if is_alone and not alone and not is_headed:
            alone = sample
        else:
            is_headed = is_headed or has_header or bool(alone)
            yield chain(alone, sample, table)
            alone = []
        extent = _extent(sample)
    if alone:
        yield iter(alone)


def _part(row: GridRow, first: int, end: int) -> GridRow:
    spans = row.spans and {start - first: columns for start, columns in row.spans.items() if first <= start < end}
    return GridRow(row.place, row.cells[first:end], spans)


def _starts_beside(rows: Sequence[GridRow]) -> list[int]:
    """The first columns of tables to the right of another, after empty columns: each has a header of its own, and unless it
    begins in another row than the one before, distinct names in its first column.
    """
    filled = {column for row in rows for column in _filled(row)}
    starts = [column for column in sorted(filled) if column - 1 not in filled]
    ends = [*starts[1:], max(filled, default=-1) + 1]
    above = ""
    for start, end in zip(starts, ends, strict=True):
        part = [row for row in (_part(row, start, end) for row in rows) if _filled(row)]
        while part and len(_filled(part[0])) == 1:
            del part[0]
        count, names = header_of(part)
        keys = [_cell(row, 0) for row in part[count:]]
        has_keys = len(set(keys)) == len(keys) and not all(map(VALUE.fullmatch, keys))
        if not count or sum(map(bool, names)) < 2 or (part[0].place == above and not has_keys):
            return []
        above = part[0].place
    return starts[1:]


def _bounded(rows: Iterable[GridRow], most: int) -> Iterator[GridRow]:
    for number, row in enumerate(rows, 1):
        if number > most:
            raise Unreadable(f"has more than {most} rows: split it, or raise the limit `rows`")
        yield row


def _extent(rows: Sequence[GridRow]) -> tuple[int, int]:
    """The first column with text, and the one after the last."""
    filled = [column for row in rows for column in _filled(row)]
    return min(filled, default=0), max(filled, default=-1) + 1


def _filled(row: GridRow) -> list[int]:
    return [column for column, cell in enumerate(row.cells) if cell.strip()]
