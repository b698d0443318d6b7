"""Counts the outcomes of one recipe over own documents: shares with intervals, overall, by type, and of sure answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.risk_coverage import SURE, Judged, sure_answers
from hoptrail.json_object import JsonObject


@dataclass(frozen=True, slots=True)
class OutcomeReport:
    """Shares of outcomes.

    `asked`: the number of questions. `all` and every type have a share for each outcome; they are empty if only retrieval was
    run. `sure`: the share of right answers among those with a confidence of at least SURE, None without such answers.
    `settled`: the share of questions settled by one of the first five hits, among those with settling strings, None without any.
    """

    asked: int
    all: Mapping[Outcome, Share]
    by_type: Mapping[str, Mapping[Outcome, Share]]
    sure: Share | None
    settled: Share | None

    def to_json(self) -> JsonObject:
        """Keys for a recipe's report; values that were not measured are left out or null."""
        retrieval = {f"shows@{HITS}": self.settled and self.settled.value}
        if not self.all:
            return retrieval
        return {
            "outcomes": _values(self.all),
            "outcome_intervals": {name.value: share.ends() for name, share in self.all.items()},
            "by_type": {kind: _values(shares) for kind, shares in self.by_type.items()},
            "questions_by_type": {kind: shares[Outcome.RIGHT].n for kind, shares in self.by_type.items()},
            "sure": self._sure_json(),
            **retrieval,
        }

    def _sure_json(self) -> JsonObject:
        answers, precision = (self.sure.n, self.sure.value) if self.sure else (0, None)
        coverage = answers / self.asked if self.asked else 0.0
        interval = self.sure.ends() if self.sure else None
        return {
            "confidence": SURE,
            "answers": answers,
            "coverage": coverage,
            "precision": precision,
            "interval": interval,
        }


def summarise_outcomes(
    questions: Sequence[Question], results: Sequence[QuestionResult | None], *, retrieval_only: bool
) -> OutcomeReport:
    """Count the outcomes of the questions (results in their order); failed questions and those not asked are missed."""
    outcomes = [counted_outcome(result) for result in results]
    types: dict[str, list[Outcome]] = {}
    for question, outcome in zip(questions, outcomes, strict=True):
        types.setdefault(question.type or "", []).append(outcome)
    settled = [result is not None and result.settled is True for result in _with_settling(questions, results)]
    return OutcomeReport(
        asked=len(questions),
        all={} if retrieval_only else _shares(outcomes),
        by_type={} if retrieval_only else {kind: _shares(types[kind]) for kind in sorted(types)},
        sure=sure_answers(judged_by_confidence(results)),
        settled=Share(sum(settled), len(settled)) if settled else None,
    )


def judged_by_confidence(results: Sequence[QuestionResult | None]) -> list[Judged]:
    """The answers with a confidence, and whether they are right."""
    return [
        Judged(result.confidence, result.right)
        for result in results
        if result is not None
        and result.prediction is not None
        and result.confidence is not None
        and result.right is not None
    ]


def _with_settling(
    questions: Sequence[Question], results: Sequence[QuestionResult | None]
) -> list[QuestionResult | None]:
    return [result for question, result in zip(questions, results, strict=True) if question.shows]


def counted_outcome(result: QuestionResult | None) -> Outcome:
    """The outcome that counts for a question: missed if it failed or was not asked."""
    return Outcome.MISSED if result is None or result.outcome is None else result.outcome


def _shares(outcomes: Sequence[Outcome]) -> Mapping[Outcome, Share]:
    counts = Counter(outcomes)
    return {outcome: Share(counts[outcome], len(outcomes)) for outcome in Outcome}


def _values(shares: Mapping[Outcome, Share]) -> dict[str, float]:
    return {outcome.value: share.value for outcome, share in shares.items()}
