"""Risk, coverage and calibration: small cases by hand, every order of equal confidences, invalid confidences."""

from __future__ import annotations

from itertools import permutations

import pytest

from hoptrail.errors import UsageError
from hoptrail.evaluation.reports import JudgedAnswer
from hoptrail_papers.comparing.risk_coverage import (
    RiskAt,
    area_under_risk,
    calibration_error,
    calibration_table,
    risk_coverage_curve,
)

ANSWERS = [
    JudgedAnswer(0.9, correct=True),
    JudgedAnswer(0.5, correct=False),
    JudgedAnswer(0.9, correct=True),
    JudgedAnswer(0.2, correct=True),
]


def test_the_curve_by_hand() -> None:
    """Five questions, one of them unanswered."""
    expected = (RiskAt(0.9, 2 / 5, 0.0), RiskAt(0.5, 3 / 5, 1 / 3), RiskAt(0.2, 4 / 5, 1 / 4))
    assert risk_coverage_curve(ANSWERS, 5) == expected
    assert risk_coverage_curve([], 5) == ()
    with pytest.raises(UsageError, match="4 answers cannot come from 3"):
        risk_coverage_curve(ANSWERS, 3)


def test_the_area_by_hand() -> None:
    assert area_under_risk(ANSWERS) == pytest.approx((0 + 0 + 1 / 3 + 1 / 4) / 4)
    assert area_under_risk([JudgedAnswer(0.1, correct=False)]) == 1.0
    with pytest.raises(UsageError, match="at least one answer"):
        area_under_risk([])


def test_equal_confidences_average_over_all_orders() -> None:
    """The area equals its mean over all orders of the answers with equal confidence."""
    outcomes = [True, False, False, True, True]
    areas = [
        area_under_risk([JudgedAnswer(-place, correct=outcome) for place, outcome in enumerate(order)])
        for order in permutations(outcomes)
    ]
    tied = [JudgedAnswer(0.5, correct=outcome) for outcome in outcomes]
    assert area_under_risk(tied) == pytest.approx(sum(areas) / len(areas))


def test_the_calibration_table_by_hand() -> None:
    table = calibration_table([*ANSWERS, JudgedAnswer(1.0, correct=False)])
    assert [row.answers for row in table] == [1, 1, 3]
    assert table[-1].confidence == pytest.approx(2.8 / 3)
    assert table[-1].accuracy == pytest.approx(2 / 3)
    assert calibration_error(table) == pytest.approx((0.8 + 0.5 + 0.8) / 5)
    assert calibration_error(()) == 0.0


def test_calibration_needs_probabilities() -> None:
    with pytest.raises(UsageError, match="between 0 and 1, not 7"):
        calibration_table([JudgedAnswer(7, correct=True)])
