"""Compares runs on their common questions: means with intervals, and significant differences.

The first run is the baseline; every other run is compared with it, question by question. Groups are all questions, those with one
number of hops, and those of one type. The p values within each kind of group are corrected together (Holm), because among many
differences some are large by chance. A failed question counts as nothing found and nothing right. Not covered: the variation
between runs of a model whose answers vary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Interval, Share, mean, mean_interval
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcome_report import counted_outcome, judged_by_confidence
from hoptrail.evaluation.outcomes import HITS, Outcome
from hoptrail.evaluation.paired_tests import PairedDifference, holm, paired_difference
from hoptrail.evaluation.reports import INTERVAL_SEED, answer_score
from hoptrail.evaluation.results import QuestionResult
from hoptrail.evaluation.retrieval_measures import (
    FULL_CUTOFFS,
    HIT_CUTOFFS,
    RANK_CUTOFF,
    RECALL_CUTOFFS,
    average_precision_at,
    full_at,
    hit_at,
    recall_at,
    reciprocal_rank_at,
)
from hoptrail.evaluation.risk_coverage import (
    Judged,
    area_under_risk,
    brier_score,
    calibration_error,
    calibration_table,
    sure_answers,
)
from hoptrail.evaluation.run_folder import Run

SIGNIFICANT = 0.05
"""A corrected p below this is significant."""


OUTCOMES = "outcomes"
"""In place of the rule for questions about own documents."""


class Breakdown(StrEnum):
    """The property by which questions are grouped."""

    ALL = "all"
    HOPS = "hops"
    TYPE = "type"


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind; `value` is empty for all of them."""

    by: Breakdown
    value: str
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """A run's value for a question, None if undefined. `tested` measures are compared with the baseline."""

    name: str
    of: Callable[[Run, Question], float | None]
    tested: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a run from the baseline; `corrected` is its p corrected within the breakdown."""

    paired: PairedDifference
    corrected: float

    @property
    def significant(self) -> bool:
        """Whether the corrected p is below `SIGNIFICANT`, whatever the direction of the difference."""
        return self.corrected < SIGNIFICANT


@dataclass(frozen=True, slots=True)
class Score:
    """The mean of a measure over the `n` questions of a group for which it is defined, with its 95 % interval."""

    run: str
    group: Group
    measure: str
    n: int
    mean: float
    interval: Interval
    difference: Difference | None = None


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
class Comparison:
    """A comparison. `runs`: the labels of the runs, the baseline first; `left_out`: questions that not all runs have."""

    data: str
    runs: tuple[str, ...]
    questions: int
    left_out: int
    measures: tuple[str, ...]
    groups: tuple[Group, ...]
    scores: tuple[Score, ...]
    confidences: tuple[Confidence, ...]

    def score(self, run: str, group: Group, measure: str) -> Score | None:
        """The score of a run; None if the measure is defined for no question of the group."""
        key = (run, group, measure)
        return next((score for score in self.scores if (score.run, score.group, score.measure) == key), None)


def compare(runs: Sequence[Run]) -> Comparison:
    """Compare runs over one data set; the first is the baseline.

    Raises:
        UsageError: there are fewer than two runs, they have no question in common, or their answers were scored by different
            rules.
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
    groups = _groups(questions)
    measures = _measures(runs)
    scores = [score for by in Breakdown for score in _corrected(_scores(runs, questions, groups, measures, by))]
    all_ids = {question.id for run in runs for question in run.questions}
    return Comparison(
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

    Raises:
        UsageError: there are none.
    """
    others = [{question.id: question for question in run.questions} for run in runs[1:]]
    common = tuple(
        question for question in runs[0].questions if all(other.get(question.id) == question for other in others)
    )
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


RankingMeasure = Callable[[int, Sequence[str], Sequence[str]], float]
"""A measure of (cutoff, found passages, gold passages)."""


def value_of_ranking(measure: RankingMeasure, k: int, run: Run, question: Question) -> float | None:
    """A measure at `k` for one question; None if it has no gold passages."""
    result = run.results.get(question.id)
    return measure(k, result.counted_passages if result else (), question.supporting) if question.supporting else None


def _value_of_score(name: str, run: Run, question: Question) -> float | None:
    value: float = getattr(answer_score(run.results.get(question.id)), name)
    return value


def _is_outcome(outcome: Outcome, run: Run, question: Question) -> float | None:
    return float(outcome is counted_outcome(run.results.get(question.id)))


def _settled(run: Run, question: Question) -> float | None:
    result = run.results.get(question.id)
    return float(result is not None and result.settled is True) if question.shows else None


def _answered(run: Run, question: Question) -> float | None:
    result = run.results.get(question.id)
    return float(result is not None and result.prediction is not None)


def _value_of_spending(
    spending: Callable[[QuestionResult], float | None], run: Run, question: Question
) -> float | None:
    result = run.results.get(question.id)
    return None if result is None else spending(result)


def _measures(runs: Sequence[Run]) -> tuple[Measure, ...]:
    """The measures; those of answers only if all runs answered."""
    answered = not any(run.header.retrieval_only for run in runs)
    answers = (*_answer_measures(runs), Measure("answered", _answered)) if answered else ()
    retrieval = (
        Measure(f"shows@{HITS}", _settled, tested=True),
        *_at_cutoffs("recall", recall_at, RECALL_CUTOFFS, tested=RECALL_CUTOFFS[1]),
        *_at_cutoffs("full", full_at, FULL_CUTOFFS, tested=FULL_CUTOFFS[0]),
        *_at_cutoffs("hits", hit_at, HIT_CUTOFFS),
        *_at_cutoffs("map", average_precision_at, (RANK_CUTOFF,)),
        *_at_cutoffs("mrr", reciprocal_rank_at, (RANK_CUTOFF,)),
    )
    cost = (
        _cost_measure("tasks", lambda result: result.tasks),
        _cost_measure("calls", lambda result: result.calls),
        _cost_measure("tokens", lambda result: result.tokens),
        _cost_measure("seconds", lambda result: result.seconds_retrieval + result.seconds_language),
    )
    return (*answers, *retrieval, *cost)


def _answer_measures(runs: Sequence[Run]) -> tuple[Measure, ...]:
    if runs[0].header.rule is not None:
        return tuple(Measure(name, partial(_value_of_score, name), tested=True) for name in ("em", "f1"))
    tested = (Outcome.RIGHT, Outcome.WRONG)
    return tuple(Measure(outcome.value, partial(_is_outcome, outcome), tested=outcome in tested) for outcome in Outcome)


def _cost_measure(name: str, spending: Callable[[QuestionResult], float | None]) -> Measure:
    return Measure(name, partial(_value_of_spending, spending))


def _at_cutoffs(name: str, measure: RankingMeasure, cutoffs: Sequence[int], tested: int | None = None) -> list[Measure]:
    return [Measure(f"{name}@{k}", partial(value_of_ranking, measure, k), tested=k == tested) for k in cutoffs]


def _groups(questions: Sequence[Question]) -> tuple[Group, ...]:
    """The group of all questions, then the groups of each breakdown with at least two."""
    everything = Group(Breakdown.ALL, "", tuple(question.id for question in questions))
    hops = _grouped(questions, Breakdown.HOPS, lambda question: str(question.hops) if question.hops else None)
    types = _grouped(questions, Breakdown.TYPE, lambda question: question.type)
    return (everything, *hops, *types)


def _grouped(
    questions: Sequence[Question], by: Breakdown, value_of: Callable[[Question], str | None]
) -> tuple[Group, ...]:
    values = Counter(value for question in questions if (value := value_of(question)) is not None)
    if len(values) < 2:
        return ()
    members = {value: tuple(item.id for item in questions if value_of(item) == value) for value in sorted(values)}
    return tuple(Group(by, value, ids) for value, ids in members.items())


def _scores(
    runs: Sequence[Run],
    questions: Sequence[Question],
    groups: Sequence[Group],
    measures: Sequence[Measure],
    by: Breakdown,
) -> list[Score]:
    """One score for every group of a breakdown, measure and run, with uncorrected p values."""
    known = {question.id: question for question in questions}
    return [
        score
        for group in groups
        if group.by is by
        for measure in measures
        for score in _group_scores(runs, [known[name] for name in group.questions], group, measure)
    ]


def _group_scores(runs: Sequence[Run], questions: Sequence[Question], group: Group, measure: Measure) -> list[Score]:
    """One score per run over the questions for which the measure is defined in all runs."""
    rows = [[measure.of(run, question) for run in runs] for question in questions]
    complete = [[value for value in row if value is not None] for row in rows]
    columns = list(zip(*(row for row in complete if len(row) == len(runs)), strict=True))
    scores = []
    for label, column in zip(labels_of(runs), columns, strict=False):
        interval = mean_interval(column, INTERVAL_SEED)
        tested = measure.tested and column is not columns[0]
        paired = paired_difference(columns[0], column, seed=INTERVAL_SEED) if tested else None
        difference = Difference(paired, paired.p) if paired else None
        scores.append(Score(label, group, measure.name, len(column), mean(column), interval, difference))
    return scores


def _corrected(scores: Sequence[Score]) -> list[Score]:
    tested = [(place, score.difference) for place, score in enumerate(scores) if score.difference is not None]
    p_values = holm([difference.corrected for _, difference in tested])
    corrected = {
        place: replace(difference, corrected=p) for (place, difference), p in zip(tested, p_values, strict=True)
    }
    return [replace(score, difference=corrected.get(place)) for place, score in enumerate(scores)]


def judged_answers(run: Run, questions: Sequence[Question]) -> list[Judged]:
    """The run's answers with a confidence, and whether they are right (by exact match or outcome)."""
    return judged_by_confidence([run.results.get(question.id) for question in questions])


def _confidences(runs: Sequence[Run], questions: Sequence[Question]) -> list[Confidence]:
    judged: Mapping[str, list[Judged]] = {
        label: judged_answers(run, questions) for label, run in zip(labels_of(runs), runs, strict=True)
    }
    return [
        Confidence(
            label,
            len(answers),
            mean([float(not answer.correct) for answer in answers]),
            area_under_risk(answers),
            calibration_error(calibration_table(answers)),
            brier_score(answers),
            sure := sure_answers(answers),
            sure.n / len(questions) if sure else 0.0,
        )
        for label, answers in judged.items()
        if answers
    ]
