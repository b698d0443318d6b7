"""Columns in place of records: which records there are, whatever is added in whatever portions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.store.columns import Digests, id_rows, rows_among


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


@given(st.sets(st.text("abs01", min_size=1, max_size=3)), st.lists(st.text("abs01", min_size=1, max_size=3)))
def test_rows_of_ids_are_their_places_among_those_that_rise(stored: set[str], asked: list[str]) -> None:
    rising = sorted(stored)
    rows = rows_among(id_rows(asked), id_rows(rising)).tolist()
    assert rows == [rising.index(id_) if id_ in stored else -1 for id_ in asked]
