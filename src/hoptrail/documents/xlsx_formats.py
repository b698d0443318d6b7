"""Formats the numbers of an Excel workbook as its cells show them: percent, currencies, decimals, thousands separators.

The library that reads the values does not report formats. This module looks up each cell's style in the sheet's XML and applies
its number format if that shows digits; the library handles date formats. It also determines the range of a sheet's cells.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from xml.etree import ElementTree as ET

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
    """The number formats of a sheet's cells by row and column from 0, the number of rows and columns that the cells span, and the
    number of formulas without a computed value.
    """

    rows: int = 0
    columns: int = 0
    uncomputed: int = 0
    formats: dict[tuple[int, int], str] = field(default_factory=dict)

    def format_number(self, value: float, row: int, column: int) -> str:
        """A number as its cell shows it; row and column count from 0."""
        code = self.formats.get((row, column))
        return _plain(value) if code is None else apply_format(value, code)


class NumberFormats:
    """The number formats of a workbook, read from its styles and sheets."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._paths = _sheet_paths(archive)
        self._styles = dict(enumerate(_styles(archive)))
        self.title = _title(archive)
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
        self.uncomputed += formats.uncomputed
        return formats

    def _scan(self, xml: bytes, formats: SheetFormats) -> None:
        formats.uncomputed += len(_UNCOMPUTED.findall(xml))
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
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


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


def _title(archive: zipfile.ZipFile) -> str:
    titles = _elements(_parse_member(archive, "docProps/core.xml"), "title")
    return next((title.text or "" for title in titles), "").strip()


def _plain(value: float) -> str:
    text = f"{value:.15g}"
    return text if "e" not in text or abs(value) >= 1e15 else f"{value:.15f}".rstrip("0").rstrip(".")


def apply_format(value: float, code: str) -> str:
    """Format a number by a code such as `#,##0.00 "EUR"` or `0.0%`, of up to four sections separated by semicolons.

    Source: ECMA-376, part 1, 18.8.31. A negative number gets a minus sign if the code has no section for it.
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
    return sign + " ".join(written.replace("\1", number).split())


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
