"""Assembles the pieces that a parser yields into a document's text with its blocks, independent of the file format.

`assemble` writes the text, places every block by exact offsets, and adds its context: its headings, the sentence that introduces
its list, the date of its heading. `pack` and `unpack` convert blocks for storage and transfer between processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from hoptrail.documents.decoding import cleaned
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import LONGEST_SENTENCE, sentence_ends, shortened_ends
from hoptrail.types import Block, BlockKind, Cell, content_id

LONGEST_LEAD = 300  # characters that blocks repeat of the sentence that introduces their list, and of a heading

DEEPEST_HEADING = 6

_CONTINUES_AN_ITEM = {BlockKind.PARAGRAPH, BlockKind.CODE, BlockKind.QUOTE}  # if they have its level


@dataclass(frozen=True, slots=True)
class Piece:
    """A block as a parser yields it: its text without markup, and its place in the file.

    `level` is from 1 for a heading (any deeper than 6 becomes 6; 0 without text: what follows is below none), the depth from 1
    for a list item, and for a paragraph, code or quote that continues an item the depth of that item. A table row has no text but
    `cells`, pairs of column header (empty: none) and value; a header row has `level` 1 and cells without headers. A row is
    `labelled` if no header row stands above it, as with the fields of a record or mail header: its text then has each header
    before its value. The `date` of a heading (ISO 8601) applies to the blocks under it and overrides a date in its text. `bold`:
    all of its text is bold, as far as its format tells.
    """

    kind: BlockKind
    text: str = ""
    level: int = 0
    ordered: bool = False
    cells: tuple[tuple[str, str], ...] = ()
    place: str = ""
    labelled: bool = False
    date: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed file. `title` and `date` are those in its content, or empty; `date_from`: `mail header`, `front matter`, ..."""

    title: str
    text: str
    notes: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    date: str = ""
    date_from: str = ""


def assemble(
    title: str,
    pieces: Iterable[Piece],
    notes: Sequence[str] = (),
    largest: int | None = None,
    dated: tuple[str, str] = ("", ""),
) -> Parsed:
    """Assemble pieces in order; pieces without text are skipped. `notes` may grow while the pieces are taken. `largest`: stop
    once the text has more characters, for the caller to refuse it. `dated`: the date of the file, or empty, and its origin.
    """
    writer = _Writer()
    for piece in pieces:
        writer.add(piece)
        if largest is not None and writer.length > largest:
            break
    return Parsed(title, "".join(writer.parts), tuple(notes), writer.tiled(writer.length), *(dated if dated[0] else ()))


def first_heading(pieces: Iterable[Piece]) -> str:
    """The text of the first heading that is more than a bold line; empty if there is none."""
    return next((piece.text for piece in pieces if piece.kind is BlockKind.HEADING and not piece.bold), "")


def pieces_of(parsed: Parsed) -> Iterator[Piece]:
    """Yield the pieces of a parsed file, for use within another document."""
    for block in parsed.blocks or (Block(BlockKind.PARAGRAPH, 0, len(parsed.text)),):
        text = parsed.text[block.start : block.end].strip("\n")
        cells = tuple((cell.header, parsed.text[cell.start : cell.end]) for cell in block.cells)
        labelled = bool(cells) and text != "\t".join(value for _, value in cells)
        yield Piece(block.kind, "" if cells else text, block.level, block.ordered, cells, block.place, labelled)


@dataclass(slots=True)
class Outline:
    """The blocks so far, each under the headings that are open where it begins."""

    _placed: list[tuple[BlockKind, int, tuple[Any, ...]]] = field(default_factory=list)
    """Of each block its kind, its start, and the fields behind its end."""
    _headings: list[tuple[int, str, str]] = field(default_factory=list)  # level, text, own date or that above

    def place(self, piece: Piece, start: int, lead: str = "", cells: tuple[Cell, ...] = ()) -> None:
        """Place a piece at an offset, behind all others."""
        level = piece.level
        if piece.kind is BlockKind.HEADING:
            level = min(level, DEEPEST_HEADING)
            self._headings = [heading for heading in self._headings if heading[0] < level]
        path, above = tuple(text for _, text, _ in self._headings), self._headings[-1][2] if self._headings else ""
        self._placed.append((piece.kind, start, (path, level, piece.ordered, lead, cells, piece.place, above)))
        if piece.kind is BlockKind.HEADING:
            text = _line(piece.text)[:LONGEST_LEAD]
            self._headings.append((level, text, piece.date or find_date(text) or above))

    def tiled(self, length: int) -> tuple[Block, ...]:
        """The blocks, each up to the start of the next, so that they tile a text of this length."""
        ends = [*(start for _, start, _ in self._placed), length][1:]
        placed = zip(self._placed, ends, strict=True)
        return tuple(Block(kind, start, end, *more) for (kind, start, more), end in placed)


@dataclass(slots=True)
class _Writer(Outline):
    """The text so far, with the open list items."""

    length: int = 0
    parts: list[str] = field(default_factory=list)
    _items: list[str] = field(default_factory=list)
    _lead: str = ""

    def add(self, piece: Piece) -> None:
        gap = ""
        if self._placed:  # a line break between rows of a table and items of a list, a blank line between other blocks
            together = piece.kind in {BlockKind.ROW, BlockKind.ITEM} and self._placed[-1][0] is piece.kind
            gap = "\n" if together else "\n\n"
        start = self.length + len(gap)
        text, cells = _row(piece, start) if piece.cells else (cleaned(piece.text).text.strip("\n").rstrip(), ())
        if not text.strip():
            if piece.kind is BlockKind.HEADING and not piece.level:
                self._headings = []
            return
        self.place(piece, start, self._lead_of(piece, text), cells)
        self.parts += (gap, text)
        self.length = start + len(text)

    def _lead_of(self, piece: Piece, text: str) -> str:
        """The item above an item, else the sentence before the list if it ends with a colon; the item that a piece continues."""
        if piece.level and self._items and piece.kind in _CONTINUES_AN_ITEM:
            self._items = self._items[: piece.level]
            return self._items[-1]
        if piece.kind is not BlockKind.ITEM:
            self._items = []
            self._lead = lead_in(text) if piece.kind is BlockKind.PARAGRAPH else ""
            return ""
        above = self._items[: max(0, piece.level - 1)]
        skipped = [""] * (piece.level - 1 - len(above))
        self._items = [*above, *skipped, _line(text)[:LONGEST_LEAD]]
        return next((item for item in reversed(above) if item), self._lead)


def lead_in(paragraph: str) -> str:
    """The last sentence of a paragraph if it ends with a colon, and so introduces what follows; else empty."""
    text = paragraph.rstrip()
    if not text.endswith((":", "：")):
        return ""
    last_start = [0, *sentence_ends(text)[:-1]][-1]
    return _line(text[last_start:])[-LONGEST_LEAD:]


def _row(piece: Piece, start: int) -> tuple[str, tuple[Cell, ...]]:
    """The text of a row that begins at this offset, and its cells."""
    parts, cells = [], []
    for header, value in piece.cells:
        label = f"{_line(header)}: " if piece.labelled and header else ""
        parts.append(label + _line(value))
        cells.append(Cell(_line(header), start + len(label), start + len(parts[-1])))
        start += len(parts[-1]) + 1
    return "\t".join(parts), tuple(cells)


def _line(text: str) -> str:
    return squeeze(cleaned(text).text)


def ends_within(text: str, blocks: Sequence[Block], longest: int = LONGEST_SENTENCE) -> tuple[int, ...]:
    """Sentence ends of a text with blocks. No sentence crosses a block; a heading, a row and a line of code are one sentence."""
    ends: list[int] = []
    for block in blocks or (Block(BlockKind.PARAGRAPH, 0, len(text)),):
        body = text[block.start : block.end]
        if block.kind in {BlockKind.HEADING, BlockKind.ROW}:
            body_ends = shortened_ends(body, [len(body)], longest)
        elif block.kind is BlockKind.CODE:
            lines = body.splitlines(keepends=True)
            # A blank line belongs to the line before it.
            starts = zip(accumulate(map(len, lines), initial=0), lines, strict=False)
            body_ends = shortened_ends(body, [*(at for at, line in starts if at and line.strip()), len(body)], longest)
        else:
            body_ends = sentence_ends(body, longest)
        ends += [block.start + end for end in body_ends]
    return tuple(ends)


def document_id(declared: str, text: str, blocks: Sequence[Block]) -> str:
    """The id of a document by its content: the title that it declares, if any, its text and its blocks."""
    return content_id("d", declared, text, *filter(None, [pack(blocks)]))


def pack(blocks: Sequence[Block]) -> str:
    """Blocks as JSON with every repeated string written once; empty for no blocks."""
    if not blocks:
        return ""
    known: dict[str, int] = {}

    def number(text: str) -> int:
        return known.setdefault(text, len(known))

    rows = [
        [
            *(number(block.kind), block.end, [number(text) for text in block.path], block.level, int(block.ordered)),
            *(number(block.lead), number(block.place), number(block.date)),
            [[number(cell.header), cell.start - block.start, cell.end - block.start] for cell in block.cells],
        ]
        for block in blocks
    ]
    return json.dumps([list(known), blocks[0].start, rows], ensure_ascii=False, separators=(",", ":"))


def unpack(packed: str) -> tuple[Block, ...]:
    if not packed:
        return ()
    known, first, rows = json.loads(packed)
    starts = [first, *(row[1] for row in rows)]
    return tuple(
        Block(
            *(BlockKind(known[kind]), start, end, tuple(known[heading] for heading in path), level, bool(ordered)),
            *(known[lead], tuple(Cell(known[header], start + begin, start + stop) for header, begin, stop in cells)),
            *(known[place], known[date]),
        )
        for start, (kind, end, path, level, ordered, lead, place, date, cells) in zip(starts, rows, strict=False)
    )
