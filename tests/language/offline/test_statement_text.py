"""What the reader sees of a statement, and what is made of the places that it names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.statement_text import StatementText
from hoptrail.models.reader import SpanAnswer, TextReading
from hoptrail.text.statements import statements_of
from hoptrail.types import BlockKind, Unit
from pieces import unit_of

MakeUnit = Callable[[str, str], Unit]

YARD = unit_of(
    "Yard",
    Piece(BlockKind.HEADING, "Winches", 1),
    Piece(BlockKind.PARAGRAPH, 'The old one, called "Bertha", lifts 340 kg (in good weather).'),
    Piece(BlockKind.HEADING, "Prices", 2),
    Piece(BlockKind.ROW, level=1, cells=(("", "Winch"), ("", "Price"))),
    Piece(BlockKind.ROW, cells=(("Winch", "Bertha"), ("Price", "900 pounds"))),
)


def texts(unit: Unit) -> list[StatementText]:
    return [StatementText.of(said) for said in statements_of(unit)]


SENTENCE, ROW = texts(YARD)
(SEASON,) = texts(unit_of("Night Watch (season 12)", Piece(BlockKind.PARAGRAPH, "It was won by Ada Berg.")))
(OPTION,) = texts(unit_of("Tool", Piece(BlockKind.PARAGRAPH, "--level sets f(x) (default: $LEVEL) (default auto)")))


def answer(text: StatementText, words: str) -> str:
    """The answer where these words stand."""
    start = text.text.index(words)
    return text.answer(start, start + len(words))


def test_a_statement_stands_below_its_title_and_headings() -> None:
    assert SENTENCE.text.splitlines() == [
        "Yard",
        "Winches",
        'The old one, called "Bertha", lifts 340 kg (in good weather).',
    ]
    assert ROW.text.splitlines() == ["Yard", "Winches > Prices", "Winch: Bertha; Price: 900 pounds"]
    for text in (SENTENCE, ROW):
        assert text.text[text.start :] == text.text.splitlines()[-1]


def test_a_statement_is_read_after_what_it_needs_and_gives_no_answer_from_there() -> None:
    unit = unit_of(
        "Canal",
        Piece(
            BlockKind.PARAGRAPH,
            "The keeper of the lock is Greta Holm. Her phone number is 555 0199. Boats pay 3 euros.",
        ),
        Piece(BlockKind.PARAGRAPH, "May dogs come along? On a lead, they may walk beside the water."),
        Piece(BlockKind.PARAGRAPH, "The lock is closed on:"),
        Piece(BlockKind.ITEM, "25 December"),
    )
    keeper, phone, price, dogs, _, closed = texts(unit)
    assert [text.text.splitlines()[-1] for text in (keeper, phone, price, dogs, closed)] == [
        "The keeper of the lock is Greta Holm.",
        "The keeper of the lock is Greta Holm. Her phone number is 555 0199.",
        "Boats pay 3 euros.",
        "May dogs come along? On a lead, they may walk beside the water.",
        "The lock is closed on: 25 December",
    ]
    assert phone.text[phone.start :] == "Her phone number is 555 0199."
    assert (answer(phone, "555 0199"), answer(phone, "Greta Holm")) == ("555 0199", "")
    name, number = phone.text.index("Greta"), phone.text.index("555")
    found = SpanAnswer(name, name + 10, 5.0), SpanAnswer(number, number + 8, 4.0)
    assert phone.spans(TextReading(found, yes=0.0, no=0.0, neither=1.0, helps=1.0)) == []


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("(When does it close?) It closes at noon on Monday.", "(When does it close?)"),
        ("閉まるのはいつですか？ 月曜日に閉まります。", "閉まるのはいつですか？"),
        ("The keeper of the Clock is Greta Holm. Her phone number is 555.", "The keeper of the Clock is Greta Holm."),
        ("The Lock is kept by Greta Holm. Her phone number is 555.", ""),
    ],
)
def test_a_question_stands_once_before_its_answer_and_a_title_is_told_by_whole_words(text: str, context: str) -> None:
    *_, last = texts(unit_of("Lock", Piece(BlockKind.PARAGRAPH, text)))
    assert last.said.context == context


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        (SENTENCE, 'called "Bertha",', 'called "Bertha'),
        (SENTENCE, "kg (in good", "kg"),
        (SENTENCE, "weather).", "weather"),
        (OPTION, "$LEVEL) (default auto", "$LEVEL"),
        (OPTION, "f(x) (default: $LEVEL", "f(x)"),
        (OPTION, "f(x)", "f(x)"),
        (SEASON, "Night Watch (season 1", "Night Watch"),
        (SEASON, "Night Watch (season 12)", "Night Watch"),
        (SENTENCE, "Winches", ""),
        (SENTENCE, "Yard", "Yard"),
        (ROW, "900 pounds", "900 pounds"),
        (ROW, "Bertha; Price: 900", "Bertha"),
        (ROW, "Price: 900", ""),
    ],
)
def test_an_answer_is_cut_to_its_cell(text: StatementText, words: str, found: str) -> None:
    assert answer(text, words) == found


def test_answers_come_once_best_first_without_those_in_headings() -> None:
    at = SENTENCE.text.index("340")
    words = (SpanAnswer(6, 12, 5.0), SpanAnswer(at, at + 3, 4.0), SpanAnswer(at, at + 6, 3.0), SpanAnswer(0, 4, 1.0))
    reading = TextReading(words, yes=0.0, no=0.0, neither=1.0, helps=1.0)
    assert SENTENCE.spans(reading) == [("340", 4.0), ("340 kg", 3.0), ("Yard", 1.0)]


@pytest.mark.parametrize("words", ["She", "–"])
def test_what_names_nothing_is_no_answer(words: str, passage: MakeUnit) -> None:
    (text,) = texts(passage("Crew", "She steers – alone."))
    assert answer(text, words) == ""


@pytest.mark.parametrize("title", ["wget-NEWS", "minutes_2024-03", "rates_2023", "lease", "a", "notes-2024"])
def test_a_title_that_is_the_name_of_a_file_is_no_answer(title: str, passage: MakeUnit) -> None:
    (text,) = texts(passage(title, "The rates of the ferry changed in May."))
    assert answer(text, title) == ""


def test_a_date_above_is_an_answer_and_the_rest_of_its_heading_is_none() -> None:
    unit = unit_of(
        "Minutes since 2024-01-08",
        Piece(BlockKind.HEADING, "Meeting of 12 March 2024 in the boathouse", 1),
        Piece(BlockKind.PARAGRAPH, "The committee looked at the leaking roof."),
    )
    (text,) = texts(unit)
    assert answer(text, "March") == "12 March 2024"
    assert answer(text, "in the boathouse") == ""
    assert answer(text, "2024-01-08") == "2024-01-08"


def test_the_parenthesis_of_a_title_is_left_out(passage: MakeUnit) -> None:
    (text,) = texts(passage("The Old Light (tower)", "It was designed by Ilse Marrow."))
    assert answer(text, "The Old Light (tower)") == "The Old Light"


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("@lists.harbour.org", "crane-help@lists.harbour.org"),
        ("lists", "crane-help@lists.harbour.org"),
        ("harbour.org/cranes", "https://harbour.org/cranes?of=1"),
    ],
)
def test_an_address_is_answered_whole(passage: MakeUnit, part: str, whole: str) -> None:
    (text,) = texts(passage("Cranes", "Write to crane-help@lists.harbour.org, or see https://harbour.org/cranes?of=1."))
    assert answer(text, part) == whole


@pytest.mark.parametrize(
    ("said", "part", "whole"),
    [
        ("Written by Ada B. Lunt for the harbour.", "Ada B", "Ada B. Lunt"),
        ("Written by Ada B. C. Lunt for the harbour.", "Ada B", "Ada B. C. Lunt"),
        ("Ada lives on Pier B and Bo does not.", "Pier B", "Pier B"),
        ("The town lies far from Lake Foss and in Varden.", "in Varden", "Varden"),
    ],
)
def test_an_initial_does_not_end_a_name_and_a_place_stands_alone(
    passage: MakeUnit, said: str, part: str, whole: str
) -> None:
    (text,) = texts(passage("Log", said))
    assert answer(text, part) == whole
