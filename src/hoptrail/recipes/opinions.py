"""What the stages of an answer make of a question, and how far what they say together is to be believed.

Confidences are those of the language. An answer that hops led to is no surer than the least sure of them: one wrong step makes
the rest a guess. Stages that give the same answer have read much the same passages: together they are as sure as the surest of
them. Stages that differ take nothing away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.recipes.answering import CitedHop
from hoptrail.text.normal_forms import same_words
from hoptrail.types import AnswerKind, Verdict


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one stage makes of a question: an answer or None, how sure it is (0 without one), and its hops."""

    answer: str | None
    confidence: float
    hops: list[CitedHop]
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()


def combined_confidence(opinion: Opinion, opinions: Sequence[Opinion]) -> float:
    """How likely an answer is: as likely as the surest of those who gave it says. 0 without one."""
    if opinion.answer is None:
        return 0.0
    return max(
        other.confidence for other in opinions if other.answer is not None and same_words(other.answer, opinion.answer)
    )


def most_believed(opinions: Sequence[Opinion]) -> tuple[Opinion, float]:
    """Of at least one: the one believed most, and how far; of equals the surest, then the one that found out most."""

    def rank(opinion: Opinion) -> tuple[float, float, int]:
        answered = sum(cited.hop.answer is not None for cited in opinion.hops)
        return combined_confidence(opinion, opinions), opinion.confidence, answered

    best = max(opinions, key=rank)
    return best, combined_confidence(best, opinions)


def with_failures(opinion: Opinion, opinions: Sequence[Opinion]) -> list[CitedHop]:
    """The hops of one of the opinions; where no task failed on them, among those of the others on which one did, as they came."""
    if any(map(_failed, opinion.hops)):
        return opinion.hops
    return [cited for other in opinions for cited in other.hops if other is opinion or _failed(cited)]


def _failed(cited: CitedHop) -> bool:
    return cited.hop.verdict is Verdict.FAILED
