"""Measures whether confidences separate right from wrong answers: risk by coverage, and calibration.

A threshold on the confidence decides which questions are answered. Their share is the coverage, and the share of wrong answers
among them the risk. Confidences are only compared, so any scale will do, except in the calibration table, where they are
probabilities.

Sources: El-Yaniv and Wiener (JMLR 2010) for risk and coverage, Geifman et al. (ICLR 2019) for the area; Naeini et al. (AAAI
2015) for the expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import grouped, mean
from hoptrail.evaluation.reports import JudgedAnswer

BINS = 10  # equal bins from 0 to 1 in the calibration table


@dataclass(frozen=True, slots=True)
class RiskAt:
    """At this threshold, `coverage` of the questions are answered, and `risk` of the answers are wrong."""

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """The answers of one bin of confidences: their number, mean confidence and accuracy."""

    answers: int
    confidence: float
    accuracy: float


def risk_coverage_curve(judged: Sequence[JudgedAnswer], questions: int) -> tuple[RiskAt, ...]:
    """One point for each distinct confidence, in rising coverage; `questions` also counts unanswered ones.
    Raises: UsageError: there are fewer questions than answers.
    """
    if questions < len(judged):
        raise UsageError(f"{len(judged)} answers cannot come from {questions} questions")
    points, answered, wrong = [], 0, 0
    for confidence, group in _by_falling_confidence(judged):
        answered += len(group)
        wrong += sum(not answer.correct for answer in group)
        points.append(RiskAt(confidence, answered / questions, wrong / answered))
    return tuple(points)


def area_under_risk(judged: Sequence[JudgedAnswer]) -> float:
    """The mean risk over the first 1, 2, ... answers by falling confidence. 0 is perfect; chance gives the share of wrong
    answers.

    The errors among answers of equal confidence are spread evenly, so that their order does not matter.
    Raises: UsageError: there are no answers.
    """
    if not judged:
        raise UsageError("the area under the risk needs at least one answer")
    risks: list[float] = []
    wrong = 0.0
    for _, group in _by_falling_confidence(judged):
        share = sum(not answer.correct for answer in group) / len(group)
        for _ in group:
            wrong += share
            risks.append(wrong / (len(risks) + 1))
    return mean(risks)


def calibration_table(judged: Sequence[JudgedAnswer]) -> tuple[CalibrationRow, ...]:
    """The bins with answers, in rising confidence. Raises: UsageError: a confidence is not between 0 and 1."""
    if invalid := [answer.confidence for answer in judged if not 0 <= answer.confidence <= 1]:
        raise UsageError(f"calibration needs confidences between 0 and 1, not {invalid[0]}")
    bins = grouped((min(int(answer.confidence * BINS), BINS - 1), answer) for answer in judged)
    return tuple(
        CalibrationRow(
            len(answers),
            mean([answer.confidence for answer in answers]),
            mean([float(answer.correct) for answer in answers]),
        )
        for answers in bins.values()
    )


def calibration_error(table: Sequence[CalibrationRow]) -> float:
    """The expected calibration error: |confidence - accuracy| averaged over the answers; 0 without answers."""
    answers = sum(row.answers for row in table)
    return sum(row.answers * abs(row.confidence - row.accuracy) for row in table) / answers if answers else 0.0


def brier_score(judged: Sequence[JudgedAnswer]) -> float:
    """The mean squared difference of confidence and correctness (Brier 1950). 0 is perfect; a constant confidence of 0.5 gives
    0.25.
    Raises: UsageError: there are no answers.
    """
    if not judged:
        raise UsageError("the Brier score needs at least one answer")
    return mean([(answer.confidence - answer.correct) ** 2 for answer in judged])


def _by_falling_confidence(judged: Sequence[JudgedAnswer]) -> list[tuple[float, list[JudgedAnswer]]]:
    ordered = sorted(judged, key=lambda answer: -answer.confidence)
    return [(confidence, list(group)) for confidence, group in groupby(ordered, key=lambda answer: answer.confidence)]
