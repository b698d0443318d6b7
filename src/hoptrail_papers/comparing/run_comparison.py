"""Compares runs on their common questions: means with intervals, and significant differences.

The first run is the baseline; every other run is compared with it, question by question. Groups are all questions, those with one
number of hops, and those of one type. The p values within each kind of group are corrected together (Holm), because among many
differences some are large by chance. A failed question counts as nothing found and nothing right. Not covered: the variation
between runs of a model whose answers vary.

Two runs are compared by a randomisation test and a bootstrap interval of the difference of their means over pairs of values, one
per question. Both cover the choice of questions. Not covered: unpaired samples, and several runs of one system on the same
question. Sources: Fisher's randomisation test as Smucker, Allan and Carterette (CIKM 2007) use it to compare rankings; the
percentile bootstrap of Efron and Tibshirani (1993, chapter 13); Holm (1979) for several tests at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import ConfidenceInterval, Share, mean, mean_interval
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.evaluation.reports import (
    INTERVAL_SEED,
    JudgedAnswer,
    answer_score,
    counted_outcome,
    judged_by_confidence,
    sure_answers,
)
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.retrieval_measures import CUTOFFS, measured_at
from hoptrail.evaluation.run_folder import Run
from hoptrail_papers.comparing.risk_coverage import area_under_risk, brier_score, calibration_error, calibration_table

ROUNDS = 10_000  # random changes of sign. A p of 0.05 then has a standard error of 0.002.
MOST_EXACT = 13
"""With up to this many differing pairs, all changes of sign are tried: there are at most 8,192, fewer than ROUNDS."""

_PORTION = 1 << 20  # numbers in memory at a time
_TIE = 1e-12  # relative tolerance for equal sums: the same numbers summed in another order may differ slightly


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of second minus first over `n` questions, its 95 % interval, and the p value of the randomisation test.

    `p` is two-sided, under the null hypothesis that the values of a pair are exchangeable between the runs.
    """

    mean: float
    interval: ConfidenceInterval
    p: float
    n: int


def paired_difference(first: Sequence[float], second: Sequence[float], *, seed: int) -> PairedDifference:
    """Compare two runs by their values on the same questions, in the same order.
    Raises: UsageError: there are no values, or their numbers differ.
    """
    if len(first) != len(second):
        raise UsageError(f"pairs are needed: there are {len(first)} values of one run and {len(second)} of the other")
    if not first:
        raise UsageError("two runs cannot be compared without a question that both have")
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    return PairedDifference(
        float(differences.mean()),
        mean_interval(differences.tolist(), seed),
        randomisation_p(differences, seed),
        len(first),
    )


def randomisation_p(differences: Sequence[float] | NDArray[np.floating[Any]], seed: int) -> float:
    """The share of changes of sign under which the absolute mean is at least the observed one.

    With up to MOST_EXACT differences other than 0, all changes of sign are tried; otherwise ROUNDS random ones, with the observed
    one counted in addition, so that p is never 0.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0]
    if not values.size:
        return 1.0
    size, exact = values.size, values.size <= MOST_EXACT
    if exact:
        changes = iter([(np.arange(2**size)[:, np.newaxis] >> np.arange(size)) & 1])
    else:
        generator, rows = np.random.default_rng(seed), max(1, _PORTION // size)
        changes = (generator.integers(0, 2, (min(rows, ROUNDS - start), size)) for start in range(0, ROUNDS, rows))
    observed = abs(values.sum()) - _TIE * np.abs(values).sum()
    extreme = sum(int((np.abs((1.0 - 2.0 * change) @ values) >= observed).sum()) for change in changes)
    return extreme / 2**size if exact else (extreme + 1) / (ROUNDS + 1)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values corrected by Holm's method, which controls the chance of any false finding among them all."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, values[order] * np.arange(len(values), 0, -1)))
    return tuple(corrected.tolist())


SIGNIFICANT = 0.05  # a corrected p below this is significant
TESTED = frozenset({"recall@5", "full@5"})  # the measures of retrieval that are compared with the baseline
OUTCOMES = "outcomes"  # in place of the rule for questions about own documents


class Breakdown(StrEnum):
    """The property by which questions are grouped."""

    ALL = "all"
    HOPS = "hops"
    TYPE = "type"


@dataclass(frozen=True, slots=True)
class Slice:
    """Questions of one kind; `value` is empty for all of them."""

    by: Breakdown
    value: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """The value of a result (None: the question was not asked), None if undefined. `tested`: compared with the baseline."""

    name: str
    of: Callable[[QuestionResult | None, Question], float | None]
    tested: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """The mean of a measure over the `n` questions of a group for which it is defined, with its 95 % interval.

    `difference` is that from the baseline; `corrected` is its p corrected within the breakdown.
    """

    run: str
    group: Slice
    measure: str
    n: int
    mean: float
    interval: ConfidenceInterval
    difference: PairedDifference | None = None
    corrected: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below `SIGNIFICANT`, whatever the direction of the difference."""
        return self.corrected is not None and self.corrected < SIGNIFICANT


@dataclass(frozen=True, slots=True)
class Confidence:
    """How well a run's confidence separates right from wrong answers (`risk_coverage.py`).

    `answers`: the number of answers with a confidence; `risk`: the share of wrong ones among them; `area`: the area under the
    risk; `calibration`: the expected calibration error; `brier`: the Brier score; `sure`: the share of right ones among the sure
    answers, None without sure answers; `coverage`: the share of all questions with a sure answer.
    """

    run: str
    answers: int
    risk: float
    area: float
    calibration: float
    brier: float
    sure: Share | None
    coverage: float


@dataclass(frozen=True)
class RunComparison:
    """A comparison. `runs`: the labels of the runs, the baseline first; `left_out`: questions that not all runs have."""

    data: str
    runs: tuple[str, ...]
    questions: int
    left_out: int
    measures: tuple[str, ...]
    groups: tuple[Slice, ...]
    scores: tuple[Score, ...]
    confidences: tuple[Confidence, ...]

    def score(self, run: str, group: Slice, measure: str) -> Score | None:
        """The score of a run; None if the measure is defined for no question of the group."""
        key = (run, group, measure)
        return next((score for score in self.scores if (score.run, score.group, score.measure) == key), None)


def compare(runs: Sequence[Run]) -> RunComparison:
    """Compare runs over one data set; the first is the baseline.
    Raises: UsageError: there are fewer than two runs, they have no common question, or different rules scored their answers.
    """
    if len(runs) < 2:
        raise UsageError("name at least two runs to compare; the first is what the others are compared with.")
    rules = sorted({run.header.rule or OUTCOMES for run in runs})
    if len(rules) > 1 and not any(run.header.retrieval_only for run in runs):
        raise UsageError(
            f"the answers of these runs were scored by different rules ({', '.join(rules)}), because the name of the data folder "
            f"decides on the rule: run them over folders with the same name."
        )
    questions = common_questions(runs)
    groups = tuple(_groups(questions))
    measures = tuple(_measures(runs))
    scores = [score for by in Breakdown for score in _scores(runs, [one for one in groups if one.by is by], measures)]
    all_ids = {question.id for run in runs for question in run.questions}
    return RunComparison(
        data=runs[0].header.data,
        runs=labels_of(runs),
        questions=len(questions),
        left_out=len(all_ids) - len(questions),
        measures=tuple(dict.fromkeys(score.measure for score in scores)),
        groups=groups,
        scores=tuple(scores),
        confidences=tuple(_confidences(runs, questions)),
    )


def common_questions(runs: Sequence[Run]) -> tuple[Question, ...]:
    """The questions that all runs have with the same gold annotations, in the order of the first run.
    Raises: UsageError: there are none.
    """
    others = [{question.id: question for question in run.questions} for run in runs[1:]]
    common = tuple(one for one in runs[0].questions if all(other.get(one.id) == one for other in others))
    if not common:
        sets = ", ".join(sorted({run.header.data for run in runs}))
        raise UsageError(f"these runs have no question in common (data: {sets}): run them over the same questions.")
    return common


def labels_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """Unique labels of runs: the recipe, else recipe and language, else the folder's name, else its path."""
    for names in (
        [run.header.recipe for run in runs],
        [f"{run.header.recipe} ({run.header.language})" for run in runs],
        [run.name for run in runs],
    ):
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(str(run.path) for run in runs)


def labelled(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    return list(zip(labels_of(runs), runs, strict=True))


def _measures(runs: Sequence[Run]) -> Iterator[Measure]:
    """The measures; those of answers only if all runs answered."""
    if not any(run.header.retrieval_only for run in runs):
        if runs[0].header.rule is None:
            yield from map(_share_of, Outcome)
        else:
            yield Measure("em", lambda result, _: answer_score(result).em, tested=True)
            yield Measure("f1", lambda result, _: answer_score(result).f1, tested=True)
        yield Measure("answered", lambda result, _: float(result is not None and result.prediction is not None))
    yield Measure(f"shows@{HITS}", _settled, tested=True)
    yield from (_at(name, k) for name, cutoffs in CUTOFFS.items() for k in cutoffs)
    yield from (_spent(name, attrgetter(name)) for name in ("tasks", "calls", "tokens"))
    yield _spent("seconds", lambda result: result.seconds_retrieval + result.seconds_language)


def _share_of(outcome: Outcome) -> Measure:
    tested = outcome in (Outcome.RIGHT, Outcome.WRONG)
    return Measure(outcome.value, lambda result, _: float(outcome is counted_outcome(result)), tested=tested)


def _settled(result: QuestionResult | None, question: Question) -> float | None:
    return float(result is not None and result.settled is True) if question.shows else None


def _at(name: str, k: int) -> Measure:
    """A measure of rankings, undefined without gold passages."""

    def value(result: QuestionResult | None, question: Question) -> float | None:
        found = result.counted_passages if result else ()
        return measured_at(k, found, question.supporting)[name] if question.supporting else None

    return Measure(f"{name}@{k}", value, tested=f"{name}@{k}" in TESTED)


def _spent(name: str, spending: Callable[[QuestionResult], float]) -> Measure:
    return Measure(name, lambda result, _: None if result is None else spending(result))


def _groups(questions: Sequence[Question]) -> Iterator[Slice]:
    """The group of all questions, then the groups of each breakdown with at least two."""
    yield Slice(Breakdown.ALL, "", tuple(questions))
    values_by: dict[Breakdown, Callable[[Question], str | None]] = {
        Breakdown.HOPS: lambda question: str(question.hops) if question.hops else None,
        Breakdown.TYPE: lambda question: question.type,
    }
    for by, value_of in values_by.items():
        values = sorted({value for question in questions if (value := value_of(question)) is not None})
        for value in values if len(values) > 1 else ():
            yield Slice(by, value, tuple(one for one in questions if value_of(one) == value))


def _scores(runs: Sequence[Run], groups: Sequence[Slice], measures: Sequence[Measure]) -> list[Score]:
    """The scores of every group of a breakdown, with their p values corrected together."""
    scores = [score for group in groups for measure in measures for score in _group_scores(runs, group, measure)]
    p_values = iter(holm([score.difference.p for score in scores if score.difference]))
    return [replace(score, corrected=next(p_values)) if score.difference else score for score in scores]


def _group_scores(runs: Sequence[Run], group: Slice, measure: Measure) -> list[Score]:
    """One score per run over the questions for which the measure is defined in all runs."""
    rows = [[measure.of(run.results.get(question.id), question) for run in runs] for question in group.questions]
    complete = [[value for value in row if value is not None] for row in rows]
    columns = list(zip(*(row for row in complete if len(row) == len(runs)), strict=True))
    scores = []
    for label, column in zip(labels_of(runs), columns, strict=False):
        interval = mean_interval(column, INTERVAL_SEED)
        tested = measure.tested and column is not columns[0]
        difference = paired_difference(columns[0], column, seed=INTERVAL_SEED) if tested else None
        scores.append(Score(label, group, measure.name, len(column), mean(column), interval, difference))
    return scores


def judged_answers(run: Run, questions: Sequence[Question]) -> list[JudgedAnswer]:
    """The run's answers with a confidence, and whether they are right (by exact match or outcome)."""
    return judged_by_confidence([run.results.get(question.id) for question in questions])


def _confidences(runs: Sequence[Run], questions: Sequence[Question]) -> Iterator[Confidence]:
    for label, run in labelled(runs):
        if answers := judged_answers(run, questions):
            sure = sure_answers(answers)
            yield Confidence(
                run=label,
                answers=len(answers),
                risk=mean([float(not answer.correct) for answer in answers]),
                area=area_under_risk(answers),
                calibration=calibration_error(calibration_table(answers)),
                brier=brier_score(answers),
                sure=sure,
                coverage=sure.n / len(questions) if sure else 0.0,
            )
