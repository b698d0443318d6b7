"""Parses Word files (.docx) into headings, paragraphs, list items, table rows, code and quotes, in document order.

Tracked changes count as accepted. Headers, footers, formulas, pictures and automatic numbers of list items and headings are left
out. The archive is checked before anything is unpacked.

Asides are moved into the body of the opened document: text boxes, footnotes and comments after their paragraph or table, endnotes
at the end. A note begins with the number that stands in the text (`[1]`, for an endnote `[i]`), a comment with its author and
date. All are numbered in the order of the text, whatever numbers the file asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Any

from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.docx_styles import NAMESPACE, Styles
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import bold_headings
from hoptrail.documents.sheet_rows import Row, grid_pieces
from hoptrail.text.dates import find_date
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
    """Parse a file: title (of its properties, else the first paragraph in the style Title) and blocks."""
    from docx import Document

    document: WordDocument = opened_office_file(Document, data, limits, "Word", ".docx")
    styles = Styles(document)
    title = _title(document, styles)
    insert_asides(document)
    return assemble(title, bold_headings(_asides_after_lists(_pieces(document, styles))), largest=limits.text)


def _title(document: WordDocument, styles: Styles) -> str:
    first = filter(styles.is_title, islice(_within(document.element.body, _PARAGRAPH), 20))
    texts = (text for paragraph in first if (text := _paragraph(paragraph)).strip())
    return str(document.core_properties.title or "").strip() or next(texts, "")


def _pieces(document: WordDocument, styles: Styles) -> Iterator[Piece]:
    """Yield the pieces of the body. Adjacent paragraphs of code become one piece."""
    for kind, run in groupby(_blocks(document, styles), key=lambda piece: piece.kind):
        if kind is BlockKind.CODE:
            first, *others = run
            yield replace(first, text="\n".join(piece.text for piece in (first, *others)))
        else:
            yield from run


def _blocks(document: WordDocument, styles: Styles) -> Iterator[Piece]:
    """Yield the paragraphs and rows of the body. Paragraph numbers do not count asides."""
    tables = paragraphs = 0
    for block in _within(document.element.body, _PARAGRAPH, _TABLE):
        if block.tag == _TABLE:
            tables += 1
            yield from _table(block, tables)
            continue
        role, text, aside = styles.role(block), _paragraph(block), block.get(_PLACE, "")
        paragraphs += bool(text.strip()) and not aside
        place = f"paragraph {paragraphs}"
        if role.kind is BlockKind.CODE:
            yield replace(role, text=text, place=place)
        else:
            text = _NUMBER.sub(r"\1 ", text.strip()) if aside else text
            bold = not aside and styles.is_bold(block, _within(block, _RUN))
            yield replace(role, text=text, place=aside or place, bold=bold)


def _asides_after_lists(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Move asides within a list, or between a list and its lead, behind the list, so that the list stays whole."""
    waiting: list[Piece] = []
    before_list = False
    for piece in pieces:
        if piece.place.startswith(_ASIDES):
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
    """Yield the rows of a table, of which the file may mark the first as headers."""
    rows = [Row(f"table {number}, row {line}", cells, spans) for line, (cells, spans) in enumerate(_rows(table), 1)]
    marked = takewhile(lambda row: row.find(_HEADER_ROW) is not None, _within(table, _ROW))
    return grid_pieces(rows, sum(1 for _ in marked))


def _rows(table: Any) -> Iterator[tuple[list[str], dict[int, int]]]:
    """Yield the cells of each row by their columns, and how many columns they span. A cell that spans rows is repeated in each
    of them.
    """
    above: list[str] = []
    for row in _within(table, _ROW):
        cells = [""] * row.grid_before
        spans: dict[int, int] = {}
        for cell in _within(row, _CELL):
            column, columns = len(cells), max(cell.grid_span, 1)
            is_continued = cell.vMerge == "continue" and column < len(above)
            cells += [above[column] if is_continued else squeeze(" ".join(_lines(cell)))]
            if columns > 1:
                spans[column] = columns
                cells += [""] * (columns - 1)
        yield cells, spans
        above = cells


def _lines(cell: Any) -> Iterator[str]:
    """The text of a cell, including nested tables."""
    for block in _within(cell, _PARAGRAPH, _TABLE):
        if block.tag == _TABLE:
            yield from (text for cells, _ in _rows(block) for text in cells)
        else:
            yield _paragraph(block)


_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_BOX = f"{NAMESPACE}txbxContent"
_CHOICE, _FALLBACK = (f"{_COMPATIBILITY}{tag}" for tag in ("Choice", "Fallback"))
_UNREAD = {f"{NAMESPACE}{tag}" for tag in ("del", "moveFrom")}
"""Elements of deleted text. Asides referred to there are not read either."""
_PLACE = "place-of-aside"
_ASIDES = ("footnote ", "endnote ", "comment ", "text box ")
"""How the places of asides begin."""
_NUMBER = re.compile(r"^(\[\w+\])\s+")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def insert_asides(document: WordDocument) -> None:
    """Put the text boxes, notes and comments of a document into its body."""
    body = document.element.body
    last_after: dict[Any, Any] = {}
    for number, box in enumerate(_text_boxes(body), 1):
        blocks = [_placed(block, f"text box {number}") for block in box if block.tag in (_PARAGRAPH, _TABLE)]
        _put_after(box, blocks, last_after)
    for number, (reference, note) in enumerate(_references(document, "footnote"), 1):
        _put_after(reference, _numbered(reference, note, str(number), f"footnote {number}"), last_after)
    for number, (reference, note) in enumerate(_references(document, "endnote"), 1):
        body.extend(_numbered(reference, note, _roman(number), f"endnote {number}"))
    for number, (reference, comment) in enumerate(_references(document, "comment"), 1):
        _put_after(reference, _signed(comment, f"comment {number}"), last_after)


def _put_after(element: Any, blocks: Sequence[Any], last_after: dict[Any, Any]) -> None:
    """Put `blocks` after the paragraph or table of the body that contains `element`, and what was put there before."""
    around = [block for block in element.iterancestors() if block.tag in (_PARAGRAPH, _TABLE)][-1]
    for block in blocks:
        last_after.get(around, around).addnext(block)
        last_after[around] = block


def _text_boxes(body: Any) -> list[Any]:
    """The contents of the text boxes in order. The duplicates for older programs are removed."""
    for fallback in list(body.iter(_FALLBACK)):
        choice = fallback.getparent().find(_CHOICE)
        if choice is not None and next(choice.iter(_BOX), None) is not None:
            fallback.getparent().remove(fallback)
    boxes = ((box, {element.tag for element in box.iterancestors()}) for box in body.iter(_BOX))
    return [box for box, around in boxes if around.isdisjoint(_UNREAD) and _PARAGRAPH in around]


def _references(document: WordDocument, kind: str) -> list[tuple[Any, Any]]:
    """The references to notes of this kind in order, each with its note. Repeated references to a note are left out."""
    notes = {note.get(f"{NAMESPACE}id"): note for note in _notes(document, kind)}
    references = []
    for reference in document.element.body.iter(f"{NAMESPACE}{kind}Reference"):
        around = {element.tag for element in reference.iterancestors()}
        is_read = around.isdisjoint(_UNREAD) and around.issuperset((_RUN, _PARAGRAPH))
        if is_read and (name := reference.get(f"{NAMESPACE}id")) in notes:
            references.append((reference, notes.pop(name)))
    return references


def _notes(document: WordDocument, kind: str) -> Iterator[Any]:
    from docx.oxml import parse_xml
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    for relation in document.part.rels.values():
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external:
            try:
                root = parse_xml(relation.target_part.blob)
            except XMLSyntaxError as error:
                raise Unreadable(f"has {kind}s that are damaged ({error})") from error
            yield from root.iter(f"{NAMESPACE}{kind}")


def _numbered(reference: Any, note: Any, number: str, place: str) -> list[Any]:
    """The paragraphs of a note. Its number is put before the first and at the reference, unless the reference has a custom mark,
    which the note repeats.
    """
    from docx.oxml import OxmlElement

    paragraphs = _paragraphs(note, place)
    if paragraphs and reference.get(f"{NAMESPACE}customMarkFollows") in {None, "0", "false"}:
        mark = OxmlElement("w:t")
        mark.text = f"[{number}]"
        reference.addprevious(mark)
        _begin(paragraphs[0], f"[{number}] ")
    return paragraphs


def _signed(comment: Any, place: str) -> list[Any]:
    paragraphs = _paragraphs(comment, place)
    author = squeeze(comment.get(f"{NAMESPACE}author", ""))
    date = find_date(comment.get(f"{NAMESPACE}date", "")[:10])
    if paragraphs:
        _begin(paragraphs[0], f"Comment{f' by {author}' if author else ''}{f' on {date}' if date else ''}: ")
    return paragraphs


def _paragraphs(note: Any, place: str) -> list[Any]:
    return [_placed(part, place) for part in note.iter(_PARAGRAPH) if "".join(part.itertext()).strip()]


def _placed(block: Any, place: str) -> Any:
    block.set(_PLACE, place)
    return block


def _begin(paragraph: Any, words: str) -> None:
    from docx.oxml import OxmlElement

    run, text = OxmlElement("w:r"), OxmlElement("w:t")
    text.text = words
    run.append(text)
    properties = paragraph.find(f"{NAMESPACE}pPr")
    if properties is None:
        paragraph.insert(0, run)
    else:
        properties.addnext(run)


def _roman(number: int) -> str:
    """The number in small Roman numerals; from 100 on in digits."""
    return _TENS[number // 10] + _ONES[number % 10] if number < 100 else str(number)
