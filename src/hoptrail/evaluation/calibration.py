"""Calibrates confidences: a monotone fit to judged answers, cross-validated over data folders.

The fit is isotonic regression by pooling adjacent violators, over groups of a few answers with about the same confidence. Every
group counts one right and one wrong answer more than it has (Laplace's rule of succession), so that a few lucky answers do not
become certainty. A fit is validated on held-out answers: those of one source, with the map fitted on all others.

Sources: Ayer et al. (1955) for pooling, Zadrozny and Elkan (KDD 2002) for its use on confidences, Brier (1950).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.risk_coverage import (
    Judged,
    area_under_risk,
    brier_score,
    calibration_error,
    calibration_table,
    sure_answers,
)

GROUP = 20
"""Minimal number of answers in a group."""


@dataclass(frozen=True, slots=True)
class Source:
    """The judged answers to one folder's questions; `questions` also counts those without an answer."""

    name: str
    questions: int
    judged: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a source's confidences; values are None without answers. `coverage` is the share of all questions with a
    sure answer, `sure` the share of right answers among these.
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
        """Sure answers per question asked, from 0 to 1; questions without an answer count as not sure."""
        return self.sure.n / self.questions if self.sure else 0.0


@dataclass(frozen=True, slots=True)
class ConfidenceMap:
    """A piecewise linear map from raw confidences to the share of right answers, constant outside its knots.

    `knots` are pairs (raw, calibrated) in rising order of both. It measures how far confidences are from probabilities; no recipe
    applies one.
    """

    knots: tuple[tuple[float, float], ...]

    def of(self, raw: float) -> float:
        """The probability that an answer with this raw confidence is right."""
        place = bisect_left(self.knots, raw, key=lambda knot: knot[0])
        if place == 0:
            return self.knots[0][1]
        if place == len(self.knots):
            return self.knots[-1][1]
        (left, low), (right, high) = self.knots[place - 1 : place + 1]
        return low + (high - low) * (raw - left) / (right - left)


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Answers with one common probability: their number, the number of right ones, and the sum of their raw confidences."""

    answers: int
    right: float
    confidence: float

    @property
    def value(self) -> float:
        return self.right / self.answers

    def __add__(self, other: _Pooled) -> _Pooled:
        return _Pooled(self.answers + other.answers, self.right + other.right, self.confidence + other.confidence)


def fit_map(judged: Sequence[Judged]) -> ConfidenceMap:
    """The monotone map with the least squared error on judged answers.

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
    return ConfidenceMap(tuple((pool.confidence / pool.answers, pool.value) for pool in pooled))


def held_out(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Every source with its confidences calibrated by a map fitted on all others.

    Raises:
        UsageError: fewer than two sources have answers.
    """
    if sum(bool(source.judged) for source in sources) < 2:
        raise UsageError("cross-validation needs answers from at least two folders: one is held out at a time")
    return tuple(
        calibrated(source, fit_map([answer for other in sources if other is not source for answer in other.judged]))
        for source in sources
    )


def calibrated(source: Source, fitted: ConfidenceMap) -> Source:
    """The same answers with calibrated confidences."""
    judged = tuple(Judged(fitted.of(answer.confidence), answer.correct) for answer in source.judged)
    return Source(source.name, source.questions, judged)


def together(name: str, sources: Sequence[Source]) -> Source:
    """One source with the answers of all."""
    judged = tuple(answer for source in sources for answer in source.judged)
    return Source(name, sum(source.questions for source in sources), judged)


def quality_of(source: Source) -> Quality:
    """Measure the quality of a source's confidences."""
    judged = source.judged
    return Quality(
        name=source.name,
        questions=source.questions,
        answers=len(judged),
        right=sum(answer.correct for answer in judged) / len(judged) if judged else None,
        brier=brier_score(judged) if judged else None,
        calibration_error=calibration_error(calibration_table(judged)),
        area_under_risk=area_under_risk(judged) if judged else None,
        sure=sure_answers(judged),
    )


def _groups(judged: Sequence[Judged]) -> Iterator[_Pooled]:
    """Yield groups of at least GROUP answers in rising confidence, equal ones together. The last group takes the remainder."""
    waiting: list[Judged] = []
    ready: list[Judged] = []
    for _, equal in groupby(sorted(judged, key=lambda answer: answer.confidence), key=lambda answer: answer.confidence):
        waiting += equal
        if len(waiting) >= GROUP:
            if ready:
                yield _group(ready)
            ready, waiting = waiting, []
    yield _group([*ready, *waiting])


def _group(judged: Sequence[Judged]) -> _Pooled:
    """Pool answers, adding one right and one wrong answer of their mean confidence."""
    n = len(judged)
    mean = sum(answer.confidence for answer in judged) / n
    return _Pooled(n + 2, sum(answer.correct for answer in judged) + 1, mean * (n + 2))
