"""The data of a comparison's plots: recall by k, passages reached hop by hop, risk by coverage, reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.evaluation.answer_scores import mean
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, recall_at
from hoptrail.evaluation.risk_coverage import calibration_table, risk_coverage_curve
from hoptrail.evaluation.run_comparison import common_questions, judged_answers, labels_of, value_of_ranking
from hoptrail.evaluation.run_folder import Run

HOP_CUTOFF = 10
"""A hop is reached if its gold passage is among this many passages."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of one run's curve."""

    run: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class HopPoint:
    """The `share` of questions with this number of `hops` for which a run found all gold passages up to this `hop`."""

    run: str
    hops: int
    hop: int
    share: float


def recall_by_k(runs: Sequence[Run]) -> list[Point]:
    """Mean recall at every k up to the deepest cutoff; empty if no question has gold passages."""
    questions = [question for question in common_questions(runs) if question.supporting]
    return [
        Point(label, k, mean(_recalls(run, questions, k)))
        for label, run in zip(labels_of(runs), runs, strict=True)
        for k in range(1, DEEPEST_CUTOFF + 1)
        if questions
    ]


def reached_by_hop(runs: Sequence[Run]) -> list[HopPoint]:
    """By number of hops and hop: the share of questions for which all gold passages up to this hop were found.

    Gold passages are in hop order if the data set knows it, so a question lost at one hop stays lost at all later ones.
    """
    questions = common_questions(runs)
    return [
        HopPoint(
            label, hops, hop, mean(_reached(run, [question for question in questions if question.hops == hops], hop))
        )
        for label, run in zip(labels_of(runs), runs, strict=True)
        for hops in sorted({question.hops for question in questions if question.hops > 1})
        for hop in range(1, hops + 1)
    ]


def risk_by_coverage(runs: Sequence[Run]) -> list[Point]:
    """The risk-coverage curves of the runs whose answers have a confidence."""
    questions = common_questions(runs)
    return [
        Point(label, point.coverage, point.risk)
        for label, run in zip(labels_of(runs), runs, strict=True)
        for point in risk_coverage_curve(judged_answers(run, questions), len(questions))
    ]


def reliability(runs: Sequence[Run]) -> list[Point]:
    """The accuracy of answers by confidence, for the runs whose answers have a confidence."""
    questions = common_questions(runs)
    return [
        Point(label, row.confidence, row.accuracy)
        for label, run in zip(labels_of(runs), runs, strict=True)
        for row in calibration_table(judged_answers(run, questions))
    ]


def _recalls(run: Run, questions: Sequence[Question], k: int) -> list[float]:
    values = (value_of_ranking(recall_at, k, run, question) for question in questions)
    return [value for value in values if value is not None]


def _reached(run: Run, questions: Sequence[Question], hop: int) -> list[float]:
    reached = []
    for question in questions:
        result = run.results.get(question.id)
        found = result.counted_passages[:HOP_CUTOFF] if result else ()
        gold = list(dict.fromkeys(question.supporting))[:hop]
        reached.append(float(set(gold) <= set(found)))
    return reached
