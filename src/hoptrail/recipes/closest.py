"""The statements closest to a question, shown with every answer and with every abstention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import Close, close_statements
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.statements import LONGEST, Said, statements_of
from hoptrail.types import Ranking, Statement, Unit

MOST_SHOWN = 3
_LOOKED_AT = 16
"""Statements that may join one that is shown beside them, closest first."""


def closest(question: str, found: Ranking, corpus: Corpus) -> tuple[Statement, ...]:
    """The best three statements among what was found, best first; none only where nothing was found.

    What stands next to each other in a document is shown as one, as far as there is room.
    """

    def similarity(asked: str, statements: Sequence[str]) -> list[float]:
        vectors = corpus.encoder.encode([asked, *statements])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    close = close_statements(question, [hit.unit for hit in found], similarity)
    return tuple(run.shown for run in _runs(close))


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
        """As it reads: what a statement repeats of the one before it is said once."""
        lines: list[str] = []
        for said in self.members:
            lines.append(said.alone if lines else said.said)
        return "\n".join(lines)

    @property
    def plain(self) -> str:
        return " ".join(self.said.split())

    def with_one(self, at: int) -> _Run | None:
        """The run as far as statement `at`; None where that is too long to be shown, or stands under another heading."""
        longer = _Run(self.unit, self.statements, min(self.first, at), max(self.last, at))
        same = len({said.path for said in longer.members}) == 1
        return longer if same and len(longer.said) <= LONGEST else None

    @property
    def shown(self) -> Statement:
        """With its citation, cut to what is shown."""
        start, first, last = self.unit.sources[0].start, self.members[0], self.members[-1]
        text = self.unit.text[first.start : last.end][:LONGEST]
        start += first.start
        block = first.block
        return Statement(
            *(self.unit.document, self.unit.title, start, start + len(text), text, self.said[:LONGEST], self.unit.id),
            path=first.path,
            place=block.place if block else "",
            date=block.date if block else "",
        )


def _runs(close: Sequence[Close]) -> list[_Run]:
    """At most three; where too few are left when neighbours are joined, they stay apart."""
    joined = _gathered(close, _LOOKED_AT)
    return joined if len(joined) == MOST_SHOWN else _gathered(close, 0)


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
        elif len(runs) < MOST_SHOWN and all(run.plain != new.plain for run in runs):
            runs.append(new)
    return runs


def _joined(runs: Sequence[_Run], new: _Run) -> tuple[int, _Run] | None:
    """The place of a run of the same unit that `new` can join, and that run with it."""
    for place, run in enumerate(runs):
        longer = run.with_one(new.first) if run.unit == new.unit else None
        if longer:
            return place, longer
    return None


def _run_of(said: Said) -> _Run:
    """A statement; of one that only asks, or announces what follows, with as much of that as there is room for."""
    statements = statements_of(said.unit)
    at = statements.index(said)
    run = _Run(said.unit, statements, at, at)
    if said.text.rstrip().endswith(("?", ":")):
        for following in range(at + 1, len(statements)):
            longer = run.with_one(following)
            if longer is None:
                break
            run = longer
    return run
