"""Columns in place of records: which records there are, whatever is added in whatever portions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.corpus.columns import (
    bounds_of,
    id_rows,
    in_order,
    paired,
    ranges,
    rows_among,
    unpaired,
)

_PAIR = np.dtype([("row", ">u4"), ("entity", ">u8")])


@given(st.lists(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)))))
def test_rows_of_all_portions_are_put_in_order(portions: list[list[tuple[int, int]]]) -> None:
    found = in_order(_PAIR, (np.array(some, _PAIR) for some in portions))
    assert found.tolist() == sorted(row for some in portions for row in some)


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


@given(st.sets(st.text("abs01", min_size=1, max_size=3)), st.lists(st.text("abs01", min_size=1, max_size=3)))
def test_rows_of_ids_are_their_places_among_those_that_rise(stored: set[str], asked: list[str]) -> None:
    rising = sorted(stored)
    rows = rows_among(id_rows(asked), id_rows(rising)).tolist()
    assert rows == [rising.index(id_) if id_ in stored else -1 for id_ in asked]
