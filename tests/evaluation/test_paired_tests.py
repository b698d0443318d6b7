"""Paired tests: small cases by hand, SciPy's permutation test and bootstrap as oracles, invalid input."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean_interval
from hoptrail.evaluation.paired_tests import MOST_EXACT, holm, paired_difference, randomisation_p


def scipy_p(differences: np.ndarray[Any, Any], resamples: int) -> float:
    from scipy.stats import permutation_test

    result = permutation_test(
        (differences, np.zeros_like(differences)),
        lambda first, second, axis: np.mean(first - second, axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    return float(result.pvalue)


def test_small_cases_by_hand() -> None:
    """Of the 2^n changes of sign, only all plus and all minus are as extreme as all wins."""
    assert randomisation_p([1.0], 0) == 1.0
    assert randomisation_p([1.0] * 5, 0) == 2 / 32
    assert randomisation_p([-1.0] * 5 + [0.0] * 100, 0) == 2 / 32
    # |sum| of (3, 1, -1) is 3: reached unless 3 and both ones pull apart by signs (+--) and (-++).
    assert randomisation_p([3.0, 1.0, -1.0], 0) == 6 / 8


def test_nothing_differs() -> None:
    difference = paired_difference([0.5, 1.0], [0.5, 1.0], seed=0)
    assert (difference.mean, difference.p, difference.n) == (0.0, 1.0, 2)
    assert (difference.interval.low, difference.interval.high) == (0.0, 0.0)


def test_ties_in_other_orders_of_adding_count() -> None:
    """0.1 + 0.2 + 0.3 in floating point depends on the order; every reversal of all signs must count as equal."""
    values = [0.1, 0.2, 0.3, 0.7, 0.7]
    by_hand = sum(
        abs(round(sum(sign * 10 * value for sign, value in zip(signs, values, strict=True)))) >= 20
        for signs in product((1, -1), repeat=5)
    )
    assert randomisation_p(values, 0) == by_hand / 32


@pytest.mark.parametrize("size", [4, MOST_EXACT])
def test_exact_p_is_scipys(size: int) -> None:
    differences = np.random.default_rng(size).normal(0.4, 1, size)
    assert randomisation_p(differences, 0) == pytest.approx(scipy_p(differences, 2**size), abs=1e-12)


def test_random_p_is_near_scipys_and_the_same_for_the_same_seed() -> None:
    differences = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], 200, p=[0.12, 0.7, 0.18])
    ours = randomisation_p(differences, 0)
    assert ours == randomisation_p(differences, 0) != randomisation_p(differences, 1)
    assert ours == pytest.approx(scipy_p(differences, 9_999), abs=0.02)


def test_p_is_never_zero_and_small_for_a_clear_difference() -> None:
    assert randomisation_p([1.0] * 60, 0) == 1 / 10_001


def test_the_direction_is_second_minus_first() -> None:
    difference = paired_difference([0.0] * 30, [1.0] * 20 + [0.0] * 10, seed=0)
    assert difference.mean == pytest.approx(2 / 3)
    assert 0.4 < difference.interval.low < 2 / 3 < difference.interval.high < 0.9
    assert paired_difference([1.0] * 20 + [0.0] * 10, [0.0] * 30, seed=0).mean == pytest.approx(-2 / 3)


def test_the_interval_is_near_scipys_and_covers_the_truth_at_its_level() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(3).normal(0.2, 1, 80)
    oracle = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=5000, rng=np.random.default_rng(4)
    ).confidence_interval
    ours = mean_interval(values.tolist(), 0)
    assert (ours.low, ours.high) == pytest.approx((oracle.low, oracle.high), abs=0.03)
    generator = np.random.default_rng(6)
    intervals = [mean_interval(generator.normal(0, 1, 60).tolist(), 0) for _ in range(100)]
    assert 85 <= sum(interval.low <= 0 <= interval.high for interval in intervals) <= 100


def test_the_size_of_portions_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(7).normal(0.05, 1, 101)
    ours = randomisation_p(differences, 0), mean_interval(differences.tolist(), 0)
    monkeypatch.setattr("hoptrail.evaluation.paired_tests._PORTION", 777)
    monkeypatch.setattr("hoptrail.evaluation.answer_scores._PORTION", 777)
    assert (randomisation_p(differences, 0), mean_interval(differences.tolist(), 0)) == ours


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([0.02]) == (0.02,)
    assert holm([]) == ()


def test_unpaired_and_empty_are_refused() -> None:
    with pytest.raises(UsageError, match="1 values of one run and 2 of the other"):
        paired_difference([1.0], [1.0, 0.0], seed=0)
    with pytest.raises(UsageError, match="without a question that both have"):
        paired_difference([], [], seed=0)
