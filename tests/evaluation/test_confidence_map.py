"""The map from raw confidences to probabilities: between knots, beyond them, and invalid knots."""

from __future__ import annotations

import pytest

from hoptrail.evaluation.confidence_map import ConfidenceMap

MAP = ConfidenceMap(((0.2, 0.1), (0.4, 0.5), (0.8, 0.5)))


@pytest.mark.parametrize(
    ("raw", "calibrated"), [(0.0, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5), (0.6, 0.5), (0.8, 0.5), (1.0, 0.5)]
)
def test_linear_between_knots_and_constant_beyond(raw: float, calibrated: float) -> None:
    assert MAP.of(raw) == pytest.approx(calibrated)


def test_a_single_knot_is_a_constant() -> None:
    assert ConfidenceMap(((0.5, 0.3),)).of(0.9) == 0.3


@pytest.mark.parametrize(
    "knots", [(), ((0.4, 0.1), (0.2, 0.2)), ((0.2, 0.3), (0.4, 0.2)), ((0.2, 0.3), (0.2, 0.4)), ((0.2, 1.1),)]
)
def test_knots_must_rise_and_be_probabilities(knots: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="needs knots that rise"):
        ConfidenceMap(knots)
