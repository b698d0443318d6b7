"""Summaries of one recipe's results over all questions (answer scores, or outcomes over own documents), and the report that
`hoptrail evaluate --out` writes.

The measures do not depend on timing or on the order of questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from hoptrail.errors import DocumentError
from hoptrail.evaluation.answer_scores import MISSED, AnswerScore, Share, grouped, mean, mean_interval, mean_score
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.retrieval_measures import TOKEN_BUDGETS, summarise_retrieval
from hoptrail.types import LIKELY
from hoptrail.types.json_object import JsonObject

INTERVAL_SEED = 0  # the seed of the confidence intervals, so that the same results give the same report


@dataclass(frozen=True, slots=True)
class RecipeReport:
    """One recipe over one data set: `content` is the JSON object under the recipe's name.

    `failures` has the ids of failed questions with their errors; it is for display and not in the JSON.
    """

    content: JsonObject
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def run(self) -> str:
        return str(self.content["run"])


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
        """The JSON object of the contract."""
        return {
            "data": self.data,
            "questions": self.questions,
            "language": self.language,
            "recipes": {name: report.content for name, report in self.recipes},
        }


def summarise_recipe(
    questions: Sequence[Question],
    results: Mapping[str, QuestionResult],
    *,
    pool_size: int,
    identity: JsonObject,
    retrieval_only: bool = False,
    by_oracle: bool = False,
    own_documents: bool = False,
) -> RecipeReport:
    """Summarise one recipe's results over all `questions` (at least one); results of other questions are ignored.

    `failed` counts errors and questions without a result; seconds are means per question with a result; calls, tokens and tasks
    are sums. `by_oracle`: the oracle answered, so that the share of answered questions is a measure. `own_documents`: the
    questions are about own documents and have outcomes instead of answer scores. `identity`: fingerprint of the settings, what
    they change of a preset, run.
    Raises: UsageError: there are no questions, but answers are to be averaged.
    """
    aligned = [results.get(question.id) for question in questions]
    present = [result for result in aligned if result is not None]
    answers = {} if retrieval_only or own_documents else _answers(questions, aligned)
    if by_oracle and not retrieval_only:
        answers |= oracle_share(questions, aligned)
    if own_documents:
        answers |= _outcomes(questions, aligned, retrieval_only=retrieval_only)
    content = {
        "n": len(questions),
        "failed": sum(result is None or result.error is not None for result in aligned),
        "abstained": sum(result.abstained for result in present),
        **answers,
        **_retrieval(questions, aligned),
        "pool_size": pool_size,
        "seconds_per_question": {
            name: mean([getattr(result, f"seconds_{name}") for result in present]) for name in ("retrieval", "language")
        },
        **{name: sum(getattr(result, name) for result in present) for name in ("calls", "tokens", "tasks")},
        **identity,
    }
    return RecipeReport(content, tuple((one.question, one.error) for one in present if one.error is not None))


Results = Sequence[QuestionResult | None]  # the results of questions in their order, None where there is none


def _answers(questions: Sequence[Question], results: Results) -> JsonObject:
    """Means of the answer scores over every question (abstained, failed and missing ones as zeros), with 95 % intervals; also by
    number of hops, and by number of hops in the trail (HiRAG, Table 7).
    """
    scores = [answer_score(result) for result in results]
    by_hops = grouped((one.hops, score) for one, score in zip(questions, scores, strict=True) if one.hops)
    by_turns = grouped((one.turns, score) for one, score in zip(results, scores, strict=True) if one and one.turns)
    intervals = {name: mean_interval([getattr(one, name) for one in scores], INTERVAL_SEED) for name in ("em", "f1")}
    return {
        **asdict(mean_score(scores)),
        "intervals": {name: list(interval) for name, interval in intervals.items()},
        "answers_by_hops": {str(hops): asdict(mean_score(own)) for hops, own in by_hops.items()},
        "answers_by_turns": {str(turns): {"n": len(own), **asdict(mean_score(own))} for turns, own in by_turns.items()},
    }


def answer_score(result: QuestionResult | None) -> AnswerScore:
    """The score that counts for a question: `MISSED` if it failed or was not asked."""
    if result is None or result.error is not None or result.score is None:
        return MISSED
    return result.score


def oracle_share(questions: Sequence[Question], results: Results) -> JsonObject:
    """The share of the questions with gold passages that the oracle answered, overall and by number of hops; empty without any.

    A perfect reader could answer these from what the recipe retrieved.
    """
    answered = grouped(
        (question.hops, float(result is not None and result.prediction is not None))
        for question, result in zip(questions, results, strict=True)
        if question.hops
    )
    by_hops = {str(hops): mean(own) for hops, own in answered.items()}
    overall = mean([one for ones in answered.values() for one in ones])
    return {"oracle_answerable": overall, "oracle_answerable_by_hops": by_hops} if answered else {}


def _retrieval(questions: Sequence[Question], results: Results) -> JsonObject:
    """`without_gold` counts the questions in no retrieval mean, `questions_by_hops` those in each.

    `retrieval` and `packed` (the recall at each of TOKEN_BUDGETS) are null if no question has gold passages: a zero would mean
    that none was found. Failed questions count as zeros.
    """
    pairs = list(zip(questions, results, strict=True))
    found = ((result.counted_passages if result else (), question.supporting) for question, result in pairs)
    means = summarise_retrieval(found)
    overall = means.pop(0, None)
    nothing, gold = (0.0,) * len(TOKEN_BUDGETS), [result for question, result in pairs if question.supporting]
    packed = [(result.packed if result and result.error is None else ()) or nothing for result in gold]
    columns = zip(TOKEN_BUDGETS, zip(*packed, strict=True), strict=False)
    return {
        "retrieval": overall and overall.scores,
        "by_hops": {str(hops): one.scores for hops, one in means.items()},
        "questions_by_hops": {str(hops): one.questions for hops, one in means.items()},
        "without_gold": sum(not question.supporting for question in questions),
        "packed": {f"recall@{budget}": mean(column) for budget, column in columns} or None,
    }


def _outcomes(questions: Sequence[Question], results: Results, *, retrieval_only: bool) -> JsonObject:
    """Shares of outcomes over own documents, with intervals, overall, by type, and of sure answers.

    Failed questions and those not asked are missed. `shows@5`: the share of questions settled by one of the first five hits,
    among those with settling strings, null without any.
    """
    pairs = list(zip(questions, results, strict=True))
    settled = [float(result is not None and result.settled is True) for question, result in pairs if question.shows]
    shows = {f"shows@{HITS}": mean(settled) if settled else None}
    if retrieval_only:
        return shows
    types = grouped((question.type or "", counted_outcome(result)) for question, result in pairs)
    shares = _shares([counted_outcome(result) for result in results])
    by_type = {kind: _shares(own) for kind, own in types.items()}
    sure = sure_answers(judged_by_confidence(results))
    return {
        "outcomes": {name: share.value for name, share in shares.items()},
        "outcome_intervals": {name: list(share.interval) for name, share in shares.items()},
        "by_type": {kind: {name: share.value for name, share in own.items()} for kind, own in by_type.items()},
        "questions_by_type": {kind: len(types[kind]) for kind in by_type},
        "sure": {
            "confidence": LIKELY,
            "answers": sure.n if sure else 0,
            "coverage": sure.n / len(questions) if sure else 0.0,
            "precision": sure.value if sure else None,
            "interval": list(sure.interval) if sure else None,
        },
        **shows,
    }


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The confidence of an answer, and whether it was right."""

    confidence: float
    correct: bool


def judged_by_confidence(results: Results) -> list[JudgedAnswer]:
    """The answers with a confidence, and whether they are right."""
    return [
        JudgedAnswer(result.confidence, result.right)
        for result in results
        if result and result.prediction is not None and result.confidence is not None and result.right is not None
    ]


def sure_answers(judged: Sequence[JudgedAnswer]) -> Share | None:
    """The share of right answers among those that are called likely or sure; None without such answers."""
    sure = [answer.correct for answer in judged if answer.confidence >= LIKELY]
    return Share(sum(sure), len(sure)) if sure else None


def counted_outcome(result: QuestionResult | None) -> Outcome:
    """The outcome that counts for a question: missed if it failed or was not asked."""
    return Outcome.MISSED if result is None or result.outcome is None else result.outcome


def _shares(outcomes: Sequence[Outcome]) -> dict[str, Share]:
    counts = Counter(outcomes)
    return {outcome.value: Share(counts[outcome], len(outcomes)) for outcome in Outcome}
