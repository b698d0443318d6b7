"""From how far an answer is believed to how often such answers are right: a monotone map, fitted on judged answers.

A map is a few knots of (raw confidence, share of right answers); between two it runs straight, outside it is flat. It is fitted
and written by `python -m benchmarks.calibration`, whose file says what it was fitted on. It holds for one recipe and language:
those of other languages have no map, and their confidences stay as they are. Knows nothing of questions.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class ConfidenceMap:
    """Knots (raw, calibrated), at least one: raw confidences rise, calibrated ones, from 0 to 1, do not fall.

    Raises:
        ValueError: the knots are not so.
    """

    knots: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        rising = all(one[0] < other[0] and one[1] <= other[1] for one, other in pairwise(self.knots))
        if not self.knots or not rising or not all(0 <= calibrated <= 1 for _, calibrated in self.knots):
            raise ValueError(f"a map of confidences needs knots that rise and give probabilities, not {self.knots}")

    def of(self, raw: float) -> float:
        """How likely an answer of this raw confidence is right."""
        place = bisect_left(self.knots, raw, key=lambda knot: knot[0])
        if place == 0:
            return self.knots[0][1]
        if place == len(self.knots):
            return self.knots[-1][1]
        (left, low), (right, high) = self.knots[place - 1 : place + 1]
        return low + (high - low) * (raw - left) / (right - left)


@cache
def stored_map(recipe: str, language: str) -> ConfidenceMap | None:
    """The map that comes with the package for a recipe's answers by this language; None where there is none.

    Raises:
        ValueError: the file holds no map.
    """
    place = files("hoptrail.recipes") / "weights" / f"{recipe}-{language}.json"
    return read_confidence_map(place.read_text(encoding="utf-8")) if place.is_file() else None


def write_confidence_map(fitted: ConfidenceMap, manifest: Mapping[str, Any]) -> str:
    """The map as JSON, with what it was fitted on."""
    return json.dumps({"manifest": dict(manifest), "knots": fitted.knots}, indent=1) + "\n"


def read_confidence_map(text: str) -> ConfidenceMap:
    """The map that `write_confidence_map` wrote.

    Raises:
        ValueError: it is none.
    """
    try:
        return ConfidenceMap(tuple((float(raw), float(calibrated)) for raw, calibrated in json.loads(text)["knots"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a map of confidences: {error}") from error
