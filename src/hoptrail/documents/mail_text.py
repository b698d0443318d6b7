"""The plain text of a mail as pieces: paragraphs, list items, and what is quoted from the mails before it.

The place of a piece is the line on which it begins in the text, as the mail's reader sees it.
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
"""The line below which programs put the mail that is answered, without marking its lines."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without its quotation marks; `number` counts from 1, `depth` says how many marks it had."""

    number: int
    depth: int
    text: str


def text_pieces(text: str, *, flowed: bool = False) -> Iterator[Piece]:
    """The pieces of a mail's text. `flowed`: a line that ends with a space goes on in the next one (RFC 3676)."""
    lines = list(enumerate(text.split("\n"), 1))
    for depth, run in groupby(_marked(_flowed(lines) if flowed else lines), key=lambda line: line.depth):
        numbered = list(run)
        said = "\n".join(line.text for line in numbered)
        if not said.strip():
            continue
        line = counted = 0
        for start, piece in _quotes(said) if depth else _plain(said):
            begins = start or len(said) - len(said.lstrip())
            line, counted = line + said.count("\n", counted, begins), begins
            yield replace(piece, place=f"line {numbered[line].number}")


def _marked(lines: list[tuple[int, str]]) -> Iterator[_Line]:
    below = 0
    for number, line in lines:
        if _ORIGINAL.match(line.strip()):
            below = 1
            continue
        marks = _QUOTED.match(line)
        depth = below + (marks[0].count(">") if marks else 0)
        yield _Line(number, depth, line[marks.end() :] if marks else line)


def _flowed(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """With lines that were only broken to be sent made whole again. The line before a signature, `-- `, is none."""
    out: list[tuple[int, str]] = []
    open_marks: str | None = None
    for number, line in lines:
        marks = _QUOTED.match(line)
        prefix = ">" * marks[0].count(">") if marks else ""
        said = line[marks.end() :] if marks else line.removeprefix(" ")
        if open_marks == prefix and said != "-- ":
            out[-1] = (out[-1][0], out[-1][1] + said)
        else:
            out.append((number, f"{prefix} {said}" if prefix else said))
        open_marks = prefix if said.endswith(" ") and said != "-- " else None
    return out


def _quotes(text: str) -> Iterator[tuple[int, Piece]]:
    """What is quoted, a piece for each paragraph, with where it begins."""
    start = 0
    for end, after in [*(gap.span() for gap in _GAP.finditer(text)), (len(text), len(text))]:
        if text[start:end].strip():
            yield start, Piece(BlockKind.QUOTE, text[start:end])
        start = after


def _plain(text: str) -> Iterator[tuple[int, Piece]]:
    """What is not quoted, with where each piece begins."""
    blocks = plain_blocks(text, lines=False)
    if not blocks:
        yield 0, Piece(BlockKind.PARAGRAPH, text.strip())
    for block in blocks:
        said = text[block.start : block.end].strip()
        shown = _BULLET.sub("", said) if block.level else said
        yield block.start, Piece(block.kind, shown, block.level, block.ordered)
