"""Answer scores by the rules of the official HotpotQA, 2WikiMultihopQA (v1.1) and MuSiQue scripts, and cover match.

A file with answers from any system has `prediction` (a text, or null for an abstention or failure) and `answers` (the gold
answer, then its aliases) per line; other keys are ignored. The questions are unknown, so null scores zero even if the gold answer
says that there is none.

All four share one normalisation and one token overlap. Values are unrounded, between 0 and 1. Not covered: supporting-fact, joint
and evidence scores, and the demonyms that the 2Wiki script looks up by answer id (pass them as further answers).

Sources: Yang et al. 2018 (HotpotQA), Ho et al. 2020 (2WikiMultihopQA), Trivedi et al. 2022 (MuSiQue), and the behaviour of
their published scripts. Cover match is that of SUNAR's paper, but over tokens, because "no" is a substring of "Norway".
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple, TypeVar

from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.lines import read_lines

Key = TypeVar("Key", int, str)
Value = TypeVar("Value")

RESAMPLES = 2000
"""Bootstrap resamples. The ends of a 95 % interval then vary between seeds by some 1.5 % of its width (standard error)."""

_PORTION = 1 << 20  # numbers drawn at a time
LEVEL = 0.95  # the share of resampled means within an interval
_DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Standard deviations on either side of a normal mean that cover LEVEL of it."""

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})


class Rule(StrEnum):
    """The scoring rule of a data set's official script, or cover match."""

    HOTPOTQA = "hotpotqa"
    TWO_WIKI = "2wiki"
    MUSIQUE = "musique"
    COVER = "cover"


_CLOSED_RULES = (Rule.HOTPOTQA, Rule.TWO_WIKI)
"""By these rules a yes, no or noanswer on either side scores no overlap unless both texts are equal, and two texts that both
normalise to nothing do not overlap. By the others yes and no are words as any, and two such texts overlap fully.
"""


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Exact match and token overlap of one answer, or their means over many; each between 0 and 1."""

    em: float
    f1: float
    precision: float
    recall: float


MISSED = AnswerScore(0.0, 0.0, 0.0, 0.0)  # the score of an abstention, a failure, or a question that was never asked


class ConfidenceInterval(NamedTuple):
    """The two ends of a confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n` (at least one)."""

    count: int
    n: int

    @property
    def value(self) -> float:
        return self.count / self.n

    @property
    def interval(self) -> ConfidenceInterval:
        """A 95 % confidence interval (Wilson 1927), for few questions, too. Raises: UsageError: there are no questions."""
        if not self.n:
            raise UsageError("a confidence interval needs at least one question")
        square = _DEVIATIONS**2
        middle = (self.count + square / 2) / (self.n + square)
        reach = _DEVIATIONS / (self.n + square) * math.sqrt(self.count * (self.n - self.count) / self.n + square / 4)
        return ConfidenceInterval(max(0.0, middle - reach), min(1.0, middle + reach))


def normalise(text: str) -> str:
    """The scripts' common normalisation: lower case, no ASCII punctuation, no English articles, single spaces.

    In this order, so hyphenated words fuse, typographic quotes and dashes stay, and the answer "A" becomes empty.
    """
    bare = text.lower().translate(_DELETE_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def score_answer(prediction: str | None, answers: Sequence[str], rule: Rule) -> AnswerScore:
    """Score `prediction` (None: abstained or failed) against `answers`: the gold answer, then its aliases.

    The HotpotQA rule uses the first answer only. The other rules use all, and take the best of each value separately, as the
    scripts do. The MuSiQue script has no precision and recall; here they are those of its token overlap. Under the cover rule,
    `em` is cover match (the prediction has the gold tokens next to each other and in order), and the other values are those of
    the MuSiQue rule.
    Raises: UsageError: there is no gold answer.
    """
    if not answers:
        raise UsageError("an answer cannot be scored without a gold answer: give at least one")
    if prediction is None:
        return MISSED
    golds = answers[:1] if rule is Rule.HOTPOTQA else answers
    scores = [_score_one(normalise(prediction), normalise(gold), rule) for gold in golds]
    return AnswerScore(*map(max, zip(*map(astuple, scores), strict=True)))


def mean_score(scores: Sequence[AnswerScore]) -> AnswerScore:
    """The mean of each value; `MISSED` without scores. Pass missing answers as `MISSED`."""
    return AnswerScore(*map(mean, zip(*map(astuple, scores), strict=True))) if scores else MISSED


def mean(values: Sequence[float]) -> float:
    """The mean, independent of the order of `values` (exact sum, then one division); 0 without values."""
    return math.fsum(values) / len(values) if values else 0.0


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, keys rising."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return dict(sorted(found.items()))


def mean_interval(values: Sequence[float], seed: int) -> ConfidenceInterval:
    """A 95 % confidence interval of the mean of `values`, one per question.

    The percentile bootstrap (Efron and Tibshirani 1993, chapter 13): 2,000 samples of the same size are drawn with replacement,
    and the ends are the 2.5th and 97.5th percentiles of their means. The interval covers the choice of questions, not a model's
    variation between runs, and is too narrow below about twenty values.
    Raises: UsageError: there are no values.
    """
    import numpy as np

    if not values:
        raise UsageError("a confidence interval needs at least one value")
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    # In portions: a matrix of all resamples would take 2,000 x questions x 8 bytes.
    rows = max(1, _PORTION // sample.size)
    portions = (min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows))
    drawn = [sample[generator.integers(0, sample.size, (count, sample.size))].mean(axis=1) for count in portions]
    means = np.concatenate(drawn)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ConfidenceInterval(float(low), float(high))


def _score_one(prediction: str, gold: str, rule: Rule) -> AnswerScore:
    predicted, expected = prediction.split(), gold.split()
    match = contains(predicted, expected) if rule is Rule.COVER else prediction == gold
    if not predicted and not expected and rule not in _CLOSED_RULES:
        return AnswerScore(float(match), 1.0, 1.0, 1.0)
    closed = rule in _CLOSED_RULES and prediction != gold and not _CLOSED_ANSWERS.isdisjoint((prediction, gold))
    shared = 0 if closed else (Counter(predicted) & Counter(expected)).total()
    if shared == 0:
        return AnswerScore(float(match), 0.0, 0.0, 0.0)
    precision, recall = shared / len(predicted), shared / len(expected)
    return AnswerScore(float(match), 2 * precision * recall / (precision + recall), precision, recall)


def contains(predicted: list[str], expected: list[str]) -> bool:
    """Whether `predicted` contains `expected` as a contiguous run. An empty `expected` is contained only in an empty list."""
    if not expected:
        return not predicted
    starts = range(len(predicted) - len(expected) + 1)
    return any(predicted[start : start + len(expected)] == expected for start in starts)


_GIVE = 'give a text or null (an abstention) as "prediction", and the gold answer and its aliases as the list "answers"'


@dataclass(frozen=True, slots=True)
class Prediction:
    """A line of a file of predictions."""

    prediction: str | None
    answers: tuple[str, ...]


def score_predictions(path: Path, rule: Rule) -> list[AnswerScore]:
    """One score per non-blank line, in the file's order.
    Raises: DataError: the file is missing or empty, or a line is malformed; the message names file and line.
    """
    scores = []
    for line in read_lines(path):
        try:
            given = line.read_as(Prediction)
        except DataError as error:
            raise DataError(f"{error}; {_GIVE}") from error
        if not given.answers:
            raise DataError(f"{line.place}: answers: give at least one text; {_GIVE}")
        scores.append(score_answer(given.prediction, given.answers, rule))
    if not scores:
        raise DataError(f"{path} holds no predictions")
    return scores
