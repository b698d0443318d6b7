"""Parses PowerPoint files (.pptx) slide by slide: titles as headings, bullets as list items, tables, charts and notes.

Left out are hidden slides, with a note, pictures, shapes without text, and the date, number and footer of each slide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import GridRow, grid_pieces, header_piece, row_piece
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_UNTITLED = re.compile(r"(?:(?:powerpoint )?presentation|slide 1|powerpoint-präsentation|présentation powerpoint)?")
_DEEPEST_GROUP = 10


def parse_pptx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a presentation: title (of its properties, else of the first slide) and blocks."""
    from pptx import Presentation

    presentation, notes = opened_office_file(Presentation, data, limits, "PowerPoint", ".pptx")
    slides = list(presentation.slides)
    if len(slides) > limits.pages:
        raise Unreadable(
            f"has {len(slides)} slides, more than the limit of {limits.pages}: split it, or raise the limit `pages`"
        )
    shown = [numbered for numbered in enumerate(slides, 1) if numbered[1].element.get("show") not in {"0", "false"}]
    hidden = len(slides) - len(shown)
    title = str(presentation.core_properties.title or "").strip()
    title = "" if _UNTITLED.fullmatch(title.lower()) else title
    if not title and shown and shown[0][1].shapes.title is not None:
        title = squeeze(shown[0][1].shapes.title.text_frame.text)
    notes += [f"{hidden} hidden slides were left out"] if hidden else []
    return assemble(title, (piece for number, slide in shown for piece in _slide(slide, number)), notes, limits.text)


def _slide(slide: Any, number: int) -> Iterator[Piece]:
    place = f"slide {number}"
    title = slide.shapes.title
    if title is not None:
        yield Piece(BlockKind.HEADING, squeeze(title.text_frame.text), 1, place=place)
    for shape in _shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape(shape, place)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        for paragraph in slide.notes_slide.notes_text_frame.paragraphs:
            yield Piece(BlockKind.PARAGRAPH, _text(paragraph), place=f"{place}, notes")


def _shapes(shapes: Any, depth: int = 0) -> Iterator[Any]:
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP and depth < _DEEPEST_GROUP:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _shape(shape: Any, place: str) -> Iterator[Piece]:
    from pptx.enum.shapes import PP_PLACEHOLDER

    kind = shape.placeholder_format.type if shape.is_placeholder else None
    if kind in {PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.HEADER}:
        return
    if shape.has_table:
        yield from _table(shape.table, place)
    elif shape.has_chart:
        yield from _chart(shape.chart, place)
    elif shape.has_text_frame:
        listed = kind in {PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY}
        for paragraph in shape.text_frame.paragraphs:
            yield _paragraph(paragraph, place, listed=listed)


def _paragraph(paragraph: Any, place: str, *, listed: bool) -> Piece:
    """A list item if it has a bullet or number, by its properties or by default as in the body of a slide."""
    own = paragraph._p.find(f"{_MAIN}pPr")  # noqa: SLF001 - bullets have no public name there
    kinds = ("buNone", "buChar", "buAutoNum", "buBlip")
    marks = {kind for kind in kinds if own is not None and own.find(f"{_MAIN}{kind}") is not None}
    text = _text(paragraph)
    if "buNone" in marks or not (listed or marks):
        return Piece(BlockKind.PARAGRAPH, text, place=place)
    return Piece(BlockKind.ITEM, text, paragraph.level + 1, "buAutoNum" in marks, place=place)


def _text(paragraph: Any) -> str:
    return str(paragraph.text).replace("\v", "\n").strip()


def _table(table: Any, place: str) -> Iterator[Piece]:
    """Yield the rows of a table; a cell that spans rows is repeated in each of them."""
    rows = []
    for number in range(len(table.rows)):
        cells = [_origin(table, number, column) for column in range(len(table.columns))]
        spans = {column: cell.span_width for column, cell in enumerate(cells) if cell.is_merge_origin}
        rows.append(GridRow(place, [squeeze(cell.text_frame.text) for cell in cells], spans))
    return grid_pieces(rows)


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


def _chart(chart: Any, place: str) -> Iterator[Piece]:
    """Yield the data of a chart: a row for each category, with a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield Piece(BlockKind.PARAGRAPH, squeeze(chart.chart_title.text_frame.text), place=place)
    for plot in chart.plots:
        names = ["", *(str(series.name or "") for series in plot.series)]
        values = [list(series.values) for series in plot.series]
        yield header_piece(names, place)
        for number, category in enumerate(plot.categories):
            numbers = [column[number] if number < len(column) else None for column in values]
            shown = [str(category.label), *("" if value is None else f"{value:.15g}" for value in numbers)]
            yield row_piece(names, shown, place)
