"""Pieces become a text with blocks that have their headings, lead, cells and date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from hoptrail.documents.blocks import Parsed, Piece, assemble, ends_within, pack, pieces_of, unpack
from hoptrail.text.sentences import LONGEST_SENTENCE
from hoptrail.types import Block, BlockKind, Cell

HEADING, PARAGRAPH, ITEM, ROW, CODE, QUOTE = BlockKind


def texts(parsed: Parsed) -> list[str]:
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


def assemble_pieces(*pieces: Piece) -> Parsed:
    return assemble("", pieces)


def leads(*pieces: Piece) -> list[str]:
    return [block.lead for block in assemble_pieces(*pieces).blocks]


def test_blocks_stand_apart_and_rows_and_items_below_each_other() -> None:
    row = Piece(ROW, cells=(("City", "Bern"), ("Land", "Swiss")))
    parsed = assemble_pieces(
        *(Piece(HEADING, "Ports", 1), Piece(PARAGRAPH, "It opened.")),
        *(Piece(ITEM, "Rope", 1), Piece(ITEM, "Oak", 1), row, row, Piece(CODE, "x = 1")),
    )
    assert texts(parsed) == [
        "Ports\n\n",
        "It opened.\n\n",
        "Rope\n",
        "Oak\n\n",
        "Bern\tSwiss\n",
        "Bern\tSwiss\n\n",
        "x = 1",
    ]
    assert "".join(texts(parsed)) == parsed.text


@pytest.mark.parametrize("pieces", [[], [Piece(PARAGRAPH, " \n ")], [Piece(ROW, cells=(("A", ""), ("B", " ")))]])
def test_pieces_without_text_are_skipped(pieces: Sequence[Piece]) -> None:
    parsed = assemble("", [*pieces, Piece(PARAGRAPH, "Text."), *pieces])
    assert texts(parsed) == ["Text."]
    assert (assemble("", pieces).text, assemble("", pieces).blocks) == ("", ())


def test_the_text_is_cleaned_for_storage() -> None:
    parsed = assemble_pieces(Piece(CODE, "\n\n  a\r\n  b\0\n\n"), Piece(PARAGRAPH, "c  \n"))
    assert texts(parsed) == ["  a\n  b\N{REPLACEMENT CHARACTER}\n\n", "c"]


def test_a_block_stands_under_its_headings() -> None:
    parsed = assemble_pieces(
        *(Piece(PARAGRAPH, "Before."), Piece(HEADING, "A", 1), Piece(HEADING, "Deep", 4), Piece(PARAGRAPH, "Text.")),
        *(Piece(HEADING, "B\nb", 2), Piece(HEADING, "C", 2), Piece(PARAGRAPH, "Text."), Piece(HEADING, "D", 1)),
    )
    assert [block.path for block in parsed.blocks] == [
        *((), (), ("A",), ("A", "Deep")),
        *(("A",), ("A",), ("A", "C"), ()),
    ]
    assert assemble_pieces(Piece(HEADING, "B\n b", 1), Piece(PARAGRAPH, "x")).blocks[1].path == ("B b",)


def test_the_date_of_the_nearest_dated_heading_counts() -> None:
    parsed = assemble_pieces(
        *(Piece(HEADING, "Minutes of 5 March 2024", 1), Piece(PARAGRAPH, "Yes."), Piece(HEADING, "Prices", 2)),
        *(
            Piece(PARAGRAPH, "12 EUR."),
            Piece(HEADING, "2024-04", 2),
            Piece(PARAGRAPH, "14 EUR."),
            Piece(HEADING, "End", 1),
        ),
        Piece(PARAGRAPH, "In May 2024."),
    )
    assert [block.date for block in parsed.blocks] == [
        *("", "2024-03-05", "2024-03-05", "2024-03-05", "2024-03-05", "2024-04", "", ""),
    ]


def test_a_sentence_with_a_colon_introduces_the_list_after_it() -> None:
    intro = Piece(PARAGRAPH, "We met. We agreed\non this:")
    items = (Piece(ITEM, "Rope", 1), Piece(ITEM, "red", 2), Piece(ITEM, "Oak", 1))
    assert leads(intro, *items) == ["", "We agreed on this:", "Rope", "We agreed on this:"]
    assert leads(Piece(PARAGRAPH, "We met."), *items) == ["", "", "Rope", ""]
    assert leads(intro, Piece(HEADING, "List", 2), *items) == ["", "", "", "Rope", ""]
    assert leads(Piece(HEADING, "We need:", 2), *items) == ["", "", "Rope", ""]


def test_continuations_of_an_item_keep_the_list_together() -> None:
    code, more = Piece(CODE, "apt install", 1), Piece(PARAGRAPH, "It takes long:", 2)
    assert leads(
        *(
            Piece(PARAGRAPH, "Steps:"),
            Piece(ITEM, "Install", 1),
            code,
            Piece(ITEM, "wait", 2),
            more,
            code,
            Piece(ITEM, "Run", 1),
        ),
    ) == ["", "Steps:", "Install", "Install", "wait", "Install", "Steps:"]
    assert leads(Piece(PARAGRAPH, "Steps:"), code, Piece(ITEM, "Run", 1)) == ["", "", ""]


def test_an_item_deeper_by_two_belongs_to_the_item_above() -> None:
    items = (Piece(ITEM, "a", 1), Piece(ITEM, "b", 3), Piece(ITEM, "c", 3), Piece(ITEM, "d", 2), Piece(ITEM, "e", 1))
    assert leads(Piece(PARAGRAPH, "So:"), *items) == ["", "So:", "a", "a", "a", "So:"]
    assert leads(Piece(ITEM, "b", 3), Piece(ITEM, "c", 3)) == ["", ""]


def test_cells_have_their_header_and_offsets() -> None:
    head = Piece(ROW, level=1, cells=(("", "City\nname"), ("", "Land")))
    parsed = assemble_pieces(
        Piece(PARAGRAPH, "x"), head, Piece(ROW, cells=(("City\nname", ""), ("Land", " two\twords ")))
    )
    _, header, row = parsed.blocks
    assert header.is_header
    assert not row.is_header
    assert header.cells == (Cell("", 3, 12), Cell("", 13, 17))
    assert [(cell.header, parsed.text[cell.start : cell.end]) for cell in row.cells] == [
        ("City name", ""),
        ("Land", "two words"),
    ]


def test_a_labelled_row_has_headers_in_its_text() -> None:
    labelled = Piece(ROW, cells=(("name", "Ada"), ("", "here"), ("since", "2018-09")), labelled=True)
    parsed = assemble_pieces(labelled, Piece(ROW, cells=(("name", "Ben"),)))
    assert parsed.text == "name: Ada\there\tsince: 2018-09\nBen"
    assert [parsed.text[cell.start : cell.end] for block in parsed.blocks for cell in block.cells] == [
        *("Ada", "here", "2018-09"),
        "Ben",
    ]
    assert assemble("", pieces_of(parsed)) == parsed


def test_assembling_stops_beyond_the_largest_text() -> None:
    consumed: list[int] = []

    def pieces() -> Iterator[Piece]:
        for number in range(100):
            consumed.append(number)
            yield Piece(PARAGRAPH, "x" * 11)

    assert len(assemble("", pieces(), largest=10).text) == 11
    assert consumed == [0]


def test_sentences_stay_within_blocks() -> None:
    parsed = assemble_pieces(
        *(Piece(HEADING, "Who? What? Where?", 1), Piece(PARAGRAPH, "One. Two"), Piece(PARAGRAPH, "three. Four.")),
        *(Piece(ROW, cells=(("", "A. B."), ("", "C. D."))), Piece(CODE, "if x. Y:\n\n    z\nend")),
    )
    ends = (0, *ends_within(parsed.text, parsed.blocks, LONGEST_SENTENCE))
    sentences = [parsed.text[start:end].strip() for start, end in pairwise(ends)]
    assert sentences == [
        *("Who? What? Where?", "One.", "Two", "three.", "Four.", "A. B.\tC. D.", "if x. Y:", "z", "end"),
    ]


def test_long_blocks_are_cut_at_the_limit() -> None:
    parsed = assemble_pieces(Piece(HEADING, "word " * 100, 1), Piece(ROW, cells=(("", "word " * 100), ("", "x"))))
    ends = (0, *ends_within(parsed.text, parsed.blocks, 100))
    assert all(len(parsed.text[start:end].strip()) <= 100 for start, end in pairwise(ends))
    assert {block.end for block in parsed.blocks} <= set(ends)


def test_a_text_without_blocks_is_one_paragraph() -> None:
    assert ends_within("One. Two.", (), LONGEST_SENTENCE) == (5, 9)
    assert ends_within("", (), LONGEST_SENTENCE) == ()


def test_packed_blocks_repeat_no_string() -> None:
    blocks = tuple(Block(PARAGRAPH, start, start + 1, ("A long heading " * 10,)) for start in range(1000))
    assert len(pack(blocks)) < 40_000
    assert (pack(()), unpack("")) == ("", ())
