"""A term with what is said of it, wherever documents have such entries."""

from __future__ import annotations

from hoptrail.documents.blocks import Piece
from hoptrail.text.entries import entries_of, is_entry
from hoptrail.types import BlockKind
from pieces import unit_of

PIECES = [
    Piece(BlockKind.PARAGRAPH, "This is no entry."),
    Piece(BlockKind.ITEM, "-c <new>, --create[=<new>]: Make a branch. Then switch to it.", 1),
    Piece(BlockKind.ITEM, "Just a line of a list", 1),
    Piece(BlockKind.CODE, "KEY_FILE     Where the key is kept\nfor x in y\nother key\tAnother description"),
    Piece(BlockKind.ROW, level=1, cells=(("", "Type"), ("", "Meaning"), ("", "Size"))),
    Piece(BlockKind.ROW, cells=(("Type", "0b11"), ("Meaning", "a tree"), ("Size", "8"))),
]


def test_items_lines_and_rows_are_entries_with_their_places() -> None:
    unit = unit_of("Manual", *PIECES)
    found = [(entry.terms, entry.description, entry.headers) for entry in entries_of(unit)]
    assert found == [
        (("-c", "--create"), "Make a branch. Then switch to it.", ()),
        (("KEY_FILE",), "Where the key is kept", ()),
        (("other key",), "Another description", ()),
        (("0b11",), "a tree", ("Type", "Meaning")),
    ]
    for entry in entries_of(unit):
        assert unit.text[entry.start : entry.end].strip().endswith(entry.description)
    assert next(entries_of(unit)).first_sentence == "Make a branch."


def test_an_option_without_a_colon_is_an_entry() -> None:
    assert is_entry("--keep-last n keep the n last snapshots")
    assert not is_entry("Open the sea cock.")
