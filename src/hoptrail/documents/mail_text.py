"""Splits the plain text of a mail into paragraphs, list items and quotes from earlier mails.

The place of a piece is its first line in the text as a reader sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from hoptrail.documents.blocks import Piece
from hoptrail.documents.plain_text import plain_blocks
from hoptrail.types import BlockKind

_BULLET = re.compile(r"^[-*+•‣◦▪·]\s+")
_GAP = re.compile(r"\n\s*\n")
_QUOTED = re.compile(r"^(?:[ ]?>)+ ?")
_ORIGINAL = re.compile(
    r"^-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine) ?-{2,}$", re.IGNORECASE
)
"""The line below which mail programs put the original mail without quotation marks."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without its quotation marks. `number` counts from 1; `depth` is the number of its marks."""

    number: int
    depth: int
    text: str


def text_pieces(text: str, *, flowed: bool = False) -> Iterator[Piece]:
    """Yield the pieces of a mail's text. `flowed`: a line that ends with a space continues in the next (RFC 3676)."""
    lines = list(enumerate(text.split("\n"), 1))
    for depth, run in groupby(_with_depths(_unwrap_flowed(lines) if flowed else lines), key=lambda line: line.depth):
        numbered = list(run)
        body = "\n".join(line.text for line in numbered)
        if not body.strip():
            continue
        line = counted = 0
        for start, piece in _quotes(body) if depth else _plain(body):
            begins = start or len(body) - len(body.lstrip())
            line, counted = line + body.count("\n", counted, begins), begins
            yield replace(piece, place=f"line {numbered[line].number}")


def _with_depths(lines: list[tuple[int, str]]) -> Iterator[_Line]:
    below = 0
    for number, line in lines:
        if _ORIGINAL.match(line.strip()):
            below = 1
            continue
        marks = _QUOTED.match(line)
        depth = below + (marks[0].count(">") if marks else 0)
        yield _Line(number, depth, line[marks.end() :] if marks else line)


def _unwrap_flowed(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join lines that were wrapped for sending. The line before a signature, `-- `, was not."""
    out: list[tuple[int, str]] = []
    open_marks: str | None = None
    for number, line in lines:
        marks = _QUOTED.match(line)
        prefix = ">" * marks[0].count(">") if marks else ""
        body = line[marks.end() :] if marks else line.removeprefix(" ")
        if open_marks == prefix and body != "-- ":
            out[-1] = (out[-1][0], out[-1][1] + body)
        else:
            out.append((number, f"{prefix} {body}" if prefix else body))
        open_marks = prefix if body.endswith(" ") and body != "-- " else None
    return out


def _quotes(text: str) -> Iterator[tuple[int, Piece]]:
    start = 0
    for end, after in [*(gap.span() for gap in _GAP.finditer(text)), (len(text), len(text))]:
        if text[start:end].strip():
            yield start, Piece(BlockKind.QUOTE, text[start:end])
        start = after


def _plain(text: str) -> Iterator[tuple[int, Piece]]:
    blocks = plain_blocks(text, lines=False)
    if not blocks:
        yield 0, Piece(BlockKind.PARAGRAPH, text.strip())
    for block in blocks:
        body = text[block.start : block.end].strip()
        yield block.start, Piece(block.kind, _BULLET.sub("", body) if block.level else body, block.level, block.ordered)
