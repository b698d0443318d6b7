"""The plain text of a mail as pieces: paragraphs, list items, and what is quoted from the mails before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from hoptrail.documents.blocks import Piece
from hoptrail.documents.plain import plain_blocks
from hoptrail.types import BlockKind

_BULLET = re.compile(r"^[-*+•‣◦▪·]\s+")
_QUOTED = re.compile(r"^(?:[ ]?>)+ ?")
_ORIGINAL = re.compile(
    r"^-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine) ?-{2,}$", re.IGNORECASE
)
"""The line below which programs put the mail that is answered, without marking its lines."""


def text_pieces(text: str, *, flowed: bool = False) -> Iterator[Piece]:
    """The pieces of a mail's text. `flowed`: a line that ends with a space goes on in the next one (RFC 3676)."""
    lines = _marked(_flowed(text) if flowed else text.split("\n"))
    for depth, run in groupby(lines, key=lambda line: line[0]):
        said = "\n".join(line for _, line in run)
        if not said.strip():
            continue
        if depth:
            yield from (Piece(BlockKind.QUOTE, part) for part in re.split(r"\n\s*\n", said))
        else:
            yield from _plain(said)


def _marked(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each line with the number of its quotation marks, and without them."""
    below = 0
    for line in lines:
        if _ORIGINAL.match(line.strip()):
            below = 1
            continue
        marks = _QUOTED.match(line)
        yield below + (marks[0].count(">") if marks else 0), line[marks.end() :] if marks else line


def _flowed(text: str) -> list[str]:
    """With lines that were only broken to be sent made whole again. The line before a signature, `-- `, is none."""
    out: list[str] = []
    open_marks: str | None = None
    for line in text.split("\n"):
        marks = _QUOTED.match(line)
        prefix = ">" * marks[0].count(">") if marks else ""
        said = line[marks.end() :] if marks else line.removeprefix(" ")
        if open_marks == prefix and said != "-- ":
            out[-1] += said
        else:
            out.append(f"{prefix} {said}" if prefix else said)
        open_marks = prefix if said.endswith(" ") and said != "-- " else None
    return out


def _plain(text: str) -> Iterator[Piece]:
    blocks = plain_blocks(text, lines=False)
    if not blocks:
        yield Piece(BlockKind.PARAGRAPH, text.strip())
    for block in blocks:
        said = text[block.start : block.end].strip()
        yield Piece(block.kind, _BULLET.sub("", said) if block.level else said, block.level, block.ordered)
