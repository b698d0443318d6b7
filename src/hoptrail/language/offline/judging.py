"""The probability that an answer is right: a logistic model over features of how it was found.

The reader ranks answers within one question; this compares them between questions and between ways of reading. The weights are
in `weights/judge.json`, fitted by `benchmarks/train_judge.py` on questions with known answers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Evidence:
    """The features of an answer; odds are log odds, cut at `MOST`. Features that do not apply are 0.

    `odds`, `lead`, `helps` (in log odds) and `said` are those of the weakest hop. `agreed`: reading at once and hop by
    hop gave the same answer; `against`: different ones. `hops`: number of hops beyond the first. `strangers`: share of the
    question's names that the evidence does not have.
    """

    at_once: float = 0.0
    by_hops: float = 0.0
    compared: float = 0.0
    cell: float = 0.0
    verdict: float = 0.0
    verdict_odds: float = 0.0
    odds: float = 0.0
    lead: float = 0.0
    helps: float = 0.0
    agreed: float = 0.0
    against: float = 0.0
    hops: float = 0.0
    broken_off: float = 0.0
    strangers: float = 0.0
    said: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        """The values in the order of `NAMES`."""
        return tuple(getattr(self, name) for name in NAMES)


NAMES = tuple(field.name for field in fields(Evidence))
MOST = 8.0
"""Bound on log odds: higher ones carry no more information."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The weights of the features of `Evidence`, and the constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, evidence: Evidence) -> float:
        """The probability that the answer is right."""
        total = self.constant + sum(weight * value for weight, value in zip(self.weights, evidence.values, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def cut(odds: float) -> float:
    """Log odds, cut at `MOST`."""
    return max(-MOST, min(MOST, odds))


@cache
def stored_judge() -> Judge:
    """The judge shipped with the package."""
    return read_judge((files("hoptrail.language.offline") / "weights" / "judge.json").read_text(encoding="utf-8"))


def read_judge(text: str) -> Judge:
    """The judge written by `write_judge`.

    Raises:
        ValueError: it was fitted to other features.
    """
    stored = json.loads(text)
    if tuple(stored["names"]) != NAMES:
        raise ValueError("the judge was fitted to other values: run benchmarks/train_judge.py again")
    return Judge(tuple(stored["weights"]), stored["constant"])


def write_judge(weights: Sequence[float], constant: float) -> str:
    """A judge as JSON, rounded to four digits."""
    rounded = {"names": NAMES, "weights": [round(weight, 4) for weight in weights], "constant": round(constant, 4)}
    return json.dumps(rounded, indent=1) + "\n"
