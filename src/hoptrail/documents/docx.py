"""Parses Word files (.docx) into headings, paragraphs, list items, table rows, code and quotes, in document order.

Tracked changes count as accepted. Comments, text boxes, footnotes, charts and diagrams follow their paragraph; endnotes, then
headers and footers, each once, come last. A note begins with the number that stands in the text (`[1]`, for an endnote `[i]`), a
comment with its author and date; all are numbered in the order of the text, whatever numbers the file asks for. Pictures and
embedded files are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, takewhile
from typing import Any

from hoptrail.documents import office_text as office
from hoptrail.documents.archives import opened_office_file
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.docx_styles import Styles, find, is_on, roman, tag, value
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import HIDDEN, STRUCK, bold_headings
from hoptrail.documents.sheet_rows import GridRow, nested_pieces
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_PARAGRAPH, _TABLE, _ROW, _CELL, _RUN, _CONTROL = map(tag, ("p", "tbl", "tr", "tc", "r", "sdt"))
_FORMULAS = (f"{office.MATH}oMath", f"{office.MATH}oMathPara")
# Elements whose content python-docx skips, apart from hyperlinks. `del` and `moveFrom` are not here: their text was deleted.
_WRAPPERS = set(
    map(tag, word_set("ins moveTo sdt sdtContent customXml smartTag fldSimple hyperlink dir bdo ruby rubyBase"))
)
_CHARACTERS = frozenset(map(tag, ("t", "br", "cr", "tab", "ptab", "noBreakHyphen")))
"""The parts of a run that python-docx writes as text."""
_PROMPTS = "[not filled in]"
"""What a control shows that prompts for a text."""
_SPACES = re.compile(r"  +")
_NUMBER = re.compile(r"^(\[\w+\])\s+")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PAGE_FIELD = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")
_FURNITURE = 3
"""Words beside a page number that do not make it a text: `Page 1 of 3`."""


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its properties, else the first paragraph in the style Title) and blocks."""
    from docx import Document

    document, notes = opened_office_file(Document, data, limits, "Word", ".docx")
    body = _Body(document)
    title = body.title()
    _insert_asides(document)
    pieces = bold_headings(office.asides_after_lists(_with_code_joined(body.blocks(document.element.body))))
    pieces += office.below_no_heading(body.headers_and_footers())
    return assemble(title, pieces, [*notes, *body.notes()], limits.text)


class _Body:
    """Reads the blocks of a document, and counts its paragraphs, tables and drawings."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._styles = Styles(document)
        self._texts = _Texts(self._styles)
        self._paragraphs = self._tables = self._drawings = 0
        self._unread: list[str] = []

    def notes(self) -> list[str]:
        embedded = sum(1 for _ in self._document.element.body.iter(tag("altChunk")))
        return self._texts.notes() + self._unread + [f"{embedded} embedded files were left out"] * bool(embedded)

    def title(self) -> str:
        """The title of the properties, else the first paragraph in the style Title."""
        first = filter(self._styles.is_title, islice(_within(self._document.element.body, _PARAGRAPH), 20))
        texts = (text for paragraph in first if (text := _Texts(self._styles).paragraph(paragraph)).strip())
        return str(self._document.core_properties.title or "").strip() or next(texts, "")

    def blocks(self, container: Any, place: str = "") -> Iterator[Piece]:
        """Yield the paragraphs and rows of the body, or of a part that stands at one place. Paragraph numbers do not count
        asides. The paragraph after a deleted end of paragraph continues the one before it.
        """
        begun = ""
        for block in _within(container, _PARAGRAPH, _TABLE):
            if block.tag == _TABLE:
                self._tables += not place
                yield from self._table(block, place or f"table {self._tables}")
            elif is_on(block, "pPr", "rPr", "del") or is_on(block, "pPr", "rPr", "moveFrom"):
                begun += self._text(block)
                continue
            else:
                yield self._paragraph(block, begun, place or block.get(_PLACE_OF_ASIDE, ""))
                begun = ""
            for graphic in block.iter(office.GRAPHIC):
                self._drawings += 1
                yield from office.graphic_pieces(
                    graphic, self._document.part, f"drawing {self._drawings}", self._unread
                )
        yield Piece(BlockKind.PARAGRAPH, begun, place=place or f"paragraph {self._paragraphs}")

    def _text(self, paragraph: Any) -> str:
        label, text = self._styles.label(paragraph), self._texts.paragraph(paragraph)
        return f"{label} {text}" if label and text.strip() else text

    def _paragraph(self, block: Any, begun: str, aside: str) -> Piece:
        role, text = self._styles.role(block), begun + self._text(block)
        self._paragraphs += bool(text.strip()) and not aside
        place = aside or f"paragraph {self._paragraphs}"
        if role.kind is BlockKind.CODE:
            return replace(role, text=text, place=place)
        bold = not aside and self._styles.is_bold(block, _within(block, _RUN))
        return replace(role, text=_NUMBER.sub(r"\1 ", text.strip()) if aside else text, place=place, bold=bold)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        """Yield the rows of a table, of which the file may mark the first as headers."""
        marked = takewhile(lambda row: is_on(row, "trPr", "tblHeader") == "on", _within(table, _ROW))
        return nested_pieces(self._rows(table, place), sum(1 for _ in marked), self._table)

    def _rows(self, table: Any, place: str) -> Iterator[tuple[GridRow, list[Any]]]:
        """Yield the rows that are shown, each with the tables in its cells. A cell that spans rows is repeated in each."""
        above: list[str] = []
        for line, row in enumerate(_within(table, _ROW), 1):
            if is_on(row, "trPr", "hidden") == "on":
                self._texts.left_out[HIDDEN] += 1
                continue
            cells = [""] * row.grid_before
            spans: dict[int, int] = {}
            tables: list[Any] = []
            for cell in _within(row, _CELL):
                column, columns = len(cells), max(cell.grid_span, 1)
                is_continued = cell.vMerge == "continue" and column < len(above)
                cells += [above[column] if is_continued else self._cell(cell), *[""] * (columns - 1)]
                tables += _within(cell, _TABLE)
                if columns > 1:
                    spans[column] = columns
            above = cells
            yield GridRow(f"{place}, row {line}", cells, spans), tables

    def _cell(self, cell: Any) -> str:
        """The text of a cell; a semicolon separates the items of a list."""
        text = ""
        for paragraph in _within(cell, _PARAGRAPH):
            line = squeeze(self._text(paragraph))
            follows_item = self._styles.role(paragraph).kind is BlockKind.ITEM and text and text[-1] not in ".:;,"
            text += f"{';' if follows_item and line else ''} {line}" if text and line else line
        return text

    def headers_and_footers(self) -> Iterator[Iterator[Piece]]:
        """Yield the headers and footers that are shown, without page numbers."""
        for kind in ("header", "footer"):
            for part in self._shown_parts(f"{kind}Reference"):
                _remove_page_numbers(part)
                yield self.blocks(part, f"page {kind}")

    def _shown_parts(self, reference: str) -> Iterator[Any]:
        for section in self._document.element.body.iter(tag("sectPr")):
            for one in section.iter(tag(reference)):
                kind, name = one.get(tag("type")), one.get(_RELATION)
                first = kind != "first" or is_on(section, "titlePg") == "on"
                even = kind != "even" or self._document.settings.odd_and_even_pages_header_footer
                if first and even and name in self._document.part.rels:
                    yield self._document.part.rels[name].target_part.element


def _within(element: Any, *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags in `element` and its wrappers, in order. The XML parser bounds the depth."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, *tags)


class _Texts:
    """Reads paragraphs, and counts what is left out of them."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self.left_out: Counter[str] = Counter()
        self.unknown_signs = 0

    def notes(self) -> list[str]:
        notes = [note for note, count in self.left_out.items() if count]
        return notes + [f"{self.unknown_signs} symbols are unknown"] * bool(self.unknown_signs)

    def paragraph(self, paragraph: Any) -> str:
        if any(is_on(around, "sdtPr", "showingPlcHdr") == "on" for around in paragraph.iterancestors(_CONTROL)):
            return _PROMPTS
        before = self.left_out.total()
        text = self._text(paragraph, paragraph)
        return _SPACES.sub(" ", text) if self.left_out.total() > before else text

    def _text(self, element: Any, paragraph: Any) -> str:
        text = ""
        for part in _within(element, _RUN, _CONTROL, *_FORMULAS):
            if part.tag == _CONTROL:
                prompts = is_on(part, "sdtPr", "showingPlcHdr") == "on"
                text += _PROMPTS if prompts else self._text(part, paragraph)
            elif part.tag != _RUN:
                text += office.formula_text(part)
            else:
                text += self._run(part, paragraph, text) + self._text(part, paragraph)
        return text

    def _run(self, run: Any, paragraph: Any, before: str) -> str:
        text = "".join(map(_shown, run))
        for what, marks in ((HIDDEN, ("vanish",)), (STRUCK, ("strike", "dstrike"))):
            if text and any(self._styles.is_marked(run, paragraph, mark) for mark in marks):
                self.left_out[what] += bool(text.strip())
                return ""
        fonts = find(run, "rPr", "rFonts")
        if fonts is not None:
            text = office.symbols(text, fonts.get(tag("ascii")) or fonts.get(tag("hAnsi")) or "")
        self.unknown_signs += text.count(office.UNKNOWN_SIGN)
        place = value(run, "rPr", "vertAlign")
        is_shifted = place in {"superscript", "subscript"}
        return office.shifted(text, before, is_raised=place == "superscript") if is_shifted else text


def _shown(element: Any) -> str:
    """The text of a part of a run: of characters, breaks and symbols, and of the boxes and lists of old forms."""
    if element.tag == tag("sym"):
        return office.symbols(chr(int(element.get(tag("char"), "20"), 16)), element.get(tag("font"), ""))
    if element.tag == tag("fldChar"):
        return _field(element)
    return str(element) if element.tag in _CHARACTERS else ""


def _field(field: Any) -> str:
    box, choice = find(field, "ffData", "checkBox"), find(field, "ffData", "ddList")
    if box is not None:
        return "☒" if (is_on(box, "checked") or is_on(box, "default")) == "on" else "☐"
    if choice is None:
        return ""
    chosen = value(choice, "result") or value(choice, "default") or "0"
    entries = [entry.get(tag("val"), "") for entry in choice.iter(tag("listEntry"))]
    return entries[int(chosen)] if chosen.isdigit() and int(chosen) < len(entries) else ""


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
        for run in paragraph.iter(_RUN):
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


_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_BOX = tag("txbxContent")
_UNREAD = set(map(tag, ("del", "moveFrom")))
"""Elements of deleted text. Asides referred to there are not read either."""
_PLACE_OF_ASIDE = "place-of-aside"


def _insert_asides(document: Any) -> None:
    """Put the text boxes, notes and comments of a document into its body, each after the paragraph or table that it belongs to
    and what was put there before; endnotes at the end.
    """
    body = document.element.body
    last_after: dict[Any, Any] = {}
    for number, box in enumerate(_text_boxes(body), 1):
        _put_after(box, [block for block in box if block.tag in (_PARAGRAPH, _TABLE)], f"text box {number}", last_after)
    for kind in ("footnote", "endnote", "comment"):
        for number, (reference, note) in enumerate(_references(document, kind), 1):
            paragraphs = [part for part in note.iter(_PARAGRAPH) if "".join(part.itertext()).strip()]
            if paragraphs:
                _begin(paragraphs[0], _head(kind, number, reference, note))
            _put_after(body if kind == "endnote" else reference, paragraphs, f"{kind} {number}", last_after)


def _put_after(element: Any, blocks: Sequence[Any], place: str, last_after: dict[Any, Any]) -> None:
    above = [block for block in element.iterancestors() if block.tag in (_PARAGRAPH, _TABLE)]
    for block in blocks:
        block.set(_PLACE_OF_ASIDE, place)
        if above:
            last_after.get(above[-1], above[-1]).addnext(block)
            last_after[above[-1]] = block
        else:
            element.append(block)


def _text_boxes(body: Any) -> list[Any]:
    """The contents of the text boxes in order. The duplicates for older programs are removed."""
    for fallback in list(body.iter(f"{_COMPATIBILITY}Fallback")):
        choice = fallback.getparent().find(f"{_COMPATIBILITY}Choice")
        if choice is not None and next(choice.iter(_BOX), None) is not None:
            fallback.getparent().remove(fallback)
    boxes = ((box, {element.tag for element in box.iterancestors()}) for box in body.iter(_BOX))
    return [box for box, around in boxes if around.isdisjoint(_UNREAD) and _PARAGRAPH in around]


def _references(document: Any, kind: str) -> list[tuple[Any, Any]]:
    """The references to notes of this kind in order, each with its note. Repeated references to a note are left out."""
    from docx.oxml import parse_xml

    notes = {
        note.get(tag("id")): note
        for relation in document.part.rels.values()
        if relation.reltype == f"{_RELATIONSHIP}{kind}s" and not relation.is_external
        for note in parse_xml(relation.target_part.blob).iter(tag(kind))
    }
    references = []
    for reference in document.element.body.iter(tag(f"{kind}Reference")):
        around = {element.tag for element in reference.iterancestors()}
        is_read = around.isdisjoint(_UNREAD) and around.issuperset((_RUN, _PARAGRAPH))
        if is_read and (name := reference.get(tag("id"))) in notes:
            references.append((reference, notes.pop(name)))
    return references


def _head(kind: str, number: int, reference: Any, note: Any) -> str:
    """What is written before an aside. The number of a note is also put at its reference, unless that has a custom mark, which
    the note repeats.
    """
    from docx.oxml import OxmlElement

    if kind == "comment":
        return f"{office.comment_head(note.get(tag('author'), ''), note.get(tag('date'), ''))}: "
    if reference.get(tag("customMarkFollows")) not in {None, "0", "false"}:
        return ""
    mark = OxmlElement("w:t")
    mark.text = f"[{roman(number) if kind == 'endnote' else number}]"
    reference.addprevious(mark)
    return f"{mark.text} "


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
