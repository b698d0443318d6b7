"""Parses OpenDocument files: texts (.odt), spreadsheets (.ods) and presentations (.odp), by the displayed text that they store.

Tracked changes count as accepted. Notes, comments and boxes follow their paragraph or row; headers and footers come last, each
once. What is hidden or struck out is left out with a note. Pictures, automatic numbers and tables of contents are left out.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from hoptrail.documents.archives import sound_office_file, xml_root
from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import bold_headings
from hoptrail.documents.odf_text import DRAW, OdfStyles, OdfTables, OdfText, tag
from hoptrail.documents.office_text import Box, asides_after_lists, below_no_heading, in_reading_order
from hoptrail.documents.sheet_rows import GridRow, nested_pieces, sheet_pieces
from hoptrail.documents.xlsx import sheet_heading
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MATH = "{http://www.w3.org/1998/Math/MathML}"
_CODE = re.compile(r"preformatted|source", re.IGNORECASE)
_QUOTE = re.compile(r"quotations?", re.IGNORECASE)
_NOT_BLOCKS = set(
    map(tag, ("text:tracked-changes", "text:table-of-content", "text:list-header-content", "office:forms"))
)
_BOXES = (tag("form:checkbox"), tag("form:radio"))
_FIELDS = (tag("form:text"), tag("form:combobox"), tag("form:formatted-text"))
_FURNITURE = {"date-time", "footer", "header", "page-number"}
"""Placeholders of a slide that are the same on all slides."""
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72, "pc": 1 / 6}


def _parse(data: bytes, limits: ReadingLimits, kind: str, ending: str) -> Parsed:
    """Parse a file: title (of its metadata, else of a text the first paragraph in the style Title, of a presentation the first
    slide) and blocks; each sheet is a heading with its rows.
    """
    data, notes = sound_office_file(data, limits, "OpenDocument", ending)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
            if b"encryption-data" in manifest:
                raise Unreadable("is protected by a password: save it without one")
            content = xml_root(archive, "content.xml")
            body = content.find(f"{tag('office:body')}/{tag(f'office:{kind}')}")
            if body is None:
                raise Unreadable(f"is not an OpenDocument {kind}, or a damaged one")
            reader = _Reader(archive, content, limits)
            pieces = {"text": reader.text, "spreadsheet": reader.sheets, "presentation": reader.slides}[kind](body)
            return assemble(reader.title, pieces, [*notes, *reader.notes()], limits.text)
    except (etree.XMLSyntaxError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise Unreadable(f"is not an OpenDocument file, or a damaged one ({error})") from error


parse_odt = partial(_parse, kind="text", ending=".odt")
parse_ods = partial(_parse, kind="spreadsheet", ending=".ods")
parse_odp = partial(_parse, kind="presentation", ending=".odp")


class _Reader:
    """Reads the body of a file into pieces. `title` may change while it is read."""

    def __init__(self, archive: zipfile.ZipFile, content: Any, limits: ReadingLimits) -> None:
        self._archive, self._limits = archive, limits
        self._shared = xml_root(archive, "styles.xml")
        self._styles = OdfStyles(self._shared, content)
        self._text = OdfText(self._styles, dict(_controls(content)), dict(_formulas(archive)))
        self._charts = {name.rpartition("/")[0]: name for name in archive.namelist() if name.endswith("/content.xml")}
        self._paragraphs = self._number_of_tables = 0
        self._tables = OdfTables(self._text, limits)
        self.title = squeeze(xml_root(archive, "meta.xml").findtext(f"{tag('office:meta')}/{tag('dc:title')}") or "")

    def notes(self) -> list[str]:
        return [*self._tables.hidden, *self._text.notes()]

    def text(self, body: Any) -> list[Piece]:
        """The pieces of a text, with its headers and footers last."""
        pieces = bold_headings(asides_after_lists(self._blocks(body)))
        tops = (piece for piece in pieces if piece.kind is BlockKind.HEADING and piece.level == 1)
        titles = (piece.text for piece in tops if piece.place == "paragraph 1")
        self.title = self.title or next(titles, "")
        parts = ((kind, part) for kind in ("header", "footer") for part in self._shared.iter(tag(f"style:{kind}")))
        beside = (self._blocks(part, f"page {kind}") for kind, part in parts)
        return [*pieces, *below_no_heading(beside, furniture=3)]

    def _blocks(
        self, container: Any, place: str = "", depth: int = 0, list_style: str | None = None
    ) -> Iterator[Piece]:
        """Yield the pieces of the body, or of a part that stands at one place. `depth`: that of the open list."""
        for child in container:
            if child.tag in {tag("text:h"), tag("text:p")}:
                yield self._paragraph(child, place, depth, list_style)
            elif child.tag == tag("text:list"):
                style = child.get(tag("text:style-name")) or list_style
                for item in child:
                    yield from self._blocks(item, place, depth + 1, style)
            elif child.tag == tag("table:table"):
                self._number_of_tables += not place
                yield from self._table(child, place or f"table {self._number_of_tables}")
            elif str(child.tag).startswith(DRAW):
                yield from self._drawn(child, place or "drawing")
            elif isinstance(child.tag, str) and child.tag not in _NOT_BLOCKS:
                yield from self._blocks(child, place, depth, list_style)
            yield from self._asides(place)

    def _paragraph(self, element: Any, place: str, depth: int, list_style: str | None) -> Piece:
        text, style = self._text.paragraph(element), element.get(tag("text:style-name"))
        self._paragraphs += bool(text.strip()) and not place
        place = place or f"paragraph {self._paragraphs}"
        names = self._styles.names("paragraph", style)
        if element.tag == tag("text:h"):
            level = element.get(tag("text:outline-level"), "1")
            level = min(int(level) if level.isdigit() else 1, DEEPEST_HEADING)
            return Piece(BlockKind.HEADING, text, level, place=place)
        if "Title" in names:
            return Piece(BlockKind.HEADING, text, 1, place=place)
        if depth:
            return Piece(BlockKind.ITEM, text, depth, self._styles.is_ordered(list_style, depth), place=place)
        kinds = ((BlockKind.CODE, _CODE), (BlockKind.QUOTE, _QUOTE))
        kind = next((kind for kind, pattern in kinds if any(map(pattern.match, names))), BlockKind.PARAGRAPH)
        return Piece(kind, text, place=place, bold=self._is_bold(element, style))

    def _is_bold(self, element: Any, style: str | None) -> bool:
        """Whether all of a paragraph is bold, by its style or that of its only span."""
        spans = element.findall(tag("text:span"))
        beside = (element.text or "") + "".join(child.tail or "" for child in element)
        alone = len(spans) == len(element) == 1 and not beside.strip()
        own = self._styles.value("text", spans[0].get(tag("text:style-name")), "fo:font-weight") if alone else ""
        return (own or self._styles.value("paragraph", style, "fo:font-weight")) == "bold"

    def _asides(self, place: str) -> Iterator[Piece]:
        """Take the asides of the text read so far."""
        asides, self._text.asides = self._text.asides, []
        for head, element, own_place in asides:
            if element.tag.startswith(DRAW):
                yield from self._drawn(element, place or own_place)
                continue
            for piece in self._blocks(element, place or own_place):
                yield replace(piece, text=head + piece.text) if piece.text else piece
                head = "" if piece.text else head  # noqa: PLW2901 - stands before the first text only

    def _drawn(self, shape: Any, place: str) -> Iterator[Piece]:
        """Yield the texts of a shape, and of a chart the table of its data."""
        for link in (one.get(tag("xlink:href"), "").removeprefix("./") for one in shape.iter(tag("draw:object"))):
            if link in self._charts:
                for table in xml_root(self._archive, self._charts[link]).iter(tag("table:table")):
                    yield from self._table(table, place)
        for box in shape if shape.tag == tag("draw:frame") else [shape]:
            if box.tag not in {tag("draw:image"), tag("draw:object"), tag("draw:object-ole")}:
                yield from self._blocks([box] if box.tag == tag("table:table") else box, place)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        heads = table.iter(tag("table:table-header-rows"))
        marked = sum(1 for header in heads for _ in header.iter(tag("table:table-row")))
        rows = ((row._replace(place=f"{place}, {row.place}"), tables) for row, tables in self._tables.rows(table))
        return nested_pieces(rows, marked, self._table)

    def sheets(self, body: Any) -> list[Piece]:
        """The pieces of all sheets that are shown."""
        pieces: list[Piece] = []
        for sheet in body.iterchildren(tag("table:table")):
            name = sheet.get(tag("table:name"), "")
            if self._styles.value("table", sheet.get(tag("table:style-name")), "table:display") == "false":
                self._tables.hidden.append(f"hidden sheets were left out: {name}")
                continue
            pieces += sheet_heading(name)
            comments: dict[str, list[Piece]] = {}
            for piece in sheet_pieces(self._rows_of_sheet(sheet, f"sheet {name}", comments), self._limits):
                pieces += (piece, *(replace(one, place=piece.place) for one in comments.pop(piece.place, [])))
            pieces += (replace(one, place=f"sheet {name}") for waiting in comments.values() for one in waiting)
        return pieces

    def _rows_of_sheet(self, sheet: Any, place: str, comments: dict[str, list[Piece]]) -> Iterator[GridRow]:
        for row, _ in self._tables.rows(sheet):
            comments[f"{place}, {row.place}"] = list(self._asides(row.place))
            yield row._replace(place=f"{place}, {row.place}")

    def slides(self, body: Any) -> list[Piece]:
        """The pieces of all slides that are shown."""
        slides = list(body.iterchildren(tag("draw:page")))
        self._limits.check_pages(len(slides), "slides")
        pieces: list[Piece] = []
        hidden = 0
        for number, slide in enumerate(slides, 1):
            style = slide.get(tag("draw:style-name"))
            if self._styles.value("drawing-page", style, "presentation:visibility") == "hidden":
                hidden += 1
            else:
                pieces += self._slide(slide, f"slide {number}")
        self._tables.hidden += [f"{hidden} hidden slides were left out"] if hidden else []
        self.title = self.title or next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING), "")
        return pieces

    def _slide(self, slide: Any, place: str) -> Iterator[Piece]:
        kind = tag("presentation:class")
        shapes = [one for one in slide if str(one.tag).startswith(DRAW) and one.get(kind) not in _FURNITURE]
        title = next((one for one in shapes if one.get(kind) == "title"), None)
        heading = "" if title is None else squeeze(" ".join(piece.text for piece in self._drawn(title, place)))
        yield Piece(BlockKind.HEADING, heading, int(bool(heading)), place=place)
        for shape in in_reading_order([one for one in shapes if one is not title], _box):
            yield from self._drawn(shape, place)
        for comment in slide.iterchildren(tag("office:annotation")):
            self._text.annotation(comment)
        yield from self._asides(f"{place}, comment")
        for notes in slide.iterchildren(tag("presentation:notes")):
            for frame in notes.iter(tag("draw:text-box")):
                yield from self._blocks(frame, f"{place}, notes")


def _controls(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the controls of forms by their ids: a box with its state and label, a field with its value."""
    for control in content.iter(*_BOXES, *_FIELDS):
        selected = control.get(tag("form:current-selected")) == "true"
        state = control.get(tag("form:current-state")) or control.get(tag("form:state"), "")
        shown = control.get(tag("form:current-value")) or control.get(tag("form:value"), "")
        if control.tag in _BOXES:
            shown = f"{'☒' if selected or state == 'checked' else '☐'} {control.get(tag('form:label'), '')}"
        names = (value for key, value in control.attrib.items() if key.endswith("}id") or key == "id")
        yield from ((name, shown.strip()) for name in names)


def _formulas(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yield the formulas of embedded objects, as they were typed, by their folder."""
    for name in archive.namelist():
        folder, _, file = name.rpartition("/")
        if file == "content.xml" and folder:
            root = xml_root(archive, name)
            if root.tag == f"{_MATH}math":
                yield folder, squeeze(root.findtext(f".//{_MATH}annotation") or "".join(root.itertext()))


def _box(shape: Any) -> Box | None:
    lengths = (shape.get(tag(f"svg:{name}"), "") for name in ("x", "y", "width", "height"))
    matches = [re.fullmatch(r"(-?[\d.]+)(in|cm|mm|pt|pc)", length) for length in lengths]
    left, top, width, height = (float(match[1]) * _INCHES[match[2]] if match else 0.0 for match in matches)
    return Box(left, top, left + width, top + height) if matches[0] and matches[1] else None
