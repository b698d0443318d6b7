"""The opinions of a recipe's stages on one question, and their combined confidence.

Confidences come from the language. A chain's answer has the confidence of its least confident hop, because one wrong step makes
the rest a guess. Stages with the same answer have read much the same passages, so together they have the highest of their
confidences. Different answers do not lower it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hoptrail.language.tasks import Reading
from hoptrail.recipes.answering import CitedHop
from hoptrail.text.normal_forms import same_words
from hoptrail.text.values import same_answer
from hoptrail.types import AnswerKind, Span, Verdict

_CONFIRMED, _UNCONFIRMED = 2.7, 0.78
"""Factors on the odds of an answer if two statements read together give the same one, or do not (docs/decisions/reading.md)."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One stage's answer to the question or None, its confidence (0 without an answer), its hops, and its reading's leads."""

    answer: str | None
    confidence: float
    hops: list[CitedHop]
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    leads: tuple[Span, ...] = ()


def combined_confidence(opinion: Opinion, opinions: Sequence[Opinion]) -> float:
    """The highest confidence among the opinions with the same answer; 0 without an answer."""
    if opinion.answer is None:
        return 0.0
    return max(
        other.confidence for other in opinions if other.answer is not None and same_words(other.answer, opinion.answer)
    )


def best_opinion(opinions: Sequence[Opinion]) -> tuple[Opinion, float]:
    """The opinion (there must be one) with the highest combined confidence, and that confidence.

    Ties go to the higher confidence of its own, then to more answered hops.
    """

    def rank(opinion: Opinion) -> tuple[float, float, int]:
        answered = sum(cited.hop.answer is not None for cited in opinion.hops)
        return combined_confidence(opinion, opinions), opinion.confidence, answered

    best = max(opinions, key=rank)
    return best, combined_confidence(best, opinions)


def confirmed(belief: float, opinion: Opinion, read_links: Callable[[], Reading | None]) -> float:
    """The confidence in a short answer after reading two statements together (None: there is no need to).

    The same answer raises it, another one or none lowers it. Nothing is read for other kinds of answers.
    """
    if opinion.answer is None or opinion.kind is not AnswerKind.SHORT or not 0 < belief < 1:
        return belief
    linked = read_links()
    if linked is None:
        return belief
    agrees = linked.answer is not None and same_answer(linked.answer, opinion.answer)
    odds = belief / (1 - belief) * (_CONFIRMED if agrees else _UNCONFIRMED)
    return odds / (1 + odds)


def with_failures(opinion: Opinion, opinions: Sequence[Opinion]) -> list[CitedHop]:
    """The hops of one opinion; if none of them failed, with the failed hops of the other opinions in order."""
    if any(map(_failed, opinion.hops)):
        return opinion.hops
    return [cited for other in opinions for cited in other.hops if other is opinion or _failed(cited)]


def _failed(cited: CitedHop) -> bool:
    return cited.hop.verdict is Verdict.FAILED
