"""What is retrieved: pieces of text, links between them, hits; and the facts that a language finds in a piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hoptrail.types.document import Block, Cell, Span

_EXCERPT = 80  # characters of its text that the line of a hit shows


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


@dataclass(frozen=True, slots=True)
class Unit:
    """A retrievable piece of text. `sources` are the spans it was made from: at least one, also for derived units.

    For kinds passage and sentence there is one source and `text` is exactly that span; derived kinds carry their own text.
    `blocks` are those of the document that share characters with the source of a passage or sentence, with offsets in the
    document; none where its text is plain. `sentence_ends` are where the document's sentences end in the text of a passage or
    sentence, counted from its start; none where the text stands in no document. Only the id is hashed.
    """

    id: str
    kind: Kind = field(hash=False)
    title: str = field(hash=False)
    text: str = field(hash=False)
    sources: tuple[Span, ...] = field(hash=False)
    blocks: tuple[Block, ...] = field(default=(), hash=False)
    sentence_ends: tuple[int, ...] = field(default=(), hash=False)

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
        if block.is_header:
            return ""
        if not block.cells:
            return self.part(block).strip()
        values = ((cell.header, self.part(cell)) for cell in block.cells)
        return "; ".join(f"{header}: {value}" if header else value for header, value in values if value)

    def part(self, part: Block | Cell) -> str:
        """The text of a block or cell, as far as this unit contains it."""
        first = self.sources[0].start
        return self.text[max(0, part.start - first) : max(0, part.end - first)]

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

    def __repr__(self) -> str:
        text = " ".join(self.unit.text[: 2 * _EXCERPT].split())
        text = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()}…"
        return f"<Hit {self.unit.title!r} {self.score:.4g} {self.channel}: {text!r}>"


Ranking = tuple[Hit, ...]  # hits in falling order of score; equal scores in rising order of unit id


@dataclass(frozen=True, slots=True)
class Triple:
    """Subject, relation and object: `Orla Finch`, `designed`, `the Tallow Bridge`. No slot is empty."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A proposition, its entities, and its span; `triple` if the language also gave it as a triple."""

    text: str
    entities: tuple[str, ...]
    source: Span
    triple: Triple | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The facts of a unit, and its entities: verbatim, in order, last those of the passage before that it refers to."""

    entities: tuple[str, ...]
    facts: tuple[Fact, ...]
