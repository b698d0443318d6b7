"""Parses OpenDocument files (.odt, .ods, .odp): texts, spreadsheets and presentations, by the displayed text that they store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

from hoptrail.documents import office_text as office
from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.grids import OfficeGrid, Rows, hidden_sheets
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK, bold_headings
from hoptrail.documents.office_package import Package, opened_package
from hoptrail.documents.office_text import Box, OfficeReader, TextRun, comment_head, in_reading_order, inherited, shown
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

# The names of namespaces that differ from the usual prefixes.
_NAMES = {"draw": "drawing", "svg": "svg-compatible", "fo": "xsl-fo-compatible"}
_OTHERS = {"dc": "http://purl.org/dc/elements/1.1/", "xlink": "http://www.w3.org/1999/xlink"}


@cache
def tag(name: str) -> str:
    """The tag of an element or attribute with a short name such as `text:p`."""
    prefix, _, local = name.partition(":")
    space = _OTHERS.get(prefix) or f"urn:oasis:names:tc:opendocument:xmlns:{_NAMES.get(prefix, prefix)}:1.0"
    return f"{{{space}}}{local}"


DRAW, _OFFICE, _TEXT, _FORM = map(tag, ("draw:", "office:", "text:", "form:"))  # how tags begin
_MATH = "{http://www.w3.org/1998/Math/MathML}"
_SPACE = re.compile(r"[ \t\r\n]+")
_BOXES, _FIELDS = ("checkbox", "radio"), ("text", "combobox", "formatted-text")


class OdfStyles:
    """The styles of a file, which inherit from each other. `roots` are those of the parts with styles."""

    def __init__(self, *roots: Any) -> None:
        family, name, level = map(tag, ("style:family", "style:name", "text:level"))
        styles = [one for root in roots for one in root.iter(tag("style:style"))]
        self._styles = {(one.get(family), one.get(name)): one for one in styles}
        lists = [one for root in roots for one in root.iter(tag("text:list-style"))]
        levels = ((one, inner) for one in lists for inner in one.iter(tag("text:list-level-style-number")))
        # The names of list styles, and the levels from 1 at which these number items.
        self.ordered = {(one.get(name), int(inner.get(level, "1"))) for one, inner in levels}
        self.value = cache(self._value)

    def _chain(self, family: str, name: str | None) -> Iterator[Any]:
        first = self._styles.get((family, name))
        return inherited(first, lambda style: self._styles.get((family, style.get(tag("style:parent-style-name")))))

    def _value(self, family: str, name: str | None, attribute: str) -> str:
        """A property by its attribute (`fo:font-weight`); empty if no style of the chain has it."""
        properties = (one for style in self._chain(family, name) for one in style)
        return next((one.get(tag(attribute)) for one in properties if tag(attribute) in one.attrib), "")

    def names(self, name: str | None) -> list[str]:
        """The names of a paragraph's style and of those that it inherits from, as a person sees them."""
        shown, stored = tag("style:display-name"), tag("style:name")
        chain = self._chain("paragraph", name)
        return [style.get(shown) or style.get(stored, "").replace("_20_", " ") for style in chain]

    def why_left_out(self, family: str, name: str | None) -> str:
        if self.value(family, name, "text:display") == "none":
            return HIDDEN
        return STRUCK if self.value(family, name, "style:text-line-through-style") not in {"", "none"} else ""


class OdfText(OfficeReader):
    def __init__(self, package: Package, content: Any) -> None:
        super().__init__(package.notes)
        self.styles = OdfStyles(package.root("styles.xml"), content)
        self._controls = dict(_controls(content))
        self._objects = {name.rpartition("/")[0]: name for name in package.names if name.endswith("/content.xml")}
        self._package = package

    def runs(self, element: Any) -> Iterator[TextRun]:
        style = element.get(tag("text:style-name"))
        is_bold = self.styles.value("paragraph", style, "fo:font-weight") == "bold"
        return self._inline(element, TextRun("", self.styles.why_left_out("paragraph", style), bold=is_bold))

    def objects(self, shape: Any) -> Iterator[Any]:
        """Yield the roots of the objects embedded in a shape, such as formulas and charts."""
        for link in (one.get(tag("xlink:href"), "").removeprefix("./") for one in shape.iter(tag("draw:object"))):
            if link in self._objects:
                yield self._package.root(self._objects[link])

    def annotation(self, comment: Any) -> None:
        author, date = (comment.findtext(tag(name)) or "" for name in ("dc:creator", "dc:date"))
        for one in [*comment.findall(tag("dc:creator")), *comment.findall(tag("dc:date"))]:
            comment.remove(one)
        self.set_apart("comment", comment, f"{comment_head(author, date)}: ")

    def _inline(self, element: Any, like: TextRun) -> Iterator[TextRun]:
        """Yield the text within an element, of the style of `like`. Nothing is set apart from what is not shown."""
        if like.why:
            yield like._replace(text="".join(element.itertext()))
            return
        yield like._replace(text=_SPACE.sub(" ", element.text or ""))
        for child in element:
            if isinstance(child.tag, str):
                yield from self._child(child, like)
            yield like._replace(text=_SPACE.sub(" ", child.tail or ""))

    def _child(self, child: Any, like: TextRun) -> Iterator[TextRun]:
        if child.tag == tag("office:annotation"):
            self.annotation(child)
        elif child.tag == tag("draw:control"):
            yield like._replace(text=self._controls.get(child.get(tag("draw:control"), ""), ""))
        elif child.tag.startswith(DRAW) and child.tag != tag("draw:a"):
            formula = next((one for one in self.objects(child) if one.tag == f"{_MATH}math"), None)
            if formula is None:
                self.set_apart("drawing", child)
            else:  # as it was typed
                typed = formula.findtext(f".//{_MATH}annotation") or "".join(formula.itertext())
                yield like._replace(text=squeeze(typed))
        elif not child.tag.startswith(_OFFICE):
            yield from self._marked(child, like)

    def _marked(self, child: Any, like: TextRun) -> Iterator[TextRun]:
        match child.tag.removeprefix(_TEXT):
            case "tracked-changes" | "number" | "ruby-text":
                pass
            case "page-number" | "page-count":
                yield like._replace(text=office.PAGE_NUMBER)
            case "s":
                yield like._replace(text=" " * min(int(child.get(tag("text:c"), "1")), 100))
            case "tab" | "line-break" as name:
                yield like._replace(text="\t" if name == "tab" else "\n")
            case "note":
                body, kind = child.find(tag("text:note-body")), child.get(tag("text:note-class"), "footnote")
                yield like._replace(text="" if body is None else self.note(kind, body))
            case "hidden-text" | "hidden-paragraph":
                yield from self._inline(child, like._replace(why=HIDDEN))
            case "span":
                yield from self._inline(child, self._styled(child.get(tag("text:style-name")), like))
            case _:
                yield from self._inline(child, like)

    def _styled(self, style: str | None, like: TextRun) -> TextRun:
        position = self.styles.value("text", style, "style:text-position")
        is_shifted, is_lowered = position[:1] not in {"", "0"}, position.startswith(("sub", "-"))
        weight = self.styles.value("text", style, "fo:font-weight")
        shift = (-1 if is_lowered else 1) if is_shifted else like.shift
        return TextRun("", self.styles.why_left_out("text", style), shift, weight == "bold" if weight else like.bold)


def _controls(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the controls of forms by their ids: a box with its state and label, a field with its value."""
    for control in content.iter(*(f"{_FORM}{name}" for name in (*_BOXES, *_FIELDS))):
        own = {key.rpartition("}")[2]: value for key, value in control.attrib.items()}
        shown = own.get("current-value") or own.get("value", "")
        if control.tag.removeprefix(_FORM) in _BOXES:
            state = own.get("current-state") or own.get("state")
            is_ticked = own.get("current-selected") == "true" or state == "checked"
            shown = f"{'☒' if is_ticked else '☐'} {own.get('label', '')}"
        yield own.get("id", ""), shown.strip()


_CODE = re.compile(r"preformatted|source", re.IGNORECASE)
_QUOTE = re.compile(r"quotations?", re.IGNORECASE)
_NOT_BLOCKS = {*map(tag, ("text:tracked-changes", "text:table-of-content", "text:list-header-content", "office:forms"))}
_FURNITURE = {"date-time", "footer", "header", "page-number"}  # placeholders of a slide that are the same on all slides
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72, "pc": 1 / 6}
_COLUMNS = 16384  # the most columns of a sheet
_VALUES = [f"office:{kind}value" for kind in ("", "string-", "date-", "time-", "boolean-")]  # of a cell without a text


def _parse(data: bytes, limits: ReadingLimits, kind: str, ending: str) -> Parsed:
    """Parse a file: title (of its metadata, else the paragraph or slide that a file begins with, if it is a title) and blocks."""
    with opened_package(data, limits, "OpenDocument", ending) as package:
        if b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise Unreadable("is protected by a password: save it without one")
        content = package.root("content.xml")
        body = content.find(f"{tag('office:body')}/{tag(f'office:{kind}')}")
        if body is None:
            raise Unreadable(f"is not an OpenDocument {kind}, or a damaged one")
        reader = _Reader(package, content)
        pieces = list({"text": reader.body, "spreadsheet": reader.sheets, "presentation": reader.slides}[kind](body))
        title = squeeze(package.root("meta.xml").findtext(f"{tag('office:meta')}/{tag('dc:title')}") or "")
        return assemble(title or reader.title, pieces, package.notes, limits.text)


parse_odt = partial(_parse, kind="text", ending=".odt")
parse_ods = partial(_parse, kind="spreadsheet", ending=".ods")
parse_odp = partial(_parse, kind="presentation", ending=".odp")


class _Reader(OdfText):
    title = ""

    def body(self, body: Any) -> Iterator[Piece]:
        """Yield the pieces of a text, with its headers and footers last."""
        for section in body.findall(f".//{tag('text:section')}[@{tag('text:display')}='none']"):
            self.notes += [HIDDEN] * (HIDDEN not in self.notes)
            section.clear()
        pieces = bold_headings(office.asides_after_lists((*self.blocks(body), *self.apart(ended=True))))
        tops = (piece for piece in pieces if piece.kind is BlockKind.HEADING and piece.level == 1)
        self.title = next((piece.text for piece in tops if piece.place == "paragraph 1"), "")
        yield from pieces
        shared = self._package.root("styles.xml")
        parts = ((kind, part) for kind in ("header", "footer") for part in shared.iter(tag(f"style:{kind}")))
        yield from office.below_no_heading(self.blocks(part, f"page {kind}") for kind, part in parts)

    def blocks(self, element: Any, place: str = "") -> Iterator[Piece]:
        if element.tag.startswith(DRAW):
            return self._drawn(element, place)
        return self._within(element, place)

    def _within(self, container: Any, place: str, depth: int = 0, list_style: str | None = None) -> Iterator[Piece]:
        for child in container:
            if child.tag in {tag("text:h"), tag("text:p")}:
                yield self._paragraph(child, place, depth, list_style)
            elif child.tag == tag("text:list"):
                style = child.get(tag("text:style-name")) or list_style
                for item in child:
                    yield from self._item(item, place, depth + 1, style)
            elif child.tag == tag("table:table"):
                yield from self._table(child, self.place("table", place))
            elif str(child.tag).startswith(DRAW):
                yield from self._drawn(child, place or "drawing")
            elif isinstance(child.tag, str) and child.tag not in _NOT_BLOCKS:
                yield from self._within(child, place, depth, list_style)
            yield from self.apart(place)

    def _item(self, item: Any, place: str, depth: int, list_style: str | None) -> Iterator[Piece]:
        """Yield an item and the paragraphs that continue it."""
        begun = False
        for piece in self._within(item, place, depth, list_style):
            is_own = piece.kind is BlockKind.ITEM and piece.level == depth
            yield replace(piece, kind=BlockKind.PARAGRAPH, ordered=False) if is_own and begun else piece
            begun = begun or (is_own and bool(piece.text))

    def _paragraph(self, element: Any, outer: str, depth: int, list_style: str | None) -> Piece:
        text, bold = shown(self.runs(element), self.notes)
        text, names = text.strip(" "), self.styles.names(element.get(tag("text:style-name")))
        place = self.place("paragraph", outer) if text.strip() else outer
        if element.tag == tag("text:h") or "Title" in names:
            level = element.get(tag("text:outline-level"), "1") if element.tag == tag("text:h") else "1"
            level = min(int(level) if level.isdigit() else 1, DEEPEST_HEADING)
            return Piece(BlockKind.HEADING, text, level, place=place)
        if depth:
            return Piece(BlockKind.ITEM, text, depth, (list_style, depth) in self.styles.ordered, place=place)
        kinds = ((BlockKind.CODE, _CODE), (BlockKind.QUOTE, _QUOTE))
        kind = next((kind for kind, pattern in kinds if any(map(pattern.match, names))), BlockKind.PARAGRAPH)
        return Piece(kind, text, place=place, bold=bold)

    def _drawn(self, shape: Any, place: str) -> Iterator[Piece]:
        for table in (one for root in self.objects(shape) for one in root.iter(tag("table:table"))):
            yield from self._table(table, place)
        for box in shape if shape.tag == tag("draw:frame") else [shape]:
            if box.tag not in {tag("draw:image"), tag("draw:object"), tag("draw:object-ole")}:
                yield from self._within([box] if box.tag == tag("table:table") else box, place)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        marked = table.findall(f"{tag('table:table-header-rows')}/{tag('table:table-row')}")
        grid = OfficeGrid(place, self._package.limits, self.notes)
        return grid.table(self._rows(table, grid), len(marked) or None, self._table)

    def _rows(self, table: Any, grid: OfficeGrid) -> Rows:
        """Yield the rows for the grid. Comments on hidden rows are left out."""
        number = column = 0
        for one in table.iter(tag("table:table-column")):
            width = min(int(one.get(tag("table:number-columns-repeated"), "1")), _COLUMNS - column)
            is_hidden = one.get(tag("table:visibility"), "visible") != "visible"
            grid.hidden += [(column, column + width - 1)] * is_hidden
            column += width
        for row in table.iter(tag("table:table-row")):
            if next(row.iterancestors(tag("table:table"))) is not table:
                continue
            times = min(int(row.get(tag("table:number-rows-repeated"), "1")), 2**20)
            is_hidden = row.get(tag("table:visibility"), "visible") != "visible"
            cells = dict(self._cells(row, number, grid))
            if is_hidden:
                self._apart.clear()
            for repeated in range(min(times, self._package.limits.rows + 1) if any(cells.values()) else 1):
                yield number + repeated, dict(cells), is_hidden
            number += times

    def _cells(self, row: Any, number: int, grid: OfficeGrid) -> Iterator[tuple[int, str]]:
        """Yield the columns and texts of a row that no cell beside or above covers."""
        column = 0
        for cell in row.iterchildren(tag("table:table-cell"), tag("table:covered-table-cell")):
            width = min(int(cell.get(tag("table:number-columns-repeated"), "1")), _COLUMNS - column)
            if cell.tag == tag("table:table-cell"):
                rows, columns = (int(cell.get(tag(f"table:number-{one}-spanned"), "1")) for one in ("rows", "columns"))
                grid.merge(number, column, number + rows - 1, column + columns - 1)
                stored = "" if len(cell) else "".join(cell.get(name, "") for name in map(tag, _VALUES))
                if text := squeeze(" ".join(self._lines(cell, partial(grid.nest, number)))) or stored:
                    yield from ((column + repeated, text) for repeated in range(width))
            column += width

    def _lines(self, within: Any, nest: Callable[[list[Any]], None]) -> Iterator[str]:
        """Yield the texts in a cell. The tables in it are nested, and what is drawn in it is set apart."""
        for child in within:
            if child.tag in {tag("text:p"), tag("text:h")}:
                yield self.text(self.runs(child))
            elif child.tag == tag("office:annotation"):
                self.annotation(child)
            elif child.tag == tag("table:table"):
                nest([child])
            elif str(child.tag).startswith(DRAW):
                self.set_apart("drawing", child)
            elif isinstance(child.tag, str) and child.tag not in _NOT_BLOCKS:
                lines = self._lines(child, nest)
                yield from ["; ".join(filter(None, lines))] if child.tag == tag("text:list") else lines

    def sheets(self, body: Any) -> Iterator[Piece]:
        hidden = []
        for sheet in body.iterchildren(tag("table:table")):
            name = sheet.get(tag("table:name"), "")
            if self.styles.value("table", sheet.get(tag("table:style-name")), "table:display") == "false":
                hidden.append(name)
            else:
                grid = OfficeGrid(f"sheet {name}", self._package.limits, self.notes)
                yield from grid.sheet(name, self._commented(sheet, grid))
                for shapes in sheet.iterchildren(tag("table:shapes")):  # charts, which are tables, repeat cells
                    yield from (piece for piece in self._within(shapes, grid.place) if piece.text)
        self.notes += hidden_sheets(hidden)

    def _commented(self, sheet: Any, grid: OfficeGrid) -> Rows:
        for number, cells, is_hidden in self._rows(sheet, grid):
            waiting, self._apart = self._apart, []
            for _, head, element in waiting:
                text = " ".join(piece.text for piece in self.blocks(element, grid.place))
                grid.comment(number, head.removesuffix(": ") or "Text box", squeeze(text))
            yield number, cells, is_hidden

    def slides(self, body: Any) -> Iterator[Piece]:
        slides = list(body.iterchildren(tag("draw:page")))
        self._package.limits.check_pages(len(slides), "slides")
        hidden = 0
        for number, slide in enumerate(slides, 1):
            style = slide.get(tag("draw:style-name"))
            if self.styles.value("drawing-page", style, "presentation:visibility") == "hidden":
                hidden += 1
            else:
                yield from self._slide(slide, f"slide {number}")
        self.notes += [f"{hidden} hidden slides were left out"] * bool(hidden)

    def _slide(self, slide: Any, place: str) -> Iterator[Piece]:
        kind = tag("presentation:class")
        shapes = [one for one in slide if str(one.tag).startswith(DRAW) and one.get(kind) not in _FURNITURE]
        title = next((one for one in shapes if one.get(kind) == "title"), None)
        heading = "" if title is None else squeeze(" ".join(piece.text for piece in self._drawn(title, place)))
        self.title = self.title or heading
        yield Piece(BlockKind.HEADING, heading, int(bool(heading)), place=place)
        for shape in in_reading_order([one for one in shapes if one is not title], _box):
            yield from self._drawn(shape, place)
        for comment in slide.iterchildren(tag("office:annotation")):
            self.annotation(comment)
        yield from self.apart(f"{place}, comment")
        for frame in slide.iterfind(f"{tag('presentation:notes')}//{tag('draw:text-box')}"):
            yield from self._within(frame, f"{place}, notes")


def _box(shape: Any) -> Box | None:
    lengths = (shape.get(tag(f"svg:{name}"), "") for name in ("x", "y", "width", "height"))
    matches = [re.fullmatch(r"(-?[\d.]+)(in|cm|mm|pt|pc)", length) for length in lengths]
    left, top, width, height = (float(match[1]) * _INCHES[match[2]] if match else 0.0 for match in matches)
    return Box(left, top, left + width, top + height) if matches[0] and matches[1] else None
