"""Parses Word files (.docx) into headings, paragraphs, list items, table rows, code and quotes, in document order.

Tracked changes count as accepted. Comments, text boxes, footnotes, charts and diagrams follow their paragraph; endnotes, then
headers and footers, each once, come last. A note begins with the number that stands in the text (`[1]`, for an endnote `[i]`), a
comment with its author and date; all are numbered in the order of the text, whatever numbers the file asks for. Pictures and
embedded files are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice, takewhile
from typing import TYPE_CHECKING, Any

from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.docx_styles import Styles, find, is_on, roman, tag
from hoptrail.documents.docx_text import RUN, ShownText, within
from hoptrail.documents.drawings import drawn_pieces
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import HIDDEN, bold_headings
from hoptrail.documents.office_text import asides_after_lists, comment_head
from hoptrail.documents.sheet_rows import GridRow, grid_pieces, named
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_PARAGRAPH, _TABLE, _ROW, _CELL = map(tag, ("p", "tbl", "tr", "tc"))
_NUMBER = re.compile(r"^(\[\w+\])\s+")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PAGE_FIELD = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
_FURNITURE = 3
"""Words beside a page number that do not make it a text: `Page 1 of 3`."""


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its properties, else the first paragraph in the style Title) and blocks."""
    from docx import Document

    document, notes = opened_office_file(Document, data, limits, "Word", ".docx")
    body = _Body(document, Styles(document))
    title = body.title()
    insert_asides(document)
    pieces = bold_headings(asides_after_lists(_with_code_joined(body.blocks(document.element.body))))
    pieces += body.headers_and_footers()
    return assemble(title, pieces, [*notes, *body.notes()], limits.text)


@dataclass(slots=True)
class _Body:
    """Reads the blocks of a document, and counts its paragraphs, tables and drawings."""

    document: WordDocument
    styles: Styles
    _texts: ShownText = field(init=False)
    _paragraphs: int = 0
    _tables: int = 0
    _drawings: int = 0
    _unread: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._texts = ShownText(self.styles)

    def notes(self) -> list[str]:
        """Notes on what was left out of the blocks read so far."""
        embedded = sum(1 for _ in self.document.element.body.iter(tag("altChunk")))
        return [
            *self._texts.notes(),
            *self._unread,
            *([f"{embedded} embedded files were left out"] if embedded else []),
        ]

    def title(self) -> str:
        """The title of the properties, else the first paragraph in the style Title."""
        first = filter(self.styles.is_title, islice(within(self.document.element.body, _PARAGRAPH), 20))
        texts = (text for paragraph in first if (text := ShownText(self.styles).paragraph(paragraph)).strip())
        return str(self.document.core_properties.title or "").strip() or next(texts, "")

    def blocks(self, container: Any, place: str = "") -> Iterator[Piece]:
        """Yield the paragraphs and rows of the body, or of a part that stands at one place. Paragraph numbers do not count
        asides. The paragraph after a deleted end of paragraph continues the one before it.
        """
        begun = ""
        for block in within(container, _PARAGRAPH, _TABLE):
            if block.tag == _TABLE:
                self._tables += not place
                yield from self._table(block, place or f"table {self._tables}")
            elif is_on(block, "pPr", "rPr", "del") or is_on(block, "pPr", "rPr", "moveFrom"):
                begun += self._text(block)
                continue
            else:
                yield self._paragraph(block, begun, place or block.get(PLACE, ""))
                begun = ""
            self._drawings, drawn = drawn_pieces(block, self.document.part, self._drawings, self._unread)
            yield from drawn
        yield Piece(BlockKind.PARAGRAPH, begun, place=place or f"paragraph {self._paragraphs}")

    def _text(self, paragraph: Any) -> str:
        label, text = self.styles.label(paragraph), self._texts.paragraph(paragraph)
        return f"{label} {text}" if label and text.strip() else text

    def _paragraph(self, block: Any, begun: str, aside: str) -> Piece:
        role, text = self.styles.role(block), begun + self._text(block)
        self._paragraphs += bool(text.strip()) and not aside
        place = aside or f"paragraph {self._paragraphs}"
        if role.kind is BlockKind.CODE:
            return replace(role, text=text, place=place)
        bold = not aside and self.styles.is_bold(block, within(block, RUN))
        return replace(role, text=_NUMBER.sub(r"\1 ", text.strip()) if aside else text, place=place, bold=bold)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        """Yield the rows of a table, of which the file may mark the first as headers. Those of a table in a cell follow the row,
        each with the first text of that row.
        """
        rows: list[GridRow] = []
        inner: dict[str, list[Piece]] = {}
        above: list[str] = []
        for line, row in enumerate(within(table, _ROW), 1):
            if is_on(row, "trPr", "hidden") == "on":
                self._texts.left_out[HIDDEN] += 1
                continue
            above, spans, nested = self._row(row, above)
            rows.append(GridRow(f"{place}, row {line}", above, spans))
            inner[rows[-1].place] = [
                named(piece, next(filter(None, above), ""))
                for number, one in enumerate(nested, 1)
                for piece in self._table(one, f"{place}, row {line}, table {number}")
            ]
        marked = takewhile(lambda row: is_on(row, "trPr", "tblHeader") == "on", within(table, _ROW))
        for piece in grid_pieces(rows, sum(1 for _ in marked)):
            yield piece
            yield from inner.pop(piece.place, ())

    def _row(self, row: Any, above: list[str]) -> tuple[list[str], dict[int, int], list[Any]]:
        """The cells of a row by their columns, how many columns they span, and the tables in them. A cell that spans rows is
        repeated in each of them.
        """
        cells = [""] * row.grid_before
        spans: dict[int, int] = {}
        nested: list[Any] = []
        for cell in within(row, _CELL):
            column, columns = len(cells), max(cell.grid_span, 1)
            is_continued = cell.vMerge == "continue" and column < len(above)
            cells.append(above[column] if is_continued else self._cell(cell))
            nested += within(cell, _TABLE)
            if columns > 1:
                spans[column] = columns
                cells += [""] * (columns - 1)
        return cells, spans, nested

    def _cell(self, cell: Any) -> str:
        """The text of a cell; a semicolon separates the items of a list."""
        text = ""
        for paragraph in within(cell, _PARAGRAPH):
            line = squeeze(self._text(paragraph))
            follows_item = self.styles.role(paragraph).kind is BlockKind.ITEM and text and text[-1] not in ".:;,"
            text += f"{';' if follows_item and line else ''} {line}" if text and line else line
        return text

    def headers_and_footers(self) -> list[Piece]:
        """The headers and footers that are shown, each text once and without page numbers, below no heading."""
        pieces = [Piece(BlockKind.HEADING)]
        known: set[str] = set()
        for kind in ("header", "footer"):
            for part in self._shown_parts(f"{kind}Reference"):
                _remove_page_numbers(part)
                found = [piece for piece in self.blocks(part, f"page {kind}") if piece.text or piece.cells]
                text = "\n".join(piece.text or "\t".join(value for _, value in piece.cells) for piece in found)
                pieces += found if text.strip() and text not in known else []
                known.add(text)
        return pieces

    def _shown_parts(self, reference: str) -> Iterator[Any]:
        for section in self.document.element.body.iter(tag("sectPr")):
            for one in section.iter(tag(reference)):
                kind, name = one.get(tag("type")), one.get(_RELATION)
                first = kind != "first" or is_on(section, "titlePg") == "on"
                even = kind != "even" or self.document.settings.odd_and_even_pages_header_footer
                if first and even and name in self.document.part.rels:
                    yield self.document.part.rels[name].target_part.element


def _with_code_joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Adjacent paragraphs of code become one piece."""
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        if kind is BlockKind.CODE:
            first, *others = run
            yield replace(first, text="\n".join(piece.text for piece in (first, *others)))
        else:
            yield from run


def _remove_page_numbers(part: Any) -> None:
    """Remove the page numbers of a header or footer, and paragraphs with little else."""
    for paragraph in part.iter(_PARAGRAPH):
        numbers = [one for one in paragraph.iter(tag("fldSimple")) if _PAGE_FIELD.match(one.get(tag("instr"), ""))]
        state = ""
        for run in paragraph.iter(RUN):
            mark, code = find(run, "fldChar"), find(run, "instrText")
            if code is not None and state == "begin" and _PAGE_FIELD.match(code.text or ""):
                state = "page"
            elif mark is not None:
                kind = mark.get(tag("fldCharType"), "")
                state = state if state == "page" and kind == "separate" else kind
            elif state == "page":
                numbers.append(run)
        for number in numbers:
            number.getparent().remove(number)
        text = "".join(one.text or "" for one in paragraph.iter(tag("t")))
        if numbers and len(text.split()) <= _FURNITURE and not any(map(str.isdigit, text)):
            paragraph.getparent().remove(paragraph)


if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_PARAGRAPH, _RUN, _TABLE = map(tag, ("p", "r", "tbl"))
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_BOX = tag("txbxContent")
_CHOICE, _FALLBACK = (f"{_COMPATIBILITY}{name}" for name in ("Choice", "Fallback"))
_UNREAD = set(map(tag, ("del", "moveFrom")))
"""Elements of deleted text. Asides referred to there are not read either."""
PLACE = "place-of-aside"


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
        body.extend(_numbered(reference, note, roman(number), f"endnote {number}"))
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
    notes = {note.get(tag("id")): note for note in _notes(document, kind)}
    references = []
    for reference in document.element.body.iter(tag(f"{kind}Reference")):
        around = {element.tag for element in reference.iterancestors()}
        is_read = around.isdisjoint(_UNREAD) and around.issuperset((_RUN, _PARAGRAPH))
        if is_read and (name := reference.get(tag("id"))) in notes:
            references.append((reference, notes.pop(name)))
    return references


def _notes(document: WordDocument, kind: str) -> Iterator[Any]:
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external:
            yield from parse_xml(relation.target_part.blob).iter(tag(kind))


def _numbered(reference: Any, note: Any, number: str, place: str) -> list[Any]:
    """The paragraphs of a note. Its number is put before the first and at the reference, unless the reference has a custom mark,
    which the note repeats.
    """
    from docx.oxml import OxmlElement

    paragraphs = _paragraphs(note, place)
    if paragraphs and reference.get(tag("customMarkFollows")) in {None, "0", "false"}:
        mark = OxmlElement("w:t")
        mark.text = f"[{number}]"
        reference.addprevious(mark)
        _begin(paragraphs[0], f"[{number}] ")
    return paragraphs


def _signed(comment: Any, place: str) -> list[Any]:
    paragraphs = _paragraphs(comment, place)
    if paragraphs:
        _begin(paragraphs[0], f"{comment_head(comment.get(tag('author'), ''), comment.get(tag('date'), ''))}: ")
    return paragraphs


def _paragraphs(note: Any, place: str) -> list[Any]:
    return [_placed(part, place) for part in note.iter(_PARAGRAPH) if "".join(part.itertext()).strip()]


def _placed(block: Any, place: str) -> Any:
    block.set(PLACE, place)
    return block


def _begin(paragraph: Any, words: str) -> None:
    from docx.oxml import OxmlElement

    run, text = OxmlElement("w:r"), OxmlElement("w:t")
    text.text = words
    run.append(text)
    properties = paragraph.find(tag("pPr"))
    if properties is None:
        paragraph.insert(0, run)
    else:
        properties.addnext(run)
