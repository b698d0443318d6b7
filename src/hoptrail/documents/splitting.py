"""Splits a document into passages of whole blocks, a long block between its sentences. Spans are exact: nothing is rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.text.words import words_in
from hoptrail.types import Block, BlockKind, Document, Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How long passages get, in words; see `words_in`.

    The default encoder reads 256 word pieces, about 190 English words. A document of at most `short_document_words`
    stays whole, because the published corpora are retrieved by their own paragraphs.
    """

    words: int = 200
    short_document_words: int = 400

    def __post_init__(self) -> None:
        if self.words < 1 or self.short_document_words < 0:
            raise UsageError(f"passages need at least 1 word, short documents at least 0, not {self}")


def passages(document: Document, limit: PassageLimits = PassageLimits()) -> tuple[Unit, ...]:
    """The passages of `document`, in order: whole blocks, packed up to the limit, without overlap.

    White space at the ends of a passage stays outside its span, and everything else is in exactly one passage. A passage ends
    before a heading or paragraph if it is half full there, and never with a heading. A block above the limit is split between
    sentences, a sentence above it is a passage of its own. A document without headings and tables stays whole up to
    `short_document_words`. A document of white space alone has none.
    """
    pieces = _pieces(document, limit.words)
    structured = any(block.kind in {BlockKind.HEADING, BlockKind.ROW} for block in document.blocks)
    if not structured and sum(piece.words for piece in pieces) <= limit.short_document_words:
        ends = [len(document.text)]
    else:
        ends = _packed(pieces, limit.words)
    starts = [0, *ends[:-1]]
    return tuple(unit for start, end in zip(starts, ends, strict=True) for unit in _passage(document, start, end))


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stays together: a block, or a sentence of one that is too long. `opens`: the words of its block, 0 within one."""

    end: int
    words: int
    opens: int
    is_heading: bool = False


def _pieces(document: Document, limit: int) -> list[_Piece]:
    blocks = document.blocks or tuple(_paragraphs(document))
    return [piece for block in blocks for piece in _parts(document, block, limit)]


def _paragraphs(document: Document) -> Iterator[Block]:
    """The paragraphs of a document of which no structure is known: its sentences up to each blank line."""
    start = 0
    for span in document.sentences():
        sentence = document.slice(span)
        if span.end == len(document.text) or sentence.count("\n", len(sentence.rstrip())) > 1:
            yield Block(BlockKind.PARAGRAPH, start, span.end)
            start = span.end


def _parts(document: Document, block: Block, limit: int) -> Iterator[_Piece]:
    """A block whole, if it fits into a passage."""
    headers = sum(words_in(cell.header) for cell in block.cells)
    words = headers + words_in(document.text[block.start : block.end])
    if words <= limit:
        yield _Piece(block.end, words, words, block.kind is BlockKind.HEADING)
        return
    opens = words
    for span in document.sentences(Span(document.id, block.start, block.end)):
        yield _Piece(span.end, words_in(document.slice(span)), opens)
        opens = 0


def _packed(pieces: Sequence[_Piece], limit: int) -> list[int]:
    """The end offsets of the passages. Headings go with what follows them."""
    ends: list[int] = []
    held, start, waiting = 0, 0, 0  # words since `start`; of them `waiting` in headings at the end
    last = 0  # where the last piece that is no heading ended
    for piece in pieces:
        more = waiting + piece.words
        within = held - waiting
        overfull = within + more > limit
        better_here = piece.opens and 2 * within >= limit and (waiting or within + waiting + piece.opens > limit)
        if within and not piece.is_heading and (overfull or better_here):
            ends.append(last)
            held, start = waiting, last
        held += piece.words
        waiting = waiting + piece.words if piece.is_heading else 0
        last = last if piece.is_heading else piece.end
    total = pieces[-1].end if pieces else 0
    return [*ends, total] if total > start else ends


def _passage(document: Document, start: int, end: int) -> list[Unit]:
    """The passage between two offsets without the white space at its ends; none if nothing else is there."""
    text = document.text[start:end].strip()
    if not text:
        return []
    start += len(document.text[start:end]) - len(document.text[start:end].lstrip())
    span = Span(document.id, start, start + len(text))
    unit_id = content_id("p", document.id, str(span.start), str(span.end))
    blocks, ends = document.blocks_within(span), document.sentence_ends_within(span)
    return [Unit(unit_id, Kind.PASSAGE, document.title, text, (span,), blocks, ends)]
