"""Splits a document into passages of whole blocks; long blocks are split between sentences. Spans are exact: no text changes.

Divides a corpus into parts, for shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from hoptrail.errors import UsageError
from hoptrail.text.sentences import without_space
from hoptrail.text.words import words_in
from hoptrail.types import Block, BlockKind, Document, Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """The length of passages in words, as `words_in` counts them.

    The default encoder reads 256 word pieces, about 190 English words. A document of at most `short_document_words`
    stays whole, because published corpora are retrieved by their own paragraphs.
    """

    words: int = 200
    short_document_words: int = 400

    def __post_init__(self) -> None:
        if self.words < 1 or self.short_document_words < 0:
            raise UsageError(f"passages need at least 1 word, short documents at least 0, not {self}")


def passages(document: Document, limit: PassageLimits = PassageLimits()) -> tuple[Unit, ...]:
    """The passages of `document`, in order: whole blocks, packed up to the limit, without overlap.

    White space at the ends of a passage stays outside its span; everything else is in exactly one passage. A passage ends before
    a heading or paragraph if it is half full there, and never with a heading or within a slide that fits. A block above the limit
    is split between sentences; a sentence above the limit is one passage. A document without headings and tables stays whole up
    to `short_document_words`. A document of white space alone has no passages.
    """
    blocks = document.blocks or tuple(_paragraphs(document))
    pieces: list[_Piece] = []
    for slide, run in groupby(blocks, lambda one: one.place.startswith("slide ") and one.place.partition(",")[0]):
        together = [piece for block in run for piece in _block_pieces(document, block, limit.words)]
        if slide:
            together[0] = replace(together[0], slide_words=sum(piece.words for piece in together))
        pieces += together
    structured = any(block.kind in {BlockKind.HEADING, BlockKind.ROW} for block in document.blocks)
    if not structured and sum(piece.words for piece in pieces) <= limit.short_document_words:
        ends = [len(document.text)]
    else:
        ends = _pack_ends(pieces, limit.words)
    edges = pairwise([0, *ends])
    return tuple(_passage(document, start, end) for start, end in edges if document.text[start:end].strip())


@dataclass(frozen=True, slots=True)
class _Piece:
    """A block, or a sentence of a long one. `block_words`, `slide_words`: of its block or slide, if it is their first piece."""

    end: int
    words: int
    block_words: int
    is_heading: bool = False
    slide_words: int = 0


def _paragraphs(document: Document) -> Iterator[Block]:
    """The paragraphs of a document without blocks: its sentences up to each blank line."""
    start = 0
    for span in document.sentences():
        sentence = document.slice(span)
        if span.end == len(document.text) or sentence.count("\n", len(sentence.rstrip())) > 1:
            yield Block(BlockKind.PARAGRAPH, start, span.end)
            start = span.end


def _block_pieces(document: Document, block: Block, limit: int) -> Iterator[_Piece]:
    headers = sum(words_in(cell.header) for cell in block.cells)
    words = headers + words_in(document.text[block.start : block.end])
    if words <= limit:
        yield _Piece(block.end, words, words, block.kind is BlockKind.HEADING)
        return
    for number, span in enumerate(document.sentences(Span(document.id, block.start, block.end))):
        yield _Piece(span.end, words_in(document.slice(span)), 0 if number else words)


def _pack_ends(pieces: Sequence[_Piece], limit: int) -> list[int]:
    """The end offsets of the passages. Headings go with the block after them."""
    ends: list[int] = []
    start, total_words, heading_words = 0, 0, 0  # of the open passage; `heading_words`: in headings at its end
    last = 0  # end of the last piece that is no heading
    for piece in pieces:
        body_words = total_words - heading_words
        too_long = total_words + piece.words > limit
        good_break = 2 * body_words >= limit and (heading_words or total_words + piece.block_words > limit)
        before_slide = limit >= piece.slide_words > limit - total_words
        within = not piece.is_heading and (too_long or (piece.block_words and good_break))
        if body_words and (before_slide or within):
            ends.append(last)
            total_words, start = heading_words, last
        total_words += piece.words
        heading_words = heading_words + piece.words if piece.is_heading else 0
        last = last if piece.is_heading else piece.end
    total = pieces[-1].end if pieces else 0
    return [*ends, total] if total > start else ends


def _passage(document: Document, start: int, end: int) -> Unit:
    span = Span(document.id, *without_space(document.text, start, end))
    unit_id = content_id("p", document.id, str(span.start), str(span.end))
    blocks, ends = document.blocks_within(span), document.sentence_ends_within(span)
    return Unit(unit_id, Kind.PASSAGE, document.title, document.slice(span), (span,), blocks, ends)


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """Part `number`, from 1, of `count`. Equal content is in one part wherever it is read: the document's id decides."""

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise UsageError(f"there is no part {self.number} of {self.count}.")

    def has(self, document: str) -> bool:
        """Whether the document with this id is in the part."""
        return int(document[1:], 16) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}-of-{self.count}"
