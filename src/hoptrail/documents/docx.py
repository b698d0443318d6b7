"""The blocks of a Word file (.docx), in the order of the document: headings, paragraphs, list items, table rows, code, quotes.

Changes that are tracked count as accepted. Footnotes, comments and text boxes come after the paragraph that they belong to,
endnotes at the end. Leaves out headers, footers, formulas and pictures, and the numbers that Word counts for list items and
headings. The archive is checked before anything is unpacked. Meant to run in the child process.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from hoptrail.documents.archives import check_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.docx_asides import insert_asides, is_place_of_aside, place_of_aside, tidied
from hoptrail.documents.docx_styles import Role, Styles
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.sheet_rows import SAMPLE, has_header
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _RUN, _TABLE, _ROW, _CELL = (f"{_NAMESPACE}{tag}" for tag in ("p", "r", "tbl", "tr", "tc"))
# python-docx reads none of what stands in these but hyperlinks. Not among them: `del` and `moveFrom`, whose text is gone.
_WRAPPERS = {
    f"{_NAMESPACE}{tag}"
    for tag in (
        *("ins", "moveTo", "sdt", "sdtContent", "customXml", "smartTag", "fldSimple", "hyperlink", "dir", "bdo"),
        *("ruby", "rubyBase"),
    )
}
_HEADER_ROW = f"{_NAMESPACE}trPr/{_NAMESPACE}tblHeader"


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (from the properties, else the first paragraph in the style Title) and blocks.

    Raises:
        Unreadable: not a Word file, damaged, beyond a limit, or with XML that is not safe to parse.
    """
    check_office_file(data, limits, "Word", ".docx")
    document = _opened(data)
    styles = Styles(document)
    title = _title(document, styles)
    insert_asides(document)
    return assemble(title, _asides_after_lists(_pieces(document, styles)), largest=limits.text)


def _opened(data: bytes) -> WordDocument:
    from docx import Document
    from docx.opc.exceptions import PackageNotFoundError
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    try:
        return Document(io.BytesIO(data))
    except (PackageNotFoundError, XMLSyntaxError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise Unreadable(f"is not a Word file, or a damaged one ({error})") from error


def _title(document: WordDocument, styles: Styles) -> str:
    named = str(document.core_properties.title or "").strip()
    if named:
        return named
    for paragraph in islice(_within(document.element.body, _PARAGRAPH), 20):
        text = _paragraph(paragraph)
        if styles.is_title(paragraph) and text.strip():
            return text
    return ""


def _pieces(document: WordDocument, styles: Styles) -> Iterator[Piece]:
    """Lines of code, a paragraph each, become one piece. Paragraphs that hold text are counted, but not what
    stands beside the text.
    """
    code: list[str] = []
    tables = paragraphs = 0
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
        if block.tag == _TABLE:
            tables += 1
            yield from _table(block, tables)
        else:
            yield Piece(
                role.kind,
                tidied(text) if aside else text,
                role.level,
                role.ordered,
                place=aside or f"paragraph {paragraphs}",
            )
    if code:
        yield Piece(BlockKind.CODE, "\n".join(code), place=place)


def _asides_after_lists(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces, with what belongs to a list, or to what introduces one, after the list: it must not be parted."""
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
    """The elements with these tags in `element`, in order, also those in wrappers. The XML parser bounds the depth."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, *tags)


def _paragraph(element: Any) -> str:
    """The text of its runs; a run that holds others has characters with their reading above (`ruby`)."""
    return "".join(run.text + _paragraph(run) for run in _within(element, _RUN))


def _table(table: Any, number: int) -> Iterator[Piece]:
    """Its rows, each cell with the header above it: the first row's where the file marks it as one, or it reads like one."""
    rows = _rows(table)
    sample = list(islice(rows, SAMPLE))
    first = next(_within(table, _ROW), None)
    marked = first is not None and first.find(_HEADER_ROW) is not None
    headed = len(sample) > 1 and (marked or has_header([list(cells.values()) for cells in sample]))
    headers = sample[0] if headed else {}
    for line, cells in enumerate(chain(sample, rows), 1):
        is_header = headed and line == 1
        pairs = [("" if is_header else _header_over(column, headers), text) for column, text in cells.items()]
        yield Piece(BlockKind.ROW, level=int(is_header), cells=tuple(pairs), place=f"table {number}, row {line}")


def _header_over(column: int, headers: dict[int, str]) -> str:
    """The header cell that reaches over a column."""
    return headers.get(max((start for start in headers if start <= column), default=-1), "")


def _rows(table: Any) -> Iterator[dict[int, str]]:
    """The cells of each row by the column they begin in; a merged cell is said once in every row that it reaches into."""
    above: dict[int, str] = {}
    for row in _within(table, _ROW):
        column = row.grid_before
        cells: dict[int, str] = {}
        for cell in _within(row, _CELL):
            goes_on = cell.vMerge == "continue"
            cells[column] = above.get(column, "") if goes_on else _cell(cell)
            column += max(cell.grid_span, 1)
        yield cells
        above = cells


def _cell(cell: Any) -> str:
    """On one line, tables in it as well."""
    return " ".join(word for line in _lines(cell) for word in line.split())


def _lines(cell: Any) -> Iterator[str]:
    for block in _within(cell, _PARAGRAPH, _TABLE):
        if block.tag == _TABLE:
            yield from (text for cells in _rows(block) for text in cells.values())
        else:
            yield _paragraph(block)
