"""Does a recipe know when it is right: the risk of its answers by how many it gives, and its confidence beside its accuracy.

A threshold on the confidence decides which questions are answered. The share of them is the coverage, the share of wrong ones
among the answered is the risk. Confidences are only compared, so any scale will do, except in the calibration table, where
they are probabilities. Knows nothing of recipes or questions.

Sources: El-Yaniv and Wiener (JMLR 2010) for risk and coverage, Geifman et al. (ICLR 2019) for the area; Naeini et al. (AAAI
2015) for the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Share, mean

BINS = 10
"""Equal parts of the scale from 0 to 1 in the calibration table."""


SURE = 0.5
"""From this confidence on an answer is held to what it promises."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How sure an answer was, and whether it was right."""

    confidence: float
    correct: bool


@dataclass(frozen=True, slots=True)
class RiskAt:
    """At this threshold, `coverage` of the questions are answered, and `risk` of the answers are wrong."""

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """Answers whose confidence lies from `low` to `high` (the last row's included): how many, how sure, how right."""

    low: float
    high: float
    answers: int
    confidence: float
    accuracy: float


def risk_coverage_curve(judged: Sequence[Judged], questions: int) -> tuple[RiskAt, ...]:
    """One point for each confidence that occurs, in rising coverage; `questions` counts the unanswered ones too.

    Raises:
        UsageError: there are fewer questions than answers.
    """
    if questions < len(judged):
        raise UsageError(f"{len(judged)} answers cannot come from {questions} questions")
    points, answered, wrong = [], 0, 0
    for confidence, group in _by_falling_confidence(judged):
        answered += len(group)
        wrong += sum(not one.correct for one in group)
        points.append(RiskAt(confidence, answered / questions, wrong / answered))
    return tuple(points)


def area_under_risk(judged: Sequence[Judged]) -> float:
    """The mean risk over the first 1, 2, ... answers by falling confidence: 0 is perfect, chance gives the share of wrong ones.

    Answers of equal confidence stand in every order at once: their errors are spread evenly, so no order is favoured.

    Raises:
        UsageError: there are no answers.
    """
    if not judged:
        raise UsageError("the area under the risk needs at least one answer")
    risks: list[float] = []
    wrong = 0.0
    for _, group in _by_falling_confidence(judged):
        share = sum(not one.correct for one in group) / len(group)
        for _ in group:
            wrong += share
            risks.append(wrong / (len(risks) + 1))
    return mean(risks)


def calibration_table(judged: Sequence[Judged], bins: int = BINS) -> tuple[CalibrationRow, ...]:
    """The rows that hold answers, in rising confidence.

    Raises:
        UsageError: a confidence is no probability.
    """
    if strange := [one.confidence for one in judged if not 0 <= one.confidence <= 1]:
        raise UsageError(f"calibration needs confidences between 0 and 1, not {strange[0]}")
    rows: dict[int, list[Judged]] = {}
    for one in judged:
        rows.setdefault(min(int(one.confidence * bins), bins - 1), []).append(one)
    return tuple(
        CalibrationRow(
            row / bins,
            (row + 1) / bins,
            len(rows[row]),
            mean([one.confidence for one in rows[row]]),
            mean([float(one.correct) for one in rows[row]]),
        )
        for row in sorted(rows)
    )


def calibration_error(table: Sequence[CalibrationRow]) -> float:
    """The distance of confidence and accuracy, averaged over the answers (expected calibration error); 0 without any."""
    answers = sum(row.answers for row in table)
    return sum(row.answers * abs(row.confidence - row.accuracy) for row in table) / answers if answers else 0.0


def brier_score(judged: Sequence[Judged]) -> float:
    """The mean squared distance of confidence and what came of it (Brier 1950): 0 is perfect, 0.25 is always saying a half.

    Raises:
        UsageError: there are no answers.
    """
    if not judged:
        raise UsageError("the Brier score needs at least one answer")
    return mean([(one.confidence - one.correct) ** 2 for one in judged])


def sure_answers(judged: Sequence[Judged]) -> Share | None:
    """The right ones among the answers with a confidence of SURE or more; None where there are none of those."""
    sure = [one.correct for one in judged if one.confidence >= SURE]
    return Share(sum(sure), len(sure)) if sure else None


def _by_falling_confidence(judged: Sequence[Judged]) -> list[tuple[float, list[Judged]]]:
    ordered = sorted(judged, key=lambda one: -one.confidence)
    return [(confidence, list(group)) for confidence, group in groupby(ordered, key=lambda one: one.confidence)]
