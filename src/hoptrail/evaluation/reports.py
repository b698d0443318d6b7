"""Summaries of one recipe's results over all questions, and the report that `hoptrail evaluate --out` writes.

The measures do not depend on timing or on the order of questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from hoptrail.errors import DocumentError
from hoptrail.evaluation.answer_scores import MISSED, AnswerScore, Interval, mean, mean_interval, mean_score
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcome_report import OutcomeReport, summarise_outcomes
from hoptrail.evaluation.packed import TOKEN_BUDGETS
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.retrieval_measures import JudgedRanking, RetrievalSummary, summarise_retrieval
from hoptrail.json_object import JsonObject

INTERVAL_SEED = 0
"""The seed of the confidence intervals, so that the same results give the same report."""


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """Means of the answer scores over every question (abstained, failed and missing ones as zeros), with 95 % intervals.

    `by_turns`: by the number of hops in the trail, the number of questions and their means (HiRAG, Table 7).
    """

    means: AnswerScore
    em: Interval
    f1: Interval
    by_hops: tuple[tuple[int, AnswerScore], ...]
    by_turns: tuple[tuple[int, int, AnswerScore], ...]


@dataclass(frozen=True, slots=True)
class OracleShare:
    """The share of the questions with gold passages that the oracle answered, overall and by number of hops (rising).

    A perfect reader could answer these from what the recipe retrieved.
    """

    overall: float
    by_hops: tuple[tuple[int, float], ...]

    def to_json(self) -> JsonObject:
        """Keys for a recipe's report."""
        by_hops = {str(hops): share for hops, share in self.by_hops}
        return {"oracle_answerable": self.overall, "oracle_answerable_by_hops": by_hops}


@dataclass(frozen=True, slots=True)
class RecipeReport:
    """One recipe over one data set. `answers` is None if only retrieval was run, `oracle` unless the oracle answered.

    `outcomes` are those of questions about own documents, which have no answer scores. `failed` counts errors and questions
    without a result; seconds are means per question with a result; calls, tokens and tasks are sums. `pool_size` is the number
    of units that retrieval chose from. `packed` has the mean recall at each of TOKEN_BUDGETS, and is empty if no question has
    gold passages. `failures` has the ids of failed questions with their errors; it is for display and not in the JSON. `run` is
    the name of the run's folder.
    """

    n: int
    failed: int
    abstained: int
    answers: AnswerReport | None
    retrieval: RetrievalSummary
    packed: tuple[float, ...]
    pool_size: int
    seconds_retrieval: float
    seconds_language: float
    calls: int
    tokens: int
    tasks: int
    fingerprint: str
    failures: tuple[tuple[str, str], ...] = ()
    oracle: OracleShare | None = None
    run: str = ""
    outcomes: OutcomeReport | None = None

    def to_json(self) -> JsonObject:
        """The JSON object under the recipe's name."""
        counts = {"n": self.n, "failed": self.failed, "abstained": self.abstained}
        answers = _answers_json(self.answers) | (self.oracle.to_json() if self.oracle else {})
        answers |= self.outcomes.to_json() if self.outcomes else {}
        packed = {f"recall@{budget}": value for budget, value in zip(TOKEN_BUDGETS, self.packed, strict=False)}
        return counts | answers | _retrieval_json(self.retrieval) | {"packed": packed or None} | self._cost_json()

    def _cost_json(self) -> JsonObject:
        return {
            "pool_size": self.pool_size,
            "seconds_per_question": {"retrieval": self.seconds_retrieval, "language": self.seconds_language},
            "calls": self.calls,
            "tokens": self.tokens,
            "tasks": self.tasks,
            "fingerprint": self.fingerprint,
            "run": self.run,
        }


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The content of `evaluate --out`: the number of `questions`, and the reports by name of recipe in the order requested.

    `notes` on what could not be indexed, and `unread` documents, are for display and not in the JSON.
    """

    data: str
    questions: int
    language: str
    recipes: tuple[tuple[str, RecipeReport], ...]
    notes: tuple[str, ...] = ()
    unread: tuple[DocumentError, ...] = ()

    def to_json(self) -> JsonObject:
        """The JSON object of the contract: data, questions, language, recipes."""
        return {
            "data": self.data,
            "questions": self.questions,
            "language": self.language,
            "recipes": {name: report.to_json() for name, report in self.recipes},
        }


def summarise_recipe(
    questions: Sequence[Question],
    results: Mapping[str, QuestionResult],
    *,
    pool_size: int,
    fingerprint: str,
    retrieval_only: bool = False,
    by_oracle: bool = False,
    own_documents: bool = False,
    run: str = "",
) -> RecipeReport:
    """Summarise one recipe's results over all `questions` (at least one); results of other questions are ignored.

    `by_oracle`: the oracle answered, so that the share of answered questions is a measure. `own_documents`: the questions are
    about own documents and have outcomes instead of answer scores.

    Raises:
        UsageError: there are no questions, but answers are to be averaged.
    """
    aligned = [results.get(question.id) for question in questions]
    present = [result for result in aligned if result is not None]
    return RecipeReport(
        n=len(questions),
        failed=sum(result is None or result.error is not None for result in aligned),
        abstained=sum(result.abstained for result in present),
        answers=None if retrieval_only or own_documents else _summarise_answers(questions, aligned),
        retrieval=summarise_retrieval([_judge(*pair) for pair in zip(questions, aligned, strict=True)]),
        packed=_mean_packed(questions, aligned),
        pool_size=pool_size,
        seconds_retrieval=mean([result.seconds_retrieval for result in present]),
        seconds_language=mean([result.seconds_language for result in present]),
        calls=sum(result.calls for result in present),
        tokens=sum(result.tokens for result in present),
        tasks=sum(result.tasks for result in present),
        fingerprint=fingerprint,
        failures=tuple((result.question, result.error) for result in present if result.error is not None),
        oracle=summarise_oracle(_answered(questions, aligned)) if by_oracle and not retrieval_only else None,
        run=run,
        outcomes=summarise_outcomes(questions, aligned, retrieval_only=retrieval_only) if own_documents else None,
    )


def summarise_oracle(answered: Sequence[tuple[int, bool]]) -> OracleShare | None:
    """Summarise pairs of a question's number of hops (0: no gold passages) and whether it was answered.

    Returns None if no question has gold passages.
    """
    judged = [(hops, float(done)) for hops, done in answered if hops]
    if not judged:
        return None
    counts = sorted({hops for hops, _ in judged})
    by_hops = tuple((count, mean([done for hops, done in judged if hops == count])) for count in counts)
    return OracleShare(mean([done for _, done in judged]), by_hops)


def _mean_packed(questions: Sequence[Question], results: Sequence[QuestionResult | None]) -> tuple[float, ...]:
    """Means over the questions with gold passages; failed questions count as zeros."""
    none = (0.0,) * len(TOKEN_BUDGETS)
    judged = [
        (result.counted_packed if result else ()) or none
        for question, result in zip(questions, results, strict=True)
        if question.supporting
    ]
    return tuple(mean(list(column)) for column in zip(*judged, strict=True))


def _answered(questions: Sequence[Question], results: Sequence[QuestionResult | None]) -> list[tuple[int, bool]]:
    pairs = zip(questions, results, strict=True)
    return [(question.hops, result is not None and result.prediction is not None) for question, result in pairs]


def _summarise_answers(questions: Sequence[Question], results: Sequence[QuestionResult | None]) -> AnswerReport:
    scores = [answer_score(result) for result in results]
    by_hops: dict[int, list[AnswerScore]] = {}
    by_turns: dict[int, list[AnswerScore]] = {}
    for question, result, score in zip(questions, results, scores, strict=True):
        if question.hops:
            by_hops.setdefault(question.hops, []).append(score)
        if result is not None and result.turns:
            by_turns.setdefault(result.turns, []).append(score)
    return AnswerReport(
        means=mean_score(scores),
        em=mean_interval([score.em for score in scores], INTERVAL_SEED),
        f1=mean_interval([score.f1 for score in scores], INTERVAL_SEED),
        by_hops=tuple((hops, mean_score(by_hops[hops])) for hops in sorted(by_hops)),
        by_turns=tuple((turns, len(by_turns[turns]), mean_score(by_turns[turns])) for turns in sorted(by_turns)),
    )


def answer_score(result: QuestionResult | None) -> AnswerScore:
    """The score that counts for a question: `MISSED` if it failed or was not asked."""
    if result is None or result.error is not None or result.score is None:
        return MISSED
    return result.score


def _judge(question: Question, result: QuestionResult | None) -> JudgedRanking:
    return JudgedRanking(result.counted_passages if result else (), frozenset(question.supporting), question.hops)


def _answers_json(answers: AnswerReport | None) -> JsonObject:
    if answers is None:
        return {}
    intervals = {"em": [answers.em.low, answers.em.high], "f1": [answers.f1.low, answers.f1.high]}
    by_hops = {str(hops): asdict(score) for hops, score in answers.by_hops}
    by_turns = {str(turns): {"n": count, **asdict(score)} for turns, count, score in answers.by_turns}
    return asdict(answers.means) | {"intervals": intervals, "answers_by_hops": by_hops, "answers_by_turns": by_turns}


def _retrieval_json(retrieval: RetrievalSummary) -> JsonObject:
    """`without_gold` counts the questions in no retrieval mean, `questions_by_hops` those in each.

    `retrieval` is null if no question has gold passages: a zero would mean that none was found.
    """
    return {
        "retrieval": retrieval.overall and retrieval.overall.scores.named(),
        "by_hops": {str(hops): means.scores.named() for hops, means in retrieval.by_hops},
        "questions_by_hops": {str(hops): means.questions for hops, means in retrieval.by_hops},
        "without_gold": retrieval.without_gold,
    }
