"""How probably an answer is right, in two steps that were fitted on questions with known answers.

The first says which of a question's options is the likeliest, and by how much (a softmax over a few of their values). The second
is a logistic model over what speaks for that option and its share of the first step: whether anything here answers at all. It was
fitted also on the same questions with what answers them taken away. Choosing the largest of several probabilities would
find the one that is wrong by chance. The weights are those of `weights/judge.json`, which `benchmarks/train_judge.py`
writes.
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
    """What speaks for and against an answer; odds are log odds, cut at `MOST`. What does not apply is 0.

    `odds` and `lead` are those of the weakest hop, `agreed` says that reading at once and hop by hop gave the same, `against`
    that they gave something else, `hops` how many there were beyond the first, `strangers` the share of the question's names that
    the evidence does not know, `covered` the share of the question's words that the answer's statements say, `second` that the
    reader ranks another answer before this one.
    """

    at_once: float = 0.0
    by_hops: float = 0.0
    compared: float = 0.0
    cell: float = 0.0
    verdict: float = 0.0
    verdict_odds: float = 0.0
    odds: float = 0.0
    lead: float = 0.0
    agreed: float = 0.0
    against: float = 0.0
    hops: float = 0.0
    broken_off: float = 0.0
    strangers: float = 0.0
    said: float = 0.0
    covered: float = 0.0
    second: float = 0.0

    def values(self, names: Sequence[str]) -> list[float]:
        """Some of them, in this order."""
        return [getattr(self, name) for name in names]


WHICH = ("odds", "covered", "cell", "compared", "second")
"""The values of the first step."""
SPEAKING = tuple(field.name for field in fields(Evidence) if field.name not in {"covered", "second"})
NAMES = (*SPEAKING, "share", "several")
"""The values of the second step: the likeliest option's, the logarithm of its share, and whether there are others."""
MOST = 12.0
"""Log odds beyond which more says nothing."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Weights of `WHICH`, weights of `NAMES`, and a constant."""

    which: tuple[float, ...]
    weights: tuple[float, ...]
    constant: float

    def likeliest(self, options: Sequence[Evidence]) -> tuple[int, float]:
        """The place of the likeliest of some options, and the probability that it is right. There must be one."""
        place, values = chosen(self.which, options)
        total = self.constant + _product(self.weights, values)
        return place, 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def chosen(which: Sequence[float], options: Sequence[Evidence]) -> tuple[int, list[float]]:
    """The place of the likeliest option, and its values of `NAMES`."""
    scores = [_product(which, one.values(WHICH)) for one in options]
    place = max(range(len(scores)), key=scores.__getitem__)
    share = -math.log(sum(math.exp(score - scores[place]) for score in scores))
    return place, [*options[place].values(SPEAKING), share, float(len(options) > 1)]


def _product(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


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
    if (tuple(stored.get("which", ())), tuple(stored["names"])) != (WHICH, NAMES):
        raise ValueError("the judge was fitted to other values: run benchmarks/train_judge.py again")
    return Judge(tuple(stored["which"].values()), tuple(stored["names"].values()), stored["constant"])


def write_judge(judge: Judge) -> str:
    """As JSON, rounded to four digits."""
    steps = {"which": zip(WHICH, judge.which, strict=True), "names": zip(NAMES, judge.weights, strict=True)}
    rounded = {step: {name: round(weight, 4) for name, weight in found} for step, found in steps.items()}
    return json.dumps(rounded | {"constant": round(judge.constant, 4)}, indent=1) + "\n"
