"""Parses Excel workbooks (.xlsx) sheet by sheet into rows, with values as a reader sees them and the headers of their columns.

Values of formulas are those last computed. Comments follow their row, the texts of boxes their sheet. Hidden sheets, rows and
columns and struck-out text are left out with a note; formulas, charts and pictures without.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any, NamedTuple, TypeVar

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.archives import sound_office_file, xml_root
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import STRUCK
from hoptrail.documents.number_formats import BUILT_IN, GENERAL, shown_number
from hoptrail.documents.office_text import comment_head, shifted
from hoptrail.documents.sheet_rows import GridRow, sheet_pieces
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_UNNAMED = re.compile(
    r"(?:sheet|tabelle|feuille?|feuil|hoja|foglio|blad|ark|arkusz|list|planilha|лист) ?\d*", re.IGNORECASE
)
"""Default names of sheets."""
_CELLS_PER_ROW = 100
"""Cells per row of the limit that the rows of a sheet may span, empty ones counted."""
_CELL_NAME = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\b[^>]*\bref=[\"']([A-Z0-9$]+:[A-Z0-9$]+)[\"']")
_SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_VALUE, _FORMULA, _INLINE, _CELL = (f"{_SPREADSHEET}{name}" for name in ("v", "f", "is", "c"))
_Item = TypeVar("_Item")
_COPY_OF_THREAD = "[Threaded comment]"
"""How the copy of a threaded comment for older programs begins."""


def parse_xlsx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a workbook: title (of its properties), and each sheet as a heading with its rows."""
    data, notes = sound_office_file(data, limits, "Excel", ".xlsx")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            book = _Workbook(archive, limits, notes)
            return assemble(book.title(), book.pieces(), notes, limits.text)
    except (zipfile.BadZipFile, etree.XMLSyntaxError, KeyError, ValueError, IndexError) as error:
        raise Unreadable(f"is not an Excel file, or a damaged one ({error})") from error


class MergedCell(NamedTuple):
    """The first and last row and column of a merged cell, counted from 0."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class _Workbook:
    """A workbook and what its sheets share. `notes` grow while the sheets are read."""

    archive: zipfile.ZipFile
    limits: ReadingLimits
    notes: list[str]
    from_1904: bool = False
    _is_struck: bool = False
    """Whether struck-out text was left out."""
    _uncomputed: int = 0
    _strings: list[str] = field(default_factory=list)
    _styles: list[tuple[str, bool]] = field(default_factory=list)
    """The format code of each cell style, and whether it strikes text out."""

    def title(self) -> str:
        return (self._part("docProps/core.xml").findtext("{*}title") or "").strip()

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces of all sheets that are shown.
        Raises: Unreadable: there is no sheet that can be read.
        """
        workbook, paths = self._part("xl/workbook.xml"), self._related("xl/workbook.xml")
        self.from_1904 = any(one.get("date1904") in {"1", "true"} for one in workbook.iter("{*}workbookPr"))
        self._strings = [self.text(one) for one in self._part("xl/sharedStrings.xml").findall("{*}si")]
        self._styles = list(self._read_styles())
        sheets = list(workbook.iter("{*}sheet"))
        hidden = [one.get("name", "") for one in sheets if one.get("state", "visible") != "visible"]
        read = []
        for sheet in sheets:
            name = sheet.get("name", "")
            if name in hidden:
                continue
            path = paths.get(next((value for key, value in sheet.attrib.items() if key.endswith("}id")), ""))
            if path is None:
                self.notes.append(f"sheet {name} was not read")
            elif "/worksheets/" in f"/{path}":
                read.append(name)
                yield from self._sheet(name, path)
        if not read and not hidden:
            raise Unreadable("is not an Excel file, or a damaged one (no sheet can be read)")
        self.notes += [f"hidden sheets were left out: {', '.join(hidden)}"] if hidden else []
        self.notes += [STRUCK] if self._is_struck else []
        advice = "formulas hold no value: open the file in a spreadsheet program and save it"
        self.notes += [f"{self._uncomputed} {advice}"] if self._uncomputed else []

    def _sheet(self, name: str, path: str) -> Iterator[Piece]:
        yield from sheet_heading(name)
        comments = self._comments(name, path)
        shown = ShownRows(name, self.limits, comments, self._merged(path))
        yield from with_comments(sheet_pieces(shown.of(self._rows(path, shown.hidden)), self.limits), comments)
        hidden = {"rows": shown.hidden_rows, "columns": len(shown.hidden_columns)}
        told = " and ".join(f"{count} hidden {what}" for what, count in hidden.items() if count)
        self.notes += [f"sheet {name}: {told} were left out"] if told else []
        for drawing in self._related(path, "drawing").values():
            for box in self._part(drawing).iter("{*}txBody"):
                lines = ("".join(one.itertext()) for one in box.iter("{*}p"))
                yield Piece(BlockKind.PARAGRAPH, squeeze(" ".join(lines)), place=f"sheet {name}, text box")

    def _rows(self, path: str, hidden: list[tuple[int, int]]) -> Iterator[tuple[int, dict[int, str], bool]]:
        """Yield the rows for `ShownRows`, and add the hidden columns, which come before them, to `hidden`."""
        number = -1
        with self.archive.open(path) as sheet:
            tags = ("{*}row", "{*}col")
            for _, element in etree.iterparse(sheet, tag=tags, resolve_entities=False, no_network=True, huge_tree=True):
                is_hidden = element.get("hidden") in {"1", "true"}
                if element.tag.endswith("}col"):
                    columns = int(element.get("min", "1")) - 1, int(element.get("max", "1")) - 1
                    hidden += [columns] if is_hidden else []
                    continue
                given = element.get("r", "")
                number = int(given) - 1 if given.isdigit() else number + 1
                yield number, self._cells(element), is_hidden
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]

    def _cells(self, row: Any) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = -1
        for cell in row.iterchildren(_CELL):
            name = cell.get("r")
            column = column + 1 if name is None else _column(name.rstrip("0123456789"))
            cells[column] = self.value(cell)
            self._uncomputed += not cells[column] and cell.find(_FORMULA) is not None
        return cells

    def _merged(self, path: str) -> list[MergedCell]:
        """The merged cells, which stand behind the rows."""
        data = self.archive.read(path)
        ranges = (match[1].decode().split(":") for match in _MERGED.finditer(data, max(0, data.rfind(b"sheetData>"))))
        return [MergedCell(*_place_of(first), *_place_of(last)) for first, last in ranges]

    def text(self, element: Any) -> str:
        """The text of a string as it is shown, without what is struck out and how it is read aloud."""
        text = ""
        for part in element:
            if part.tag == f"{_SPREADSHEET}t":
                text += part.text or ""
            elif part.tag == f"{_SPREADSHEET}r":
                text += self._run(part, text)
        return text

    def _run(self, run: Any, before: str) -> str:
        text, struck = run.findtext("{*}t") or "", run.find("{*}rPr/{*}strike")
        if struck is not None and struck.get("val") not in {"0", "false"}:
            self._is_struck |= bool(text.strip())
            return ""
        place = run.find("{*}rPr/{*}vertAlign")
        shift = "" if place is None else place.get("val")
        is_shifted = shift in {"superscript", "subscript"}
        return shifted(text, before, is_raised=shift == "superscript") if is_shifted else text

    def value(self, cell: Any) -> str:
        """The value of a cell as it is shown."""
        kind, value = cell.get("t", "n"), cell.findtext(_VALUE) or ""
        code, is_struck = _numbered(self._styles, cell.get("s", "")) or (GENERAL, False)
        text = value
        if kind == "s":
            text = self._strings[int(value)] if value else ""
        elif kind == "inlineStr":
            text = "".join(map(self.text, cell.iterchildren(_INLINE)))
        elif kind == "b":
            text = {"0": "FALSE", "1": "TRUE"}.get(value, value)
        elif kind == "n" and value:
            text = shown_number(float(value), code, from_1904=self.from_1904)
        if is_struck and text.strip():
            self._is_struck = True
            return ""
        return text.strip()

    def _read_styles(self) -> Iterator[tuple[str, bool]]:
        root = self._part("xl/styles.xml")
        custom = {one.get("numFmtId"): one.get("formatCode", "") for one in root.iter("{*}numFmt")}
        marks = [font.find("{*}strike") for fonts in root.findall("{*}fonts") for font in fonts]
        struck = [mark is not None and mark.get("val") not in {"0", "false"} for mark in marks]
        for style in root.findall("{*}cellXfs/{*}xf"):
            number = style.get("numFmtId", "0")
            code = custom.get(number) or BUILT_IN.get(int(number) if number.isdigit() else 0, GENERAL)
            yield code, bool(_numbered(struck, style.get("fontId", "0")))

    def _comments(self, sheet: str, path: str) -> dict[str, list[tuple[str, str]]]:
        """The heads and texts of the comments on a sheet by the place of their row; of threads the comments themselves and not
        the copies for older programs.
        """
        found: dict[str, list[tuple[str, str]]] = {}
        people = {
            one.get("id", ""): one.get("displayName", "")
            for persons in self._related("xl/workbook.xml", "person").values()
            for one in self._part(persons).iter("{*}person")
        }
        for part in map(self._part, self._related(path, "comments", "threadedComment").values()):
            authors = [one.text or "" for one in part.iter("{*}author")]
            for comment in part.iter("{*}comment", "{*}threadedComment"):
                author = _numbered(authors, comment.get("authorId", "")) or ""
                head = comment_head(people.get(comment.get("personId", ""), author), comment.get("dT", ""))
                text = squeeze("".join(one.text or "" for one in comment.iter("{*}t", "{*}text")))
                if text and not text.startswith(_COPY_OF_THREAD):
                    row, _ = _place_of(comment.get("ref", ""))
                    found.setdefault(f"sheet {sheet}, row {row + 1}", []).append((head, text))
        return found

    def _part(self, name: str) -> Any:
        return xml_root(self.archive, name)

    def _related(self, name: str, *kinds: str) -> dict[str, str]:
        """The parts that a part refers to, by the ids of the relationships; all or those of some kinds."""
        folder, file = posixpath.split(name)
        return {
            one.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            for one in self._part(f"{folder}/_rels/{file}.rels")
            if one.get("TargetMode") != "External" and (not kinds or one.get("Type", "").rpartition("/")[2] in kinds)
        }


def _numbered(known: Sequence[_Item], number: str) -> _Item | None:
    """The item with this number, counted from 0."""
    return known[int(number)] if number.isdigit() and int(number) < len(known) else None


def sheet_heading(name: str) -> Iterator[Piece]:
    """The heading of a sheet, unless its name is a default."""
    if not _UNNAMED.fullmatch(name):
        yield Piece(BlockKind.HEADING, name, 1, place=f"sheet {name}")


def with_comments(pieces: Iterable[Piece], comments: dict[str, list[tuple[str, str]]]) -> Iterator[Piece]:
    """Put comments, given as head and text by the place of their row, after that row, those on empty rows at the end."""
    for piece in pieces:
        yield piece
        for head, text in comments.pop(piece.place, ()):
            about = piece.cells[0][1] if piece.cells else piece.text
            yield Piece(BlockKind.PARAGRAPH, f"{head} ({about}): {text}", place=piece.place)
    for place, waiting in comments.items():
        yield from (Piece(BlockKind.PARAGRAPH, f"{head}: {text}", place=place) for head, text in waiting)


@dataclass(slots=True)
class ShownRows:
    """Tells what a sheet shows of its rows. `merged` are its merged cells. The comments on hidden rows are removed."""

    sheet: str
    limits: ReadingLimits
    comments: dict[str, list[tuple[str, str]]]
    merged: list[MergedCell]
    hidden: list[tuple[int, int]] = field(default_factory=list)
    """The first and last of hidden columns."""
    hidden_rows: int = 0
    """Those with values."""
    hidden_columns: set[int] = field(default_factory=set)
    """The numbers of the hidden columns with values."""

    def of(self, rows: Iterable[tuple[int, dict[int, str], bool]]) -> Iterator[GridRow]:
        """Yield the rows, given as number from 0, cells by their columns, and whether they are hidden; a blank one for those
        without values. A cell that spans rows is repeated in each.
        """
        waiting = sorted(self.merged, reverse=True)
        merged: list[MergedCell] = []
        above: dict[int, str] = {}
        last, spanned, most = -1, 0, _CELLS_PER_ROW * self.limits.rows
        for number, cells, is_hidden in rows:
            place = f"sheet {self.sheet}, row {number + 1}"
            self.hidden_columns |= {column for column, text in cells.items() if text and self._is_hidden(column)}
            if is_hidden:
                self.hidden_rows += any(cells.values())
                self.comments.pop(place, None)
                continue
            while waiting and waiting[-1].top <= number:
                merged.append(waiting.pop())
            merged = [one for one in merged if number <= one.bottom]
            for one in merged:
                cells[one.left] = above.get(one.left, "") if one.top < number else cells.get(one.left, "")
                above[one.left] = cells[one.left]
            filled = (column for column, text in cells.items() if text and not self._is_hidden(column))
            shown = {self._position(column): cells[column] for column in filled}
            if not shown:
                continue
            spanned += max(shown) + 1
            if spanned > most:
                raise Unreadable(
                    f"sheet {self.sheet} spans more than {most} cells: split it, or raise the limit `rows`"
                )
            if number > last + 1:
                yield GridRow("", ())
            last = number
            spans = {self._position(one.left): one.right - one.left + 1 for one in merged if one.right > one.left}
            yield GridRow(place, [shown.get(column, "") for column in range(max(shown) + 1)], spans or None)

    def _is_hidden(self, column: int) -> bool:
        return any(first <= column <= last for first, last in self.hidden)

    def _position(self, column: int) -> int:
        """The number of the column among those that are shown."""
        return column - sum(min(column - 1, last) - first + 1 for first, last in self.hidden if first < column)


def _place_of(name: str) -> tuple[int, int]:
    """The row and column from 0 of a cell such as `B7`."""
    match = _CELL_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is no cell")
    return int(match[2]) - 1, _column(match[1])


@cache
def _column(letters: str) -> int:
    return reduce(lambda number, letter: 26 * number + ord(letter) - 64, letters, 0) - 1
