"""Columns in place of records: which records there are, whatever is added in whatever portions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.corpus.columns import (
    SPAN,
    bounds_of,
    digests_of,
    id_rows,
    in_order,
    paired,
    ranges,
    rows_among,
    unpaired,
)
from hoptrail.corpus.writer import writing_to
from hoptrail.types import Kind, Span, Unit
from world import HashingEncoder, make_document

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


def test_what_units_are_made_from_is_read_as_it_was_written(tmp_path: Path) -> None:
    documents = [replace(make_document(id_, "Some text."), id=id_) for id_ in ("d1", "ü2", f"d{'0' * 20}1", "d" * 25)]
    made_from = [
        [Span("d1", 0, 5)],
        [Span("ü2", 3, 9), Span("d1", 0, 5), Span(f"d{'0' * 20}1", 7, 8)],
        [Span("ü2", 1, 2)],
    ]
    units = [
        Unit(f"s2{at}", Kind.SUMMARY, "A title" * at, "two  words", tuple(spans)) for at, spans in enumerate(made_from)
    ]
    long = Unit("s2", Kind.SUMMARY, "", "a", (Span("d" * 25, 0, 1),))
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.put_documents(documents)
        writer.put_units([*units, long], HashingEncoder().encode(["a"] * 4))
        snapshot = writer.snapshot()
        for expected in (units, units[1:2]):
            [origins] = snapshot.table.origins_among(Kind.SUMMARY, id_rows(unit.id for unit in expected))
            assert [id_.decode() for id_ in origins.ids.tolist()] == [unit.id for unit in expected]
            assert origins.words.tolist() == [2] * len(expected)
            assert origins.counts.tolist() == [len(unit.sources) for unit in expected]
            spans = [span for unit in expected for span in unit.sources]
            assert [(document.decode(), *ends) for document, *ends in origins.spans.tolist()] == [
                (span.document, span.start, span.end) for span in spans
            ]
        assert list(snapshot.table.origins_among(Kind.SUMMARY, id_rows(["absent"]))) == []
        with pytest.raises(ValueError, match="at most 24 bytes"):
            list(snapshot.table.origins_among(Kind.SUMMARY, id_rows(["s2"])))


def test_rows_have_the_same_digest_where_they_are_the_same() -> None:
    rows = np.array([(f"d{at // 100:020}", at % 100, at % 7) for at in range(100_000)], SPAN)
    digests = digests_of(rows)
    assert np.array_equal(digests_of(rows[::-1])[::-1], digests)
    assert len(np.unique(digests)) == len(rows)
    bits = np.unpackbits(digests.view(np.uint8)).reshape(len(rows), 64)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 0.01)
    assert len(digests_of(rows[:0])) == 0
