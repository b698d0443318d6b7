"""Documents that contradict each other: which of several answers holds.

What was said last of a thing holds where everybody says when. Without dates nothing does, and the question is left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hoptrail.types import Span

ALIKE = 0.5
"""What share of their words two statements of one thing have in common."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """An answer that a document gives, the stems of what it gives it for, and its ISO date (empty: none)."""

    answer: str
    about: frozenset[str]
    document: str
    date: str = ""

    def contradicts(self, other: Assertion, least: float = ALIKE) -> bool:
        """Whether this is another document's other answer to the same: they share `least` of what they are about."""
        shared, either = self.about & other.about, self.about | other.about
        alike = len(shared) >= least * len(either)
        return alike and self.document != other.document and self.answer != other.answer


def replaced(support: Sequence[Span]) -> tuple[Span, ...]:
    """What supports an answer that another one, said later, replaces."""
    return tuple(replace(span, replaced=True) for span in support)


def which_holds(asserted: Sequence[Assertion], least: float = ALIKE) -> int | None:
    """The place of what holds: of the first, unless others contradict it and were said later; None where dates do not tell.

    There must be one.
    """
    disputed = [at for at, one in enumerate(asserted) if at == 0 or one.contradicts(asserted[0], least)]
    if len(disputed) == 1:
        return 0
    last = max(asserted[at].date for at in disputed)
    latest = [at for at in disputed if asserted[at].date == last]
    answers = {asserted[at].answer for at in latest}
    return latest[0] if len(answers) == 1 and all(asserted[at].date for at in disputed) else None
