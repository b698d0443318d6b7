"""Parses Word files (.docx) into headings, paragraphs, list items, table rows, code and quotes, in document order.

What stands apart from a paragraph follows it. A note begins with the number that stands in the text (`[1]`, for an endnote
`[i]`); all are numbered in the order of the text, whatever numbers the file asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby, takewhile
from typing import Any

from hoptrail.documents import office_text as office
from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.docx_styles import WORD, Styles, find, integer, is_on, tag, value
from hoptrail.documents.grids import OfficeGrid, Rows
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK, bold_headings
from hoptrail.documents.office_drawings import GRAPHIC, MATH, formula_text, graphic_pieces
from hoptrail.documents.office_package import Package, opened_package, relation_of
from hoptrail.documents.office_text import TextRun
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_PARAGRAPH, _TABLE, _ROW, _CELL, _RUN, _CONTROL = map(tag, ("p", "tbl", "tr", "tc", "r", "sdt"))
_FIELD, _BOX = map(tag, ("fldSimple", "txbxContent"))
_FORMULAS = (f"{MATH}oMath", f"{MATH}oMathPara")
# `del` and `moveFrom` are not here: their text was deleted.
_WRAPPED = word_set("ins moveTo sdt sdtContent customXml smartTag fldSimple hyperlink dir bdo ruby rubyBase")
_WRAPPERS = set(map(tag, _WRAPPED))
_CHARACTERS = {"br": "\n", "cr": "\n", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_PROMPTS = "[not filled in]"  # what a control shows that prompts for a text
_PAGE_FIELD = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b")


def parse_docx(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its properties, else the first paragraph in the style Title) and blocks."""
    with opened_package(data, limits, "Word", ".docx", "word/document.xml") as package:
        reader = _WordReader(package)
        pieces = bold_headings(office.asides_after_lists(_with_code_joined(reader.body())))
        pieces += office.below_no_heading(reader.headers_and_footers())
        return assemble(package.title or reader.title, pieces, reader.notes, limits.text)


class _WordReader(office.OfficeReader):
    def __init__(self, package: Package) -> None:
        super().__init__(package.notes)
        self._package, self._part = package, package.main
        self._styles = Styles(package)
        parts = {kind: package.parts(self._part, f"{kind}s") for kind in ("footnote", "endnote", "comment")}
        found = ((kind, one) for kind, roots in parts.items() for root in roots for one in root.iter(tag(kind)))
        self._apart_by_id = {(kind, one.get(tag("id"))): one for kind, one in found}
        self._document = package.root(self._part)
        self._field = ""
        self._unknown_signs = 0
        self.title = ""

    def body(self) -> Iterator[Piece]:
        body = find(self._document, "body")
        if body is None:
            raise Unreadable("is not a Word file, or a damaged one: it has no body")
        yield from self.blocks(body)
        yield from self.apart(ended=True)
        embedded = sum(1 for _ in body.iter(tag("altChunk")))
        self.notes += [f"{self._unknown_signs} symbols are unknown"] * bool(self._unknown_signs)
        self.notes += [f"{embedded} embedded files were left out"] * bool(embedded)

    def blocks(self, element: Any, place: str = "") -> Iterator[Piece]:
        """Yield what is in an element. The paragraph after a deleted end of paragraph, or a large first letter, continues the one
        before it, but no heading continues a letter.
        """
        if element.tag == GRAPHIC:
            yield from graphic_pieces(element, self._package, self._part, place)
        begun, after_letter = "", False
        for block in _within(element, _PARAGRAPH, _TABLE):
            is_empty = after_letter and next(block.iter(_RUN, *_FORMULAS), None) is None
            if block.tag == _PARAGRAPH and (is_empty or self._styles.is_contents(block)):
                continue
            if block.tag == _TABLE:
                yield from self._table(block, self.place("table", place))
            elif _is_letter(block) or any(is_on(block, "pPr", "rPr", mark) for mark in ("del", "moveFrom")):
                begun, after_letter = begun + self._text(block)[0], _is_letter(block)
                continue
            else:
                if after_letter and self._styles.role(block).kind is BlockKind.HEADING:
                    yield Piece(BlockKind.PARAGRAPH, begun, place=self.place("paragraph", place))
                    begun = ""
                yield self._paragraph(block, begun, place)
                begun, after_letter = "", False
            yield from self.apart(place)
        yield Piece(BlockKind.PARAGRAPH, begun, place=place or self.place("paragraph"))

    def _paragraph(self, block: Any, begun: str, outer: str) -> Piece:
        role, (text, bold) = self._styles.role(block), self._text(block)
        if not self.title and self._styles.is_title(block):
            self.title = squeeze("".join(one.text or "" for one in block.iter(tag("t"))))
        text = begun + text
        place = self.place("paragraph", outer) if text.strip() else outer
        return replace(role, text=text, place=place, bold=bold and role.kind is not BlockKind.CODE)

    def _text(self, paragraph: Any) -> tuple[str, bool]:
        """The text of a paragraph after its automatic number, and whether it is bold."""
        label, prompts = self._styles.label(paragraph), any(map(_prompts, paragraph.iterancestors(_CONTROL)))
        text, bold = (_PROMPTS, False) if prompts else office.shown(self._runs(paragraph, paragraph), self.notes)
        return f"{label} {text}" if label and text.strip() else text, bold

    def _runs(self, element: Any, paragraph: Any) -> Iterator[TextRun]:
        for part in _within(element, _RUN, _CONTROL, _FIELD, *_FORMULAS):
            if part.tag == _RUN:
                yield self._run(part, paragraph)
            if part.tag in _FORMULAS:
                yield TextRun(formula_text(part))
            elif part.tag == _CONTROL and _prompts(part):
                yield TextRun(_PROMPTS)
            elif part.tag == _FIELD and _PAGE_FIELD.match(part.get(tag("instr"), "")):
                yield TextRun(office.PAGE_NUMBER)
            else:
                yield from self._runs(part, paragraph)

    def _run(self, run: Any, paragraph: Any) -> TextRun:
        text = "".join(map(self._shown, run))
        marks = {"vanish": HIDDEN, "strike": STRUCK, "dstrike": STRUCK, "b": ""} if text else {}
        marked = [mark for mark in marks if self._styles.is_marked(run, paragraph, mark)]
        why = next((marks[mark] for mark in marked), "")
        fonts, shift = find(run, "rPr", "rFonts"), value(run, "rPr", "vertAlign")
        if fonts is not None:
            text = office.symbols(text, fonts.get(tag("ascii")) or fonts.get(tag("hAnsi")) or "")
        self._unknown_signs += 0 if why else text.count(office.UNKNOWN_SIGN)
        return TextRun(text, why, (shift == "superscript") - (shift == "subscript"), "b" in marked)

    def _shown(self, element: Any) -> str:
        """The text of a part of a run. What is drawn or noted there is set apart."""
        name = str(element.tag).removeprefix(WORD)
        if name in {"fldChar", "instrText"}:
            return self._shown_field(element)
        if self._field == "page":
            return ""
        if name == "t":
            return element.text or ""
        if name == "sym":
            return office.symbols(chr(int(element.get(tag("char"), "20"), 16)), element.get(tag("font"), ""))
        if name.endswith("Reference"):
            return self._reference(element, name.removesuffix("Reference"))
        if name in {"drawing", "pict", "object"}:
            self._draw(element)
        return _CHARACTERS.get(name, "")

    def _shown_field(self, field: Any) -> str:
        """The state of a box or list of old forms, and in place of the number of a page its sign."""
        if field.tag == tag("instrText"):
            is_page = self._field == "begin" and _PAGE_FIELD.match(field.text or "")
            self._field = "page" if is_page else self._field
            return office.PAGE_NUMBER if is_page else ""
        kind = field.get(tag("fldCharType"), "")
        self._field = self._field if self._field == "page" and kind == "separate" else kind
        box, choice = find(field, "ffData", "checkBox"), find(field, "ffData", "ddList")
        if box is not None:
            return "☒" if (is_on(box, "checked") or is_on(box, "default")) == "on" else "☐"
        if choice is None:
            return ""
        chosen = integer(value(choice, "result") or value(choice, "default"))
        entries = [entry.get(tag("val"), "") for entry in choice.iter(tag("listEntry"))]
        return entries[chosen] if chosen < len(entries) else ""

    def _reference(self, reference: Any, kind: str) -> str:
        """Set what is referred to apart when this happens first. The mark of a note, unless it has one of its own."""
        element = self._apart_by_id.pop((kind, reference.get(tag("id"))), None)
        if element is None:
            return ""
        if kind == "comment":
            head = office.comment_head(element.get(tag("author"), ""), element.get(tag("date"), ""))
            self.set_apart(kind, element, f"{head}: ")
            return ""
        return self.note(kind, element, marked=reference.get(tag("customMarkFollows")) in {None, "0", "false"})

    def _draw(self, element: Any) -> None:
        for part in element:
            if part.tag in {_BOX, GRAPHIC}:
                self.set_apart("text box" if part.tag == _BOX else "drawing", part)
            if part.tag != _BOX:
                self._draw(part)

    def _table(self, table: Any, place: str) -> Iterator[Piece]:
        """Yield the rows of a table, of which the file may mark the first as headers."""
        marked = takewhile(lambda row: is_on(row, "trPr", "tblHeader") == "on", _within(table, _ROW))
        grid = OfficeGrid(place, self._package.limits, self.notes)
        return grid.table(self._rows(table, grid), sum(1 for _ in marked) or None, self._table)

    def _rows(self, table: Any, grid: OfficeGrid) -> Rows:
        above: dict[int, str] = {}
        for number, row in enumerate(_within(table, _ROW)):
            if is_on(row, "trPr", "hidden") == "on":
                self.notes += [HIDDEN] * (HIDDEN not in self.notes)
                continue
            cells: dict[int, str] = {}
            column = integer(value(row, "trPr", "gridBefore"))
            for cell in _within(row, _CELL):
                merge, width = find(cell, "tcPr", "vMerge"), max(1, integer(value(cell, "tcPr", "gridSpan")))
                is_continued = merge is not None and merge.get(tag("val"), "continue") == "continue"
                cells[column] = above[column] if is_continued and column in above else self._cell(cell)
                grid.nest(number, _within(cell, _TABLE))
                grid.merge(number, column, number, column + width - 1)
                column += width
            above = cells
            yield number, cells, False

    def _cell(self, cell: Any) -> str:
        """The text of a cell; a semicolon separates the items of a list."""
        text = ""
        for paragraph in _within(cell, _PARAGRAPH):
            line = squeeze(self._text(paragraph)[0])
            follows_item = self._styles.role(paragraph).kind is BlockKind.ITEM and text[-1:] not in set(".:;,")
            text += f"{';' if follows_item else ''} {line}" if text and line else line
        return text

    def headers_and_footers(self) -> Iterator[Iterator[Piece]]:
        main = self._package.main
        alternate = any(is_on(one, "evenAndOddHeaders") == "on" for one in self._package.parts(main, "settings"))
        for kind in ("header", "footer"):
            parts = self._package.related(main, kind)
            for section in self._document.iter(tag("sectPr")):
                shown = {"first": is_on(section, "titlePg") == "on", "even": alternate}
                for one in section.iter(tag(f"{kind}Reference")):
                    if shown.get(one.get(tag("type")), True) and relation_of(one) in parts:
                        self._part = parts[relation_of(one)]
                        yield self.blocks(self._package.root(self._part), f"page {kind}")


def _within(element: Any, *tags: str) -> Iterator[Any]:
    """Yield the elements with these tags in `element` and its wrappers, in order."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, *tags)


def _is_letter(paragraph: Any) -> bool:
    """Whether this is the large first letter of the next paragraph."""
    frame = find(paragraph, "pPr", "framePr")
    return frame is not None and frame.get(tag("dropCap"), "none") != "none"


def _prompts(control: Any) -> bool:
    return is_on(control, "sdtPr", "showingPlcHdr") == "on"


def _with_code_joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        if kind is BlockKind.CODE:
            first, *others = run
            yield replace(first, text="\n".join(piece.text for piece in (first, *others)))
        else:
            yield from run
