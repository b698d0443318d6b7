"""Source texts with their structure, and places in them."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

ID_DIGITS = 20


def content_id(prefix: str, *parts: str) -> str:
    """An identifier that depends on `parts` alone: `prefix` and 20 hex digits (80 bits) of their SHA-256.

    Parts are separated by U+001F, so ("ab", "c") and ("a", "bc") differ. Lone surrogates, which a JSON escape can produce, are
    hashed as they are.
    """
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass"))
    return prefix + digest.hexdigest()[:ID_DIGITS]


class BlockKind(StrEnum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (exclusive, code points) of a document's text. `replaced`: a later statement replaces it."""

    document: str
    start: int
    end: int
    replaced: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"a span runs from 0 <= start to end, not from {self.start} to {self.end}")

    def covers(self, other: Span) -> bool:
        return self.document == other.document and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table row: its column's header (empty: none) and where its value stands in the document's text."""

    header: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document's structure: characters `start` to `end` of its text, with the white space that follows it.

    - `path`: the headings it stands under, outermost first.
    - `level`: from 1: a heading's level; the depth of a list item, also for a block that continues it; 1 for the header row of
      a table.
    - `lead`: the sentence that introduces the list of an item, the item above a nested one, or the item that a block continues.
    - `place`: where it is in the file (`line 12`, `page 3`, `sheet Prices, row 4`).
    - `date`: the ISO date of its heading, else of its document; empty where there is none.
    """

    kind: BlockKind
    start: int
    end: int
    path: tuple[str, ...] = ()
    level: int = 0
    ordered: bool = False
    lead: str = ""
    cells: tuple[Cell, ...] = ()
    place: str = ""
    date: str = ""

    @property
    def is_header(self) -> bool:
        return self.kind is BlockKind.ROW and self.level == 1


@dataclass(frozen=True, slots=True)
class Document:
    """One source text with a title, as read.

    - `sentence_ends`: the end offsets of its sentences, which tile the text; white space belongs to the sentence before it.
    - `sources`: where it was read (a path, or `path#id` for a JSONL line); the same content at two places has two sources.
    - `notes`: what reading had to decide, such as a guessed encoding.
    - `blocks`: they tile the text too, and no sentence crosses one; empty where the text is one paragraph.
    - `date`: its ISO date (a year, a month or a day), found in `date_from` (`front matter`, `file name`, ...); empty: none.
    """

    id: str
    title: str
    text: str
    sentence_ends: tuple[int, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    date: str = ""
    date_from: str = ""

    def __post_init__(self) -> None:
        ends = self.sentence_ends
        rising = all(before < after for before, after in zip((0, *ends), ends, strict=False))
        if not rising or (ends[-1] if ends else 0) != len(self.text):
            raise ValueError(f"sentences of document {self.id} do not tile its {len(self.text)} characters")
        if self.blocks:
            self._check_blocks()

    def _check_blocks(self) -> None:
        starts = [block.start for block in self.blocks]
        ends = [block.end for block in self.blocks]
        tiled = starts == [0, *ends[:-1]] and ends[-1] == len(self.text)
        if not tiled or any(start >= end for start, end in zip(starts, ends, strict=True)):
            raise ValueError(f"blocks of document {self.id} do not tile its {len(self.text)} characters")
        if not set(self.sentence_ends).issuperset(ends):
            raise ValueError(f"a sentence of document {self.id} crosses a block")

    def blocks_within(self, span: Span) -> tuple[Block, ...]:
        """The blocks that share characters with a part of the document, in order."""
        first = bisect_right(self.blocks, span.start, key=lambda block: block.end)
        last = bisect_left(self.blocks, span.end, key=lambda block: block.start)
        return self.blocks[first:last]

    def sentences(self, within: Span | None = None) -> Iterator[Span]:
        """All sentences, or those that share characters with a part of the document, in order."""
        first = bisect_right(self.sentence_ends, within.start) if within else 0
        start = self.sentence_ends[first - 1] if first else 0
        for end in islice(self.sentence_ends, first, None):
            if within and start >= within.end:
                return
            yield Span(self.id, start, end)
            start = end

    def sentence_ends_within(self, span: Span) -> tuple[int, ...]:
        """Ends of the sentences in a part of the document, counted from its start; the last is its end."""
        return tuple(min(sentence.end, span.end) - span.start for sentence in self.sentences(span))

    def slice(self, span: Span) -> str:
        return self.text[span.start : span.end]
