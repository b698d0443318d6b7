"""The statements closest to a question, shown with every answer and with every abstention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hoptrail.language.closeness import Close, asked_words, close_statements
from hoptrail.language.spelling import corrected
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.statements import LONGEST, Said, statements_of
from hoptrail.text.words import content_stems, terms
from hoptrail.types import BlockKind, Kind, Ranking, Statement, Unit

MOST_SHOWN = 3
_SHOWN_KINDS = frozenset({Kind.PASSAGE, Kind.SENTENCE})
"""Kinds of units whose text stands in a document as it is."""
_SOURCES, _MOST_SPANS = 4, 24
"""Of one unit, and of all."""
_VALUE = 60
"""Characters up to which an item, or a row of one cell, is a value rather than a sentence."""
_ANNOUNCING = re.compile(r"[?:]$|\b(?:the following|as follows)\b[^.!?]{0,60}$", re.IGNORECASE)
"""What a statement ends with that says nothing without what follows it."""
_RULES = " \n\t=-~*_#"
"""What plain text draws below a heading."""
_LOOKED_AT = 16
"""Statements that may join one that is shown beside them, closest first."""


def closest(question: str, found: Ranking, corpus: Corpus) -> tuple[Statement, ...]:
    """The best three statements among what was found, best first; none only where nothing was found.

    What stands next to each other in a document is shown as one, as far as there is room.
    """

    def similarity(asked: str, statements: Sequence[str]) -> list[float]:
        vectors = corpus.encoder.encode([asked, *statements])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    units = _citable([hit.unit for hit in found], corpus)
    question = corrected(question, units)
    close = close_statements(question, units, similarity)
    asked = asked_words(question)
    runs = _runs(close)
    sources = corpus.sources({run.unit.document for run in runs})
    return tuple(run.shown(asked, sources.get(run.unit.document, "")) for run in runs)


def _citable(units: Sequence[Unit], corpus: Corpus) -> list[Unit]:
    """The passages and sentences among units; where nothing else was found, what summaries, facts and the like were made from."""
    shown = [unit for unit in units if unit.kind in _SHOWN_KINDS]
    if shown:
        return shown
    spans = list(dict.fromkeys(span for unit in units for span in unit.sources[:_SOURCES]))[:_MOST_SPANS]
    owners = {span: unit.id for unit in reversed(units) for span in unit.sources}
    documents = corpus.documents({span.document for span in spans}) if spans else {}
    return [
        Unit(owners[span], Kind.SENTENCE, documents[span.document].title, documents[span.document].slice(span), (span,))
        for span in spans
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """Statements `first` to `last` of a unit."""

    unit: Unit
    statements: tuple[Said, ...]
    first: int
    last: int

    @property
    def members(self) -> tuple[Said, ...]:
        return self.statements[self.first : self.last + 1]

    @property
    def said(self) -> str:
        """As it reads: what a statement repeats of the one before it is said once, and a value stands after its heading."""
        lines: list[str] = []
        for said in self.members:
            lines.append(said.alone if lines else _headed(said))
        return "\n".join(lines)

    @property
    def plain(self) -> str:
        return " ".join(self.said.split())

    def repeats(self, other: _Run) -> bool:
        """Whether one of the two says the other again, or they share a part of a document."""
        if self.plain in other.plain or other.plain in self.plain:
            return True
        (start, end), (others_start, others_end) = self.place, other.place
        return self.unit.document == other.unit.document and start < others_end and others_start < end

    @property
    def place(self) -> tuple[int, int]:
        """Start and end in its document."""
        start = self.unit.sources[0].start
        return start + self.members[0].start, start + self.members[-1].end

    def with_one(self, at: int) -> _Run | None:
        """The run as far as statement `at`; None where that is too long to be shown, or stands under another heading."""
        longer = _Run(self.unit, self.statements, min(self.first, at), max(self.last, at))
        same = len({said.path for said in longer.members}) == 1
        return longer if same and len(longer.said) <= LONGEST else None

    def shown(self, asked: frozenset[str], source: str) -> Statement:
        """With its citation (its document was read from `source`); of what is too long, what says most of the `asked` words."""
        first, last = self.members[0], self.members[-1]
        whole = self.unit.text[first.start : last.end]
        at = _part(whole, asked)
        text = whole[at : at + LONGEST]
        start = self.unit.sources[0].start + first.start + at
        block = first.block
        said = self.said if len(self.said) <= LONGEST else " ".join(text.split()) if at else self.said[:LONGEST]
        return Statement(
            *(self.unit.document, self.unit.title, start, start + len(text), text, self.unit.id),
            path=first.path,
            place=block.place if block else "",
            date=first.date,
            source=source,
            said=said,
        )


def _runs(close: Sequence[Close]) -> list[_Run]:
    """At most three; where too few are left when neighbours are joined, they stay apart, if that makes more of them."""
    joined = _gathered(close, _LOOKED_AT)
    apart = _gathered(close, 0) if len(joined) < MOST_SHOWN else []
    return max(joined, apart, key=len)


def _gathered(close: Sequence[Close], looked_at: int) -> list[_Run]:
    """Those of the first `looked_at` that stand beside one that is shown are joined to it."""
    runs: list[_Run] = []
    for place, one in enumerate(close):
        if place >= looked_at and len(runs) == MOST_SHOWN:
            break
        new = _run_of(one.said)
        longer = _joined(runs, new) if place < looked_at else None
        if longer:
            runs[longer[0]] = longer[1]
        elif len(runs) < MOST_SHOWN and not any(run.repeats(new) for run in runs):
            runs.append(new)
    return runs


def _joined(runs: Sequence[_Run], new: _Run) -> tuple[int, _Run] | None:
    """The place of a run of the same unit that `new` can join, and that run with it."""
    for place, run in enumerate(runs):
        longer = run.with_one(new.first) if run.unit == new.unit else None
        if longer and not any(longer.repeats(other) for other in runs if other is not run):
            return place, longer
    return None


def _run_of(said: Said) -> _Run:
    """A statement; of one that only asks, or announces what follows, with as much of that as there is room for."""
    statements = statements_of(said.unit)
    at = statements.index(said)
    run = _Run(said.unit, statements, at, at)
    if _ANNOUNCING.search(said.text.rstrip(_RULES)):
        for following in range(at + 1, len(statements)):
            if statements[following].path != said.path or len(run.said) >= LONGEST:
                break
            run = replace(run, last=following)
    return run


def _headed(said: Said) -> str:
    """A value that says nothing without its heading, after it: `First aiders: Ada Lunt`."""
    block = said.block
    if block is None or not block.path or block.lead or len(said.text) > _VALUE:
        return said.said
    is_value = block.kind is BlockKind.ITEM or (block.kind is BlockKind.ROW and len(block.cells) == 1)
    says_more = not content_stems(block.path[-1]) <= content_stems(said.said)
    return f"{block.path[-1]}: {said.said}" if is_value and says_more else said.said


def _part(text: str, asked: frozenset[str]) -> int:
    """Where the LONGEST characters of a text begin that say most of the words asked; 0 where all of it is shown."""
    if len(text) <= LONGEST:
        return 0
    found = terms(text)
    starts = [word.start for word in found if word.start <= len(text) - LONGEST]
    met = [(word.start, word.end, word.stem) for word in found if word.stem in asked]

    def says(start: int) -> int:
        return len({stem for begin, end, stem in met if start <= begin and end <= start + LONGEST})

    most = max(map(says, starts), default=0)
    best = [start for start in starts if says(start) == most] or [0]
    best = [start for start in best if text[start - 1 : start] == "\n"] or best  # whole lines, where there are any
    return 0 if says(0) == most else best[len(best) // 2]  # with room on either side of what is said
