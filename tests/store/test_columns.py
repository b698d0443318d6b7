"""Columns in place of records: which records there are, whatever is added in whatever portions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.store import columns
from hoptrail.store.columns import (
    Digests,
    as_bytes,
    bounds_of,
    distinct,
    id_rows,
    paired,
    ranges,
    rows_among,
    unpaired,
)


@given(st.lists(st.lists(st.text(max_size=3), max_size=20), max_size=8), st.lists(st.text(max_size=3), max_size=20))
def test_a_set_of_digests_holds_what_was_added(added: list[list[str]], asked: list[str]) -> None:
    digests = Digests()
    for portion in added:
        digests.add(map(hash, portion))
    everything = {text for portion in added for text in portion}
    assert digests.holding(map(hash, asked)).tolist() == [text in everything for text in asked]


def test_a_set_of_digests_takes_eight_bytes_a_text_and_few_runs() -> None:
    digests = Digests()
    for start in range(0, 20_000, 100):
        digests.add([hash(f"{number}") for number in range(start, start + 200)])  # half of them again
    assert sum(run.nbytes for run in digests._runs) == 8 * 20_100
    assert len(digests._runs) < 12
    assert digests.holding(map(hash, ["0", "20099", "20100", "\ud800"])).tolist() == [True, True, False, False]


@given(st.lists(st.integers(0, 6)), st.integers(1, 4))
def test_each_of_rising_values_is_given_once(values: list[int], together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "ADDED", together)
        found = [one for some in distinct(np.sort(np.array(values, np.int64))) for one in some.tolist()]
    assert found == sorted(set(values))


def test_rows_that_end_in_zeros_are_told_apart() -> None:
    rows = np.array([(0, 0), (0, 1), (0, 1), (1, 0), (1, 256)], [("row", ">u4"), ("entity", ">u8")])
    found = np.concatenate(list(distinct(as_bytes(rows)))).view(rows.dtype)
    assert found.tolist() == [(0, 0), (0, 1), (1, 0), (1, 256)]


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
