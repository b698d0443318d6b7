"""The state of a manual page that is being read: its open paragraph, example, items and indentation, which become pieces."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile

from hoptrail.documents.blocks import Piece
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.man.mdoc import GLUE, MACROS, Mdoc, joined, lines_of
from hoptrail.documents.man.roff import Roff, RoffLine
from hoptrail.documents.markup import Flow, OpenTable, TableCell
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

TEXT, SECTION, SUBSECTION, TAG, LONG_TAG, CELLS = range(6)
"""What the words are, as `Page.expected`: a paragraph, a heading, the tag of an item in one line or in several, the cells of a
row."""
_ALTERNATING = frozenset(("BR", "RB", "IR", "RI", "BI", "IB"))
_BULLET = re.compile(r"[-–—•·○□▪∗*o+⋅]")
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\)?")
_DEEPEST = 100


@dataclass(slots=True)
class Page:
    """`bases`: the number of open lists outside each open indentation. What is indented belongs to the open item, if there is
    one. `tables`: the open lists of mdoc(7) with their kinds, some of which are tables.
    """

    roff: Roff = field(default_factory=Roff)
    flow: Flow = field(default_factory=Flow)
    source: Iterator[RoffLine] = field(default_factory=lambda: iter(()))
    words: list[str] = field(default_factory=list)
    bases: list[int] = field(default_factory=lambda: [0])
    tables: list[tuple[str, OpenTable]] = field(default_factory=list)
    code: list[str] | None = None
    expected: int = TEXT
    lines: int | None = None  # lines of a paragraph that may be the tag of an indented one; None for other paragraphs
    place: str = ""
    summary: str = ""  # the first paragraph: names of the page and what it is about
    name: str = ""
    section: str = ""
    date: str = ""
    refers_to: str = ""
    link: str = ""
    mdoc: Mdoc = field(init=False)
    _goes_on: bool = False

    def __post_init__(self) -> None:
        self.mdoc = Mdoc(self.roff.visible)

    def read(self, text: str, handlers: dict[str, Callable[[Page, RoffLine], None]]) -> None:
        """Read the lines of a page; a macro without a handler stands within the text, and other requests have none."""
        self.source = self.roff.lines(text)
        for line in self.source:
            handle = handlers.get(line.macro if line.macro or line.rest.strip() else "sp")
            if handle or not line.macro.islower() or line.macro in self.roff.defined:
                (handle or Page.write)(self, line)
        self.close(0)

    def until(self, macro: str) -> list[RoffLine]:
        """Take the lines up to one with `macro`, which is taken as well."""
        return list(takewhile(lambda line: line.macro != macro, self.source))

    def shown(self, line: RoffLine) -> list[str]:
        """The arguments of a line without escapes."""
        return [self.roff.visible(one) for one in line.given]

    def words_of(self, line: RoffLine) -> list[str]:
        """The words of a line, or of a macro within the text; of an unknown macro, the arguments."""
        if line.macro in MACROS:
            return self.mdoc.words([line.macro, *line.given])
        if line.macro:
            return [("" if line.macro in _ALTERNATING else " ").join(self.shown(line))]
        return [self.roff.visible(line.rest)]

    def inline(self, line: RoffLine) -> str:
        """The text of a line."""
        return lines_of(self.words_of(line))

    def add(self, *words: str) -> None:
        """Add words to the paragraph, which begins with one that is more than a line break."""
        begun = words if self.words else dropwhile(lambda word: not word.strip(f"{GLUE}\n"), words)
        self.words += filter(None, begun)

    def write(self, line: RoffLine, words: list[str] | None = None) -> None:
        """Add a line, or the words that stand for it, to the paragraph, example or tag."""
        if not (self.words or self.code):
            self.place = line.place
        words = self.words_of(line) if words is None else words
        goes_on = line.rest.endswith("\\c")
        if self.code is not None and not self.expected:
            before = self.code.pop() if self._goes_on and self.code else ""
            self.code.append(before + joined(words).rstrip())
        else:
            self.add("\n" * (not line.macro and line.rest[0] in " \t" and not self.expected), *words, GLUE * goes_on)
        self._goes_on = goes_on
        self.lines = None if self.lines is None else self.lines + 1
        if self.expected in {SECTION, SUBSECTION, TAG} and self.words and not goes_on:
            self.flush()

    def flush(self) -> None:
        """End the paragraph, and the example so far."""
        words, expected = self.words, self.expected
        self.words, self.expected, self.lines = [], TEXT, None
        if expected == CELLS:
            cells = [TableCell(squeeze(cell)) for cell in joined(words).split("\t")]
            self.flow.pieces.append(self.tables[-1][1].row(cells, self.place))
        elif text := lines_of(words):
            if expected >= TAG:
                self.flow.term(text, self.place)
            elif expected:
                self.heading(text, expected, self.place)
            else:
                self.summary = self.summary or text
                self.flow.text(text, self.place)
        if self.code:
            if code := textwrap.dedent("\n".join(self.code).expandtabs()).strip("\n"):
                self.flow.code(code, self.place)
            self.code.clear()

    def close(self, depth: int) -> None:
        """End the paragraph and the lists within the outer `depth` ones."""
        self.flush()
        while self.flow.depth > depth:
            self.flow.end_list()

    def heading(self, text: str, level: int, place: str) -> None:
        """End everything that is open, and begin a section; without a text, the next line is its heading."""
        self.close(0)
        self.bases, self.tables, self.code, self.expected = [0], [], None, TEXT if text else level
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
            self.add(tag)
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
