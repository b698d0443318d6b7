"""How probably an answer is right: a logistic model over what was seen on the way to it, fitted on questions with known answers.

Answers are ordered within one question by the reader; this compares them between questions and between ways of reading. The
weights are those of `weights/judge.json`, which `benchmarks/train_judge.py` writes.
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
    """What speaks for and against an answer; odds are log odds, cut at `_MOST`. What does not apply is 0.

    `odds`, `lead`, `helps` are those of the weakest hop, `agreed` says that reading at once and hop by hop gave the same,
    `against` that they gave something else, `hops` how many there were beyond the first, `strangers` the share of the question's
    names that the evidence does not know.
    """

    at_once: float = 0.0
    by_hops: float = 0.0
    compared: float = 0.0
    cell: float = 0.0
    verdict: float = 0.0
    verdict_odds: float = 0.0
    odds: float = 0.0
    odds_by_hops: float = 0.0
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
        """In the order of `NAMES`."""
        return tuple(getattr(self, name) for name in NAMES)


NAMES = tuple(field.name for field in fields(Evidence))
MOST = 8.0
"""Log odds beyond which more says nothing."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Weights of the values of `Evidence`, and a constant."""

    weights: tuple[float, ...]
    constant: float

    def probability(self, evidence: Evidence) -> float:
        """That the answer is right."""
        total = self.constant + sum(weight * value for weight, value in zip(self.weights, evidence.values, strict=True))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def cut(odds: float) -> float:
    """Log odds within `MOST`."""
    return max(-MOST, min(MOST, odds))


@cache
def stored_judge() -> Judge:
    """The judge that comes with the package."""
    return read_judge((files("hoptrail.language.offline") / "weights" / "judge.json").read_text(encoding="utf-8"))


def read_judge(text: str) -> Judge:
    """The judge that `write_judge` wrote.

    Raises:
        ValueError: it was fitted to other values than these.
    """
    stored = json.loads(text)
    if tuple(stored["names"]) != NAMES:
        raise ValueError("the judge was fitted to other values: run benchmarks/train_judge.py again")
    return Judge(tuple(stored["weights"]), stored["constant"])


def write_judge(weights: Sequence[float], constant: float) -> str:
    """As JSON, rounded to four digits."""
    rounded = {"names": NAMES, "weights": [round(weight, 4) for weight in weights], "constant": round(constant, 4)}
    return json.dumps(rounded, indent=1) + "\n"
