"""Answers, the candidates for them, and how likely each is right: logistic regressions over their numbers.

`training/answers.py` fits the regressions; their weights are in `weights/answers.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from hoptrail.language.offline.statement_pairs import StatementPair
from hoptrail.language.tasks import Step
from hoptrail.models.reader import log_odds
from hoptrail.text.statements import UnitStatement
from hoptrail.text.values import same_answer
from hoptrail.types import Span

SPAN = ("settles", "above", "closeness", "share", "rank", "helps", "margin", "lead")
"""The numbers of a candidate: the log odds that its statement settles the question; the same less the mean of all read; the
closeness of the statement; its share of the question's words; 1 / rank of its passage; the log odds that it helps; those of the
span over no answer, and over the second span.
"""
PAIR = ("settles", "above", "leads", "share", "gain", "linked", "entry", "first", "rank", "helps", "margin", "lead")
"""The numbers of a candidate from a pair: the log odds that its second statement, after the first, settles the question; the same
less the highest of all single statements; the log odds that the first one helps; the share of the question's words of both, and
what it is more than that of either; how rare the words are that link them; whether the second is an entry about what the first
names; 1 / place of the first; 1 / rank of the second's passage; the other three as in `SPAN`.
"""
VERDICT = ("verdict", "settled", "neither", "share", "is no")
"""The numbers of yes or no: its mean log odds over the other; the same times the highest log odds that a statement settles the
question; the mean log odds that a statement says neither; the mean share of the question's words; whether it is a no.
"""
CONFIDENCE = ("candidate", "answer", "next", "margin", "marked", "others")
"""Log odds of the best candidate, of its answer, and of the next other answer; its margin, as in `SPAN`; as a second opinion, the
probability with which the question tagger marks the answer among its neighbours, and the highest with which it marks another one.
"""
CHAIN = ("together",)
"""The number of an answer by hops: the log odds of all being right, as if none depended on another."""
NUMBERS = {"span": SPAN, "path": PAIR, "verdict": VERDICT, "confidence": CONFIDENCE, "chain": CHAIN}
"""The numbers of each regression, by its name in the file."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that a statement gives, by itself or after the first one of a pair, its numbers (`SPAN`, `PAIR`), and the
    highest probabilities with which the question tagger marks it, and others.
    """

    answer: str
    said: UnitStatement
    numbers: tuple[float, ...]
    pair: StatementPair | None = None
    marked: float = 0.0
    others_marked: float = 0.0

    def beside(self, marks: Sequence[tuple[str, float]]) -> Candidate:
        same = others = 0.0
        for text, likely in marks:
            if same_answer(text, self.answer):
                same = max(same, likely)
            else:
                others = max(others, likely)
        return replace(self, marked=same, others_marked=others)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer, the spans of the statement that gives it, the probability that it is right, that statement, but for yes and
    no, and the pair that it is from, if any.
    """

    answer: str
    support: tuple[Span, ...]
    confidence: float
    said: UnitStatement | None = None
    pair: StatementPair | None = None

    def steps(self, question: str) -> tuple[Step, ...]:
        """The steps to the answer: from a pair first the name that leads on."""
        first = (Step(question, self.pair.name, self.pair.first.support),) if self.pair else ()
        return (*first, Step(question, self.answer, self.support))


@dataclass(frozen=True, slots=True)
class Regression:
    """A logistic regression: the weights of its numbers, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, numbers: Sequence[float]) -> float:
        return logistic(self.constant + sum(map(float.__mul__, self.weights, numbers)))


@dataclass(frozen=True, slots=True)
class Weights:
    """The regressions for spans, for those from pairs, for yes and no, for the confidence in an answer, and in one by hops."""

    span: Regression
    pair: Regression
    verdict: Regression
    confidence: Regression
    chain: Regression

    def probability(self, candidate: Candidate) -> float:
        return (self.pair if candidate.pair else self.span).probability(candidate.numbers)


@cache
def stored_weights() -> Weights:
    """The weights shipped with the package. Raises: ValueError: they were fitted to other numbers."""
    text = (files("hoptrail.language.offline") / "weights" / "answers.json").read_text(encoding="utf-8")
    stored = json.loads(text)
    fitted = []
    for part, names in NUMBERS.items():
        if tuple(stored[part]["numbers"]) != names:
            raise ValueError(f"the weights of {part} were fitted to other numbers: run training/answers.py again")
        fitted.append(Regression(tuple(stored[part]["weights"]), stored[part]["constant"]))
    return Weights(*fitted)


def logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A distinct answer, its likeliest candidate with its probability, and that of the two likeliest together."""

    candidate: Candidate
    probability: float
    together: float


def weighed(candidates: Sequence[Candidate], weights: Weights) -> list[Weighed]:
    """The distinct answers of candidates, likeliest first."""
    likely = sorted(((weights.probability(one), one) for one in candidates), key=lambda pair: -pair[0])
    groups: list[list[tuple[float, Candidate]]] = []
    for probability, one in likely:
        same = next((group for group in groups if same_answer(group[0][1].answer, one.answer)), None)
        if same is None:
            groups.append(same := [])
        same.append((probability, one))
    found = [Weighed(group[0][1], group[0][0], 1 - math.prod(1 - share for share, _ in group[:2])) for group in groups]
    return sorted(found, key=lambda one: -one.together)


def chain_numbers(confidences: Sequence[float]) -> tuple[float, ...]:
    """The number of `CHAIN` of an answer whose hops have these confidences."""
    return (log_odds(math.prod(confidences)),)


def confidence_numbers(at: int, found: Sequence[Weighed]) -> tuple[float, ...]:
    """The numbers of `CONFIDENCE` of an answer among all of a question, likeliest first."""
    one, candidate = found[at], found[at].candidate
    following = found[0 if at else 1].together if len(found) > 1 else 0.0
    odds = map(log_odds, (one.probability, one.together, following))
    *_, margin, _ = candidate.numbers
    return *odds, margin, candidate.marked, candidate.others_marked
