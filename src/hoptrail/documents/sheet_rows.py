"""Rows of tables whose headers are not marked as pieces: whether the first row holds them is told by what is in it.

Knows no format: a reader gives rows of strings, and what its format says of headers, if it says anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from hoptrail.documents.blocks import Piece
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.types import BlockKind

SAMPLE = 50
"""Rows that are looked at to tell whether the first one is a header."""
_LONGEST_HEADER = 60
"""Characters; what is longer is a sentence."""
_MOST = 0.6
"""Of the columns, a header names at least this share, unless there are two and the first needs no name."""
_VALUE = re.compile(
    r"[^\w]*\d[\d\s.,:/'’%°+*()–-]*\w{0,4}[^\w]*"  # a number, an amount, a date in digits, a time, a telephone number
    r"|[^\w]{0,2}\d[\d.,]*(?: ?[^\W\d]+){1,3}"  # a quantity with its unit
    r"|\d{1,2}\.? [^\W\d]{3,9}\.? \d{4}"  # a date with the name of its month
    r"|[^\W\d]{3,9}\.? \d{1,2}, \d{4}"
    r"|\S+@\S+\.\S+|https?://\S+|(?i:true|false|yes|no|n/a|null|none|-+|x|[✓✗✔✘]|[$€£¥].*|.*[$€£¥])"
)
_YEAR = re.compile(r"(?:19|20)\d\d|[QH][1-4](?: ?(?:19|20)\d\d)?|(?:FY ?)?(?:19|20)?\d\d/\d\d")
"""Years, quarters and financial years: numbers that do head columns."""

Row = tuple[str, Sequence[str]]
"""Where a row is in the file, and its cells."""


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of these rows (a table, or its first `SAMPLE` rows) names the columns.

    It does unless something speaks against it: a cell of it is a value (number, date, address) or a sentence, is there twice,
    stands in its column again, or ends in a colon; too many are empty; or there are two columns, and the second one is a
    medley of values, as where the first column names what stands in the second.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    first = [cell.strip() for cell in rows[0]]
    years = sum(_YEAR.fullmatch(cell) is not None for cell in first[1:])
    if years > 1 and years >= len(first) - 2:
        return True
    named = [cell for cell in first if cell]
    enough = len(named) >= _MOST * len(first) or (not first[0] and all(first[1:]))
    good = enough and all(map(_names_a_column, named)) and len(set(named)) == len(named)
    again = any(name and name in _column(rows[1:], number) for number, name in enumerate(first))
    return good and not again and not _is_medley(first, rows[1:])


def _column(rows: Sequence[Sequence[str]], number: int) -> set[str]:
    return {row[number].strip() for row in rows if number < len(row)}


def _names_a_column(cell: str) -> bool:
    return 0 < len(cell) <= _LONGEST_HEADER and not cell.endswith((".", ":", ";")) and not _VALUE.fullmatch(cell)


def _is_medley(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    if len(first) > 2 or len(rows) < 2:
        return False
    values = [bool(_VALUE.fullmatch(row[1].strip())) for row in rows if len(row) > 1 and row[1].strip()]
    names = [row[0].strip() for row in rows]
    alike = all(_names_a_column(name) for name in names) and len(set(names)) == len(names)
    return alike and 0 < sum(values) < len(values)


def _heads_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has values alone under a first cell that is none."""
    return any(
        all(_VALUE.fullmatch(row[column].strip()) for row in rows[1:] if column < len(row))
        for column, cell in enumerate(rows[0])
        if not _VALUE.fullmatch(cell.strip())
    )


def header_piece(headers: Sequence[str], place: str = "") -> Piece:
    """The row of a table that holds its headers."""
    return Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in headers if header.strip()), place=place)


def row_piece(headers: Sequence[str], cells: Sequence[str], place: str = "") -> Piece:
    """A row of values, without those that are empty, each after its header as far as there are headers."""
    pairs = zip(chain(headers, [""] * (len(cells) - len(headers))), cells, strict=False)
    return Piece(BlockKind.ROW, cells=tuple(pair for pair in pairs if pair[1].strip()), place=place)


def bounded(rows: Iterable[Row], limits: ReadingLimits) -> Iterator[Row]:
    """The rows.

    Raises:
        Unreadable: there are more of them than the limit.
    """
    for number, row in enumerate(rows, 1):
        if number > limits.rows:
            raise Unreadable(f"has more than {limits.rows} rows: split it, or raise the limit `rows`")
        yield row


def sheet_pieces(rows: Iterable[Row]) -> Iterator[Piece]:
    """The tables of a sheet, which blank rows part; a row of one cell before the rows of a table is a paragraph.

    A table without a header of its own that is as wide as the one above goes on with the headers of that one.
    """
    headers: Sequence[str] = ()
    extent = 0, 0
    for table in _tables(rows):
        sample = list(islice(table, SAMPLE))
        while sample and len(_filled(sample[0])) == 1:
            place, cells = sample.pop(0)
            yield Piece(BlockKind.PARAGRAPH, next(filter(str.strip, cells)), place=place)
            sample += islice(table, 1)
        first, end = _extent(sample)
        known = [cells[first:end] for _, cells in sample]
        goes_on = headers and (first, end) == extent
        if has_header(known) and (not goes_on or _heads_values(known)):
            place, headers = sample.pop(0)
            yield header_piece(headers, place)
        elif not goes_on:
            headers = ()
        extent = first, end
        for place, cells in chain(sample, table):
            yield row_piece(headers, cells, place)


def _extent(rows: Sequence[Row]) -> tuple[int, int]:
    """The columns that hold something, from the first to before `end`."""
    filled = [column for row in rows for column in _filled(row)]
    return min(filled, default=0), max(filled, default=-1) + 1


def _filled(row: Row) -> list[int]:
    return [column for column, cell in enumerate(row[1]) if cell.strip()]


def _tables(rows: Iterable[Row]) -> Iterator[Iterator[Row]]:
    """Runs of rows with text. Each is to be read to its end before the next."""
    coming = iter(rows)
    for first in coming:
        if not _filled(first):
            continue
        yield _until_blank(first, coming)


def _until_blank(first: Row, coming: Iterator[Row]) -> Iterator[Row]:
    yield first
    for row in coming:
        if not _filled(row):
            return
        yield row
