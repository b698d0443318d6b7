"""Reads the text of OpenDocument files: a paragraph as it is shown, what belongs to it but stands apart, and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.office_text import comment_head, inherited, shifted
from hoptrail.documents.sheet_rows import GridRow
from hoptrail.text.normal_forms import squeeze

_NAMES = {"draw": "drawing", "svg": "svg-compatible", "fo": "xsl-fo-compatible"}
"""The names of namespaces that differ from the usual prefixes."""
_OTHERS = {"dc": "http://purl.org/dc/elements/1.1/", "xlink": "http://www.w3.org/1999/xlink"}


@cache
def tag(name: str) -> str:
    """The tag of an element or attribute with a short name such as `text:p`."""
    prefix, _, local = name.partition(":")
    space = _OTHERS.get(prefix) or f"urn:oasis:names:tc:opendocument:xmlns:{_NAMES.get(prefix, prefix)}:1.0"
    return f"{{{space}}}{local}"


DRAW, _OFFICE, _TEXT = tag("draw:"), tag("office:"), tag("text:")
"""How the tags of drawings, of what belongs to the office, and of text begin."""
_SPACE = re.compile(r"[ \t\r\n]+")
_WITHOUT_TEXT = {
    *(f"{_TEXT}{name}" for name in ("page-number", "page-count", "tracked-changes", "number", "ruby-text")),
    tag("office:forms"),
}
"""Page numbers, deleted text, and what is written otherwise."""


class OdfStyles:
    """The styles of a file, which inherit from each other. `roots` are those of the parts with styles."""

    def __init__(self, *roots: Any) -> None:
        self._styles = {
            (one.get(tag("style:family")), one.get(tag("style:name"))): one
            for root in roots
            for one in root.iter(tag("style:style"))
        }
        self._ordered = {
            (one.get(tag("style:name")), int(level.get(tag("text:level"), "1")))
            for root in roots
            for one in root.iter(tag("text:list-style"))
            for level in one.iter(tag("text:list-level-style-number"))
        }

    def chain(self, family: str, name: str | None) -> Iterator[Any]:
        """A style and those that it inherits from."""
        first = self._styles.get((family, name))
        return inherited(first, lambda style: self._styles.get((family, style.get(tag("style:parent-style-name")))))

    def value(self, family: str, name: str | None, attribute: str) -> str:
        """A property by its attribute (`fo:font-weight`); empty if no style of the chain has it."""
        properties = (one for style in self.chain(family, name) for one in style)
        return next((value for one in properties if (value := one.get(tag(attribute))) is not None), "")

    def names(self, family: str, name: str | None) -> list[str]:
        """The names of a style and of those that it inherits from, as a person sees them."""
        return [
            style.get(tag("style:display-name")) or style.get(tag("style:name"), "").replace("_20_", " ")
            for style in self.chain(family, name)
        ]

    def is_ordered(self, list_style: str | None, level: int) -> bool:
        """Whether a list numbers its items at this level from 1."""
        return (list_style, level) in self._ordered


@dataclass(slots=True)
class OdfText:
    """Reads paragraphs, and counts what is left out of them. `controls`: what the controls of forms show, by their ids;
    `formulas`: those of embedded objects, by their folder.
    """

    styles: OdfStyles
    controls: Mapping[str, str]
    formulas: Mapping[str, str]
    left_out: Counter[str] = field(default_factory=Counter)
    asides: list[tuple[str, Any, str]] = field(default_factory=list)
    """What stands apart from the paragraphs read so far, for the caller to take: the words before its text, its element and its
    place."""
    _counts: Counter[str] = field(default_factory=Counter)

    def paragraph(self, element: Any) -> str:
        """The text of a paragraph, heading or shape."""
        style = element.get(tag("text:style-name"))
        return "" if self._is_left_out("paragraph", style, element) else self._inline(element, "").strip(" ")

    def annotation(self, comment: Any) -> None:
        author, date = (comment.findtext(tag(name)) or "" for name in ("dc:creator", "dc:date"))
        for one in [*comment.findall(tag("dc:creator")), *comment.findall(tag("dc:date"))]:
            comment.remove(one)
        self._aside("comment", comment, f"{comment_head(author, date)}: ")

    def _inline(self, element: Any, before: str) -> str:
        text = _SPACE.sub(" ", element.text or "")
        for child in element:
            if isinstance(child.tag, str):
                text += self._child(child, before + text)
            text += _SPACE.sub(" ", child.tail or "")
        return text

    def _child(self, child: Any, before: str) -> str:
        if child.tag == tag("office:annotation"):
            self.annotation(child)
        elif child.tag == tag("draw:control"):
            return self.controls.get(child.get(tag("draw:control"), ""), "")
        elif child.tag.startswith(DRAW) and child.tag != tag("draw:a"):
            links = (one.get(tag("xlink:href"), "").removeprefix("./") for one in child.iter(tag("draw:object")))
            if formula := next((self.formulas[link] for link in links if link in self.formulas), ""):
                return formula
            self._aside("drawing", child)
        elif child.tag not in _WITHOUT_TEXT and not child.tag.startswith(_OFFICE):
            return self._marked(child, before)
        return ""

    def _marked(self, child: Any, before: str) -> str:
        match child.tag.removeprefix(_TEXT):
            case "s":
                return " " * min(int(child.get(tag("text:c"), "1")), 100)
            case "tab" | "line-break" as name:
                return "\t" if name == "tab" else "\n"
            case "note":
                number = self._aside(child.get(tag("text:note-class"), "footnote"), child.find(tag("text:note-body")))
                return f"[{number}]"
            case "hidden-text" | "hidden-paragraph":
                self.left_out[HIDDEN] += 1
                return ""
            case "span":
                return self._span(child, before)
        return self._inline(child, before)

    def _span(self, span: Any, before: str) -> str:
        style = span.get(tag("text:style-name"))
        if self._is_left_out("text", style, span):
            return ""
        text, position = self._inline(span, before), self.styles.value("text", style, "style:text-position")
        is_shifted = bool(position) and not position.startswith("0")
        return shifted(text, before, is_raised=not position.startswith(("sub", "-"))) if is_shifted else text

    def _aside(self, kind: str, element: Any, head: str = "") -> int:
        self._counts[kind] += 1
        number = self._counts[kind]
        if element is not None:
            head = f"[{number}] " if kind.endswith("note") else head
            self.asides.append((head, element, f"{kind} {number}"))
        return number

    def _is_left_out(self, family: str, style: str | None, element: Any) -> bool:
        marks = {HIDDEN: "text:display", STRUCK: "style:text-line-through-style"}
        for what, attribute in marks.items():
            value = self.styles.value(family, style, attribute)
            if value not in {"", "true"} and (what == HIDDEN) == (value == "none"):
                self.left_out[what] += bool(squeeze("".join(element.itertext())))
                return True
        return False

    def notes(self) -> list[str]:
        return [note for note, count in self.left_out.items() if count]


_COLUMNS = 16384
"""The most columns of a sheet."""


@dataclass(slots=True)
class OdfTables:
    """Reads tables. `hidden`: notes on what is not shown of them."""

    text: OdfText
    limits: ReadingLimits
    hidden: list[str] = field(default_factory=list)
    _nested: list[Any] = field(default_factory=list)

    def rows(self, table: Any) -> Iterator[tuple[GridRow, list[Any]]]:
        """Yield the rows that are shown, each at `row N`, with the tables in their cells. A cell that spans rows is repeated in
        each of them. Comments wait among the asides of the text.
        """
        columns = _is_shown(table)
        above: dict[int, tuple[int, str]] = {}
        number = 0
        for row in table.iter(tag("table:table-row")):
            if next(row.iterancestors(tag("table:table"))) is not table:
                continue
            times = min(int(row.get(tag("table:number-rows-repeated"), "1")), 2**20)
            self._nested = []
            cells, spans = self._cells(row, columns, above)
            if row.get(tag("table:visibility"), "visible") != "visible":
                self._count_hidden(table, "rows", any(cells))
                self.text.asides.clear()
            elif any(map(str.strip, cells)):
                for repeated in range(min(times, self.limits.rows + 1)):
                    yield GridRow(f"row {number + repeated + 1}", cells, spans or None), self._nested
                    self._nested = []
            else:
                yield GridRow(f"row {number + 1}", ()), self._nested
            number += times

    def _cells(
        self, row: Any, columns: list[bool], above: dict[int, tuple[int, str]]
    ) -> tuple[list[str], dict[int, int]]:
        """The texts of the shown cells of a row, and how many columns they span. `above`: by their column, the rows that cells
        still span and their text.
        """
        cells: list[str] = []
        spans: dict[int, int] = {}
        position, blanks = 0, 0
        for cell in row:
            if cell.tag not in {tag("table:table-cell"), tag("table:covered-table-cell")}:
                continue
            text = squeeze(" ".join(self._cell_lines(cell)))
            times = min(int(cell.get(tag("table:number-columns-repeated"), "1")), _COLUMNS - position)
            for column in range(position, position + times):
                remaining, spanned = above.pop(column, (0, ""))
                if cell.tag.endswith("covered-table-cell"):
                    text = spanned
                if remaining > 1:
                    above[column] = remaining - 1, spanned
                rows, width = (int(cell.get(tag(f"table:number-{name}-spanned"), "1")) for name in ("rows", "columns"))
                if rows > 1:
                    above[column] = rows - 1, text
                if column < len(columns) and not columns[column]:
                    self._count_hidden(row.getparent(), "columns", bool(text))
                    continue
                if width > 1:
                    spans[len(cells) + blanks] = width
                if text:
                    cells += [*[""] * blanks, text]
                    blanks = 0
                else:
                    blanks += 1
            position += times
        width = max((start + columns for start, columns in spans.items()), default=0)
        return cells + [""] * max(0, min(width, _COLUMNS) - len(cells)), spans

    def _cell_lines(self, cell: Any) -> Iterator[str]:
        for child in cell:
            if child.tag in {tag("text:p"), tag("text:h")}:
                yield self.text.paragraph(child)
            elif child.tag == tag("office:annotation"):
                self.text.annotation(child)
            elif child.tag == tag("table:table"):
                self._nested.append(child)
            elif child.tag == tag("text:list"):
                yield "; ".join(filter(None, self._cell_lines(child)))
            elif child.tag in {tag("text:list-item"), tag("text:section")}:
                yield from self._cell_lines(child)

    def _count_hidden(self, element: Any, what: str, has_text: bool) -> None:
        tables = (one for one in [element, *element.iterancestors()] if one.tag == tag("table:table"))
        name = next((one.get(tag("table:name"), "") for one in tables), "")
        note = f"sheet {name}: hidden {what} were left out"
        if has_text and note not in self.hidden:
            self.hidden.append(note)


def _is_shown(table: Any) -> list[bool]:
    """Whether each column of a table is shown, as far as it says so."""
    shown: list[bool] = []
    for column in table.iter(tag("table:table-column")):
        times = min(int(column.get(tag("table:number-columns-repeated"), "1")), _COLUMNS - len(shown))
        shown += [column.get(tag("table:visibility"), "visible") == "visible"] * times
    return shown
