"""Parses the workbooks of Excel before 2007 (.xls) like those of later versions: values as displayed, comments after their row.

Hidden sheets, rows and columns and cells whose font is struck out are left out with a note.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.grids import OfficeGrid, Rows, hidden_sheets
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import STRUCK
from hoptrail.documents.number_formats import GENERAL, shown_number
from hoptrail.documents.office_text import TextRun, comment_head, shown
from hoptrail.text.normal_forms import squeeze

_DAMAGED = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, MemoryError, struct.error)
"""What the library raises for a damaged file, beside its own errors."""


def parse_xls(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a workbook: each sheet as a heading with its rows."""
    import xlrd  # type: ignore[import-untyped]

    try:
        options = {"formatting_info": True, "ragged_rows": True, "ignore_workbook_corruption": True}
        book = xlrd.open_workbook(file_contents=data, logfile=io.StringIO(), **options)
        reader = _OldWorkbook(book, limits)
        return assemble("", reader.pieces(), reader.notes, limits.text)
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_DAMAGED) as error:
        why = f"is not an Excel file, or a damaged or a protected one ({error}): save it as .xlsx"
        raise Unreadable(why) from error


class _OldWorkbook:
    """Reads sheets, and notes what is left out of them."""

    def __init__(self, book: Any, limits: ReadingLimits) -> None:
        self._book, self._limits = book, limits
        self.notes: list[str] = []

    def pieces(self) -> Iterator[Piece]:
        for sheet in self._book.sheets():
            yield from () if sheet.visibility else self._sheet(sheet)
        self.notes += hidden_sheets([sheet.name for sheet in self._book.sheets() if sheet.visibility])

    def _sheet(self, sheet: Any) -> Iterator[Piece]:
        grid = OfficeGrid(f"sheet {sheet.name}", self._limits, self.notes)
        for (row, _), note in sheet.cell_note_map.items():
            grid.comment(row, comment_head(note.author or "", ""), squeeze(note.text))
        for top, end, left, right in sheet.merged_cells:
            grid.merge(top, left, end - 1, right - 1)
        for column in sorted(column for column, info in sheet.colinfo_map.items() if info.hidden):
            # as ranges: a sheet may hide hundreds of columns, and each cell asks
            begins = grid.hidden.pop()[0] if grid.hidden and grid.hidden[-1][1] == column - 1 else column
            grid.hidden.append((begins, column))
        return grid.sheet(sheet.name, self._rows(sheet))

    def _rows(self, sheet: Any) -> Rows:
        for number in range(sheet.nrows):
            info = sheet.rowinfo_map.get(number)
            cells = {column: self._value(sheet, number, column) for column in range(sheet.row_len(number))}
            yield number, cells, info is not None and bool(info.hidden)

    def _value(self, sheet: Any, row: int, column: int) -> str:
        import xlrd

        cell = sheet.cell(row, column)
        style = self._book.xf_list[cell.xf_index]
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            text = str(bool(cell.value)).upper()
        elif cell.ctype == xlrd.XL_CELL_ERROR:
            text = xlrd.error_text_from_code.get(cell.value, "#N/A")
        elif cell.ctype in {xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE}:
            known = self._book.format_map.get(style.format_key)
            code = (known and known.format_str) or GENERAL
            text = shown_number(cell.value, code, from_1904=bool(self._book.datemode))
        else:
            text = str(cell.value).strip()
        why = STRUCK if self._book.font_list[style.font_index].struck_out else ""
        return shown([TextRun(text, why)], self.notes)[0]
