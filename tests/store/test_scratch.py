"""Room that a build works in: records and numbers come back as they were put, in the order that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.store.scratch import Scratch

ROOM = Scratch()


def test_a_table_begins_with_zeros() -> None:
    table = ROOM.table(300, 4, np.float32)
    assert table.shape == (300, 4)
    assert table.dtype == np.float32
    assert not table.any()


def test_records_are_sorted_whenever_they_are_read() -> None:
    records = [(f"{number * 37 % 101:03}", number) for number in range(500)]
    with ROOM.sorting() as aside:
        assert list(aside) == []
        for record in records:
            aside.put(record)
        assert list(aside) == sorted(records)
        both = list(zip(aside, aside, strict=True))
        assert both == [(record, record) for record in sorted(records)]
        aside.put(("", 0))
        assert list(aside) == [("", 0), *sorted(records)]


def test_a_column_is_what_was_put_into_it() -> None:
    assert ROOM.column(np.int64).values().tolist() == []
    column, names = ROOM.column(np.int64), ROOM.column(np.dtype("S3"))
    for start in range(0, 300, 7):
        column.extend(np.arange(start, start + 7, dtype=np.int32))  # becomes what the column is of
        names.extend(np.array([b"%03d" % start], dtype="S3"))
    assert column.values().tolist() == list(range(301))
    values = names.values()
    values[::-1].sort()
    assert values[0] == b"294"


@pytest.mark.parametrize("portions", [[], [[3, 1]], [[5, 2], [], [4, 1, 5]]])
def test_values_and_rows_are_put_in_their_order(portions: list[list[int]]) -> None:
    expected = sorted(value for some in portions for value in some)
    assert ROOM.rising(np.int64, [np.array(some, np.int64) for some in portions]).tolist() == expected
    pair = np.dtype([("first", ">u4"), ("second", ">u4")])
    rows = ROOM.in_order(pair, [np.array([(value, 9 - value) for value in some], pair) for some in portions])
    assert rows.tolist() == [(value, 9 - value) for value in expected]
