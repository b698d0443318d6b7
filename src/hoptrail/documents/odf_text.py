"""Reads the text of OpenDocument files: a paragraph as it is shown, what belongs to it but stands apart, and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.office_text import comment_head, shifted
from hoptrail.documents.sheet_rows import GridRow
from hoptrail.text.normal_forms import squeeze

_NAMES = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
OFFICE, TEXT, TABLE, DRAW, STYLE, FORM, PRESENTATION = (
    f"{{{_NAMES.format(name)}}}" for name in ("office", "text", "table", "drawing", "style", "form", "presentation")
)
SVG, FO = (f"{{{_NAMES.format(name)}}}" for name in ("svg-compatible", "xsl-fo-compatible"))
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
LINK = "{http://www.w3.org/1999/xlink}href"
_SPACE = re.compile(r"[ \t\r\n]+")
_DEEPEST_STYLE = 20
"""Styles in a chain of inheritance; a longer chain is a cycle."""
_WITHOUT_TEXT = {
    *(f"{TEXT}{name}" for name in ("page-number", "page-count", "tracked-changes", "number", "ruby-text")),
    f"{OFFICE}forms",
}
"""Page numbers, deleted text, and what is written otherwise."""


class OdfStyles:
    """The styles of a file, which inherit from each other. `roots` are those of the parts with styles."""

    def __init__(self, *roots: Any) -> None:
        self._styles = {
            (one.get(f"{STYLE}family"), one.get(f"{STYLE}name")): one
            for root in roots
            for one in root.iter(f"{STYLE}style")
        }
        self._ordered = {
            (one.get(f"{STYLE}name"), int(level.get(f"{TEXT}level", "1")))
            for root in roots
            for one in root.iter(f"{TEXT}list-style")
            for level in one.iter(f"{TEXT}list-level-style-number")
        }

    def chain(self, family: str, name: str | None) -> Iterator[Any]:
        """A style and those that it inherits from."""
        for _ in range(_DEEPEST_STYLE):
            style = self._styles.get((family, name))
            if style is None:
                return
            yield style
            name = style.get(f"{STYLE}parent-style-name")

    def value(self, family: str, name: str | None, attribute: str) -> str:
        """A property by its attribute; empty if no style of the chain has it."""
        properties = (one for style in self.chain(family, name) for one in style)
        return next((value for one in properties if (value := one.get(attribute)) is not None), "")

    def names(self, family: str, name: str | None) -> list[str]:
        """The names of a style and of those that it inherits from, as a person sees them."""
        return [
            style.get(f"{STYLE}display-name") or style.get(f"{STYLE}name", "").replace("_20_", " ")
            for style in self.chain(family, name)
        ]

    def is_ordered(self, list_style: str | None, level: int) -> bool:
        """Whether a list numbers its items at this level from 1."""
        return (list_style, level) in self._ordered


@dataclass(frozen=True, slots=True)
class Aside:
    """What stands apart from its paragraph: the words before its text, its element, and its place."""

    head: str
    element: Any
    place: str


@dataclass(slots=True)
class OdfText:
    """Reads paragraphs, and counts what is left out of them. `controls`: what the controls of forms show, by their ids;
    `formulas`: those of embedded objects, by their folder.
    """

    styles: OdfStyles
    controls: Mapping[str, str]
    formulas: Mapping[str, str]
    left_out: Counter[str] = field(default_factory=Counter)
    asides: list[Aside] = field(default_factory=list)
    """Those of the paragraphs read so far, for the caller to take."""
    _counts: dict[str, int] = field(default_factory=dict)

    def paragraph(self, element: Any) -> str:
        """The text of a paragraph, heading or shape."""
        style = element.get(f"{TEXT}style-name")
        return "" if self._is_left_out("paragraph", style, element) else self._inline(element, "").strip(" ")

    def annotation(self, comment: Any) -> None:
        """Add a comment to the asides."""
        author, date = (comment.findtext(f"{DUBLIN_CORE}{name}") or "" for name in ("creator", "date"))
        for name in ("creator", "date"):
            for one in comment.findall(f"{DUBLIN_CORE}{name}"):
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
        if child.tag == f"{OFFICE}annotation":
            self.annotation(child)
        elif child.tag == f"{DRAW}control":
            return self.controls.get(child.get(f"{DRAW}control", ""), "")
        elif child.tag.startswith(DRAW) and child.tag != f"{DRAW}a":
            return self._drawn(child)
        elif child.tag not in _WITHOUT_TEXT and not child.tag.startswith(OFFICE):
            return self._marked(child, before)
        return ""

    def _marked(self, child: Any, before: str) -> str:
        match child.tag.removeprefix(TEXT):
            case "s":
                return " " * min(int(child.get(f"{TEXT}c", "1")), 100)
            case "tab" | "line-break" as name:
                return "\t" if name == "tab" else "\n"
            case "note":
                number = self._aside(child.get(f"{TEXT}note-class", "footnote"), child.find(f"{TEXT}note-body"))
                return f"[{number}]"
            case "hidden-text" | "hidden-paragraph":
                self.left_out[HIDDEN] += 1
                return ""
            case "span":
                return self._span(child, before)
        return self._inline(child, before)

    def _span(self, span: Any, before: str) -> str:
        style = span.get(f"{TEXT}style-name")
        if self._is_left_out("text", style, span):
            return ""
        text, position = self._inline(span, before), self.styles.value("text", style, f"{STYLE}text-position")
        is_shifted = bool(position) and not position.startswith("0")
        return shifted(text, before, is_raised=not position.startswith(("sub", "-"))) if is_shifted else text

    def _drawn(self, shape: Any) -> str:
        links = [one.get(LINK, "").removeprefix("./") for one in shape.iter(f"{DRAW}object")]
        if formula := next((self.formulas[link] for link in links if link in self.formulas), ""):
            return formula
        self._aside("drawing", shape)
        return ""

    def _aside(self, kind: str, element: Any, head: str = "") -> int:
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        if element is not None:
            self.asides.append(
                Aside(head or (f"[{number}] " if kind.endswith("note") else ""), element, f"{kind} {number}")
            )
        return number

    def _is_left_out(self, family: str, style: str | None, element: Any) -> bool:
        marks = {HIDDEN: f"{TEXT}display", STRUCK: f"{STYLE}text-line-through-style"}
        for what, attribute in marks.items():
            value = self.styles.value(family, style, attribute)
            if value not in {"", "true"} and (what == HIDDEN) == (value == "none"):
                self.left_out[what] += bool(squeeze("".join(element.itertext())))
                return True
        return False

    def notes(self) -> list[str]:
        """Notes on what was left out of the paragraphs read so far."""
        return [note for note, count in self.left_out.items() if count]


_COLUMNS = 16384
"""The most columns of a sheet."""


@dataclass(slots=True)
class OdfTables:
    """Reads tables. `hidden`: notes on what is not shown of them; `nested`: the tables in cells of the row read last, for the
    caller to take.
    """

    text: OdfText
    limits: ReadingLimits
    hidden: list[str] = field(default_factory=list)
    nested: list[Any] = field(default_factory=list)

    def rows(self, table: Any) -> Iterator[GridRow]:
        """Yield the rows that are shown, each at `row N`. A cell that spans rows is repeated in each of them. Comments
        wait among the asides of the text.
        """
        columns = _is_shown(table)
        above: dict[int, tuple[int, str]] = {}
        number = 0
        for row in table.iter(f"{TABLE}table-row"):
            if next(row.iterancestors(f"{TABLE}table")) is not table:
                continue
            times = min(int(row.get(f"{TABLE}number-rows-repeated", "1")), 2**20)
            cells, spans = self._cells(row, columns, above)
            place = f"row {number + 1}"
            if row.get(f"{TABLE}visibility", "visible") != "visible":
                self._count_hidden(table, "rows", any(cells))
                self.text.asides.clear()
            elif any(map(str.strip, cells)):
                for repeated in range(min(times, self.limits.rows + 1)):
                    yield GridRow(f"row {number + repeated + 1}", cells, spans or None)
            else:
                yield GridRow(place, ())
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
            if cell.tag not in {f"{TABLE}table-cell", f"{TABLE}covered-table-cell"}:
                continue
            text = squeeze(" ".join(self._cell_lines(cell)))
            times = min(int(cell.get(f"{TABLE}number-columns-repeated", "1")), _COLUMNS - position)
            for column in range(position, position + times):
                remaining, spanned = above.pop(column, (0, ""))
                if cell.tag.endswith("covered-table-cell"):
                    text = spanned
                if remaining > 1:
                    above[column] = remaining - 1, spanned
                rows, width = (int(cell.get(f"{TABLE}number-{name}-spanned", "1")) for name in ("rows", "columns"))
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
            if child.tag in {f"{TEXT}p", f"{TEXT}h"}:
                yield self.text.paragraph(child)
            elif child.tag == f"{OFFICE}annotation":
                self.text.annotation(child)
            elif child.tag == f"{TABLE}table":
                self.nested.append(child)
            elif child.tag == f"{TEXT}list":
                yield "; ".join(filter(None, self._cell_lines(child)))
            elif child.tag in {f"{TEXT}list-item", f"{TEXT}section"}:
                yield from self._cell_lines(child)

    def _count_hidden(self, element: Any, what: str, has_text: bool) -> None:
        name = next(
            (one.get(f"{TABLE}name", "") for one in [element, *element.iterancestors()] if one.tag == f"{TABLE}table"),
            "",
        )
        note = f"sheet {name}: hidden {what} were left out"
        if has_text and note not in self.hidden:
            self.hidden.append(note)


def _is_shown(table: Any) -> list[bool]:
    """Whether each column of a table is shown, as far as it says so."""
    shown: list[bool] = []
    for column in table.iter(f"{TABLE}table-column"):
        times = min(int(column.get(f"{TABLE}number-columns-repeated", "1")), _COLUMNS - len(shown))
        shown += [column.get(f"{TABLE}visibility", "visible") == "visible"] * times
    return shown
