"""Parses PowerPoint files (.pptx) slide by slide: titles as headings, bullets as list items, tables, charts, diagrams, notes and
comments, in the order in which they stand on the slide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.grids import OfficeGrid, Rows
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.office_drawings import GRAPHIC, formula_text, graphic_pieces
from hoptrail.documents.office_package import Package, opened_package, relation_of
from hoptrail.documents.office_text import Box, TextRun, comment_head, in_reading_order, shown, symbols
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_GROUP = f"{_SLIDES}grpSp"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_UNTITLED = re.compile(r"(?:(?:powerpoint )?presentation|slide 1|powerpoint-präsentation|présentation powerpoint)?")
_FURNITURE = {"dt", "ftr", "sldNum", "hdr"}  # placeholders that are the same on all slides
_ON_MASTER = {"ctrTitle": "title", **{kind: kind for kind in ("title", *_FURNITURE)}}
"""The kinds of placeholders on a master by those on its layouts; of all others it is `body`."""
_DEEPEST_GROUP = 10
_DAMAGED = (AttributeError, KeyError, ValueError, TypeError, IndexError)
"""What is raised for a part that lacks something or has something else in its place."""


def parse_pptx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a presentation: title (of its properties, else of the first slide) and blocks."""
    with opened_package(data, limits, "PowerPoint", ".pptx", "ppt/presentation.xml") as package:
        reader = _Slides(package)
        pieces = list(reader.pieces())
        title = "" if _UNTITLED.fullmatch(package.title.lower()) else package.title
        return assemble(title or reader.title or "", pieces, package.notes, limits.text)


class _Slides:
    def __init__(self, package: Package) -> None:
        self._package, self._notes = package, package.notes
        authors = package.parts(package.main, "commentAuthors", "authors")
        self._authors = {one.get("id"): one.get("name", "") for root in authors for one in root.iter("{*}*")}
        self._layouts: dict[str, dict[str, Box]] = {}
        self.title: str | None = None  # that of the first slide

    def pieces(self) -> Iterator[Piece]:
        presentation = self._package.root(self._package.main)
        if presentation.tag != f"{_SLIDES}presentation":
            raise Unreadable("is not a PowerPoint file, or a damaged one: it has no slides")
        names = [relation_of(one) for one in presentation.iter(f"{_SLIDES}sldId")]
        self._package.limits.check_pages(len(names), "slides")
        paths = self._package.related(self._package.main)
        slides = [(number, paths[name]) for number, name in enumerate(names, 1) if name in paths]
        roots = [one for one in ((*slide, self._package.root(slide[1])) for slide in slides) if len(one[2])]
        visible = [one for one in roots if one[2].get("show") not in {"0", "false"}]
        told = {"hidden slides were left out": len(roots) - len(visible), "slides are missing": len(names) - len(roots)}
        self._notes += [f"{count} {what}" for what, count in told.items() if count]
        for number, path, root in visible:
            yield from self._slide(root, path, f"slide {number}")

    def _slide(self, root: Any, path: str, place: str) -> Iterator[Piece]:
        """Yield the pieces of a slide. Those of a slide without a title are below no heading."""
        shapes = _shapes(root)
        title = next((one for one in shapes if _placeholder(one)[0] == "0"), None)
        heading = "" if title is None else self._line(title)
        self.title = heading if self.title is None else self.title
        yield Piece(BlockKind.HEADING, heading, int(bool(heading)), place=place)
        for shape in self._visible(shapes, self._places(path)):
            try:
                yield from list(self._shape(shape, path, place)) if shape is not title else ()
            except _DAMAGED as error:
                self._notes.append(f"{place}: a shape was not read ({error})")
        try:
            for notes in self._package.parts(path, "notesSlide"):
                for body in (one for one in _shapes(notes) if _placeholder(one)[1] == "body"):
                    for paragraph in body.iterfind(f"{_SLIDES}txBody/{_MAIN}p"):
                        yield Piece(BlockKind.PARAGRAPH, self._text(paragraph), place=f"{place}, notes")
        except _DAMAGED as error:
            self._notes.append(f"{place}: its notes were not read ({error})")
        yield from self._comments(path, f"{place}, comment")

    def _visible(self, shapes: Sequence[Any], places: dict[str, Box], depth: int = 0) -> Iterator[Any]:
        """Yield the shapes that are not hidden in reading order, those of a group together. `places`: those of placeholders."""
        visible = [one for one in shapes if one.find(f"*/{_SLIDES}cNvPr").get("hidden") not in {"1", "true"}]
        self._notes += [HIDDEN] * (len(visible) < len(shapes) and HIDDEN not in self._notes)
        for shape in in_reading_order(visible, lambda one: _box(one) or places.get(_placeholder(one)[0])):
            if shape.tag == _GROUP and depth < _DEEPEST_GROUP:
                yield from self._visible(_shapes(shape), {}, depth + 1)
            else:
                yield shape

    def _places(self, path: str) -> dict[str, Box]:
        """The edges of the placeholders on the layout of a slide by their numbers; some are those of its master."""
        layout = next(iter(self._package.related(path, "slideLayout").values()), "")
        if layout and layout not in self._layouts:
            masters = [one for root in self._package.parts(layout, "slideMaster") for one in _shapes(root)]
            by_kind = {_placeholder(one)[1]: _box(one) for one in masters}
            own = [(*_placeholder(one), _box(one)) for one in _shapes(self._package.root(layout))]
            found = {number: box or by_kind.get(_ON_MASTER.get(kind, "body")) for number, kind, box in own if kind}
            self._layouts[layout] = {number: box for number, box in found.items() if box}
        return self._layouts.get(layout, {})

    def _shape(self, shape: Any, path: str, place: str) -> Iterator[Piece]:
        kind = _placeholder(shape)[1]
        drawn = shape.find(f".//{GRAPHIC}")
        table = None if drawn is None else drawn.find(f"{_MAIN}tbl")
        if kind in _FURNITURE:
            return
        if table is not None:
            grid = OfficeGrid(place, self._package.limits, self._notes)
            pieces = grid.table(self._rows(table, grid), None, lambda *_: ())
            yield from (replace(piece, place=place) for piece in pieces)
        elif drawn is not None:
            yield from graphic_pieces(drawn, self._package, path, place)
        else:
            for paragraph in shape.iterfind(f"{_SLIDES}txBody/{_MAIN}p"):
                yield self._paragraph(paragraph, place, listed=kind in {"body", "obj"})

    def _paragraph(self, paragraph: Any, place: str, *, listed: bool) -> Piece:
        """A list item if it has a bullet or number, by its properties or by default as in the body of a slide."""
        own = paragraph.find(f"{_MAIN}pPr")
        marks = set() if own is None else {str(one.tag).removeprefix(_MAIN) for one in own}
        text = self._text(paragraph)
        if "buNone" in marks or not (listed or marks & {"buChar", "buAutoNum", "buBlip"}):
            return Piece(BlockKind.PARAGRAPH, text, place=place)
        level = 1 if own is None else int(own.get("lvl", "0")) + 1
        return Piece(BlockKind.ITEM, text, level, "buAutoNum" in marks, place=place)

    def _line(self, shape: Any) -> str:
        return squeeze(" ".join(map(self._text, shape.iterfind(f"*/{_MAIN}p"))))

    def _text(self, paragraph: Any) -> str:
        return shown(map(_run, paragraph), self._notes)[0].replace("\v", "\n").strip()

    def _rows(self, table: Any, grid: OfficeGrid) -> Rows:
        for number, row in enumerate(table.iterfind(f"{_MAIN}tr")):
            cells = {}
            for column, cell in enumerate(row.iterfind(f"{_MAIN}tc")):
                if not {"1", "true"} & {cell.get("hMerge"), cell.get("vMerge")}:
                    cells[column] = self._line(cell)
                    height, width = (int(cell.get(name, "1")) for name in ("rowSpan", "gridSpan"))
                    grid.merge(number, column, number + height - 1, column + width - 1)
            yield number, cells, False

    def _comments(self, path: str, place: str) -> Iterator[Piece]:
        """Yield the comments on a slide and the replies to them. Their namespaces differ by version."""
        roots = self._package.parts(path, "comments")
        for comment in (one for root in roots for one in root.iter("{*}cm", "{*}reply")):
            own = [part for part in comment if part.tag.endswith(("}text", "}txBody"))]
            words = " ".join(one.text or "" for part in own for one in part.iter(f"{_MAIN}t", f"{_SLIDES}text"))
            date = comment.get("dt") or comment.get("created", "")
            head = comment_head(self._authors.get(comment.get("authorId"), ""), date)
            yield Piece(BlockKind.PARAGRAPH, f"{head}: {squeeze(words)}", place=place)


def _shapes(root: Any) -> list[Any]:
    group = root if root.tag == _GROUP else root.find(f"{_SLIDES}cSld/{_SLIDES}spTree")
    if group is None:
        raise ValueError("it has no shapes")
    return [one for one in group if one.find(f"*/{_SLIDES}cNvPr") is not None]


def _placeholder(shape: Any) -> tuple[str, str]:
    """The number and kind of a placeholder; both empty if the shape is none."""
    mark = shape.find(f"*/{_SLIDES}nvPr/{_SLIDES}ph")
    return ("", "") if mark is None else (mark.get("idx", "0"), mark.get("type", "obj"))


def _box(shape: Any) -> Box | None:
    """The edges of a shape, as far as it has them itself."""
    found = [*shape.iterfind(f"*/{_MAIN}xfrm"), *shape.iterfind(f"{_SLIDES}xfrm")]
    corner, size = (found[0].find(f"{_MAIN}{name}") if found else None for name in ("off", "ext"))
    if corner is None or size is None:
        return None
    left, top, width, height = (int(one) for one in (corner.get("x"), corner.get("y"), size.get("cx"), size.get("cy")))
    return Box(left, top, left + width, top + height)


def _run(part: Any) -> TextRun:
    if part.tag == _FORMULA:
        return TextRun(formula_text(part))
    if part.tag not in {f"{_MAIN}r", f"{_MAIN}fld"}:
        return TextRun("\n" if part.tag == f"{_MAIN}br" else "")
    text, properties = part.findtext(f"{_MAIN}t") or "", part.find(f"{_MAIN}rPr")
    if properties is None:
        return TextRun(text)
    font, shift = properties.find(f"{_MAIN}latin"), properties.get("baseline", "0")
    why = STRUCK if properties.get("strike", "noStrike") != "noStrike" else ""
    text = symbols(text, "" if font is None else font.get("typeface", ""))
    return TextRun(text, why, 0 if shift in {"0", "0%"} else -1 if shift.startswith("-") else 1)
