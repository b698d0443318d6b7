"""Paired tests: small cases by hand, all changes of sign one by one, invalid input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from operator import mul

import numpy as np
import pytest

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean_interval
from hoptrail_papers.comparing.run_comparison import MOST_EXACT, holm, paired_difference, randomisation_p


def p_of_all_signs(differences: Sequence[float]) -> float:
    """The p of the definition: the share of all changes of sign under which the sum is as extreme."""
    least = abs(sum(differences)) - 1e-9
    sums: list[float] = [sum(map(mul, signs, differences)) for signs in product((1, -1), repeat=len(differences))]
    return sum(abs(one) >= least for one in sums) / len(sums)


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


@pytest.mark.parametrize("differences", [[0.1, 0.2, 0.3, 0.7, 0.7], [1.2, -0.3, 0.4, 0.9, -1.0, 0.05, 2.1, 0.0, 0.7]])
def test_the_exact_p_is_that_of_all_changes_of_sign(differences: list[float]) -> None:
    """Sums that differ only by the order of adding, such as 0.1 + 0.2 + 0.3, count as equal."""
    assert randomisation_p(differences, 0) == p_of_all_signs(differences)


def test_a_random_p_is_near_the_exact_one_and_the_same_for_the_same_seed() -> None:
    differences = np.random.default_rng(5).normal(0.4, 1, MOST_EXACT + 1)
    ours = randomisation_p(differences, 0)
    assert ours == randomisation_p(differences, 0) != randomisation_p(differences, 1)
    assert ours == pytest.approx(p_of_all_signs(differences.tolist()), abs=0.02)


def test_p_is_never_zero_and_small_for_a_clear_difference() -> None:
    assert randomisation_p([1.0] * 60, 0) == 1 / 10_001


def test_the_direction_is_second_minus_first() -> None:
    difference = paired_difference([0.0] * 30, [1.0] * 20 + [0.0] * 10, seed=0)
    assert difference.mean == pytest.approx(2 / 3)
    assert 0.4 < difference.interval.low < 2 / 3 < difference.interval.high < 0.9
    assert paired_difference([1.0] * 20 + [0.0] * 10, [0.0] * 30, seed=0).mean == pytest.approx(-2 / 3)


def test_the_size_of_portions_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(7).normal(0.05, 1, 101)
    ours = randomisation_p(differences, 0), mean_interval(differences.tolist(), 0)
    monkeypatch.setattr("hoptrail_papers.comparing.run_comparison._PORTION", 777)
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
