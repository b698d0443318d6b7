"""Parses OpenDocument files: texts (.odt), spreadsheets (.ods) and presentations (.odp), by the displayed text that they store.

Tracked changes count as accepted. Notes, comments and boxes follow their paragraph or row; headers and footers come last, each
once. What is hidden or struck out is left out with a note. Pictures, automatic numbers and tables of contents are left out.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.archives import sound_office_file
from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import bold_headings
from hoptrail.documents.odf_text import (
    DRAW,
    DUBLIN_CORE,
    FO,
    FORM,
    LINK,
    OFFICE,
    PRESENTATION,
    STYLE,
    SVG,
    TABLE,
    TEXT,
    OdfStyles,
    OdfTables,
    OdfText,
)
from hoptrail.documents.office_text import Box, asides_after_lists, in_reading_order
from hoptrail.documents.sheet_rows import GridRow, grid_pieces, named, sheet_pieces
from hoptrail.documents.xlsx import sheet_heading
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MATH = "{http://www.w3.org/1998/Math/MathML}"
_CODE = re.compile(r"preformatted|source", re.IGNORECASE)
_QUOTE = re.compile(r"quotations?", re.IGNORECASE)
_NOT_BLOCKS = {f"{TEXT}{name}" for name in ("tracked-changes", "table-of-content", "list-header-content")} | {
    f"{OFFICE}forms"
}
_FURNITURE = {"date-time", "footer", "header", "page-number"}
"""Placeholders of a slide that are the same on all slides."""
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72, "pc": 1 / 6}


def parse_odt(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a text: title (of its metadata, else the first paragraph in the style Title) and blocks."""
    return _parse(data, limits, "text", ".odt")


def parse_ods(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a spreadsheet: title (of its metadata), and each sheet as a heading with its rows."""
    return _parse(data, limits, "spreadsheet", ".ods")


def parse_odp(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a presentation: title (of its metadata, else of the first slide) and blocks."""
    return _parse(data, limits, "presentation", ".odp")


def _parse(data: bytes, limits: ReadingLimits, kind: str, ending: str) -> Parsed:
    data, notes = sound_office_file(data, limits, "OpenDocument", ending)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
            if b"encryption-data" in manifest:
                raise Unreadable("is protected by a password: save it without one")
            content = _part(archive, "content.xml")
            body = content.find(f"{OFFICE}body/{OFFICE}{kind}")
            if body is None:
                raise Unreadable(f"is not an OpenDocument {kind}, or a damaged one")
            reader = _Reader(archive, content, limits)
            pieces = {"text": reader.text, "spreadsheet": reader.sheets, "presentation": reader.slides}[kind](body)
            return assemble(reader.title, pieces, [*notes, *reader.notes()], limits.text)
    except (etree.XMLSyntaxError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Unreadable(f"is not an OpenDocument file, or a damaged one ({error})") from error


@dataclass(slots=True)
class _Numbers:
    paragraphs: int = 0
    tables: int = 0


class _Reader:
    """Reads the body of a file into pieces. `title` may change while it is read."""

    def __init__(self, archive: zipfile.ZipFile, content: Any, limits: ReadingLimits) -> None:
        shared = _part(archive, "styles.xml")
        self._shared, self._content, self._limits = shared, content, limits
        self._styles = OdfStyles(shared, content)
        self._text = OdfText(self._styles, dict(_controls(content)), dict(_formulas(archive)))
        self._charts = {name.rpartition("/")[0]: name for name in archive.namelist() if name.endswith("/content.xml")}
        self._archive = archive
        self._numbers = _Numbers()
        self._tables = OdfTables(self._text, limits)
        title = _part(archive, "meta.xml").find(f"{OFFICE}meta/{DUBLIN_CORE}title")
        self.title = "" if title is None else squeeze(title.text or "")

    def notes(self) -> list[str]:
        """Notes on what was left out."""
        return [*self._tables.hidden, *self._text.notes()]

    def text(self, body: Any) -> list[Piece]:
        """The pieces of a text, with its headers and footers last."""
        pieces = bold_headings(asides_after_lists(self._blocks(body)))
        titles = (
            piece.text
            for piece in pieces
            if piece.kind is BlockKind.HEADING and piece.level == 1 and piece.place == "paragraph 1"
        )
        self.title = self.title or next(titles, "")
        pieces.append(Piece(BlockKind.HEADING))
        known: set[str] = set()
        for kind in ("header", "footer"):
            for part in self._shared.iter(f"{STYLE}{kind}"):
                found = [piece for piece in self._blocks(part, f"page {kind}") if piece.text.strip() or piece.cells]
                told = "\n".join(piece.text or "\t".join(value for _, value in piece.cells) for piece in found)
                if len(told.split()) > 3 or any(map(str.isdigit, told)):
                    pieces += found if told not in known else []
                known.add(told)
        return pieces

    def _blocks(
        self, container: Any, place: str = "", depth: int = 0, list_style: str | None = None
    ) -> Iterator[Piece]:
        """Yield the pieces of the body, or of a part that stands at one place. `depth`: that of the open list."""
        for child in container:
            if child.tag in {f"{TEXT}h", f"{TEXT}p"}:
                yield self._paragraph(child, place, depth, list_style)
            elif child.tag == f"{TEXT}list":
                style = child.get(f"{TEXT}style-name") or list_style
                for item in child:
                    yield from self._blocks(item, place, depth + 1, style)
            elif child.tag == f"{TABLE}table":
                self._numbers.tables += not place
                yield from self._table(child, place or f"table {self._numbers.tables}")
            elif str(child.tag).startswith(DRAW):
                yield from self._drawn(child, place or "drawing")
            elif isinstance(child.tag, str) and child.tag not in _NOT_BLOCKS:
                yield from self._blocks(child, place, depth, list_style)
            yield from self._asides(place)

    def _paragraph(self, element: Any, place: str, depth: int, list_style: str | None) -> Piece:
        text, style = self._text.paragraph(element), element.get(f"{TEXT}style-name")
        self._numbers.paragraphs += bool(text.strip()) and not place
        place = place or f"paragraph {self._numbers.paragraphs}"
        names = self._styles.names("paragraph", style)
        if element.tag == f"{TEXT}h":
            level = element.get(f"{TEXT}outline-level", "1")
            return Piece(
                BlockKind.HEADING, text, min(int(level) if level.isdigit() else 1, DEEPEST_HEADING), place=place
            )
        if "Title" in names:
            return Piece(BlockKind.HEADING, text, 1, place=place)
        if depth:
            return Piece(BlockKind.ITEM, text, depth, self._styles.is_ordered(list_style, depth), place=place)
        kinds = ((BlockKind.CODE, _CODE), (BlockKind.QUOTE, _QUOTE))
        kind = next((kind for kind, pattern in kinds if any(map(pattern.match, names))), BlockKind.PARAGRAPH)
        return Piece(kind, text, place=place, bold=self._is_bold(element, style))

    def _is_bold(self, element: Any, style: str | None) -> bool:
        """Whether all of a paragraph is bold, by its style or that of its only span."""
        spans = [child for child in element if child.tag == f"{TEXT}span"]
        alone = (
            len(spans) == len(element) == 1 and not (element.text or "").strip() and not (spans[0].tail or "").strip()
        )
        own = self._styles.value("text", spans[0].get(f"{TEXT}style-name"), f"{FO}font-weight") if alone else ""
        return (own or self._styles.value("paragraph", style, f"{FO}font-weight")) == "bold"

    def _asides(self, place: str) -> Iterator[Piece]:
        """Take the asides of the text read so far."""
        asides, self._text.asides = self._text.asides, []
        for aside in asides:
            where = place or aside.place
            if aside.element.tag.startswith(DRAW):
                yield from self._drawn(aside.element, where)
                continue
            head = aside.head
            for piece in self._blocks(aside.element, where):
                yield replace(piece, text=head + piece.text) if piece.text else piece
                head = "" if piece.text else head

    def _drawn(self, shape: Any, place: str) -> Iterator[Piece]:
        """Yield the texts of a shape, and of a chart the table of its data."""
        for link in (one.get(LINK, "").removeprefix("./") for one in shape.iter(f"{DRAW}object")):
            if link in self._charts:
                for table in _part(self._archive, self._charts[link]).iter(f"{TABLE}table"):
                    yield from self._table(table, place)
        for box in shape if shape.tag == f"{DRAW}frame" else [shape]:
            if box.tag not in {f"{DRAW}image", f"{DRAW}object", f"{DRAW}object-ole"}:
                yield from self._blocks([box] if box.tag == f"{TABLE}table" else box, place)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        """Yield the rows of a table. Those of a table in a cell follow the row, each with the first text of that row."""
        rows: list[GridRow] = []
        inner: dict[str, list[Piece]] = {}
        for row in self._tables.rows(table):
            where = f"{place}, {row.place}"
            rows.append(row._replace(place=where))
            nested, self._tables.nested = self._tables.nested, []
            name = next(filter(None, row.cells), "")
            inner[where] = [
                named(one, name)
                for number, table in enumerate(nested, 1)
                for one in self._table(table, f"{where}, table {number}")
            ]
        marked = sum(1 for header in table.iter(f"{TABLE}table-header-rows") for _ in header.iter(f"{TABLE}table-row"))
        for piece in grid_pieces(rows, marked):
            yield piece
            yield from inner.pop(piece.place, ())

    def sheets(self, body: Any) -> list[Piece]:
        """The pieces of all sheets that are shown."""
        pieces: list[Piece] = []
        for sheet in body.iterchildren(f"{TABLE}table"):
            name = sheet.get(f"{TABLE}name", "")
            if self._styles.value("table", sheet.get(f"{TABLE}style-name"), f"{TABLE}display") == "false":
                self._tables.hidden.append(f"hidden sheets were left out: {name}")
                continue
            pieces += sheet_heading(name)
            comments: dict[str, list[Piece]] = {}
            rows = (row._replace(place=f"sheet {name}, {row.place}") for row in self._rows_of_sheet(sheet, comments))
            for piece in sheet_pieces(rows, self._limits):
                pieces.append(piece)
                waiting = comments.pop(piece.place.rpartition(", ")[2], [])
                pieces += (replace(one, place=piece.place) for one in waiting)
            pieces += (replace(one, place=f"sheet {name}") for waiting in comments.values() for one in waiting)
        return pieces

    def _rows_of_sheet(self, sheet: Any, comments: dict[str, list[Piece]]) -> Iterator[GridRow]:
        for row in self._tables.rows(sheet):
            comments[row.place] = list(self._asides(row.place))
            yield row

    def slides(self, body: Any) -> list[Piece]:
        """The pieces of all slides that are shown."""
        slides = list(body.iterchildren(f"{DRAW}page"))
        if len(slides) > self._limits.pages:
            most = self._limits.pages
            raise Unreadable(
                f"has {len(slides)} slides, more than the limit of {most}: split it, or raise the limit `pages`"
            )
        pieces: list[Piece] = []
        hidden = 0
        for number, slide in enumerate(slides, 1):
            style = slide.get(f"{DRAW}style-name")
            if self._styles.value("drawing-page", style, f"{PRESENTATION}visibility") == "hidden":
                hidden += 1
            else:
                pieces += self._slide(slide, f"slide {number}")
        self._tables.hidden += [f"{hidden} hidden slides were left out"] if hidden else []
        self.title = self.title or next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING), "")
        return pieces

    def _slide(self, slide: Any, place: str) -> Iterator[Piece]:
        shapes = [
            one for one in slide if str(one.tag).startswith(DRAW) and one.get(f"{PRESENTATION}class") not in _FURNITURE
        ]
        titles = [one for one in shapes if one.get(f"{PRESENTATION}class") == "title"]
        heading = squeeze(" ".join(piece.text for one in titles[:1] for piece in self._drawn(one, place)))
        yield Piece(BlockKind.HEADING, heading, int(bool(heading)), place=place)
        for shape in in_reading_order([one for one in shapes if one not in titles[:1]], _box):
            yield from self._drawn(shape, place)
        for comment in slide.iterchildren(f"{OFFICE}annotation"):
            self._text.annotation(comment)
        yield from self._asides(f"{place}, comment")
        for notes in slide.iterchildren(f"{PRESENTATION}notes"):
            for frame in notes.iter(f"{DRAW}text-box"):
                yield from self._blocks(frame, f"{place}, notes")


def _part(archive: zipfile.ZipFile, name: str) -> Any:
    """The root of a part; an empty element if there is none."""
    known = name in archive.namelist()
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)
    return etree.fromstring(archive.read(name), parser) if known else etree.Element("none")


def _controls(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the controls of forms by their ids: a box with its state and label, a field with its value."""
    for control in content.iter(
        f"{FORM}checkbox", f"{FORM}radio", f"{FORM}text", f"{FORM}combobox", f"{FORM}formatted-text"
    ):
        label = control.get(f"{FORM}label", "")
        names = [value for key, value in control.attrib.items() if key.endswith("}id") or key == "id"]
        state = control.get(f"{FORM}current-state") or control.get(f"{FORM}state", "")
        selected = state == "checked" or control.get(f"{FORM}current-selected") == "true"
        is_box = control.tag.endswith(("}checkbox", "}radio"))
        shown = (
            f"{'☒' if selected else '☐'} {label}"
            if is_box
            else control.get(f"{FORM}current-value") or control.get(f"{FORM}value", "")
        )
        yield from ((name, shown.strip()) for name in names)


def _formulas(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the formulas of embedded objects, as they were typed, by their folder."""
    for name in archive.namelist():
        folder, _, file = name.rpartition("/")
        if file == "content.xml" and folder:
            root = _part(archive, name)
            if root.tag == f"{_MATH}math":
                typed = root.findtext(f".//{_MATH}annotation")
                yield folder, squeeze(typed or "".join(root.itertext()))


def _box(shape: Any) -> Box | None:
    sizes = [_inches(shape.get(f"{SVG}{name}", "")) for name in ("x", "y", "width", "height")]
    left, top, width, height = sizes
    if left is None or top is None:
        return None
    return Box(left, top, left + (width or 0), top + (height or 0))


def _inches(length: str) -> float | None:
    match = re.fullmatch(r"(-?[\d.]+)(in|cm|mm|pt|pc)", length)
    return float(match[1]) * _INCHES[match[2]] if match else None
