"""Choose between documents that contradict each other: if all are dated, the latest holds; otherwise none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hoptrail.types import Span

ALIKE = 0.5
"""Least share of words in common for two statements to be about the same thing."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """An answer that a document gives, the stems of what it is about, and its ISO date (empty: none)."""

    answer: str
    about: frozenset[str]
    document: str
    date: str = ""

    def contradicts(self, other: Assertion, least: float = ALIKE) -> bool:
        """Whether another document gives a different answer to the same thing: `about` overlaps by at least `least`."""
        shared, either = self.about & other.about, self.about | other.about
        alike = len(shared) >= least * len(either)
        return alike and self.document != other.document and self.answer != other.answer


def replaced(support: Sequence[Span]) -> tuple[Span, ...]:
    """The spans, marked as replaced by a later statement."""
    return tuple(replace(span, replaced=True) for span in support)


def which_holds(asserted: Sequence[Assertion], least: float = ALIKE) -> int | None:
    """The place of the assertion that holds: the first, or the latest of those that contradict it; None if dates do not decide.

    `asserted` must not be empty.
    """
    disputed = [at for at, one in enumerate(asserted) if at == 0 or one.contradicts(asserted[0], least)]
    if len(disputed) == 1:
        return 0
    last = max(asserted[at].date for at in disputed)
    latest = [at for at in disputed if asserted[at].date == last]
    answers = {asserted[at].answer for at in latest}
    return latest[0] if len(answers) == 1 and all(asserted[at].date for at in disputed) else None
