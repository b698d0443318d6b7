"""The state of a manual page that is being read: its open paragraph, example, items and indentation, which become pieces."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from hoptrail.documents.blocks import Piece
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.man.mdoc import MACROS, Mdoc, Words
from hoptrail.documents.man.roff import Roff, RoffLine, arguments
from hoptrail.documents.markup import Flow, OpenTable, TableCell
from hoptrail.types import BlockKind

TAG, LONG_TAG = 8, 9
"""What the next line is instead of text, as `Page.expected`: a tag of an item, or a heading of the level 1 or 2. A long tag has
several lines."""
_ALTERNATING = frozenset(("BR", "RB", "IR", "RI", "BI", "IB"))
_BULLET = re.compile(r"[-–—•·○□▪∗*o+⋅]")
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\)?")
_DEEPEST = 100


@dataclass(slots=True)
class Page:
    """`bases`: the number of open lists outside each open indentation. What is indented belongs to the open item, if there is
    one.
    """

    roff: Roff = field(default_factory=Roff)
    flow: Flow = field(default_factory=Flow)
    words: Words = field(default_factory=Words)
    bases: list[int] = field(default_factory=lambda: [0])
    code: list[str] | None = None
    expected: int = 0
    is_hanging: bool = False
    """The paragraph may be the tag of the next one."""
    lines: int | None = None
    """Lines of a paragraph that may be the tag of an indented one; None for other paragraphs."""
    place: str = ""
    summary: str = ""
    """The first paragraph: names of the page and what it is about."""
    mdoc: Mdoc = field(init=False)
    _goes_on: bool = False

    def __post_init__(self) -> None:
        self.mdoc = Mdoc(self.roff.visible)

    def shown(self, line: RoffLine) -> list[str]:
        """The arguments of a line without escapes."""
        return [self.roff.visible(one) for one in arguments(line.rest)]

    def inline(self, line: RoffLine) -> str:
        """The text of a line, or of a macro within the text."""
        if not line.macro:
            return self.roff.visible(line.rest)
        words = Words()
        self._write_macro(line, words)
        return words.take()

    def write(self, line: RoffLine) -> None:
        """Add a line to the paragraph, example or tag."""
        if not (self.words or self.code):
            self.place = f"line {line.number}"
        goes_on = line.rest.endswith("\\c")
        if self.code is not None and not self.expected:
            text = self.inline(line).rstrip()
            if self._goes_on and self.code:
                self.code[-1] += text
            else:
                self.code.append(text)
        elif line.macro:
            self._write_macro(line, self.words)
        else:
            if line.rest[0] in " \t" and not self.expected:
                self.words.break_line()
            text = self.roff.visible(line.rest)
            self.words.add(text.lstrip() if goes_on else text.strip())
        self.words.glued = self.words.glued or (goes_on and self.code is None)
        self._goes_on = goes_on
        self.lines = None if self.lines is None else self.lines + 1
        if self.expected not in {0, LONG_TAG} and self.words and not goes_on:
            self.flush()

    def _write_macro(self, line: RoffLine, words: Words) -> None:
        """Write a macro within the text; of an unknown one, the arguments."""
        if line.macro in MACROS:
            self.mdoc.write([line.macro, *arguments(line.rest)], words)
        else:
            words.add(("" if line.macro in _ALTERNATING else " ").join(self.shown(line)))

    def flush(self) -> None:
        """End the paragraph, and the example so far."""
        if not self.expected:
            self._write_rows()
        text, expected = self.words.take(), self.expected
        self.expected, self.is_hanging, self.lines = 0, False, None
        if text and expected >= TAG:
            self.flow.term(text, self.place)
        elif text and expected:
            self.heading(text, expected, self.place)
        elif text:
            self.summary = self.summary or text
            self.flow.text(text, self.place)
        if self.code:
            if code := textwrap.dedent("\n".join(self.code).expandtabs()).strip("\n"):
                self.flow.code(code, self.place)
            self.code.clear()

    def _write_rows(self) -> None:
        """Write a paragraph that is a table with tabs. The first row is a header if the second consists of rules."""
        rows = self.words.take_rows()
        table, is_headed = OpenTable(), len(rows) > 2 and not any(cell.strip("-=_") for cell in rows[1])
        for at, row in enumerate(rows):
            table.in_head = is_headed and at == 0
            if at != 1 or not is_headed:
                self.flow.add(table.row([TableCell(cell) for cell in row], self.place))

    def close(self, depth: int) -> None:
        """End the paragraph and the lists within the outer `depth` ones."""
        self.flush()
        while self.flow.depth > depth:
            self.flow.end_list()

    def heading(self, text: str, level: int, place: str) -> None:
        """End everything that is open, and begin a section; without a text, the next line is its heading."""
        self.close(0)
        self.bases, self.code, self.expected = [0], None, 0 if text else level
        if text:
            self.mdoc.in_synopsis = text.upper() == "SYNOPSIS"
            self.flow.add(Piece(BlockKind.HEADING, text, level, place=place))

    def item(self, tag: str = "", place: str = "") -> None:
        """Begin an item, in a new list if none is open at this indentation. A bullet is left out; a number stays in the text."""
        self.close(self.bases[-1] + 1)
        is_numbered = _NUMBER.fullmatch(tag) is not None and not _BULLET.fullmatch(tag)
        if self.flow.depth == self.bases[-1]:
            self.begin_list(ordered=is_numbered)
        self.flow.item()
        if is_numbered:
            self.place = place
            self.words.add(tag)
        elif tag and not _BULLET.fullmatch(tag):
            self.flow.term(tag, place)

    def begin_list(self, *, ordered: bool = False) -> None:
        """Begin a list. Raises: Unreadable: there are too many within each other."""
        if self.flow.depth == _DEEPEST:
            raise Unreadable("has lists nested too deep")
        self.flow.begin_list(ordered=ordered)

    def outdent(self) -> int:
        """End the innermost indentation. Returns the number of lists outside it."""
        return self.bases.pop() if len(self.bases) > 1 else 0
