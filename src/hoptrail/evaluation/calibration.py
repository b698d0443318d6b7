"""From raw confidences to probabilities: a monotone fit to judged answers, and how well it does on folders it has not seen.

The fit is isotonic regression by pooling adjacent violators, over groups of a few answers of about the same confidence. Every
group counts one right and one wrong answer more than it has (Laplace's rule of succession), so a few lucky answers are not
taken for certainty. What a fit is worth is judged on answers held out of it: those of one source, with the map fitted on all
others. Knows nothing of files or plots.

Sources: Ayer et al. (1955) for pooling, Zadrozny and Elkan (KDD 2002) for its use on confidences, Brier (1950).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.confidence_map import ConfidenceMap
from hoptrail.evaluation.risk_coverage import (
    Judged,
    area_under_risk,
    brier_score,
    calibration_error,
    calibration_table,
    sure_answers,
)

GROUP = 20
"""The fewest answers that are looked at together."""


@dataclass(frozen=True, slots=True)
class Source:
    """The answers to one folder's questions; `questions` counts those without an answer too."""

    name: str
    questions: int
    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """How far the confidences of a source can be trusted; None where it has no answers. `coverage` is the share of all questions
    that have a sure answer, `sure` the share of right ones among these.
    """

    name: str
    questions: int
    answers: int
    right: float | None
    brier: float | None
    calibration_error: float
    area_under_risk: float | None
    sure: Share | None

    @property
    def coverage(self) -> float:
        return self.sure.n / self.questions if self.sure else 0.0


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Answers that get one probability: their number, how many are right, the sum of their raw confidences."""

    answers: int
    right: float
    confidence: float

    @property
    def value(self) -> float:
        return self.right / self.answers

    def __add__(self, other: _Pooled) -> _Pooled:
        return _Pooled(self.answers + other.answers, self.right + other.right, self.confidence + other.confidence)


def fit_map(judged: Sequence[Judged]) -> ConfidenceMap:
    """The monotone map that is nearest (in squares) to how the answers were judged.

    Raises:
        UsageError: there are no answers.
    """
    if not judged:
        raise UsageError("a map of confidences needs at least one answer that was judged")
    pooled: list[_Pooled] = []
    for group in _groups(judged):
        pooled.append(group)
        while len(pooled) > 1 and pooled[-2].value >= pooled[-1].value:
            last = pooled.pop()
            pooled[-1] += last
    return ConfidenceMap(tuple((one.confidence / one.answers, one.value) for one in pooled))


def held_out(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Every source with its confidences calibrated by a map that was fitted on all others.

    Raises:
        UsageError: there are fewer than two sources with answers, so nothing can be held out.
    """
    if sum(bool(source.judged) for source in sources) < 2:
        raise UsageError("cross-validation needs answers from at least two folders: one is held out at a time")
    return tuple(
        calibrated(source, fit_map([one for other in sources if other is not source for one in other.judged]))
        for source in sources
    )


def calibrated(source: Source, fitted: ConfidenceMap) -> Source:
    """The same answers with calibrated confidences."""
    return Source(
        source.name, source.questions, tuple(Judged(fitted.of(one.confidence), one.correct) for one in source.judged)
    )


def together(name: str, sources: Sequence[Source]) -> Source:
    """The answers of all sources."""
    judged = tuple(one for source in sources for one in source.judged)
    return Source(name, sum(source.questions for source in sources), judged)


def quality_of(source: Source) -> Quality:
    """What the confidences of a source are worth."""
    judged = source.judged
    return Quality(
        name=source.name,
        questions=source.questions,
        answers=len(judged),
        right=sum(one.correct for one in judged) / len(judged) if judged else None,
        brier=brier_score(judged) if judged else None,
        calibration_error=calibration_error(calibration_table(judged)),
        area_under_risk=area_under_risk(judged) if judged else None,
        sure=sure_answers(judged),
    )


def _groups(judged: Sequence[Judged]) -> Iterator[_Pooled]:
    """Answers in rising confidence, equal ones together, at least GROUP at a time; too few at the end join those before."""
    waiting: list[Judged] = []
    ready: list[Judged] = []
    for _, equal in groupby(sorted(judged, key=lambda one: one.confidence), key=lambda one: one.confidence):
        waiting += equal
        if len(waiting) >= GROUP:
            if ready:
                yield _group(ready)
            ready, waiting = waiting, []
    yield _group([*ready, *waiting])


def _group(judged: Sequence[Judged]) -> _Pooled:
    """With one right and one wrong answer more, of the group's mean confidence."""
    n = len(judged)
    mean = sum(one.confidence for one in judged) / n
    return _Pooled(n + 2, sum(one.correct for one in judged) + 1, mean * (n + 2))
