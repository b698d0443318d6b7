"""What a statement knows of itself: its words, its place in the document, its headings, its date and what supports it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.sentences import sentence_ends, sentence_spans
from hoptrail.text.statements import LONGEST, MOST_SENTENCES, statements_of, support_of, with_boxes_said, wording_of
from hoptrail.types import Block, BlockKind, Cell, Document, Kind, Span, Unit

SAID = st.lists(
    st.sampled_from(
        [
            *(
                "Ida left Arden in the spring of 1871 with nine hands on board.",
                "It sank.",
                "Why?",
                "Yes.",
                "She came back,",
            ),
            *(
                "\n",
                "\n\n",
                "☐ Lead",
                "[x] Gas",
                "© 2024 Gull Ltd.",
                "中文。",
                "e\u0301😀",
                "\x00",
                "- one",
                "He said so.",
            ),
        ]
    ),
    max_size=12,
).map(" ".join)


def plain(text: str, first: int = 0, title: str = "Arden") -> Unit:
    return Unit("u", Kind.PASSAGE, title, text, (Span("d", first, first + len(text)),))


def with_block(text: str, block: Block, title: str = "Arden") -> Unit:
    return Unit("u", Kind.PASSAGE, title, text, (Span("d", 0, len(text)),), (block,))


@given(SAID, st.integers(0, 50))
def test_statements_stand_in_the_unit_and_in_its_document(text: str, first: int) -> None:
    document = "x" * first + text
    for one in statements_of(plain(text, first)):
        assert one.text == text[one.start : one.end] == one.text.strip() != ""
        where, start, end = one.place
        assert (where, document[start:end]) == ("d", one.text)
        assert one.support == (Span("d", start, end),)


@given(SAID)
def test_every_sentence_but_a_question_is_a_statement(text: str) -> None:
    spans = [(start, end) for start, end in sentence_spans(text, MOST_SENTENCES) if text[end - 1] != "?"]
    assert [(one.start, one.end) for one in statements_of(plain(text))] == spans


@given(SAID)
def test_the_wording_of_a_statement_is_one_line_that_ends_with_its_own_words(text: str) -> None:
    for one in statements_of(plain(text)):
        assert one.said == " ".join(one.said.split())
        assert one.said.endswith(one.alone)


def test_boxes_that_follow_each_other_in_plain_text_are_all_said() -> None:
    room = statements_of(plain("☐ Lead present\n☑ Asbestos present\n"))
    assert [one.said for one in room] == [
        "Lead present: no (not ticked)",
        "Lead present: no (not ticked) Asbestos present: yes (ticked)",
    ]


SLOOP = "Ida built the sloop."
SALE = "sold it to a man from the harbour of Foss."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{SLOOP} It sank.", f"{SLOOP} It sank."),
        (f"{SLOOP} She {SALE}", f"{SLOOP} She {SALE}"),
        (f"{SLOOP} Bo Lunt {SALE}", f"Bo Lunt {SALE}"),
        (f"{SLOOP} Yes.", f"{SLOOP} Yes."),
        (f"Is it old? It was {SALE}", f"Is it old? It was {SALE}"),
        (f"{SLOOP} Copyright Gull.", "Copyright Gull."),
        (f"{SLOOP}\n\n(c) Gull", "(c) Gull"),
    ],
)
def test_a_statement_that_says_little_alone_follows_the_one_before(text: str, said: str) -> None:
    assert statements_of(plain(text))[-1].said == said


def test_what_is_before_is_left_out_where_both_are_too_long_to_be_shown() -> None:
    first = f"Ida {'very ' * 54}gladly built it."
    fitting = statements_of(plain(f"{first} It sank."))
    too_long = statements_of(plain(f"{first} It sank at once."))
    assert fitting[-1].said == f"{first} It sank."
    assert too_long[-1].said == too_long[-1].alone
    assert len(fitting[-1].said) < LONGEST


def test_a_unit_has_a_bounded_number_of_statements() -> None:
    many = "Ida Berg built the sloop Gull at the old quay of Arden. " * (MOST_SENTENCES + 50)
    assert len(statements_of(plain(many))) == MOST_SENTENCES


@pytest.mark.parametrize("text", ["", " \n\t", "Who is it?", "Why? When? How?"])
def test_white_space_and_questions_say_nothing(text: str) -> None:
    assert statements_of(plain(text)) == ()


def test_headings_stand_before_what_is_seen_and_the_title_once() -> None:
    block = Block(BlockKind.PARAGRAPH, 0, 20, path=("Arden", "Harbour", "Quays"))
    (one,) = statements_of(with_block("The quay is closed.\n", block))
    assert one.path == ("Arden", "Harbour", "Quays")
    assert one.seen == "Arden > Harbour > Quays: The quay is closed."
    (other,) = statements_of(plain("The quay is closed."))
    assert (other.path, other.seen) == ((), "Arden: The quay is closed.")


@pytest.mark.parametrize(
    ("own", "path", "title", "date"),
    [
        ("2024-03-07", ("5 March 2024",), "2022-02-02", "2024-03-07"),
        ("", ("5 March 2024",), "2022-02-02", "2024-03-05"),
        ("", ("Quays",), "2022-02-02", "2022-02-02"),
        ("", (), "Arden", ""),
    ],
)
def test_a_statement_has_the_date_nearest_to_it(own: str, path: tuple[str, ...], title: str, date: str) -> None:
    block = Block(BlockKind.PARAGRAPH, 0, 19, path=path, date=own)
    (one,) = statements_of(with_block("The quay is closed.", block, title))
    assert one.date == date


def test_headings_and_header_rows_say_nothing_and_rows_say_their_headers() -> None:
    text = "Fees\nItem\tPrice\nRope\t12 EUR\n"
    cells = (Cell("Item", 16, 20), Cell("Price", 21, 27))
    blocks = (
        Block(BlockKind.HEADING, 0, 5, level=1),
        Block(BlockKind.ROW, 5, 16, level=1),
        Block(BlockKind.ROW, 16, 28, cells=cells),
    )
    (one,) = statements_of(Unit("u", Kind.PASSAGE, "", text, (Span("d", 0, len(text)),), blocks))
    assert (one.said, one.alone, one.text) == ("Item: Rope; Price: 12 EUR", "Item: Rope; Price: 12 EUR", "Rope\t12 EUR")
    assert [one.unit.part(cell) for cell in cells] == ["Rope", "12 EUR"]
    assert one.unit.part(blocks[2]) == "Rope\t12 EUR\n"


def test_an_item_follows_the_lead_of_its_list_and_a_long_one_is_told_sentence_by_sentence() -> None:
    lead = "Before you sail:"
    short = "- Check the ropes. Then the sails of the boat, and the lamp."
    (one,) = statements_of(with_block(short, Block(BlockKind.ITEM, 0, len(short), lead=lead)))
    assert (one.said, one.alone) == (f"{lead} {short}", short)
    long = "- Check the ropes and the sails of every boat at the quay with care. " * 6
    several = statements_of(with_block(long, Block(BlockKind.ITEM, 0, len(long), lead=lead)))
    assert len(several) == 6
    assert all(one.said == f"{lead} {one.alone}" for one in several)


def test_a_block_that_begins_before_the_unit_is_clipped_to_it() -> None:
    text = "The quay is closed."
    block = Block(BlockKind.PARAGRAPH, 90, 200)
    unit = Unit("u", Kind.PASSAGE, "", text, (Span("d", 100, 100 + len(text)),), (block,))
    (one,) = statements_of(unit)
    assert (one.text, one.place, one.unit.part(block)) == (text, ("d", 100, 119), text)


LINES = (Span("a", 0, 3), Span("b", 5, 9))


@pytest.mark.parametrize(
    ("unit", "start", "end", "support"),
    [
        (Unit("u", Kind.SENTENCE, "", "abcdef", (Span("d", 10, 16),)), 2, 4, (Span("d", 12, 14),)),
        (Unit("u", Kind.PASSAGE, "", "abc", (Span("d", 10, 16),)), 0, 1, (Span("d", 10, 16),)),
        (Unit("u", Kind.SUMMARY, "", "one\ntwo", LINES), 0, 3, LINES[:1]),
        (Unit("u", Kind.SUMMARY, "", "one\ntwo", LINES), 4, 7, LINES[1:]),
        (Unit("u", Kind.SUMMARY, "", "one two", LINES), 0, 3, LINES),
        (Unit("u", Kind.SUMMARY, "", "a\nb\nc", LINES), 0, 1, LINES),
    ],
)
def test_what_supports_a_part_is_as_exact_as_the_unit_allows(
    unit: Unit, start: int, end: int, support: tuple[Span, ...]
) -> None:
    assert support_of(unit, start, end) == support


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no box here", "no box here"),
        ("[X] Gas", "Gas: yes (ticked)"),
        ("✗ Gas ✔ Water", "Gas: no (not ticked); Water: yes (ticked)"),
        ("Gas: ✅", "Gas: yes (ticked)"),
        ("[x]Gas", "[x]Gas"),
        ("[y] Gas", "[y] Gas"),
        ("", ""),
    ],
)
def test_only_a_box_is_read_as_one(line: str, words: str) -> None:
    assert with_boxes_said(line) == words


@given(SAID, st.data())
def test_any_part_of_a_document_can_be_worded(text: str, data: st.DataObject) -> None:
    document = Document("d", "Arden", text, sentence_ends(text), ("here",))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    said = wording_of(document, Span("d", start, end))
    assert said == wording_of(document, Span("d", start, end)) == " ".join(said.split())
    assert said or not text[start:end].strip()
