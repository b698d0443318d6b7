"""The records that travel through hoptrail: frozen, typed, identified by content.

One word per idea: `docs/glossary.md` has them on one page. Offsets are code points (Python string indices) into
`Document.text`, the text as stored; nothing here reads files, calls models or knows where records are kept.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from hoptrail.notebook import answer_html, answer_line, certainty

ID_DIGITS = 20


def content_id(prefix: str, *parts: str) -> str:
    """An identifier that depends on `parts` alone: `prefix` and 20 hex digits (80 bits) of their SHA-256.

    Parts are separated by U+001F, so ("ab", "c") and ("a", "bc") differ. Lone surrogates, which a JSON escape can produce, are
    hashed as they are.
    """
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass"))
    return prefix + digest.hexdigest()[:ID_DIGITS]


class Kind(StrEnum):
    """The kind of a unit."""

    PASSAGE = "passage"
    SENTENCE = "sentence"
    AGGREGATE = "aggregate"
    SUMMARY = "summary"
    PROFILE = "profile"
    TRIPLE = "triple"
    SLOT = "slot"
    FACT = "fact"
    TOPIC = "topic"


class BlockKind(StrEnum):
    """The kind of a block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    QUOTE = "quote"


class AnswerKind(StrEnum):
    """The kind of an answer; `NONE` is an abstention."""

    SHORT = "short"
    YES_NO = "yes-no"
    LIST = "list"
    STEPS = "steps"
    PASSAGE = "passage"
    NONE = "none"


class Verdict(StrEnum):
    """How a hop ended. `unsupported`: there is an answer, but the cited text does not support it."""

    ANSWERED = "answered"
    UNSUPPORTED = "unsupported"
    UNANSWERED = "unanswered"
    FAILED = "failed"


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
        """Whether this is the header row of a table."""
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


@dataclass(frozen=True, slots=True)
class Unit:
    """A retrievable piece of text. `sources` are the spans it was made from: at least one, also for derived units.

    For kinds passage and sentence there is one source and `text` is exactly that span; derived kinds carry their own text.
    `blocks` are those of the document that share characters with the source of a passage or sentence, with offsets in the
    document; none where its text is plain. `sentence_ends` are where the document's sentences end in the text of a passage or
    sentence, counted from its start; none where the text stands in no document.
    """

    id: str
    kind: Kind
    title: str
    text: str
    sources: tuple[Span, ...]
    blocks: tuple[Block, ...] = ()
    sentence_ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.sentence_ends and self.sentence_ends[-1] != len(self.text):
            raise ValueError(f"sentences of unit {self.id} do not end with its {len(self.text)} characters")

    @property
    def searchable(self) -> str:
        """What keyword index, encoder and readers see: a line with the title, a line with the heading path, then `readable`."""
        if not self.blocks:
            return f"{self.title}\n{self.text}" if self.title else self.text
        path = " > ".join(heading for heading in self.path if heading != self.title)
        return "\n".join(line for line in (self.title, path, self.readable) if line)

    @property
    def path(self) -> tuple[str, ...]:
        """The heading path at its start, outermost first."""
        return self.blocks[0].path if self.blocks else ()

    @property
    def readable(self) -> str:
        """The text with table rows as `header: value`, after the sentence that introduces the list it begins within."""
        parts = [self.text]
        if any(block.cells for block in self.blocks):
            parts = [part for block in self.blocks if (part := self.readable_part(block))] or parts
        lead = self.blocks[0].lead if self.blocks else ""
        return "\n".join((lead, *parts) if lead else parts)

    def readable_part(self, block: Block) -> str:
        """The part of a block that this unit contains, a table row as `header: value` for each cell; empty for a header row."""
        first = self.sources[0].start
        if block.is_header:
            return ""
        if not block.cells:
            return self.text[max(0, block.start - first) : block.end - first].strip()
        values = (
            (cell.header, self.text[max(0, cell.start - first) : max(0, cell.end - first)]) for cell in block.cells
        )
        return "; ".join(f"{header}: {value}" if header else value for header, value in values if value)

    @property
    def document(self) -> str:
        """The document of the first source."""
        return self.sources[0].document


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, weighted edge between two units (by id); links of different kinds may join the same two."""

    source: str
    target: str
    kind: str
    weight: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit with its score and the channel that found it. Scores of different channels do not compare."""

    unit: Unit
    score: float
    channel: str


Ranking = tuple[Hit, ...]
"""Hits in falling order of score; equal scores in rising order of unit id."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: model calls, their tokens, and seconds of wall clock."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of a document: `text` is exactly the characters `start` to `end`; `unit` is the unit it was found through.

    `path` is its heading path, `place` where it begins in the file (`page 3`), `date` its ISO date, `source` the document's.
    `said` is its wording as a person would read it: a table row as `header: value`, as in `Unit.readable`.
    """

    document: str
    title: str
    start: int
    end: int
    text: str
    unit: str
    path: tuple[str, ...] = ()
    place: str = ""
    date: str = ""
    source: str = ""
    said: str = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Cited):
    """What the hop of index `hop` rests on; `kind` is the unit's. `replaced`: a later statement replaces it."""

    kind: Kind
    hop: int
    replaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Cited):
    """A sentence, list item or table row that comes close."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step: the sub-question, what was really asked (after completion), the hits, the answer and the verdict."""

    question: str
    asked: str
    hits: Ranking
    answer: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Trail:
    """The hops of one answer, in order."""

    hops: tuple[Hop, ...] = ()

    def __iter__(self) -> Iterator[Hop]:
        return iter(self.hops)

    def __len__(self) -> int:
        return len(self.hops)


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` returns: a text, or an abstention (`text` is None); evidence, trail and usage either way.

    `ranking` is what the recipe retrieved over all hops, best first; a recipe may order it by what was read. `confidence` is the
    probability, 0 to 1, that the answer is right (for an abstention: the answer that was held back); None where the recipe does
    not estimate it. `items` are those of a list, or the steps of a procedure. `closest` are the best statements for the question,
    best first.
    """

    question: str
    text: str | None
    recipe: str
    language: str
    evidence: tuple[Evidence, ...] = ()
    trail: Trail = field(default_factory=Trail)
    usage: Usage = field(default_factory=Usage)
    ranking: Ranking = ()
    confidence: float | None = None
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    closest: tuple[Statement, ...] = ()

    def __post_init__(self) -> None:
        if self.text is None and self.kind is not AnswerKind.NONE:
            object.__setattr__(self, "kind", AnswerKind.NONE)

    @property
    def abstained(self) -> bool:
        return self.text is None

    @property
    def certainty(self) -> str:
        """The confidence in words: sure, likely or unsure; empty where there is none."""
        return "" if self.confidence is None else certainty(self.confidence)

    def __repr__(self) -> str:
        return answer_line(self)

    def _repr_html_(self) -> str:
        return answer_html(self)

    @property
    def failed(self) -> bool:
        """Whether it abstains and a language task failed: then the abstention says nothing about the documents."""
        return self.abstained and any(hop.verdict is Verdict.FAILED for hop in self.trail)
