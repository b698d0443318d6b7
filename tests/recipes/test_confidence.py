"""The map from raw confidences to probabilities: between knots, beyond them, written and read, what is refused."""

from __future__ import annotations

import json

import pytest

from hoptrail.recipes.confidence import ConfidenceMap, read_confidence_map, write_confidence_map

MAP = ConfidenceMap(((0.2, 0.1), (0.4, 0.5), (0.8, 0.5)))


@pytest.mark.parametrize(
    ("raw", "calibrated"), [(0.0, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5), (0.6, 0.5), (0.8, 0.5), (1.0, 0.5)]
)
def test_straight_between_knots_and_flat_beyond(raw: float, calibrated: float) -> None:
    assert MAP.of(raw) == pytest.approx(calibrated)


def test_a_single_knot_says_the_same_of_all() -> None:
    assert ConfidenceMap(((0.5, 0.3),)).of(0.9) == 0.3


def test_what_is_written_is_read() -> None:
    text = write_confidence_map(MAP, {"recipe": "trail"})
    assert read_confidence_map(text) == MAP
    assert json.loads(text)["manifest"] == {"recipe": "trail"}


@pytest.mark.parametrize(
    "knots", [(), ((0.4, 0.1), (0.2, 0.2)), ((0.2, 0.3), (0.4, 0.2)), ((0.2, 0.3), (0.2, 0.4)), ((0.2, 1.1),)]
)
def test_knots_must_rise_and_be_probabilities(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="needs knots that rise"):
        ConfidenceMap(knots)


@pytest.mark.parametrize("text", ["{", "{}", '{"knots": [[0.1]]}', '{"knots": 3}', "[]"])
def test_a_file_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own words
        read_confidence_map(text)
