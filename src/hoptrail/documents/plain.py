"""The blocks of plain text, which is stored as it stands: paragraphs parted by blank lines, and list items by their marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.text import decode
from hoptrail.types import Block, BlockKind

_GAP = re.compile(r"\n[ \t\f\v\r]*(?:\n[ \t\f\v\r]*)+")
_MARK = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+•‣◦▪·]|(?P<number>\(?\d{1,3}[.)]))[ \t]+(?=\S)", re.MULTILINE)


def plain_blocks(text: str, *, lines: bool = True) -> tuple[Block, ...]:
    """Blocks that tile `text`; none where it is a single paragraph. `lines`: each says on which line it begins.

    A paragraph that begins with the mark of a list, or holds at least two lines that do, is one of items; its other lines
    belong to the item before them.
    """
    starts = [start for paragraph in _paragraphs(text) for start in _parts(text, *paragraph)]
    if len(starts) < 2:
        return ()
    ends = [*(start for start, _, _ in starts[1:]), len(text)]
    blocks: list[Block] = []
    line, counted, lead = 1, 0, ""
    for (start, level, ordered), end in zip(starts, ends, strict=True):
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        line, counted = line + text.count("\n", counted, first), first
        kind = BlockKind.ITEM if level else BlockKind.PARAGRAPH
        if kind is BlockKind.PARAGRAPH:
            body = text[start:end].rstrip()
            lead = " ".join(body[-300:].split("\n\n")[-1].split()) if body.endswith(":") else ""
        place = f"line {line}" if lines else ""
        blocks.append(Block(kind, start, end, level=level, ordered=ordered, lead=lead if level else "", place=place))
    return tuple(blocks)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph, with the blank lines after it; white space before the first belongs to it."""
    start = 0
    for gap in _GAP.finditer(text, len(text) - len(text.lstrip())):
        if gap.end() < len(text):
            end = text.rfind("\n", 0, gap.end()) + 1
            yield start, end
            start = end
    if text:
        yield start, len(text)


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Where the blocks of a paragraph begin, each with its depth as a list item (0: none) and whether that is numbered."""
    marks = list(_MARK.finditer(text, start, end))
    listed = bool(marks) and (len(marks) > 1 or not text[start : marks[0].start()].strip())
    if not listed:
        yield start, 0, False
        return
    if text[start : marks[0].start()].strip():
        yield start, 0, False
    indents: list[int] = []
    for number, mark in enumerate(marks):
        indent = len(mark["indent"].expandtabs(4))
        indents = [known for known in indents if known < indent] + [indent]
        begin = mark.start() if number or text[start : marks[0].start()].strip() else start
        yield begin, len(indents), mark["number"] is not None


def parse_plain(data: bytes, _limits: ReadingLimits) -> Parsed:
    """The text as it stands; its title is for the file's name to give.

    Raises:
        Unreadable: the bytes are not text.
    """
    decoded = decode(data)
    return Parsed("", decoded.text, decoded.notes, plain_blocks(decoded.text))
