"""A monotone, piecewise linear map from raw confidences to the share of right answers, fitted on judged answers.

A map has a few knots (raw confidence, share of right answers) and is constant outside them. It measures how far confidences are
from probabilities; no recipe applies one.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class ConfidenceMap:
    """At least one knot (raw, calibrated): raw confidences rise strictly; calibrated ones are from 0 to 1 and do not fall.

    Raises:
        ValueError: the knots are invalid.
    """

    knots: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        rising = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(self.knots))
        if not self.knots or not rising or not all(0 <= calibrated <= 1 for _, calibrated in self.knots):
            raise ValueError(f"a map of confidences needs knots that rise and give probabilities, not {self.knots}")

    def of(self, raw: float) -> float:
        """The probability that an answer with this raw confidence is right."""
        place = bisect_left(self.knots, raw, key=lambda knot: knot[0])
        if place == 0:
            return self.knots[0][1]
        if place == len(self.knots):
            return self.knots[-1][1]
        (left, low), (right, high) = self.knots[place - 1 : place + 1]
        return low + (high - low) * (raw - left) / (right - left)
