"""What came by is sifted the same way, however little of it memory holds."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.store.scratch import Scratch
from hoptrail.structures import streaming
from hoptrail.structures.streaming import sifting


@given(st.lists(st.tuples(st.integers(-20, 20), st.booleans()), max_size=60), st.sampled_from([1, 700, 1 << 20]))
def test_of_equal_records_the_first_counts_if_it_is_new(came: list[tuple[int, bool]], held: int) -> None:
    known = {digest for digest, new in came if not new}
    came = [(digest, digest not in known) for digest, _ in came]
    with patch.object(streaming, "TOGETHER", 4), sifting(Scratch(held)) as sifted:
        for number, (digest, new) in enumerate(came):
            sifted.put(digest, (digest, number), new=new)
        total, records = sifted.new()
        wanted: dict[int, tuple[int, int]] = {}
        for number, (digest, new) in enumerate(came):
            if new:
                wanted.setdefault(digest, (digest, number))
        assert list(records) == list(wanted.values())
        assert total == len(wanted)
        asked = range(-25, 25)
        assert sifted.digests().holding(asked).tolist() == [at in {digest for digest, _ in came} for at in asked]
        assert sifted.old().holding(asked).tolist() == [at in known for at in asked]
