"""Parses Excel workbooks, new and old (.xls), into rows with values as a reader sees them, those of formulas as last computed."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from typing import Any, TypeVar

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.grids import OfficeGrid, Rows, hidden_sheets
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import STRUCK, runs
from hoptrail.documents.number_formats import BUILT_IN, GENERAL, shown_number
from hoptrail.documents.office_package import NOTHING, Package, opened_package, relation_of
from hoptrail.documents.office_text import TextRun, comment_head, shown
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_CELL_NAME = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^>]*\bref=[\"']([A-Z0-9$]+):([A-Z0-9$]+)[\"']")
_SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_VALUE, _FORMULA, _INLINE, _CELL, _RUN, _TEXT = (f"{_SPREADSHEET}{name}" for name in ("v", "f", "is", "c", "r", "t"))
_Item = TypeVar("_Item")
_COPY_OF_THREAD = "[Threaded comment]"  # how the copy of a threaded comment for older programs begins


def parse_xlsx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a workbook: title (of its properties), and each sheet as a heading with its rows."""
    with opened_package(data, limits, "Excel", ".xlsx", "xl/workbook.xml") as package:
        return assemble(package.title, _Workbook(package).pieces(), package.notes, limits.text)


class _Workbook:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._book = package.root(package.main)
        self._from_1904 = any(one.get("date1904") in {"1", "true"} for one in self._book.iter("{*}workbookPr"))
        strings = package.parts(package.main, "sharedStrings")
        self._strings = [self._text(one) for root in strings for one in root.findall("{*}si")]
        self._styles = [style for root in package.parts(package.main, "styles") for style in _styles(root)]
        people = package.parts(package.main, "person")
        self._people = {one.get("id"): one.get("displayName", "") for root in people for one in root.iter("{*}person")}
        self._uncomputed = 0

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces of all sheets that are shown. Raises: Unreadable: there is no sheet that can be read."""
        paths, notes = self._package.related(self._package.main), self._package.notes
        hidden, read = [], False
        for sheet in self._book.iter("{*}sheet"):
            name, path = sheet.get("name", ""), paths.get(relation_of(sheet))
            if sheet.get("state", "visible") != "visible":
                hidden.append(name)
            elif path is None or (data := self._package.read(path)) == NOTHING:
                notes.append(f"sheet {name} was not read")
            elif "/worksheets/" in f"/{path}":
                read = True
                yield from self._sheet(name, path, data)
        if not read and not hidden:
            raise Unreadable("is not an Excel file, or a damaged one (no sheet can be read)")
        notes += hidden_sheets(hidden)
        advice = "formulas hold no value: open the file in a spreadsheet program and save it"
        notes += [f"{self._uncomputed} {advice}"] * bool(self._uncomputed)

    def _sheet(self, name: str, path: str, data: bytes) -> Iterator[Piece]:
        grid = OfficeGrid(f"sheet {name}", self._package.limits, self._package.notes)
        for row, head, text in self._comments(path):
            grid.comment(row, head, text)
        for match in _MERGED.finditer(data, max(0, data.rfind(b"sheetData>"))):  # they stand behind the rows
            grid.merge(*_place_of(match[1].decode()), *_place_of(match[2].decode()))
        yield from grid.sheet(name, self._rows(data, grid))
        for drawing in self._package.parts(path, "drawing"):
            for box in drawing.iter("{*}txBody"):
                lines = ("".join(one.itertext()) for one in box.iter("{*}p"))
                yield Piece(BlockKind.PARAGRAPH, squeeze(" ".join(lines)), place=f"sheet {name}, text box")

    def _rows(self, data: bytes, grid: OfficeGrid) -> Rows:
        number, tags = -1, ("{*}row", "{*}col")
        for _, element in etree.iterparse(io.BytesIO(data), tag=tags, resolve_entities=False, huge_tree=True):
            is_hidden = element.get("hidden") in {"1", "true"}
            if element.tag.endswith("}col"):
                columns = int(element.get("min", "1")) - 1, int(element.get("max", "1")) - 1
                grid.hidden += [columns] if is_hidden else []
                continue
            given = element.get("r", "")
            number = int(given) - 1 if given.isdigit() else number + 1
            yield number, self._cells(element), is_hidden
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]

    def _cells(self, row: Any) -> dict[int, str]:
        cells, column = dict[int, str](), -1
        for cell in row.iterchildren(_CELL):
            name = cell.get("r")
            column = column + 1 if name is None else _column(name.rstrip("0123456789"))
            cells[column] = self._value(cell)
            self._uncomputed += not cells[column] and cell.find(_FORMULA) is not None
        return cells

    def _text(self, element: Any) -> str:
        """The text of a string as it is shown, without how it is read aloud."""
        return shown(map(_run, element.iterchildren(_TEXT, _RUN)), self._package.notes)[0]

    def _value(self, cell: Any) -> str:
        kind, text = cell.get("t", "n"), cell.findtext(_VALUE) or ""
        code, why = _numbered(self._styles, cell.get("s", "")) or (GENERAL, "")
        if kind == "s":
            text = self._strings[int(text)] if text else ""
        elif kind == "inlineStr":
            text = "".join(map(self._text, cell.iterchildren(_INLINE)))
        elif kind == "b":
            text = {"0": "FALSE", "1": "TRUE"}.get(text, text)
        elif kind == "n" and text:
            text = shown_number(float(text), code, from_1904=self._from_1904)
        return (shown([TextRun(text, why)], self._package.notes)[0] if why else text).strip()

    def _comments(self, path: str) -> Iterator[tuple[int, str, str]]:
        """Yield the row, head and text of the comments on a sheet; of threads not the copies for older programs."""
        for part in self._package.parts(path, "comments", "threadedComment"):
            authors = [one.text or "" for one in part.iter("{*}author")]
            for comment in part.iter("{*}comment", "{*}threadedComment"):
                author = _numbered(authors, comment.get("authorId", "")) or ""
                head = comment_head(self._people.get(comment.get("personId"), author), comment.get("dT", ""))
                text = squeeze("".join(one.text or "" for one in comment.iter("{*}t", "{*}text")))
                if text and not text.startswith(_COPY_OF_THREAD):
                    yield _place_of(comment.get("ref", ""))[0], head, text


def _run(element: Any) -> TextRun:
    if element.tag == _TEXT:
        return TextRun(element.text or "")
    place = element.find("{*}rPr/{*}vertAlign")
    shift = "" if place is None else place.get("val")
    why = STRUCK if _is_on(element.find("{*}rPr/{*}strike")) else ""
    return TextRun(element.findtext("{*}t") or "", why, (shift == "superscript") - (shift == "subscript"))


def _styles(root: Any) -> Iterator[tuple[str, str]]:
    """Yield the format code of each cell style, and why its text is not shown if it is struck out."""
    custom = {one.get("numFmtId"): one.get("formatCode", "") for one in root.iter("{*}numFmt")}
    struck = [STRUCK if _is_on(font.find("{*}strike")) else "" for fonts in root.findall("{*}fonts") for font in fonts]
    for style in root.findall("{*}cellXfs/{*}xf"):
        number = style.get("numFmtId", "0")
        code = custom.get(number) or BUILT_IN.get(int(number) if number.isdigit() else 0, GENERAL)
        yield code, _numbered(struck, style.get("fontId", "0")) or ""


def _is_on(mark: Any) -> bool:
    return mark is not None and mark.get("val") not in {"0", "false"}


def _numbered(known: Sequence[_Item], number: str) -> _Item | None:
    return known[int(number)] if number.isdigit() and int(number) < len(known) else None


def _place_of(name: str) -> tuple[int, int]:
    """The row and column from 0 of a cell such as `B7`."""
    match = _CELL_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is no cell")
    return int(match[2]) - 1, _column(match[1])


@cache
def _column(letters: str) -> int:
    return reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters, 0) - 1


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
    def __init__(self, book: Any, limits: ReadingLimits) -> None:
        self._book, self._limits = book, limits
        self.notes: list[str] = []

    def pieces(self) -> Iterator[Piece]:
        for sheet in (one for one in self._book.sheets() if not one.visibility):
            yield from self._sheet(sheet)
        self.notes += hidden_sheets([sheet.name for sheet in self._book.sheets() if sheet.visibility])

    def _sheet(self, sheet: Any) -> Iterator[Piece]:
        grid = OfficeGrid(f"sheet {sheet.name}", self._limits, self.notes)
        for (row, _), note in sheet.cell_note_map.items():
            grid.comment(row, comment_head(note.author or "", ""), squeeze(note.text))
        for top, end, left, right in sheet.merged_cells:
            grid.merge(top, left, end - 1, right - 1)
        hidden = sorted(column for column, info in sheet.colinfo_map.items() if info.hidden)
        # As ranges: a sheet may hide hundreds of columns, and each cell asks.
        grid.hidden += ((run[0], run[-1]) for run in runs(hidden, lambda run, column: column == run[-1] + 1))
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
