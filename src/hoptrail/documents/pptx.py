"""Parses PowerPoint files (.pptx) slide by slide: titles as headings, bullets as list items, tables, charts, diagrams, notes and
comments, in the order in which they stand on the slide.

Left out are hidden slides and shapes and struck-out text, with a note, pictures, and the date, number and footer of each slide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hoptrail.documents import office_text as office
from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.sheet_rows import GridRow, grid_pieces
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDES = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_UNTITLED = re.compile(r"(?:(?:powerpoint )?presentation|slide 1|powerpoint-präsentation|présentation powerpoint)?")
_DEEPEST_GROUP = 10


@cache
def _unreadable() -> tuple[type[Exception], ...]:
    """What the library raises for a part that it does not know or that is damaged."""
    from pptx.exc import PythonPptxError

    return AttributeError, KeyError, ValueError, TypeError, IndexError, NotImplementedError, PythonPptxError


def parse_pptx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a presentation: title (of its properties, else of the first slide) and blocks."""
    from pptx import Presentation

    presentation, notes = opened_office_file(Presentation, data, limits, "PowerPoint", ".pptx")
    names = [one.rId for one in presentation.element.iter(f"{_SLIDES}sldId")]  # the library fails for a missing slide
    limits.check_pages(len(names), "slides")
    part = presentation.part
    reader = _Slides({one.get("id", ""): one.get("name", "") for one in _related(part, "commentAuthors", "authors")})
    slides = [(number, part.related_slide(name)) for number, name in enumerate(names, 1) if name in part.rels]
    shown = [numbered for numbered in slides if numbered[1].element.get("show") not in {"0", "false"}]
    told = {"hidden slides were left out": len(slides) - len(shown), "slides are missing": len(names) - len(slides)}
    notes += [f"{count} {what}" for what, count in told.items() if count]
    title = str(presentation.core_properties.title or "").strip()
    title = "" if _UNTITLED.fullmatch(title.lower()) else title
    if not title and shown and shown[0][1].shapes.title is not None:
        title = squeeze(shown[0][1].shapes.title.text_frame.text)
    pieces = [piece for number, slide in shown for piece in reader.slide(slide, number)]
    return assemble(title, pieces, [*notes, *reader.notes()], limits.text)


@dataclass(slots=True)
class _Slides:
    """Reads slides, and counts what is left out of them. `authors`: the names of those who comment by their ids."""

    authors: dict[str, str]
    left_out: Counter[str] = field(default_factory=Counter)
    _unread: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        return [*(note for note, count in self.left_out.items() if count), *self._unread]

    def slide(self, slide: Any, number: int) -> Iterator[Piece]:
        """Yield the pieces of a slide. Those of a slide without a title are below no heading."""
        place = f"slide {number}"
        _choose_alternatives(slide.element)
        title = slide.shapes.title
        heading = "" if title is None else squeeze(title.text_frame.text)
        yield Piece(BlockKind.HEADING, heading, int(bool(heading)), place=place)
        for shape in self._shapes(slide.shapes):
            try:
                if title is None or shape.shape_id != title.shape_id:
                    yield from list(self._shape(shape, place))
            except _unreadable() as error:
                self._unread.append(f"{place}: a shape was not read ({error})")
        try:
            notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
            for paragraph in notes.paragraphs if notes is not None else ():
                yield Piece(BlockKind.PARAGRAPH, self._text(paragraph), place=f"{place}, notes")
        except _unreadable() as error:
            self._unread.append(f"{place}: its notes were not read ({error})")
        yield from _comments(slide.part, self.authors, place)

    def _shapes(self, shapes: Any, depth: int = 0) -> Iterator[Any]:
        """Yield the shapes that are not hidden in reading order, those of a group together."""
        found = [(next(shape.element.iter(f"{_SLIDES}cNvPr")).get("hidden"), shape) for shape in shapes]
        shown = [shape for is_hidden, shape in found if is_hidden not in {"1", "true"}]
        self.left_out[HIDDEN] += len(found) - len(shown)
        for shape in office.in_reading_order(shown, _box):
            if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
                yield from self._shapes(shape.shapes, depth + 1)
            else:
                yield shape

    def _shape(self, shape: Any, place: str) -> Iterator[Piece]:
        from pptx.enum.shapes import PP_PLACEHOLDER

        kind = shape.placeholder_format.type if shape.is_placeholder else None
        if kind in {PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.HEADER}:
            return
        drawn = shape.element.find(f".//{office.GRAPHIC}")
        if shape.has_table:
            yield from self._table(shape.table, place)
        elif drawn is not None:
            yield from office.graphic_pieces(drawn, shape.part, place, self._unread)
        elif shape.has_text_frame:
            listed = kind in {PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY}
            for paragraph in shape.text_frame.paragraphs:
                yield self._paragraph(paragraph, place, listed=listed)

    def _paragraph(self, paragraph: Any, place: str, *, listed: bool) -> Piece:
        """A list item if it has a bullet or number, by its properties or by default as in the body of a slide."""
        own = paragraph._p.find(f"{_MAIN}pPr")  # noqa: SLF001 - bullets have no public name there
        kinds = ("buNone", "buChar", "buAutoNum", "buBlip")
        marks = {kind for kind in kinds if own is not None and own.find(f"{_MAIN}{kind}") is not None}
        text = self._text(paragraph)
        if "buNone" in marks or not (listed or marks):
            return Piece(BlockKind.PARAGRAPH, text, place=place)
        return Piece(BlockKind.ITEM, text, paragraph.level + 1, "buAutoNum" in marks, place=place)

    def _text(self, paragraph: Any) -> str:
        """The text as it is shown, without what is struck out."""
        text = ""
        for part in paragraph._p:  # noqa: SLF001 - formulas have no public name there
            if part.tag == f"{_MAIN}br":
                text += "\n"
            elif part.tag == _FORMULA:
                text += office.formula_text(part)
            elif part.tag in {f"{_MAIN}r", f"{_MAIN}fld"}:
                text += self._run(part, text)
        return text.replace("\v", "\n").strip()

    def _run(self, run: Any, before: str) -> str:
        text, properties = run.findtext(f"{_MAIN}t") or "", run.find(f"{_MAIN}rPr")
        if properties is None:
            return text
        if properties.get("strike", "noStrike") != "noStrike":
            self.left_out[STRUCK] += bool(text.strip())
            return ""
        font = properties.find(f"{_MAIN}latin")
        text = office.symbols(text, "" if font is None else font.get("typeface", ""))
        shift = properties.get("baseline", "0")
        return text if shift in {"0", "0%"} else office.shifted(text, before, is_raised=not shift.startswith("-"))

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        """Yield the rows of a table; a cell that spans rows is repeated in each of them."""
        rows = []
        for number in range(len(table.rows)):
            cells = [_origin(table, number, column) for column in range(len(table.columns))]
            spans = {column: cell.span_width for column, cell in enumerate(cells) if cell.is_merge_origin}
            texts = [squeeze(" ".join(map(self._text, cell.text_frame.paragraphs))) for cell in cells]
            rows.append(GridRow(place, texts, spans))
        return grid_pieces(rows)


def _choose_alternatives(element: Any) -> None:
    """Put the newest of alternative forms of a shape in place of all."""
    for choice in list(element.iter(f"{_COMPATIBILITY}Choice")):
        alternatives = choice.getparent()
        if alternatives.getparent() is not None:
            for shape in choice:
                alternatives.addprevious(shape)
            alternatives.getparent().remove(alternatives)


def _box(shape: Any) -> office.Box | None:
    try:
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
    except _unreadable():
        return None
    return None if None in (left, top, width, height) else office.Box(left, top, left + width, top + height)


def _origin(table: Any, row: int, column: int) -> Any:
    """The cell that spans this one from above, or itself. A cell that spans columns has its text in the first only."""
    cell = table.cell(row, column)
    while cell.is_spanned and row > 0:
        row -= 1
        above = table.cell(row, column)
        if not (above.is_spanned or above.is_merge_origin):
            break
        cell = above
    return cell


def _related(part: Any, *kinds: str) -> Iterator[Any]:
    """Yield the elements of the parts of these kinds, in which namespaces differ by version."""
    from pptx.oxml import parse_xml

    for relation in part.rels.values():
        if not relation.is_external and relation.reltype.rpartition("/")[2] in kinds:
            yield from parse_xml(relation.target_part.blob).iter("{*}*")


def _comments(slide: Any, authors: dict[str, str], place: str) -> Iterator[Piece]:
    """Yield the comments on a slide and the replies to them."""
    for comment in _related(slide, "comments"):
        if comment.tag.endswith(("}cm", "}reply")):
            own = [part for part in comment if part.tag.endswith(("}text", "}txBody"))]
            texts = (one.text or "" for part in own for one in part.iter(f"{_MAIN}t", f"{_SLIDES}text"))
            author, date = authors.get(comment.get("authorId", ""), ""), comment.get("dt") or comment.get("created", "")
            text = f"{office.comment_head(author, date)}: {squeeze(' '.join(texts))}"
            yield Piece(BlockKind.PARAGRAPH, text, place=f"{place}, comment")
