"""Parses Excel workbooks (.xlsx) sheet by sheet into rows, with values as a reader sees them and the headers of their columns.

Values of formulas are those last computed. Formulas, charts, comments and pictures are left out, and so are hidden sheets, with a
note.

The library that reads the values does not report formats. Each cell's style is looked up in the sheet's XML, and its number
format is applied if it shows digits: percent, currencies, decimals, thousands separators. The library handles date formats.
"""

from __future__ import annotations

import datetime as dt
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from hoptrail.documents.archives import sound_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import GridRow, sheet_pieces
from hoptrail.text.normal_forms import squeeze
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
    """Parse a workbook: title (of its properties), and each sheet as a heading with its rows."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    data, notes = sound_office_file(data, limits, "Excel", ".xlsx")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
        hidden = [sheet.name for sheet in sheets if sheet.visible != SheetVisibleEnum.Visible]
        shown = [sheet.name for sheet in sheets if sheet.name not in hidden]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            formats = NumberFormats(archive)
            parsed = assemble(formats.title, _pieces(workbook, shown, formats, limits), largest=limits.text)
    except (CalamineError, zipfile.BadZipFile, ET.ParseError, KeyError, ValueError) as error:
        raise Unreadable(f"is not an Excel file, or a damaged one ({error})") from error
    left_out = f"hidden sheets were left out: {', '.join(hidden)}" if hidden else ""
    empty = f"{formats.uncomputed} formulas hold no value: open the file in a spreadsheet program and save it"
    return replace(parsed, notes=tuple(filter(None, (*notes, left_out, empty if formats.uncomputed else ""))))


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
        yield from sheet_pieces(_rows(workbook.get_sheet_by_name(name), name, cells), limits)


def _rows(sheet: CalamineSheet, name: str, formats: SheetFormats) -> Iterator[GridRow]:
    first = (sheet.start or (0, 0))[1]
    merged = _merged(sheet)
    above: dict[int, str] = {}
    for number, values in enumerate(sheet.iter_rows()):
        cells = [_visible_text(value, formats, number, column) for column, value in enumerate(values, first)]
        spans: dict[int, int] = {}
        for column, columns, is_continued in merged.get(number, ()):
            if is_continued:
                cells[column - first] = above.get(column, "")
            above[column] = cells[column - first]
            spans[column - first] = columns
        yield GridRow(f"sheet {name}, row {number + 1}", cells, spans or None)


def _merged(sheet: CalamineSheet) -> dict[int, list[tuple[int, int, bool]]]:
    """By row, the first column of each merged cell, its number of columns, and whether it continues from the row above."""
    rows: dict[int, list[tuple[int, int, bool]]] = {}
    end = sheet.end or (0, 0)
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        for row in range(top, min(bottom, end[0]) + 1):
            if left <= end[1]:
                rows.setdefault(row, []).append((left, right - left + 1, row > top))
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
    code = formats.formats.get((row, column))
    return _plain(value) if code is None else apply_format(value, code)


_CELL = re.compile(rb"<(?:\w+:)?c\s[^>]*?\br=\"([A-Z]{1,3})(\d{1,7})\"([^>]*)>")
_UNCOMPUTED = re.compile(rb"</(?:\w+:)?f>(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?</(?:\w+:)?c>")
_STYLE = re.compile(rb"\bs=\"(\d+)\"")
_CHUNK = 1 << 20
_WORKBOOK = "xl/workbook.xml"
# ECMA-376, part 1, 18.8.30: the built-in formats with digits, which need not be in the file.
_BUILT_IN = {
    **dict(zip((1, 2, 3, 4, 9, 10), ("0", "0.00", "#,##0", "#,##0.00", "0%", "0.00%"), strict=True)),
    **dict.fromkeys((37, 38), "#,##0"),
    **dict.fromkeys((39, 40), "#,##0.00"),
}
_DIGITS = re.compile(r"General|[#0?](?:[#0?,]*[#0?])?(?:\.[#0?]*)?")
_MARKS = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]|_.|\*.')
"""Quoted text, an escaped character or a currency, in groups; and without a group colours, conditions, gaps and fillers."""


@dataclass(slots=True)
class SheetFormats:
    """The number of rows and columns that a sheet's cells span, and their number formats by row and column from 0."""

    rows: int = 0
    columns: int = 0
    formats: dict[tuple[int, int], str] = field(default_factory=dict)


class NumberFormats:
    """The number formats of a workbook, read from its styles and sheets."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._paths = _sheet_paths(archive)
        self._styles = dict(enumerate(_styles(archive)))
        titles = _elements(_parse_member(archive, "docProps/core.xml"), "title")
        self.title = next((title.text or "" for title in titles), "").strip()
        self.uncomputed = 0
        """Formulas without a value in the sheets read so far."""

    def sheet(self, name: str) -> SheetFormats:
        """Read the formats of the sheet with this name."""
        formats = SheetFormats()
        with self._archive.open(self._paths[name]) as sheet:
            rest = b""
            while chunk := sheet.read(_CHUNK):
                text = rest + chunk
                end = max(text.rfind(b"<c "), 0) or text.rfind(b"<")
                self._scan(text[:end], formats)
                rest = text[end:]
            self._scan(rest, formats)
        return formats

    def _scan(self, xml: bytes, formats: SheetFormats) -> None:
        self.uncomputed += len(_UNCOMPUTED.findall(xml))
        for letters, digits, rest in _CELL.findall(xml):
            row, column = int(digits), _column(letters)
            if not rest.endswith(b"/"):  # an empty cell with a style does not count
                formats.rows, formats.columns = max(formats.rows, row), max(formats.columns, column)
            style = _STYLE.search(rest)
            code = self._styles.get(int(style[1])) if style else None
            if code is not None:
                formats.formats[row - 1, column - 1] = code


@cache
def _column(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)


def _parse_member(archive: zipfile.ZipFile, name: str) -> ET.Element | None:
    return ET.fromstring(archive.read(name)) if name in archive.namelist() else None  # noqa: S314 - has no document type: checked before


def _elements(root: ET.Element | None, tag: str) -> Iterator[ET.Element]:
    """Yield the elements with this tag in any namespace: strict and transitional workbooks differ in theirs."""
    return (element for element in (root.iter() if root is not None else ()) if element.tag.endswith(f"}}{tag}"))


def _sheet_paths(archive: zipfile.ZipFile) -> dict[str, str]:
    relations = {
        relation.get("Id"): posixpath.normpath(posixpath.join("/xl", relation.get("Target", ""))).lstrip("/")
        for relation in _elements(_parse_member(archive, "xl/_rels/workbook.xml.rels"), "Relationship")
    }
    paths = {}
    for sheet in _elements(_parse_member(archive, _WORKBOOK), "sheet"):
        relation = next((value for key, value in sheet.attrib.items() if key.endswith("}id")), None)
        paths[sheet.get("name", "")] = relations.get(relation, "")
    return paths


def _styles(archive: zipfile.ZipFile) -> Iterator[str | None]:
    """Yield the number format of each cell style; None if it does not determine digits: general, text, dates."""
    root = _parse_member(archive, "xl/styles.xml")
    custom = {format_.get("numFmtId"): format_.get("formatCode", "") for format_ in _elements(root, "numFmt")}
    for styles in _elements(root, "cellXfs"):
        for style in _elements(styles, "xf"):
            number = style.get("numFmtId", "0")
            code = custom.get(number, _BUILT_IN.get(int(number)) if number.isdigit() else None)
            yield code if code and _formats_digits(code) else None
        return


def _formats_digits(code: str) -> bool:
    """Whether a code formats digits. `General` alone does not; dates, fractions and powers are not supported."""
    bare = _MARKS.sub("", code.split(";", maxsplit=1)[0])
    other = re.search(r"[dmyhs/]|E[+-]", bare.replace("General", ""), re.IGNORECASE)
    return code != "General" and _DIGITS.search(bare) is not None and other is None


def _plain(value: float) -> str:
    text = f"{value:.15g}"
    return text if "e" not in text or abs(value) >= 1e15 else f"{value:.15f}".rstrip("0").rstrip(".")


def apply_format(value: float, code: str) -> str:
    """Format a number by a code such as `#,##0.00 "EUR"` or `0.0%`, of up to four sections separated by semicolons. Source:
    ECMA-376, part 1, 18.8.31. A negative number gets a minus sign if the code has no section for it.
    """
    sections = code.split(";")
    section = sections[0]
    if value < 0 and len(sections) > 1 and _DIGITS.search(sections[1]):
        section = sections[1]
    texts = ["".join(part or "" for part in mark.groups()) for mark in _MARKS.finditer(section)]
    bare = _MARKS.sub("\0", section)
    digits = _DIGITS.search(bare)
    if digits is None:
        return _plain(value)
    number = _number(abs(value), digits[0], bare[digits.end() :], percent="%" in bare)
    written = f"{bare[: digits.start()]}\1{bare[digits.end() :].lstrip(',')}".replace("_", " ")
    parts = re.split("\0", written)
    written = parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))
    sign = "" if value >= 0 or "(" in written or "-" in written else "-"
    return sign + squeeze(written.replace("\1", number))


def _number(value: float, shape: str, after: str, *, percent: bool) -> str:
    """The digits of a number; each comma in `after` divides it by a thousand."""
    if shape == "General":
        return _plain(value)
    scaled = value * (100 if percent else 1) / 1000 ** (len(after) - len(after.lstrip(",")))
    places = shape.partition(".")[2]
    digits = shape.partition(".")[0].count("0")
    width = f"0{digits + bool(places) + len(places)}" if digits > 1 and "," not in shape else ""
    number = f"{scaled:{width or (',' if ',' in shape else '')}.{len(places)}f}"
    optional = len(places) - len(places.rstrip("#?"))
    while optional and number.endswith("0"):
        number, optional = number[:-1], optional - 1
    return number.rstrip(".") if places else number
