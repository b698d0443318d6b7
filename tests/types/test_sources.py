"""A source names its file; ids depend on the content alone, and are the same in every version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.types import ID_DIGITS, content_id
from hoptrail.types.sources import file_name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/home/ada/notes/Tide table.md", "Tide table.md"),
        ("notes.md", "notes.md"),
        ("/data/rows.jsonl#q7", "rows.jsonl#q7"),
        ("/data/rows.jsonl.gz#12", "rows.jsonl.gz#12"),
        ("/data/ROWS.JSONL#a/b#c", "ROWS.JSONL#a/b#c"),
        ("/data/rows.jsonl#", "rows.jsonl#"),
        ("/data/rows.jsonl#two\nlines", "rows.jsonl#two\nlines"),
        ("/data/c#/notes#1.md", "notes#1.md"),
        ("/data/c#/rows.jsonl#3", "rows.jsonl#3"),
        ("/data/jsonl#3", "jsonl#3"),
        (f"/idx/uploads/n{'0a' * 10}.jsonl#My file.pdf", "My file.pdf"),
        (f"uploads/n{'0a' * 10}.jsonl#a/b#c.md", "a/b#c.md"),
        (f"/idx/uploads/n{'0A' * 10}.jsonl#My file.pdf", f"n{'0A' * 10}.jsonl#My file.pdf"),
        ("/idx/uploads/rows.jsonl#x", "rows.jsonl#x"),
        ("", ""),
    ],
)
def test_a_source_is_shown_as_the_name_of_its_file(source: str, name: str) -> None:
    assert file_name(source) == name


@pytest.mark.parametrize(
    ("parts", "id_"),
    [
        (("d", "Birds", "Gulls nest here."), "de6d2e142c82526f64155"),
        (("p",), "pe3b0c44298fc1c149afb"),
        (("d", "\ud800"), "d91a681b998555fb47547"),
    ],
)
def test_ids_are_those_that_are_stored(parts: tuple[str, ...], id_: str) -> None:
    assert content_id(*parts) == id_, "an index of an earlier version would not be found again"
    assert len(id_) == 1 + ID_DIGITS


parts = st.lists(st.text(st.characters(blacklist_characters="\x1f"), max_size=3), min_size=1, max_size=3)


@given(parts, parts)
def test_other_parts_have_another_id(one: list[str], other: list[str]) -> None:
    assert (content_id("d", *one) == content_id("d", *other)) == (one == other)
    assert content_id("d", *one) != content_id("p", *one)
