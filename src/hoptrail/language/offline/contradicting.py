"""Choose between documents that contradict each other: if all are dated, the latest holds; otherwise none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hoptrail.types import Span

ALIKE = 0.5
"""Least share of words in common for two statements to be about the same thing."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """An answer that a document gives, the stems of what it is about, its spans, and its ISO date (empty: none)."""

    answer: str
    about: frozenset[str]
    support: tuple[Span, ...]
    date: str = ""

    def contradicts(self, other: Assertion, least: float = ALIKE) -> bool:
        """Whether another document gives a different answer to the same thing: `about` overlaps by at least `least`."""
        alike = len(self.about & other.about) >= least * len(self.about | other.about)
        return alike and self.support[0].document != other.support[0].document and self.answer != other.answer


@dataclass(frozen=True, slots=True)
class Settled:
    """The place of the assertion that holds, and the spans of those with other answers, as replaced unless it is contested."""

    place: int
    others: tuple[Span, ...] = ()
    contested: bool = False


def replaced(support: Sequence[Span]) -> tuple[Span, ...]:
    """The spans, marked as replaced by a later statement."""
    return tuple(replace(span, replaced=True) for span in support)


def settle(asserted: Sequence[Assertion], least: float = ALIKE) -> Settled:
    """The first assertion, or the latest of those against it; contested if dates do not decide. There must be one."""
    against = [one for one in asserted if one.contradicts(asserted[0], least)]
    if not against:
        return Settled(0)
    disputed = [asserted[0], *against]
    last = max(one.date for one in disputed)
    latest = [one for one in disputed if one.date == last]
    contested = len({one.answer for one in latest}) > 1 or not all(one.date for one in disputed)
    holding = disputed[0] if contested else latest[0]
    others = tuple(span for one in disputed if one.answer != holding.answer for span in one.support)
    return Settled(asserted.index(holding), others if contested else replaced(others), contested)
