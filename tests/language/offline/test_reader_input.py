"""What the reader sees of a unit, and what is made of the places that it names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.documents.splitting import passages
from hoptrail.language.offline.reader_input import Sheet, sheet_of
from hoptrail.types import BlockKind, Unit
from pieces import document_of

MakeUnit = Callable[[str, str], Unit]

PIECES = [
    Piece(BlockKind.HEADING, "Winches", 1),
    Piece(BlockKind.PARAGRAPH, 'The old one, called "Bertha", lifts 340 kg (in good weather).'),
    Piece(BlockKind.HEADING, "Prices", 2),
    Piece(BlockKind.ROW, level=1, cells=(("", "Winch"), ("", "Price"))),
    Piece(BlockKind.ROW, cells=(("Winch", "Bertha"), ("Price", "900 pounds"))),
]


@pytest.fixture(scope="module")
def unit() -> Unit:
    (only,) = passages(document_of("Yard", PIECES))
    return only


@pytest.fixture(scope="module")
def sheet(unit: Unit) -> Sheet:
    return sheet_of(unit, 10_000)


def words_at(sheet: Sheet, words: str) -> tuple[int, int]:
    start = sheet.text.index(words)
    return start, start + len(words)


def test_a_sheet_has_a_line_for_title_headings_and_every_statement(sheet: Sheet) -> None:
    assert sheet.text.splitlines() == [
        "Yard",
        "Winches",
        'The old one, called "Bertha", lifts 340 kg (in good weather).',
        "Winches > Prices",
        "Winch: Bertha; Price: 900 pounds",
    ]


def test_headings_and_headers_are_barred(sheet: Sheet) -> None:
    assert [sheet.text[start:end] for start, end in sheet.barred] == [
        "Winches",
        "Winches > Prices",
        "Winch:",
        "Price:",
    ]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ('called "Bertha",', 'called "Bertha'),
        ("340", "340 kg"),
        ("900 pounds", "900 pounds"),
        ("kg (in good", "kg"),
        ("weather).\nWinches", "weather"),
        ("Bertha; Price: 900", "Bertha"),
    ],
)
def test_an_answer_is_cut_to_its_statement_and_keeps_its_unit(sheet: Sheet, words: str, answer: str) -> None:
    found = sheet.answer(*words_at(sheet, words), "What does it lift?")
    assert found is not None
    assert found.text == answer


def test_an_answer_rests_on_its_whole_statement(sheet: Sheet, unit: Unit) -> None:
    found = sheet.answer(*words_at(sheet, "900"), "What does it cost?")
    assert found is not None
    (span,) = found.part.said.support
    first = unit.sources[0]
    assert unit.text[span.start - first.start : span.end - first.start] == "Bertha\t900 pounds"


@pytest.mark.parametrize("title", ["wget-NEWS", "minutes_2024-03", "rates_2023"])
def test_a_title_that_is_the_name_of_a_file_is_no_answer(title: str, passage: MakeUnit) -> None:
    sheet = sheet_of(passage(title, "The rates of the ferry changed in May."), 10_000)
    assert sheet.answer(*words_at(sheet, title), "What changed in May?") is None


MINUTES = [
    Piece(BlockKind.HEADING, "Meeting of 12 March 2024 in the boathouse", 1),
    Piece(BlockKind.PARAGRAPH, "Bo Marsh will ask for offers. The committee looked at the leaking roof."),
    Piece(BlockKind.HEADING, "Meeting of 9 April 2024", 1),
    Piece(BlockKind.PARAGRAPH, "The roof is repaired."),
]


def test_a_date_in_a_heading_is_an_answer_that_rests_on_the_closest_statement_below() -> None:
    (unit,) = passages(document_of("Minutes since 2024-01-08", MINUTES))
    sheet = sheet_of(unit, 10_000)
    barred = {place for start, end in sheet.barred for place in range(start, end)}
    for words, said in (
        ("12 March 2024", "The committee looked at the leaking roof."),
        ("9 April 2024", "The roof is repaired."),
    ):
        start, end = words_at(sheet, words)
        assert barred.isdisjoint(range(start, end))
        found = sheet.answer(start + 1, end - 2, "When did the committee look at the leaking roof?")
        assert found is not None
        assert (found.text, found.part.said.text.strip()) == (words, said)
    assert set(range(*words_at(sheet, "in the boathouse"))) <= barred
    found = sheet.answer(*words_at(sheet, "2024-01-08"), "Since when are there minutes?")
    assert found is not None
    assert found.text == "2024-01-08"


def test_a_title_rests_on_the_statement_that_says_most_of_the_question(passage: MakeUnit) -> None:
    text = "It lies by the sea. It was designed by Ilse Marrow. It is white."
    sheet = sheet_of(passage("The Old Light (tower)", text), 10_000)
    found = sheet.answer(0, len("The Old Light (tower)"), "Which tower did Ilse Marrow design?")
    assert found is not None
    assert (found.text, found.part.said.text.strip()) == ("The Old Light", "It was designed by Ilse Marrow.")


def test_the_dates_of_a_life_are_told_apart(passage: MakeUnit) -> None:
    sheet = sheet_of(
        passage("Ada Lunt", "Ada Lunt (3 May 1850 – 12 June 1921) was an engineer. She built it in 1884."), 10_000
    )
    roles = [sheet.life_role(*words_at(sheet, words)) for words in ("3 May 1850", "12 June 1921", "1884")]
    assert roles == ["birth", "death", ""]


def test_the_noun_that_is_asked_for_belongs_to_the_name(passage: MakeUnit) -> None:
    sheet = sheet_of(
        passage("Tarnwick", "The River Lathe flows through the town, far from Lake Foss and in Varden."), 10_000
    )
    answers = [
        sheet.answer(*words_at(sheet, words), "?", noun)
        for words, noun in (("Lathe", "river"), ("Lathe", "town"), ("Foss", "lake"), ("in Varden", ""))
    ]
    assert [found.text for found in answers if found] == ["River Lathe", "Lathe", "Lake Foss", "Varden"]


@pytest.mark.parametrize("part", ["@lists.harbour.org", "crane-help", "lists"])
def test_an_address_is_answered_whole(passage: MakeUnit, part: str) -> None:
    text = "Write to crane-help@lists.harbour.org, or look at https://harbour.org/cranes?of=1."
    sheet = sheet_of(passage("Cranes", text), 10_000)
    found = sheet.answer(*words_at(sheet, part), "Where do I write to about cranes?")
    assert found is not None
    assert found.text == "crane-help@lists.harbour.org"
    web = sheet.answer(*words_at(sheet, "harbour.org/cranes"), "Where do I look?")
    assert web is not None
    assert web.text == "https://harbour.org/cranes?of=1"


@pytest.mark.parametrize(
    ("text", "part", "question", "answer"),
    [
        ("Written by Ada B. Lunt for the harbour.", "Ada B", "Who?", "Ada B. Lunt"),
        ("Written by Ada B. C. Lunt for the harbour.", "Ada B", "Who?", "Ada B. C. Lunt"),
        ("Ada lives on Pier B and Bo does not.", "Pier B", "Who?", "Pier B"),
        ("The winner was Henry V. The crew was not.", "Henry V", "Who?", "Henry V"),
        ("Ada took Vitamin C. Oranges have it.", "Vitamin C", "What did Ada take?", "Vitamin C"),
    ],
)
def test_an_initial_does_not_end_a_person(passage: MakeUnit, text: str, part: str, question: str, answer: str) -> None:
    sheet = sheet_of(passage("Log", text), 10_000)
    found = sheet.answer(*words_at(sheet, part), question)
    assert found is not None
    assert found.text == answer


def test_a_sheet_ends_before_its_longest(passage: MakeUnit) -> None:
    sheet = sheet_of(passage("Log", "It rained. " * 200), 120)
    assert len(sheet.text) <= 120
    assert sheet.parts


@pytest.mark.parametrize(("words", "whole"), [("German", "Austrian-German"), ("Danish", "Danish"), ("Anglo", "Anglo")])
def test_a_nationality_is_the_whole_of_a_joined_word(words: str, whole: str, passage: MakeUnit) -> None:
    sheet = sheet_of(
        passage("Ida Berg", "She is an Austrian-German pilot. Her Danish mother met an Anglo-Saxon."), 10_000
    )
    found = sheet.answer(*words_at(sheet, words), "What is the nationality of Ida Berg?")
    assert found is not None
    assert found.text == whole
