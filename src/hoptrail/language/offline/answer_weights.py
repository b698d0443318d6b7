"""The logistic regressions that say how sure an answer is, and the numbers that each sees. `training/answers.py` fits them; their
weights are in `weights/answers.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SPAN = ("settles", "above", "closeness", "share", "rank", "helps", "margin", "lead")
"""The numbers of a candidate: the log odds that its statement settles the question; the same less the mean of all read; the
closeness of the statement; its share of the question's words; 1 / rank of its passage; the log odds that it helps; those of the
span over no answer, and over the second span.
"""
PATH = ("settles", "above", "leads", "share", "gain", "linked", "entry", "first", "rank", "helps", "margin", "lead")
"""The numbers of a candidate on a path: the log odds that its second statement, after the first, settles the question; the same
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
NUMBERS = {"span": SPAN, "path": PATH, "verdict": VERDICT, "confidence": CONFIDENCE}
"""The numbers of each regression."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A logistic regression: the weights of its numbers, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, numbers: Sequence[float]) -> float:
        """The probability for these numbers."""
        return logistic(self.constant + sum(map(float.__mul__, self.weights, numbers)))


@dataclass(frozen=True, slots=True)
class Weights:
    """The regressions for spans, for those on paths, for yes and no, and for the confidence in an answer."""

    span: Regression
    path: Regression
    verdict: Regression
    confidence: Regression


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
    """The probability of log odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
