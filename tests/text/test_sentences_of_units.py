"""A passage keeps the sentence ends of its document; they are not computed again."""

from __future__ import annotations

import pytest

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.statements import statements_of, wording_of
from hoptrail.types import Block, BlockKind, Cell, Document, Kind, Span, Unit

TEXT = "It was founded by G.K. Chester. in 1901 Then it grew. It closed."
ENDS = (40, 54, len(TEXT))
"""As a corpus annotates it: no rule would separate `1901` from `Then`, or keep `Chester.` and `in 1901` together."""


def passage(text: str = TEXT, ends: tuple[int, ...] = ENDS) -> Unit:
    (only,) = passages(Document("d", "A mill", text, ends, ("here",)))
    return only


def test_statements_use_the_sentence_ends_of_the_document() -> None:
    assert [said.text for said in statements_of(passage())] == [
        "It was founded by G.K. Chester. in 1901",
        "Then it grew.",
        "It closed.",
    ]


def test_a_part_of_a_passage_clips_its_first_and_last_sentence() -> None:
    unit = passage()
    sentences = [unit.text[start:end] for start, end in unit_sentences(unit, 3, 50)]
    assert sentences == ["was founded by G.K. Chester. in 1901", "Then it gr"]


def test_passages_count_ends_from_their_own_start() -> None:
    text = " First one. Second one. Third one.\n"
    document = Document("d", "", text, (12, 24, len(text)), ("here",))
    units = passages(document, PassageLimits(words=4, short_document_words=0))
    assert [(unit.text, unit.sentence_ends) for unit in units] == [
        ("First one. Second one.", (11, 22)),
        ("Third one.", (10,)),
    ]


def test_text_of_a_derived_unit_is_split() -> None:
    summary = Unit("s", Kind.SUMMARY, "", "It grew. It closed.", (Span("d", 0, 4),))
    assert [summary.text[start:end] for start, end in unit_sentences(summary)] == ["It grew.", "It closed."]


def test_a_cited_row_is_worded_with_its_headers() -> None:
    text = "Item\tPrice\nRope\t12 EUR\nBuoy\t3 EUR\n"
    cells = tuple(Cell(header, *place) for header, place in (("Item", (11, 15)), ("Price", (16, 22))))
    others = tuple(Cell(header, *place) for header, place in (("Item", (23, 27)), ("Price", (28, 33))))
    blocks = (
        Block(BlockKind.ROW, 0, 11, level=1),
        Block(BlockKind.ROW, 11, 23, cells=cells),
        Block(BlockKind.ROW, 23, 34, cells=others),
    )
    document = Document("d", "Fees", text, (11, 23, 34), ("here",), blocks=blocks)
    assert wording_of(document, Span("d", 23, 33)) == "Item: Buoy; Price: 3 EUR"
    assert wording_of(document, Span("d", 11, 33)) == "Item: Rope; Price: 12 EUR\nItem: Buoy; Price: 3 EUR"


@pytest.mark.parametrize(
    ("above", "cited", "wording"),
    [
        ("Can I pay by card?\n\n", "Yes.", "Can I pay by card? Yes."),
        ("Opening hours\n\n", "From nine to\nnoon.", "Opening hours: From nine to noon."),
        ("", "Yes.", "Yes."),
        ("The mill is old. ", "It was founded in 1901\nby a smith.", "It was founded in 1901 by a smith."),
    ],
)
def test_a_cited_handful_of_words_follows_what_stands_before(above: str, cited: str, wording: str) -> None:
    start, end = len(above), len(above) + len(cited)
    parts = [(BlockKind.HEADING, 0, start), (BlockKind.PARAGRAPH, start, end + 5)]
    blocks = tuple(Block(kind, first, last) for kind, first, last in parts if first < last)
    ends = tuple(place for place in (start, end + 1, end + 5) if place)
    document = Document("d", "", f"{above}{cited} Ask.", ends, ("here",), blocks=blocks)
    assert wording_of(document, Span("d", start, end)) == wording


def test_a_short_list_item_is_cited_with_the_lead_of_its_list() -> None:
    text = "- Ada Lunt\n- Bo Marsh, who looks after the boats\n"
    lead = "First aiders:"
    blocks = (Block(BlockKind.ITEM, 0, 11, lead=lead), Block(BlockKind.ITEM, 11, len(text), lead=lead))
    document = Document("d", "", text, (11, len(text)), ("here",), blocks=blocks)
    assert wording_of(document, Span("d", 0, 10)) == "First aiders: - Ada Lunt"
    assert wording_of(document, Span("d", 11, len(text))) == "- Bo Marsh, who looks after the boats"


def test_a_cited_heading_is_worded_as_it_stands() -> None:
    document = Document("d", "", "The\nmill\n", (9,), ("here",), blocks=(Block(BlockKind.HEADING, 0, 9),))
    assert wording_of(document, Span("d", 0, 8)) == "The mill"


def test_ends_beyond_the_text_are_refused() -> None:
    with pytest.raises(ValueError, match="do not end with"):
        Unit("p", Kind.PASSAGE, "", "Short.", (Span("d", 0, 6),), sentence_ends=(40,))
