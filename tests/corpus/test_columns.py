"""Columns in place of records: which records there are, whatever is added in whatever portions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.corpus.columns import bounds_of, paired, ranges, unpaired


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=6))
def test_ranges_are_run_through_one_by_one(drawn: list[tuple[int, int]]) -> None:
    firsts, counts = np.array(drawn, np.int64).reshape(-1, 2).T
    which, numbers = ranges(firsts, counts)
    expected = [(at, first + step) for at, (first, count) in enumerate(drawn) for step in range(count)]
    assert list(zip(which.tolist(), numbers.tolist(), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), max_size=9))
def test_two_numbers_in_one_are_in_the_order_of_both(drawn: list[tuple[int, int]]) -> None:
    high, low = np.array(drawn, np.int64).reshape(-1, 2).T.astype(np.int32)
    pairs = np.sort(paired(high, low))
    assert list(zip(*(half.tolist() for half in unpaired(pairs)), strict=True)) == sorted(drawn)


def test_pairs_of_a_number_stand_between_its_bounds() -> None:
    pairs = paired(np.array([0, 0, 2, 2, 2]), np.array([0, 7, 0, 1, 9]))
    assert bounds_of(pairs, 4).tolist() == [0, 2, 2, 5, 5]
