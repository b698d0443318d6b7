"""The statements of a unit: its sentences, list items and table rows, each with the headings above it.

The wording of a statement (`said`) can be read alone: a row reads `header: value` (`Unit.readable_part` joins its cells), an item
follows the sentence that introduces its list, a sentence that begins with a pronoun follows the sentence before it, and a box
reads as ticked or not. Headings, header rows and questions are no statements; what follows a question follows it in its wording,
without the name of who asked. How the reader is given a statement: `language/offline/statement_text.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import islice

from hoptrail.text.dates import date_of
from hoptrail.text.lexicon import PRONOUNS
from hoptrail.text.normal_forms import base_title, folded, squeeze, stands_in
from hoptrail.text.sentences import unit_sentences, without_space
from hoptrail.text.words import words
from hoptrail.types import Block, BlockKind, Document, Kind, Span, Unit

LONGEST = 300  # characters of a statement that are shown
_SHORT = 40  # characters. A shorter sentence says little by itself.
_HANDFUL = 5  # words. A sentence of no more, such as `Yes.`, says nothing without the heading or sentence before it.
MOST_SENTENCES = 400  # per unit: far above any passage
_MOST_CHARACTERS = 100_000  # read per block
_NOTICES = ("©", "(c) ", "(C) ", "Copyright")
_CLOSING = " \n\t\"'”’»)]」』"
_ASKER = re.compile(r"[^?]{1,60}?:\s+")  # who asks, before a question
_NOT_ASKING = (BlockKind.ROW, BlockKind.CODE)
_BOX = re.compile(r"(?:(?<!\S)\[(?P<mark>[ xX])\](?=\s)|(?P<sign>[☐□☑☒✓✔✅✗✘❌]))\s*")
_EMPTY = "☐□✗✘❌ "
_KEPT = 512  # units whose statements are kept, with what was derived from them: those of several questions


@dataclass(frozen=True)
class UnitStatement:
    """A statement: characters `start` to `end` of a unit's text, its wording, and its block (None: plain text)."""

    unit: Unit
    start: int
    end: int
    said: str = field(hash=False)
    block: Block | None = field(default=None, hash=False)

    @cached_property
    def text(self) -> str:
        """The statement as it stands in the unit, with its line breaks."""
        return self.unit.text[self.start : self.end]

    @cached_property
    def alone(self) -> str:
        """Its wording right after the previous statement: a row as `header: value`, an item without the lead of its list."""
        if self.block is not None and self.block.cells:
            return self.said
        return with_boxes_said(squeeze(self.text))

    @cached_property
    def context(self) -> str:
        """What its wording begins with and belongs to it: the lead of its list, the question that it answers, or the sentence
        before its pronoun, unless that has a pronoun, too, or says what the title says anyway. Before a short sentence may
        stand anything.
        """
        before = self.said.removesuffix(self.alone).rstrip()
        if (self.block is not None and self.block.kind is BlockKind.ITEM) or _asks(before):
            return before
        tells = _opens_with_pronoun(self.alone) and not _opens_with_pronoun(before)
        return before if tells and not stands_in(folded(base_title(self.unit.title)), folded(before)) else ""

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The headings above it, outermost first; empty in plain text."""
        return self.block.path if self.block else ()

    @cached_property
    def date(self) -> str:
        """Its ISO date: that of its block, else one in its headings or title; empty if there is none."""
        return date_of(self.block, self.unit.title)

    @cached_property
    def support(self) -> tuple[Span, ...]:
        """The document spans that state it."""
        return support_of(self.unit, self.start, self.end)

    @cached_property
    def place(self) -> tuple[str, int, int]:
        """Its document, and where it starts and ends there."""
        first = self.unit.sources[0].start
        return self.unit.document, first + self.start, first + self.end

    @cached_property
    def seen(self) -> str:
        """Its wording after title and headings, as search indexes it."""
        above = [self.unit.title, *(heading for heading in self.path if heading != self.unit.title)]
        return f"{' > '.join(part for part in above if part)}: {self.said}"


@lru_cache(_KEPT)
def statements_of(unit: Unit) -> tuple[UnitStatement, ...]:
    """The statements of a passage or sentence in order, or the sentences of a derived unit."""
    if not unit.blocks:
        return tuple(_after_questions(_sentences(unit, 0, len(unit.text), None)))
    return tuple(_after_questions(said for block in unit.blocks for said in _block_statements(unit, block)))


def _after_questions(statements: Iterable[UnitStatement]) -> Iterator[UnitStatement]:
    asked = ""
    for one in statements:
        if _asks(one.text) and not (one.block and one.block.kind in _NOT_ASKING):
            asked = _ASKER.sub("", squeeze(one.text))
        else:
            fits = asked and len(asked) + len(one.said) < LONGEST
            yield replace(one, said=f"{asked} {one.said}") if fits else one
            asked = ""


def wording_of(document: Document, span: Span) -> str:
    """A part of a document as a person would read it: its statements, each row or item on a line of its own."""
    cited = tuple(document.sentences(span)) or (span,)
    start = cited[0].start
    before = next(document.sentences(Span(span.document, max(0, start - 1), start)), Span(span.document, start, start))
    window = Span(span.document, before.start, cited[-1].end)
    ends, blocks = document.sentence_ends_within(window), document.blocks_within(window)
    unit = Unit("", Kind.PASSAGE, document.title, document.slice(window), (window,), blocks, ends)
    low, high = span.start - window.start, span.end - window.start
    statements = [said for said in statements_of(unit) if low < said.end and said.start < high]
    if not statements:
        return squeeze(document.slice(span))
    first, *others = statements
    wording = _below(squeeze(document.slice(before)), first)
    return wording + "".join(("\n" if _is_listed(said) else " ") + said.alone for said in others)


def _below(before: str, said: UnitStatement) -> str:
    """The wording of a statement: a handful of words follows the heading or sentence before it, or the lead of its list."""
    if len(words(said.alone)) > _HANDFUL:
        return said.alone
    if _is_listed(said) or not before or len(before) + len(said.alone) >= LONGEST:
        return said.said
    return f"{before}{':' if before[-1].isalnum() else ''} {said.alone}"


def _is_listed(said: UnitStatement) -> bool:
    return said.block is not None and said.block.kind in {BlockKind.ROW, BlockKind.ITEM}


def _block_statements(unit: Unit, block: Block) -> Iterator[UnitStatement]:
    if block.kind is BlockKind.HEADING or block.is_header:
        return
    first = unit.sources[0].start
    start, end = max(0, block.start - first), min(len(unit.text), block.end - first)
    begin, stop = without_space(unit.text, start, end)
    if begin >= stop:
        return
    if block.kind is BlockKind.ROW:
        said = "; ".join(map(with_boxes_said, unit.readable_part(block).split("; ")))
        yield UnitStatement(unit, begin, stop, said, block)
    elif block.kind is BlockKind.ITEM and stop - begin <= LONGEST:
        line = with_boxes_said(squeeze(unit.text[begin:stop]))
        yield UnitStatement(unit, begin, stop, f"{block.lead} {line}" if block.lead else line, block)
    else:
        yield from _sentences(unit, start, end, block)


def _needs_context(line: str) -> bool:
    """Whether a sentence needs the one before it: it begins with a pronoun, or is very short and no notice of a copyright."""
    return not line.startswith(_NOTICES) and (len(line) < _SHORT or _opens_with_pronoun(line))


def _asks(line: str) -> bool:
    return line.rstrip(_CLOSING).endswith(("?", "？"))


def _opens_with_pronoun(line: str) -> bool:
    return any(word.lower in PRONOUNS for word in words(line[:40])[:1])


def _sentences(unit: Unit, start: int, end: int, block: Block | None) -> Iterator[UnitStatement]:
    before, lead = "", block.lead if block and block.kind is BlockKind.ITEM else ""
    end = min(end, start + _MOST_CHARACTERS)
    for begin, stop in islice(unit_sentences(unit, start, end), MOST_SENTENCES):
        line = with_boxes_said(squeeze(unit.text[begin:stop]))
        follows = before and len(before) + len(line) < LONGEST and _needs_context(line)
        above = before if follows else lead
        yield UnitStatement(unit, begin, stop, f"{above} {line}" if above else line, block)
        before = "" if _asks(line) else line


def support_of(unit: Unit, start: int, end: int) -> tuple[Span, ...]:
    """The document spans behind characters `start` to `end` of a unit's text. Exact for passages and sentences; else the source
    of the line if there is one line per source, or all sources.
    """
    first = unit.sources[0]
    if unit.kind in {Kind.PASSAGE, Kind.SENTENCE} and first.end - first.start == len(unit.text):
        return (Span(first.document, first.start + start, first.start + end),)
    if unit.text.count("\n") + 1 == len(unit.sources):
        return (unit.sources[unit.text.count("\n", 0, start)],)
    return unit.sources


def with_boxes_said(line: str) -> str:
    """A line with each box in words behind what stands beside it: `Lead present: no (not ticked)`. A box stands before its words,
    or behind them where it ends the line; words before the first of several are their label.
    """
    boxes = list(_BOX.finditer(line))
    if not boxes or (boxes[0]["mark"] and line[: boxes[0].start()].strip()):
        return line
    edges = [0, *(edge for box in boxes for edge in box.span()), len(line)]
    texts = [line[start:end].strip(" :") for start, end in zip(edges[::2], edges[1::2], strict=True)]
    label = "" if not texts[-1] or not texts[0] else f"{texts[0]}: "
    beside = texts[:-1] if not texts[-1] else texts[1:]
    said = ["no (not ticked)" if (box["sign"] or box["mark"]) in _EMPTY else "yes (ticked)" for box in boxes]
    return label + "; ".join(f"{text}: {word}" if text else word for text, word in zip(beside, said, strict=True))
