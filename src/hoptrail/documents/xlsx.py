"""Parses Excel workbooks (.xlsx) sheet by sheet into rows, with values as a reader sees them and the headers of their columns.

Values of formulas are those last computed. Formulas, charts, comments and pictures are left out, and so are hidden sheets, with a
note. Meant to run in the child process.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from hoptrail.documents.archives import check_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import Row, bounded, sheet_pieces
from hoptrail.documents.xlsx_formats import NumberFormats, SheetFormats
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

_Value = int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
_UNNAMED = re.compile(
    r"(?:sheet|tabelle|feuille?|feuil|hoja|foglio|blad|ark|arkusz|list|planilha|лист) ?\d*", re.IGNORECASE
)
"""Default names of sheets."""
_CELLS_PER_ROW = 100
"""Cells per row of the limit that the range of a sheet may span. A single distant cell costs all cells before it."""


def parse_xlsx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a workbook: title (of its properties), and each sheet as a heading with its rows.
    Raises: Unreadable: it is not an Excel file, damaged, encrypted, beyond a limit, or has XML that is not safe to parse.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    check_office_file(data, limits, "Excel", ".xlsx")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        hidden = [sheet.name for sheet in sheets if sheet.visible != SheetVisibleEnum.Visible]
        shown = [sheet.name for sheet in sheets if sheet.name not in hidden]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            formats = NumberFormats(archive)
            pieces = _pieces(workbook, shown, formats, limits)
            parsed = assemble(formats.title, pieces, largest=limits.text)
    except (CalamineError, zipfile.BadZipFile, ParseError, KeyError, ValueError) as error:
        raise Unreadable(f"is not an Excel file, or a damaged one ({error})") from error
    notes = [f"hidden sheets were left out: {', '.join(hidden)}"] if hidden else []
    if formats.uncomputed:
        notes.append(f"{formats.uncomputed} formulas hold no value: open the file in a spreadsheet program and save it")
    return replace(parsed, notes=tuple(notes))


def _pieces(
    workbook: CalamineWorkbook, names: list[str], formats: NumberFormats, limits: ReadingLimits
) -> Iterator[Piece]:
    room = limits.rows
    for name in names:
        cells = formats.sheet(name)
        if cells.rows > room or cells.rows * cells.columns > _CELLS_PER_ROW * limits.rows:
            raise Unreadable(
                f"sheet {name} reaches to row {cells.rows} and column {cells.columns}, beyond the limit of {limits.rows} rows: "
                "split it, or raise the limit `rows`"
            )
        room -= cells.rows
        if not _UNNAMED.fullmatch(name):
            yield Piece(BlockKind.HEADING, name, 1, place=f"sheet {name}")
        yield from sheet_pieces(bounded(_rows(workbook.get_sheet_by_name(name), name, cells), limits))


def _rows(sheet: CalamineSheet, name: str, formats: SheetFormats) -> Iterator[Row]:
    first = (sheet.start or (0, 0))[1]
    merged = _merged(sheet)
    above: dict[int, str] = {}
    for number, values in enumerate(sheet.iter_rows()):
        cells = [_visible_text(value, formats, number, column) for column, value in enumerate(values, first)]
        for column in merged.get(number, ()):
            cells[column - first] = above.get(column, "")
        yield f"sheet {name}, row {number + 1}", cells
        above = {column: cells[column - first] for column in merged.get(number + 1, ())}


def _merged(sheet: CalamineSheet) -> dict[int, list[int]]:
    """By row, the columns whose cell is merged with the one above it and repeats its value."""
    rows: dict[int, list[int]] = {}
    end = sheet.end or (0, 0)
    for (top, left), (bottom, _) in sheet.merged_cell_ranges or ():
        for row in range(top + 1, min(bottom, end[0]) + 1):
            rows.setdefault(row, []).append(left)
    return rows


def _visible_text(value: _Value, formats: SheetFormats, row: int, column: int) -> str:
    """A value as a reader of the sheet sees it; dates and times in ISO 8601."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, dt.time):
        return f"{value:%H:%M:%S}".removesuffix(":00")
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    if isinstance(value, dt.date):
        return value.isoformat()
    return formats.format_number(value, row, column)
