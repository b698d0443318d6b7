"""A learned scorer of candidates, small enough to read: one hidden layer over `FEATURES`, and a calibration of its winner.

The weights lie in `weights/scorer.json`, made by `benchmarks/train_offline.py` from training questions only. Scores order the
candidates of one question; only the calibrated confidence compares between questions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hoptrail.language.offline.features import CALIBRATED, FEATURES

Floats = NDArray[np.float64]

JUDGED = (
    "share", "lead", "agreed", "planned", "planned in hops", "plan confidence", "compared", "chosen", "choice gap",
    "against a verdict", "against a plan", "one hop unanswered", "hops broken off", "sure plan", "against a sure plan",
    "share, hops broken off", "sure plan in hops", "not among candidates", "nothing said, one hop", "nothing said, several hops",
    "lost after a sure hop", "strangers", *CALIBRATED,
)  # fmt: skip
"""What the calibration looks at; `judge` takes them in this order."""

_CLIPPED = 4.0
"""Standard deviations beyond which a feature says no more."""


def in_order(judged: Mapping[str, float]) -> tuple[float, ...]:
    """Values by name in the order of `JUDGED`; 0 for what does not apply."""
    return tuple(judged.get(name, 0.0) for name in JUDGED)


@dataclass(frozen=True)
class Scorer:
    """Scores are `linear . x + outer . tanh(inner x + bias)` of the standardised features `x` (n candidates x features)."""

    mean: Floats
    deviation: Floats
    linear: Floats
    inner: Floats
    bias: Floats
    outer: Floats
    calibration: Floats

    def score(self, values: Floats) -> Floats:
        """One score a candidate; `values` are n candidates x features."""
        standard = (values - self.mean) / self.deviation
        clipped = np.clip(standard, -_CLIPPED, _CLIPPED)
        scores: Floats = clipped @ self.linear + np.tanh(clipped @ self.inner + self.bias) @ self.outer
        return scores

    def judge(self, judged: Sequence[float]) -> float:
        """The probability that an answer is right, from the values that `JUDGED` names."""
        weighed = float(np.dot(self.calibration[:-1], judged) + self.calibration[-1])
        return float(1 / (1 + np.exp(-weighed)))


@cache
def stored_scorer() -> Scorer:
    """The scorer that comes with the package."""
    text = (files("hoptrail.language.offline") / "weights" / "scorer.json").read_text(encoding="utf-8")
    return read_scorer(text)


def read_scorer(text: str) -> Scorer:
    """The scorer that `write_scorer` wrote.

    Raises:
        ValueError: it was trained on other features than these.
    """
    stored = json.loads(text)
    if tuple(stored["features"]) != FEATURES or tuple(stored["judged"]) != JUDGED:
        raise ValueError("the scorer's weights were trained on other features: run benchmarks/train_offline.py again")
    parts = {name: np.asarray(stored[name], dtype=np.float64) for name in Scorer.__dataclass_fields__}
    return Scorer(**parts)


def write_scorer(scorer: Scorer) -> str:
    """As JSON, rounded to five digits, one line a part."""
    stored: dict[str, object] = {"features": FEATURES, "judged": JUDGED}
    stored |= {name: _rounded(getattr(scorer, name)) for name in Scorer.__dataclass_fields__}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in stored.items()) + "\n}\n"


def _rounded(part: Floats) -> object:
    return np.vectorize(lambda value: float(f"{value:.5g}"), otypes=[float])(part).tolist()
