"""Parses Word files (.docx) into headings, paragraphs, list items, table rows, code and quotes, in document order.

Tracked changes count as accepted. Footnotes, comments and text boxes come after the paragraph that they belong to, endnotes at
the end. Headers, footers, formulas, pictures and automatic numbers of list items and headings are left out. The archive is
checked before anything is unpacked. Meant to run in the child process.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.docx_asides import insert_asides, is_place_of_aside, place_of_aside, tidied
from hoptrail.documents.docx_styles import NAMESPACE, Role, Styles
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import SAMPLE, has_header
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_PARAGRAPH, _RUN, _TABLE, _ROW, _CELL = (f"{NAMESPACE}{tag}" for tag in ("p", "r", "tbl", "tr", "tc"))
# Elements whose content python-docx skips, apart from hyperlinks. `del` and `moveFrom` are not here: their text was deleted.
_WRAPPED = word_set("ins moveTo sdt sdtContent customXml smartTag fldSimple hyperlink dir bdo ruby rubyBase")
_WRAPPERS = {f"{NAMESPACE}{tag}" for tag in _WRAPPED}
_HEADER_ROW = f"{NAMESPACE}trPr/{NAMESPACE}tblHeader"


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its properties, else the first paragraph in the style Title) and blocks.
    Raises: Unreadable: it is not a Word file, damaged, beyond a limit, or has XML that is not safe to parse.
    """
    from docx import Document

    document: WordDocument = opened_office_file(Document, data, limits, "Word", ".docx")
    styles = Styles(document)
    title = _title(document, styles)
    insert_asides(document)
    return assemble(title, _asides_after_lists(_pieces(document, styles)), largest=limits.text)


def _title(document: WordDocument, styles: Styles) -> str:
    title = str(document.core_properties.title or "").strip()
    if title:
        return title
    for paragraph in islice(_within(document.element.body, _PARAGRAPH), 20):
        text = _paragraph(paragraph)
        if styles.is_title(paragraph) and text.strip():
            return text
    return ""


def _pieces(document: WordDocument, styles: Styles) -> Iterator[Piece]:
    """Yield the pieces of the body. Adjacent paragraphs of code become one piece; paragraph numbers do not count asides."""
    tables = paragraphs = 0
    code: list[str] = []
    place = ""
    for block in _within(document.element.body, _PARAGRAPH, _TABLE):
        role = styles.role(block) if block.tag == _PARAGRAPH else Role(BlockKind.ROW)
        text = _paragraph(block) if block.tag == _PARAGRAPH else ""
        aside = place_of_aside(block)
        paragraphs += bool(text.strip()) and not aside
        if role.kind is BlockKind.CODE:
            place = place if code else f"paragraph {paragraphs}"
            code.append(text)
            continue
        if code:
            yield Piece(BlockKind.CODE, "\n".join(code), place=place)
            code = []
        place = aside or f"paragraph {paragraphs}"
        if block.tag == _TABLE:
            tables += 1
            yield from _table(block, tables)
        else:
            yield Piece(role.kind, tidied(text) if aside else text, role.level, role.ordered, place=place)
    if code:
        yield Piece(BlockKind.CODE, "\n".join(code), place=place)


def _asides_after_lists(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Move asides within a list, or between a list and its lead, behind the list, so that the list stays whole."""
    waiting: list[Piece] = []
    before_list = False
    for piece in pieces:
        if is_place_of_aside(piece.place):
            waiting.append(piece)
        else:
            if piece.kind is not BlockKind.ITEM:
                yield from waiting
                waiting = []
            before_list = piece.kind is BlockKind.ITEM or piece.text.endswith((":", "："))
            yield piece
        if not before_list:
            yield from waiting
            waiting = []
    yield from waiting


def _within(element: Any, *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags in `element` and its wrappers, in order. The XML parser bounds the depth."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, *tags)


def _paragraph(element: Any) -> str:
    """The text of a paragraph's runs. Runs are nested for characters with their reading above them (`ruby`)."""
    return "".join(run.text + _paragraph(run) for run in _within(element, _RUN))


def _table(table: Any, number: int) -> Iterator[Piece]:
    """Yield the rows of a table. The first row is the header if the file marks it so, or if it reads like one."""
    rows = _rows(table)
    sample = list(islice(rows, SAMPLE))
    first = next(_within(table, _ROW), None)
    marked = first is not None and first.find(_HEADER_ROW) is not None
    headed = len(sample) > 1 and (marked or has_header([list(cells.values()) for cells in sample]))
    headers = sample[0] if headed else {}
    for line, cells in enumerate(chain(sample, rows), 1):
        is_header = headed and line == 1
        above = {} if is_header else headers  # a header may span several columns
        starts = [max((start for start in above if start <= column), default=-1) for column in cells]
        pairs = [(above.get(start, ""), text) for start, text in zip(starts, cells.values(), strict=True)]
        yield Piece(BlockKind.ROW, level=int(is_header), cells=tuple(pairs), place=f"table {number}, row {line}")


def _rows(table: Any) -> Iterator[dict[int, str]]:
    """Yield the cells of each row by their first column. A cell that spans rows is repeated in each of them."""
    above: dict[int, str] = {}
    for row in _within(table, _ROW):
        column = row.grid_before
        cells: dict[int, str] = {}
        for cell in _within(row, _CELL):
            is_continued = cell.vMerge == "continue"
            cells[column] = above.get(column, "") if is_continued else squeeze(" ".join(_lines(cell)))
            column += max(cell.grid_span, 1)
        yield cells
        above = cells


def _lines(cell: Any) -> Iterator[str]:
    """The text of a cell, including nested tables."""
    for block in _within(cell, _PARAGRAPH, _TABLE):
        if block.tag == _TABLE:
            yield from (text for cells in _rows(block) for text in cells.values())
        else:
            yield _paragraph(block)
