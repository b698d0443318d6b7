"""Parses the workbooks of Excel before 2007 (.xls) like those of later versions: values as displayed, comments after their row.

Hidden sheets, rows and columns and cells whose font is struck out are left out with a note.
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import STRUCK
from hoptrail.documents.number_formats import GENERAL, shown_number
from hoptrail.documents.office_text import comment_head
from hoptrail.documents.sheet_rows import sheet_pieces
from hoptrail.documents.xlsx import MergedCell, ShownRows, sheet_heading, with_comments
from hoptrail.text.normal_forms import squeeze

_DAMAGED = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, MemoryError, struct.error)
"""What the library raises for a damaged file, beside its own errors."""


def parse_xls(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a workbook: each sheet as a heading with its rows."""
    import xlrd  # type: ignore[import-untyped]

    try:
        book = xlrd.open_workbook(file_contents=data, formatting_info=True, ragged_rows=True, logfile=io.StringIO())
        reader = _OldWorkbook(book, limits)
        pieces = [piece for sheet in book.sheets() for piece in reader.sheet(sheet)]
        return assemble("", pieces, reader.notes(), limits.text)
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, *_DAMAGED) as error:
        why = f"is not an Excel file, or a damaged or a protected one ({error}): save it as .xlsx"
        raise Unreadable(why) from error


@dataclass(slots=True)
class _OldWorkbook:
    """Reads sheets, and counts what is left out of them."""

    book: Any
    limits: ReadingLimits
    hidden_sheets: list[str] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    is_struck: bool = False

    def notes(self) -> list[str]:
        notes = [f"hidden sheets were left out: {', '.join(self.hidden_sheets)}"] if self.hidden_sheets else []
        notes += [f"{count} hidden {what} were left out" for what, count in self.hidden.items() if count]
        return notes + ([STRUCK] if self.is_struck else [])

    def sheet(self, sheet: Any) -> Iterator[Piece]:
        if sheet.visibility:
            self.hidden_sheets.append(sheet.name)
            return
        yield from sheet_heading(sheet.name)
        comments: dict[str, list[tuple[str, str]]] = {}
        for (row, _), note in sheet.cell_note_map.items():
            head = comment_head(note.author or "", "")
            comments.setdefault(f"sheet {sheet.name}, row {row + 1}", []).append((head, squeeze(note.text)))
        merged = [MergedCell(top, left, end - 1, right - 1) for top, end, left, right in sheet.merged_cells]
        hidden: list[tuple[int, int]] = []  # ranges: a sheet may hide hundreds of columns, and each cell asks
        for column in sorted(column for column, info in sheet.colinfo_map.items() if info.hidden):
            begins = hidden.pop()[0] if hidden and hidden[-1][1] == column - 1 else column
            hidden.append((begins, column))
        shown = ShownRows(sheet.name, self.limits, comments, merged, hidden)
        yield from with_comments(sheet_pieces(shown.of(self._rows(sheet)), self.limits), comments)
        self.hidden += Counter({"columns": len(shown.hidden_columns), "rows": shown.hidden_rows})

    def _rows(self, sheet: Any) -> Iterator[tuple[int, dict[int, str], bool]]:
        for number in range(sheet.nrows):
            info = sheet.rowinfo_map.get(number)
            cells = {column: self._value(sheet, number, column) for column in range(sheet.row_len(number))}
            yield number, cells, info is not None and bool(info.hidden)

    def _value(self, sheet: Any, row: int, column: int) -> str:
        import xlrd

        cell = sheet.cell(row, column)
        style = self.book.xf_list[cell.xf_index]
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            text = str(bool(cell.value)).upper()
        elif cell.ctype == xlrd.XL_CELL_ERROR:
            text = xlrd.error_text_from_code.get(cell.value, "#N/A")
        elif cell.ctype in {xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE}:
            known = self.book.format_map.get(style.format_key)
            code = known.format_str if known is not None else GENERAL
            text = shown_number(cell.value, code, from_1904=bool(self.book.datemode))
        else:
            text = str(cell.value).strip()
        if text and self.book.font_list[style.font_index].struck_out:
            self.is_struck = True
            return ""
        return text
