"""Turns rows of unmarked tables, as in CSV files and spreadsheets, into pieces. Header rows are detected by their content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, groupby, islice

from hoptrail.documents.blocks import Piece
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.types import BlockKind

SAMPLE = 50
"""Rows examined to decide whether the first is a header."""
_LONGEST_HEADER = 60
"""Characters; a longer cell is a sentence."""
_ABBREVIATED = 2
"""Words; a longer cell that ends in a period is a sentence, a shorter one an abbreviation: `No.`, `Qty. left`."""
_NAMED_SHARE = 0.6
"""Minimal share of columns that a header row names, unless only the first column has no name."""
_VALUE = re.compile(
    r"[^\w]*\d[\d\s.,:/'’%°+*()–-]*\w{0,4}[^\w]*"  # a number, an amount, a date in digits, a time, a telephone number
    r"|[^\w]{0,2}\d[\d.,]*(?: ?[^\W\d]+){1,3}"  # a quantity with its unit
    r"|\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}"  # a date with the name of its month
    r"|[^\W\d]{3,9}\.? \d{1,2}, \d{4}"
    r"|\S+@\S+\.\S+|https?://\S+|-+|[✓✗✔✘]|[$€£¥]|[^\w]*[$€£¥]\s?\d.*|[^\w]*\d[\d.,' ]*[$€£¥]"
    r"|(?i:true|false|n/a|null|none|yes|no|x)"
)
_NAMES_TOO = frozenset({"yes", "no", "x"})
"""Values that may be headers."""
_CURRENCIES = frozenset("$€£¥")
"""Signs that are values by themselves, and headers above amounts."""
_AMOUNT = re.compile(r"[\d\s.,'’–-]*\d[\d\s.,'’–-]*|[–-]")
"""A number without a currency sign, or a dash in its place."""
_YEAR = re.compile(r"(?:19|20)\d\d|[QH][1-4](?: ?(?:19|20)\d\d)?|(?:FY ?)?(?:19|20)?\d\d/\d\d")
"""Years, quarters and financial years: numbers that may be column headers."""

Row = tuple[str, Sequence[str]]
"""The place of a row in its file, and its cells."""


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows (a table, or its first `SAMPLE` rows) names the columns.

    It does unless one of its cells is a value (number, date, address), is a sentence, occurs twice, recurs in its column, or ends
    in a colon; or too many are empty; or there are two columns of keys and mixed values. Several years, or one above numbers
    beside another column of values, name columns of other values. A word such as `no` is a value if its column has another such
    word; else it is a name, as in `no, customer, town`.
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
    of_years = len(years) > 1 or (bool(years) and has_numbers and _heads_values(rows))
    by_year = of_years and 2 * sum(_YEAR.fullmatch(cell) is not None for cell in below) < len(below)
    good = bool(named) and all(
        (by_year and name in years) or _names_a_column(name, cells) for name, cells in heads if name
    )
    return enough and good and len(set(named)) == len(named) and not _is_key_value(rows)


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
    return not _VALUE.fullmatch(cell)


def _is_key_value(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of two columns has distinct names and the second some values and some other texts below the first row."""
    if len(rows[0]) > 2 or len(rows) < 3:
        return False
    values = [bool(_VALUE.fullmatch(row[1].strip())) for row in rows[1:] if len(row) > 1 and row[1].strip()]
    names = [row[0].strip() for row in rows[1:]]
    are_names = all(name and not name.endswith(".") and _names_a_column(name) for name in names)
    return are_names and len(set(names)) == len(names) and 0 < sum(values) < len(values)


def _heads_values(rows: Sequence[Sequence[str]]) -> bool:
    return any(
        all(_VALUE.fullmatch(row[column].strip()) for row in rows[1:] if column < len(row))
        for column, cell in enumerate(rows[0])
        if not _VALUE.fullmatch(cell.strip())
    )


def header_piece(headers: Sequence[str], place: str) -> Piece:
    """The header row of a table."""
    return Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in headers if header.strip()), place=place)


def row_piece(headers: Sequence[str], cells: Sequence[str], place: str) -> Piece:
    """A row of values with their headers, as far as there are headers; empty values are left out."""
    pairs = zip(chain(headers, [""] * (len(cells) - len(headers))), cells, strict=False)
    return Piece(BlockKind.ROW, cells=tuple(pair for pair in pairs if pair[1].strip()), place=place)


def table_pieces(rows: Sequence[Sequence[str]], place: str) -> Iterator[Piece]:
    """Yield the rows of a table that stands at one place."""
    headers, *body = rows if has_header(rows) else ((), *rows)
    if headers:
        yield header_piece(headers, place)
    for row in body:
        yield row_piece(headers, row, place)


def sheet_pieces(rows: Iterable[Row], limits: ReadingLimits) -> Iterator[Piece]:
    """Yield the tables of a sheet, which blank rows separate. A row of one cell before a table is a paragraph. A table without a
    header that spans the same columns as the table above continues with its headers.
    Raises: Unreadable: there are more rows than the limit `rows`.
    """
    headers: Sequence[str] = ()
    extent = 0, 0  # the first column with text, and the one after the last
    runs = groupby(_bounded(rows, limits.rows), lambda row: bool(_filled(row)))
    for table in (run for is_filled, run in runs if is_filled):
        sample = list(islice(table, SAMPLE))
        while sample and len(_filled(sample[0])) == 1:
            place, cells = sample.pop(0)
            yield Piece(BlockKind.PARAGRAPH, next(filter(str.strip, cells)), place=place)
            sample += islice(table, 1)
        filled = [column for row in sample for column in _filled(row)]
        first, end = min(filled, default=0), max(filled, default=-1) + 1
        known = [cells[first:end] for _, cells in sample]
        continues = headers and (first, end) == extent
        if has_header(known) and (not continues or _heads_values(known)):
            place, headers = sample.pop(0)
            yield header_piece(headers, place)
        elif not continues:
            headers = ()
        extent = first, end
        for place, cells in chain(sample, table):
            yield row_piece(headers, cells, place)


def _bounded(rows: Iterable[Row], most: int) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        if number > most:
            raise Unreadable(f"has more than {most} rows: split it, or raise the limit `rows`")
        yield row


def _filled(row: Row) -> list[int]:
    return [column for column, cell in enumerate(row[1]) if cell.strip()]
