"""A unit is shown, searched and cited as its blocks say: rows with their headers, lists with their lead, parts of a block cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.documents.blocks import Piece
from hoptrail.types import Block, BlockKind, Cell, Hit, Kind, Span, Unit
from pieces import document_of, unit_of

HEADING, ROW, ITEM, PARAGRAPH = BlockKind.HEADING, BlockKind.ROW, BlockKind.ITEM, BlockKind.PARAGRAPH
FARES = (
    Piece(HEADING, "Fares", 1),
    Piece(ROW, level=1, cells=(("", "Line"), ("", "Adult"))),
    Piece(ROW, cells=(("Line", "Coast"), ("Adult", "4"))),
    Piece(ROW, cells=(("Line", "Hill"), ("Adult", ""))),
)
TEXT = "Gulls nest here. They hatch in May."


def unit(text: str = TEXT, *, title: str = "Birds", at: int = 0, blocks: Sequence[Block] = ()) -> Unit:
    return Unit("p1", Kind.PASSAGE, title, text, (Span("d1", at, at + len(text)),), tuple(blocks))


def part_of(pieces: Sequence[Piece], words: str, title: str = "Ferry") -> Unit:
    """The part of a document of these pieces that has these words, as a passage."""
    document = document_of(title, pieces)
    start = document.text.index(words)
    span = Span(document.id, start, start + len(words))
    return Unit("p1", Kind.PASSAGE, title, document.slice(span), (span,), document.blocks_within(span))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (unit(), f"Birds\n{TEXT}"),
        (unit(title=""), TEXT),
        (unit_of("Ferry", *FARES), "Ferry\nFares\nLine: Coast; Adult: 4\nLine: Hill"),
        (part_of(FARES, "Coast\t4"), "Ferry\nFares\nLine: Coast; Adult: 4"),
        (part_of(FARES, "Coast\t4", title="Fares"), "Fares\nLine: Coast; Adult: 4"),
        (
            part_of((Piece(HEADING, "A", 1), Piece(HEADING, "B", 2), Piece(PARAGRAPH, "It sails.")), "sails."),
            "Ferry\nA > B\nsails.",
        ),
    ],
    ids=["plain", "without a title", "whole table", "row", "title in the path", "path"],
)
def test_what_is_searched_is_the_title_the_path_and_the_text(shown: Unit, expected: str) -> None:
    assert shown.searchable == expected


@pytest.mark.parametrize(
    ("words", "readable"),
    [
        ("Coast\t4\nHill", "Line: Coast; Adult: 4\nLine: Hill"),
        ("Line\tAdult\nCoast\t4", "Line: Coast; Adult: 4"),
        ("Line\tAdult", "Line\tAdult"),
        ("ast\t4", "Line: ast; Adult: 4"),
        ("Coa", "Line: Coa"),
        ("4", "Adult: 4"),
        ("Fares\n\nLine\tAdult\nCoast\t4", "Fares\nLine: Coast; Adult: 4"),
    ],
)
def test_the_part_of_a_row_that_a_unit_has_keeps_its_headers(words: str, readable: str) -> None:
    assert part_of(FARES, words).readable == readable


PACKED = (
    Piece(PARAGRAPH, "We sail at noon. Take with you:"),
    Piece(ITEM, "Rope", 1),
    Piece(ITEM, "thin", 2),
    Piece(ITEM, "Oars", 1),
)


@pytest.mark.parametrize(
    ("words", "readable"),
    [
        ("Oars", "Take with you:\nOars"),
        ("thin\nOars", "Rope\nthin\nOars"),
        ("with you:\n\nRope", "with you:\n\nRope"),
    ],
)
def test_a_unit_that_begins_within_a_list_begins_with_what_introduces_it(words: str, readable: str) -> None:
    assert part_of(PACKED, words).readable == readable


names = st.text("abc é港ש", min_size=1, max_size=6).map(str.strip).filter(bool)


@given(st.lists(st.tuples(names, names), min_size=1, max_size=5), st.data())
def test_a_row_says_every_value_that_the_unit_has_after_its_header(
    cells: list[tuple[str, str]], data: st.DataObject
) -> None:
    document = document_of("", [Piece(PARAGRAPH, "Before."), Piece(ROW, cells=tuple(cells))])
    (row,) = (block for block in document.blocks if block.kind is ROW)
    start = data.draw(st.integers(row.start, row.end - 1))
    end = data.draw(st.integers(start + 1, row.end))
    span = Span(document.id, start, end)
    part = Unit("p", Kind.PASSAGE, "", document.slice(span), (span,), (row,))
    shown = [document.text[max(cell.start, start) : min(cell.end, end)] for cell in row.cells]
    assert part.readable_part(row) == "; ".join(
        f"{cell.header}: {value}" for cell, value in zip(row.cells, shown, strict=True) if value
    )


def test_blocks_and_headers_of_a_unit_are_those_of_the_document() -> None:
    table = unit_of("Ferry", *FARES)
    assert [block.is_header for block in table.blocks] == [False, True, False, False]
    assert not Block(BlockKind.HEADING, 0, 5, level=1).is_header
    assert [table.readable_part(block) for block in table.blocks] == [
        "Fares",
        "",
        "Line: Coast; Adult: 4",
        "Line: Hill",
    ]
    nameless = unit("a\tb", blocks=[Block(ROW, 0, 3, cells=(Cell("", 0, 1), Cell("B", 2, 3)))])
    assert nameless.readable == "a; B: b"


@pytest.mark.parametrize("ends", [(16,), (16, 36), (1,)])
def test_sentences_that_do_not_end_with_the_text_are_refused(ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="sentences of unit p1 do not end with its 35 characters"):
        Unit("p1", Kind.SENTENCE, "Birds", TEXT, (Span("d1", 0, 35),), sentence_ends=ends)


def test_a_unit_belongs_to_the_document_of_its_first_source_and_is_found_by_its_id() -> None:
    joined = Unit("a1", Kind.AGGREGATE, "Ada", "Both.", (Span("d2", 0, 3), Span("d1", 0, 3)))
    assert joined.document == "d2"
    other = Unit("a1", Kind.AGGREGATE, "Ada", "Other.", joined.sources)
    assert hash(other) == hash(joined)
    assert len({joined, other}) == 2, "the same id with another text is another unit"


@pytest.mark.parametrize(
    ("text", "score", "shown"),
    [
        ("It  opened\n\tin May.", 0.123456, "<Hit 'Birds' 0.1235 bm25: 'It opened in May.'>"),
        ("a" * 80, 12.0, f"<Hit 'Birds' 12 bm25: '{'a' * 80}'>"),
        ("a" * 81, 1234567.0, f"<Hit 'Birds' 1.235e+06 bm25: '{'a' * 80}…'>"),
        ("word " * 99, -1.5, f"<Hit 'Birds' -1.5 bm25: '{('word ' * 16).strip()}…'>"),
        ("שלום", 0.0, "<Hit 'Birds' 0 bm25: 'שלום'>"),
        ("", 1.0, "<Hit 'Birds' 1 bm25: ''>"),
    ],
)
def test_a_hit_is_printed_on_one_line(text: str, score: float, shown: str) -> None:
    assert repr(Hit(unit(text), score, "bm25")) == shown
