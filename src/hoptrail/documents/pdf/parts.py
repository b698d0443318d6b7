"""Groups the lines of PDF columns into parts: headings, paragraphs, list items, code and tables.

A new paragraph begins after a wider gap, with an indent or another size, or after a line that ends although the next word would
have fitted. A paragraph continues in the next column or page if its sentence does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from hoptrail.documents.blocks import DEEPEST_HEADING
from hoptrail.documents.markup import HYPHENS, LONGEST_BOLD_HEADING
from hoptrail.documents.pdf.fragments import Fragment, PdfTable
from hoptrail.documents.pdf.layout import LEADERS, Column, columns_of, differ_in_size, first_word_width, line_of
from hoptrail.documents.pdf.tables import with_tables
from hoptrail.types import BlockKind

LARGER = 1.12  # text at least this many times as large as the body text is a heading
_SMALLER = 0.92
"""Text below this fraction of the body size at the foot of a page is a note; a paragraph may continue after it."""
_LONGEST_HEADING = 200
BULLET = re.compile(r"(?:[•‣◦▪●○■□·∙⁃\uf0b7\uf0a7\uf0d8]|[–—*-](?=\s))\s*")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s+\S")
_DRAWN_RULE = re.compile(r"[-–—_=─ ]{4,}")  # a horizontal rule made of characters
_ENDED = re.compile(r"[.!?:;…。！？][\"”’'»)\]]*$")
NOTICE = re.compile(r"(?:©|\(c\)|copyright\b|note(?: by .+)?: )", re.IGNORECASE)
"""The beginning of a notice or note, which is no part of the text before it."""


@dataclass(slots=True)
class Part:
    """A block under construction. `turns`: how many of its lines stand before the first of each further page, with that page."""

    kind: BlockKind
    page: int
    lines: list[Fragment] = field(default_factory=list)
    level: int = 0
    ordered: bool = False
    table: PdfTable | None = None
    right: float = 0.0  # edge of its column
    turns: list[tuple[int, int]] = field(default_factory=list)

    @property
    def size(self) -> float:
        """The font size of its first line; 0 for a table, which has no lines."""
        return self.lines[0].size if self.lines else 0.0


@dataclass(frozen=True, slots=True)
class Style:
    """The typography of a document: the size of its body text, the heading levels of larger sizes, and whether bold lines stand
    out. `bookmarks` has the level of each heading in the document's outline, and of its title, by page and words.
    """

    body: float
    levels: Mapping[float, int]
    bold_stands_out: bool
    bookmarks: Mapping[tuple[int, str], int]


def plain_words(text: str) -> str:
    """The letters and digits of a text, by which a bookmark is found on its page."""
    return re.sub(r"[\W_]+", "", text).casefold()


def half_points(size: float) -> float:
    """A font size rounded for comparison."""
    return round(2 * size) / 2


def parts_of(
    pages: Iterable[tuple[int, Sequence[Fragment], Sequence[tuple[Fragment, set[Fragment]]]]], style: Style
) -> list[Part]:
    """The parts of pages. A page is its number, its fragments and its ruled tables, each with the fragments in it."""
    builder = _Builder(style)
    for number, fragments, grids in pages:
        inside = {fragment for _, contents in grids for fragment in contents}
        flow = [fragment for fragment in fragments if fragment not in inside and not fragment.turn]
        turned = [fragment for fragment in fragments if fragment.turn]
        for column in (*columns_of([*flow, *(table for table, _ in grids)]), *columns_of(turned)):
            builder.add(column, number)
    for part in (one for one in builder.parts if one.kind is BlockKind.HEADING):
        longest = LONGEST_BOLD_HEADING if part.lines[-1].text.endswith(".") else _LONGEST_HEADING
        if sum(len(line.text) for line in part.lines) > longest:
            part.kind, part.level = BlockKind.PARAGRAPH, 0
    return builder.parts


class _Builder:
    def __init__(self, style: Style) -> None:
        self.parts: list[Part] = []
        self._style = style
        self._indents: list[float] = []

    def add(self, column: Column, page: int) -> None:
        lines = [line for line in column.lines if line.mono or not _DRAWN_RULE.fullmatch(line.text)]
        leading = _leading(lines)
        before = None
        for line in with_tables(lines):
            found = [line] if line.table else list(line.parts)
            if any(part.table for part in found):
                for part in found:
                    kind = BlockKind.ROW if part.table else BlockKind.PARAGRAPH
                    self.parts.append(Part(kind, page, [] if part.table else [line_of([part])], table=part.table))
                before = None
            else:
                self._line(line, before, column, page, leading)
                before = line
            self.parts[-1].right = column.right

    def _line(self, line: Fragment, before: Fragment | None, column: Column, page: int, leading: float) -> None:
        last = self.parts[-1] if self.parts else None
        level = self._heading_level(line, before, page, leading)
        if level:
            above = " ".join(one.text for one in last.lines) if last else ""
            # What the outline or the title names is a heading by itself.
            whole = any((page, plain_words(text)) in self._style.bookmarks for text in (above, line.text))
            alike = before is not None and line.bold == before.bold and not differ_in_size(before, line)
            near = alike and not whole and before is not None and line.base - before.base < 1.7 * line.size
            self._extend(BlockKind.HEADING, line, page, level, goes_on=near)
        elif line.mono:
            self._extend(BlockKind.CODE, line, page, goes_on=before is None or before.mono)
        elif _is_entry(line):
            self.parts.append(Part(BlockKind.ITEM, page, [line], 1))
        elif self._begins_item(line, before, column, leading):
            ordered = _NUMBERED.match(line.text) is not None
            self.parts.append(Part(BlockKind.ITEM, page, [line], self._depth(line), ordered))
        elif before is not None and last is not None and self._belongs_to(last, before, line, column, leading):
            last.lines.append(line)
        else:
            earlier = self._last_text() if before is None else None
            if earlier is not None and _continues(earlier, line):
                earlier.turns += [(len(earlier.lines), page)] * (page > earlier.page)
                earlier.lines.append(line)
            else:
                self.parts.append(Part(BlockKind.PARAGRAPH, page, [line]))

    def _extend(self, kind: BlockKind, line: Fragment, page: int, level: int = 0, *, goes_on: bool) -> None:
        """Add a line to the last part if it goes on and is of this kind, else begin a part."""
        last = self._last(kind)
        if last is not None and last.level == level and goes_on:
            last.lines.append(line)
        else:
            self.parts.append(Part(kind, page, [line], level))

    def _heading_level(self, line: Fragment, before: Fragment | None, page: int, leading: float) -> int:
        text, words = line.text, plain_words(line.text)
        if (page, words) in self._style.bookmarks:
            return self._style.bookmarks[page, words]
        by_size = self._style.levels.get(half_points(line.size), 0)
        heading = self._last(BlockKind.HEADING)
        continues = by_size and heading is not None and heading.level == by_size
        wordless = not any(map(str.isalpha, text)) and not continues
        if wordless or _is_entry(line) or BULLET.match(text) or text.endswith((",", ";")):
            return 0
        if by_size and len(text) <= _LONGEST_HEADING:
            return by_size
        apart = before is None or line.base - before.base > 1.2 * leading or (heading and line.bold)
        short = len(text) <= LONGEST_BOLD_HEADING and not text.endswith((".", ":"))
        plain = self._style.bold_stands_out and line.bold and not line.mono
        is_bold_line = plain and line.size >= 0.95 * self._style.body and short and apart
        return min(DEEPEST_HEADING, len(set(self._style.levels.values())) + 1) if is_bold_line else 0

    def _last(self, kind: BlockKind) -> Part | None:
        return self.parts[-1] if self.parts and self.parts[-1].kind is kind else None

    def _begins_item(self, line: Fragment, before: Fragment | None, column: Column, leading: float) -> bool:
        if not _NUMBERED.match(line.text):
            return BULLET.match(line.text) is not None and len(line.text) > 2
        last = self.parts[-1] if self.parts else None
        follows = last is not None and last.kind is BlockKind.ITEM and last.ordered
        return before is None or last is None or follows or not self._belongs_to(last, before, line, column, leading)

    def _depth(self, line: Fragment) -> int:
        """The depth of a list item, by its indent relative to the items above."""
        if not self._last(BlockKind.ITEM):
            self._indents = []
        self._indents = [indent for indent in self._indents if indent < line.left - 0.5 * line.size] + [line.left]
        return len(self._indents)

    def _belongs_to(self, last: Part, before: Fragment, line: Fragment, column: Column, leading: float) -> bool:
        if last.kind not in {BlockKind.PARAGRAPH, BlockKind.ITEM} or differ_in_size(before, line):
            return False
        if NOTICE.match(line.text) or line.base - before.base > max(1.35 * leading, 1.3 * line.size):
            return False
        first = last.lines[0]
        if last.kind is BlockKind.ITEM and len(last.lines) == 1 and line.left > first.left + 0.3 * line.size:
            return True
        indent = line.left - (before.left if len(last.lines) > 1 else min(first.left, column.left))
        if last.kind is BlockKind.PARAGRAPH and 0.8 * line.size < indent < 4 * line.size and _ENDED.search(before.text):
            return False
        return not _ended_early(before, line, column)

    def _last_text(self) -> Part | None:
        """The part that may continue in a new column: the last one, apart from notes at the foot of its page."""
        for part in reversed(self.parts[-8:]):
            if part.kind not in {BlockKind.PARAGRAPH, BlockKind.ITEM}:
                return None
            if part.size >= _SMALLER * self._style.body and not part.lines[0].parts[0].turn:
                return part
        return None


def _is_entry(line: Fragment) -> bool:
    """Whether a line belongs to a table of contents: it has dot leaders, or a number far to the right of its text."""
    if LEADERS.search(line.text):
        return True
    last = line.parts[-1]
    far = len(line.parts) == 2 and last.left - line.parts[0].right > 4 * line.size
    return far and last.text.isdecimal() and any(map(str.isalpha, line.parts[0].text))


def _leading(lines: Sequence[Fragment]) -> float:
    """The usual distance of lines. Wide ones are that of double-spaced text if most lines fill their column."""
    gaps = [after.base - line.base for line, after in pairwise(lines)]
    usual = [gap for gap, line in zip(gaps, lines, strict=False) if 0.5 * line.size < gap < 2 * line.size]
    right = max((line.right for line in lines), default=0.0)
    full = [gap for gap, line in zip(gaps, lines, strict=False) if line.right > right - 6 * line.size]
    if len(full) > max(3, len(lines) / 2) and not usual:
        usual = [gap for gap in full if gap < 3 * lines[0].size]
    return median(usual) if usual else 1.3 * median(line.size for line in lines)


def _ended_early(before: Fragment, line: Fragment, column: Column) -> bool:
    """Whether the first word of a line would have fitted on the line before, which ends a sentence or is much shorter."""
    if before.text.endswith(HYPHENS):
        return False
    fits = before.right + first_word_width(line) < column.right - line.size
    short = before.right < column.left + 0.6 * (column.right - column.left)
    return fits and not line.text[:1].islower() and (short or _ENDED.search(before.text) is not None)


def _continues(part: Part, line: Fragment) -> bool:
    """Whether a line continues the sentence of a part in another column or page."""
    before = part.lines[-1]
    if differ_in_size(before, line) or _ENDED.search(before.text) or NOTICE.match(line.text):
        return False
    full = before.right > part.right - 1.5 * before.size
    return line.text[:1].islower() or full or before.text.endswith((*HYPHENS, ","))
