"""The statements closest to a question, shown with every answer and every abstention."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hoptrail.language.closeness import UNITS, asked_words, close_statements, encoder_similarity
from hoptrail.language.tasks import Language, judged
from hoptrail.recipes.answering import covers_any
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.statements import LONGEST, UnitStatement, statements_of
from hoptrail.text.words import content_stems, terms
from hoptrail.types import BlockKind, Kind, Ranking, Span, Statement, Unit

MOST_SHOWN = 3  # as many as are read at a glance
_SHOWN_KINDS = frozenset({Kind.PASSAGE, Kind.SENTENCE})  # kinds of units whose text is a slice of a document
_SPANS_A_UNIT, _MOST_SPANS = 4, 24
"""Of the sources of a summary, and of all: their sentences are as many as those of some passages."""
_LONGEST_VALUE = 60  # characters up to which an item, or a row of one cell, is a value rather than a sentence
_ANNOUNCEMENT = re.compile(r"[?:]$|\b(?:the following|as follows)\b[^.!?]{0,60}$", re.IGNORECASE)
"""The end of a statement that says nothing without what follows."""
_UNDERLINE = " \n\t=-~*_#"
"""Characters of the rules that plain text draws below headings."""
_JOINABLE = 16  # how many of the closest statements may be joined to a neighbour that is shown


def closest(
    question: str, found: Ranking, corpus: Corpus, language: Language, promising: Sequence[Span] = ()
) -> tuple[Statement, ...]:
    """The three statements among the hits that are closest to the question, best first; none only if there are no hits.

    Closeness counts words, meaning, and whether `language` judges that a statement settles the question. After the first
    statement, those at the `promising` spans of a reading alternate with the next closest. Adjacent statements are joined if they
    are short enough.
    """
    units = _citable([hit.unit for hit in found], corpus)
    near = tuple(units[:UNITS])
    ranked = judged(language, question, near) or close_statements(question, near, encoder_similarity(corpus.encoder))
    close = [one.said for one in ranked]
    holders = [unit for unit in units if covers_any(unit, promising)]
    places = {said.support[0]: said for unit in reversed(holders) for said in statements_of(unit) if said.support}
    led = [places[span] for span in promising if span in places]
    alternating = itertools.chain.from_iterable(zip(close, led, strict=False))
    runs = _runs(list(dict.fromkeys((*alternating, *close))))
    asked, sources = asked_words(question), corpus.sources({run.unit.document for run in runs})
    return tuple(run.to_statement(asked, sources.get(run.unit.document, "")) for run in runs)


def _citable(units: Sequence[Unit], corpus: Corpus) -> list[Unit]:
    """The passages and sentences among units; if there are none, the sources of the summaries, facts and so on."""
    shown = [unit for unit in units if unit.kind in _SHOWN_KINDS]
    if shown:
        return shown
    spans = list(dict.fromkeys(span for unit in units for span in unit.sources[:_SPANS_A_UNIT]))[:_MOST_SPANS]
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
    statements: tuple[UnitStatement, ...]
    first: int
    last: int

    @property
    def members(self) -> tuple[UnitStatement, ...]:
        return self.statements[self.first : self.last + 1]

    @property
    def said(self) -> str:
        """The text to show: the context that statements share is given once, and a value follows its heading."""
        first, *others = self.members
        return "\n".join((_with_heading(first), *(said.alone for said in others)))

    def repeats(self, other: _Run) -> bool:
        """Whether one run's text contains the other's, or they overlap in a document."""
        own, others = (" ".join(run.said.split()) for run in (self, other))
        (start, end), (others_start, others_end) = self.place, other.place
        overlap = self.unit.document == other.unit.document and start < others_end and others_start < end
        return overlap or own in others or others in own

    @property
    def place(self) -> tuple[int, int]:
        start = self.unit.sources[0].start
        return start + self.members[0].start, start + self.members[-1].end

    def extended_to(self, at: int) -> _Run | None:
        """The run up to statement `at`; None if that is too long to be shown or crosses a heading."""
        longer = _Run(self.unit, self.statements, min(self.first, at), max(self.last, at))
        one_heading = len({said.path for said in longer.members}) == 1
        return longer if one_heading and len(longer.said) <= LONGEST else None

    def to_statement(self, asked: frozenset[str], source: str) -> Statement:
        """The statement to show with its citation. A text that is too long is cut where it has most of the `asked` words."""
        first, last = self.members[0], self.members[-1]
        whole = self.unit.text[first.start : last.end]
        at = excerpt_start(whole, asked, LONGEST)
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


def _runs(close: Sequence[UnitStatement]) -> list[_Run]:
    """At most three runs. If joining neighbours leaves fewer, neighbours stay separate where that gives more."""
    joined = _collect_runs(close, _JOINABLE)
    separate = _collect_runs(close, 0) if len(joined) < MOST_SHOWN else []
    return max(joined, separate, key=len)


def _collect_runs(close: Sequence[UnitStatement], joinable: int) -> list[_Run]:
    """The first runs that do not repeat each other. The first `joinable` statements may extend a run beside them."""
    runs: list[_Run] = []
    for position, candidate in enumerate(close):
        if position >= joinable and len(runs) == MOST_SHOWN:
            break
        new = _run_of(candidate)
        if position < joinable and _extend_one(runs, new):
            continue
        if len(runs) < MOST_SHOWN and not any(run.repeats(new) for run in runs):
            runs.append(new)
    return runs


def _extend_one(runs: list[_Run], new: _Run) -> bool:
    """Extend the first run of the same unit that can take in `new`, in place; False if there is none."""
    for position, run in enumerate(runs):
        longer = run.extended_to(new.first) if run.unit == new.unit else None
        if longer and not any(longer.repeats(other) for other in runs if other is not run):
            runs[position] = longer
            return True
    return False


def _run_of(said: UnitStatement) -> _Run:
    """A run of one statement. If it only asks or announces something, the run includes what follows as far as there is room."""
    statements = statements_of(said.unit)
    at = statements.index(said)
    run = _Run(said.unit, statements, at, at)
    if _ANNOUNCEMENT.search(said.text.rstrip(_UNDERLINE)):
        for following in range(at + 1, len(statements)):
            if statements[following].path != said.path or len(run.said) >= LONGEST:
                break
            run = replace(run, last=following)
    return run


def _with_heading(said: UnitStatement) -> str:
    """The statement, behind its heading if it is a value that says nothing without: `First aiders: Ada Lunt`."""
    block = said.block
    if block is None or not block.path or block.lead or len(said.text) > _LONGEST_VALUE:
        return said.said
    is_value = block.kind is BlockKind.ITEM or (block.kind is BlockKind.ROW and len(block.cells) == 1)
    adds_words = not content_stems(block.path[-1]) <= content_stems(said.said)
    return f"{block.path[-1]}: {said.said}" if is_value and adds_words else said.said


def excerpt_start(text: str, asked: frozenset[str], longest: int) -> int:
    """The start of the `longest` characters of a text that contain most of the asked words; 0 for a text that is short enough."""
    if len(text) <= longest:
        return 0
    words = terms(text)
    starts = [word.start for word in words if word.start <= len(text) - longest]
    matches = [(word.start, word.end, word.stem) for word in words if word.stem in asked]

    def count(start: int) -> int:
        return len({stem for begin, end, stem in matches if start <= begin and end <= start + longest})

    most = max(map(count, starts), default=0)
    best = [start for start in starts if count(start) == most] or [0]
    best = [start for start in best if text[start - 1 : start] == "\n"] or best  # prefer the start of a line
    return 0 if count(0) == most else best[len(best) // 2]  # the middle, for context on both sides
