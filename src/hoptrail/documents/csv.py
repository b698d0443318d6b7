"""Parses CSV and TSV files into rows, each with the headers of its columns.

The delimiter (comma, semicolon, tab or bar) is detected from the rows. Lines without a delimiter before the table are paragraphs.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from hoptrail.documents.blocks import Parsed, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import GridRow, sheet_pieces

_DELIMITERS = ",;\t|"
_SAMPLE = 100
"""Rows examined to detect the delimiter."""
_DECLARATION = "sep="
"""The start of a first line that declares the delimiter to Excel."""
_LONGEST_CELL = 20
"""Lines in a cell. More mean that a quotation mark was literal (as for inches) and never closed."""


def parse_csv(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file into rows, numbered as in a spreadsheet."""
    decoded = decode(data)
    text, declared = decoded.text, ""
    if text.lower().startswith(_DECLARATION) and text[5:6] == "\n":
        text, declared = text[6:], text[4]
    csv.field_size_limit(limits.text)
    delimiter = declared or max(_DELIMITERS, key=lambda known: _regularity(text, known))
    closed = all(cell.count("\n") <= _LONGEST_CELL for row in _rows(text, delimiter) for cell in row)
    notes = decoded.notes if closed else (*decoded.notes, "a quotation mark is never closed: all were read literally")
    rows = (GridRow(f"row {number}", cells) for number, cells in enumerate(_rows(text, delimiter, quoted=closed), 1))
    return assemble("", sheet_pieces(rows, limits), notes, limits.text)


def parse_tabbed(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse text whose lines have cells between tabs, in which quotation marks mean nothing."""
    decoded = decode(data)
    csv.field_size_limit(limits.text)
    rows = (GridRow(f"line {number}", cells) for number, cells in enumerate(_rows(decoded.text, "\t", quoted=False), 1))
    return assemble("", sheet_pieces(rows, limits), decoded.notes, limits.text)


def _rows(text: str, delimiter: str, *, quoted: bool = True) -> Iterator[list[str]]:
    lines, skips = io.StringIO(text, newline="\n"), delimiter != "\t"
    if quoted:
        return csv.reader(lines, delimiter=delimiter, skipinitialspace=skips)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=skips, quoting=csv.QUOTE_NONE)


def _regularity(text: str, delimiter: str) -> tuple[float, int]:
    """The share of rows with the most common number of cells, and that number: the higher, the likelier the delimiter."""
    sample = text[: text.find("\n", 200_000) + 1 or 200_000]
    rows = [len(row) for row in islice(_rows(sample, delimiter), _SAMPLE) if row]
    counts = Counter(cells for cells in rows if cells > 1)
    cells, times = counts.most_common(1)[0] if counts else (0, 0)
    return round(times / max(1, len(rows)), 2), cells
