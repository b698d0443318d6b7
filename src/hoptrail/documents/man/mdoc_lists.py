"""Reads the lists, tables and examples of mdoc(7): `.Bl` with its items to `.El`, `.Bd` to `.Ed`, and examples of one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from hoptrail.documents.blocks import Piece
from hoptrail.documents.man.page import LONG_TAG, Page
from hoptrail.documents.man.roff import RoffLine, arguments
from hoptrail.documents.markup import OpenTable, TableCell
from hoptrail.types import BlockKind

_UNTAGGED = frozenset(("-bullet", "-dash", "-hyphen", "-item", "-enum"))
_EMPHASIS = frozenset(("Sy", "Em", "Li", "Cm", "Ic"))


class MdocLists:
    """The open lists and examples of a page. `handlers`: the method for each macro."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open: list[tuple[str, OpenTable]] = []  # with their kinds
        self._displays: list[list[str] | None] = []
        self._is_row = False
        self._is_header = False
        self.handlers: dict[str, Callable[[RoffLine], Iterator[Piece]]] = {
            "Bl": self._begin,
            "It": self._item,
            "El": self._end,
            "Bd": self._display,
            "Ed": self._end_display,
            **dict.fromkeys(("Pp", "Lp"), self._gap),
            **dict.fromkeys(("Dl", "D1"), self._line),
            "Xc": self._end_tag,
        }

    def reset(self) -> None:
        """Forget what is open, at a new section."""
        self._open, self._displays, self._is_row = [], [], False

    def _gap(self, _line: RoffLine) -> Iterator[Piece]:
        yield from self._flush()
        if not self._open:
            yield from self._page.close(self._page.bases[-1])

    def _flush(self) -> Iterator[Piece]:
        """End the paragraph, or the row."""
        if self._page.code and self._displays:
            self._page.code.append("")
        elif not self._is_row:
            yield from self._page.flush()
        else:
            self._is_row, table = False, self._open[-1][1]
            table.in_head = self._is_header
            cells = [TableCell(cell) for cell in self._page.words.take_cells()]
            yield table.row(cells, self._page.place)

    def _begin(self, line: RoffLine) -> Iterator[Piece]:
        yield from self._flush()
        given = arguments(line.rest)
        self._open.append((given[0] if given else "", OpenTable()))
        yield from self._page.lists.waiting()
        self._page.begin_list(ordered="-enum" in given)
        self._page.bases.append(self._page.lists.depth)

    def _end(self, _line: RoffLine) -> Iterator[Piece]:
        if self._open:
            yield from self._flush()
            self._open.pop()
            yield from self._page.close(max(0, self._page.outdent() - 1))

    def _item(self, line: RoffLine) -> Iterator[Piece]:
        """Begin an item with its tag, or a row of a table with its cells."""
        yield from self._flush()
        parts, page = arguments(line.rest), self._page
        if self._open and self._open[-1][0] == "-column":
            parts = arguments(line.rest.replace("\t", " Ta "))
            starts = [parts[0], *(after for part, after in pairwise(parts) if part == "Ta")] if parts else []
            self._is_row, page.place = True, f"line {line.number}"
            self._is_header = len(starts) > 1 and all(one in _EMPHASIS for one in starts)
            page.mdoc.write(["No", *parts], page.words)
            return
        yield from page.close(page.bases[-1])
        if not page.lists.depth:
            page.begin_list()
        page.lists.item()
        if parts and not (self._open and self._open[-1][0] in _UNTAGGED):
            page.place = f"line {line.number}"
            page.mdoc.write(["No", *parts], page.words)
            page.expected = LONG_TAG
            if "Xo" not in parts or "Xc" in parts:
                yield from page.flush()
        elif parts:
            yield from page.write(replace(line, macro="No"))

    def _end_tag(self, line: RoffLine) -> Iterator[Piece]:
        """End a tag of several lines."""
        page = self._page
        page.mdoc.write(["Xc", *arguments(line.rest)], page.words)
        if page.expected == LONG_TAG:
            yield from page.flush()

    def _display(self, line: RoffLine) -> Iterator[Piece]:
        yield from self._page.flush()
        self._displays.append(self._page.code)
        is_code = {"-literal", "-unfilled"} & set(arguments(line.rest))
        self._page.code = [] if is_code else None

    def _end_display(self, _line: RoffLine) -> Iterator[Piece]:
        yield from self._page.flush()
        if self._displays:
            self._page.code = self._displays.pop()

    def _line(self, line: RoffLine) -> Iterator[Piece]:
        """An example of one line."""
        page = self._page
        yield from page.flush()
        yield from page.lists.waiting()
        text = page.inline(replace(line, macro="No"))
        yield page.lists.piece(BlockKind.CODE, text, f"line {line.number}")
