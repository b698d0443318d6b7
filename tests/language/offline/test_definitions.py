"""Entries of glossaries, lists of options and preformatted tables answer what a thing is, and which option does something."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.cell_answers import best_cell
from hoptrail.language.offline.definitions import define, named_by_description
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Read
from hoptrail.text.questions import Question, analyse
from hoptrail.types import AnswerKind, BlockKind, Unit
from pieces import unit_of

GLOSSARY = unit_of(
    "glossary(7)",
    Piece(
        BlockKind.ITEM,
        "slack water: The short time at which the tide turns and no current runs. It is longest at neaps.",
        1,
    ),
    Piece(BlockKind.ITEM, "berth: 30 pounds", 1),
    Piece(BlockKind.ITEM, "springs, spring tide: The tides after full and new moon, which rise the highest.", 1),
)
OPTIONS = unit_of(
    "tide-print(1)",
    Piece(BlockKind.HEADING, "Options", 1),
    Piece(BlockKind.ITEM, "-p <port>, --port=<port>: Print the tables of one port alone.", 1),
    Piece(BlockKind.ITEM, "--metric: Give heights in metres rather than feet.", 1),
    Piece(
        BlockKind.CODE,
        "TIDE_HOME       Folder where downloaded tables are kept\nTIDE_COLOUR     Whether to print in colour",
    ),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "What is slack water?",
            "The short time at which the tide turns and no current runs.",
        ),
        ("what is a spring tide", "The tides after full and new moon, which rise the highest."),
        ("What does tide-print --port do?", "Print the tables of one port alone."),
        ("what does -p mean", "Print the tables of one port alone."),
        ("What does the environment variable TIDE_HOME hold?", "Folder where downloaded tables are kept"),
        ("What is a berth?", None),  # a price is no definition
        ("What is the slack water of Dunmere?", None),
        ("What is slack?", None),
    ],
)
def test_a_thing_is_what_its_entry_says(question: str, answer: str | None) -> None:
    reading = define(question, [OPTIONS, GLOSSARY])
    assert reading.answer == answer
    if answer is not None:
        assert reading.kind is AnswerKind.PASSAGE
        assert reading.steps[0].support


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which option gives the heights in metres?", "--metric"),
        ("which variable sets the folder where downloaded tables are kept", "TIDE_HOME"),
        ("option to print tables of one port only", "--port"),
        ("Which option prints the moon?", None),
        ("Who prints the tables of one port?", None),
    ],
)
def test_an_option_is_named_by_what_it_does(question: str, answer: str | None) -> None:
    assert named_by_description(question, [GLOSSARY, OPTIONS]).answer == answer


def test_a_person_is_named_by_what_an_entry_says_of_them() -> None:
    crew = unit_of(
        "Crew",
        Piece(BlockKind.ITEM, "- Ada: 9 November, vegetarian", 1),
        Piece(BlockKind.ITEM, "- Bo Marsh: 17 February, allergic to shellfish", 1),
        Piece(BlockKind.ITEM, "- kitchen: free of shellfish, allergic guests are told", 1),
    )
    assert named_by_description("Who is allergic to shellfish?", [crew]).answer == "Bo Marsh"
    assert named_by_description("Who is allergic to nuts?", [crew]).answer is None


def test_a_sentence_names_no_command() -> None:
    text = unit_of(
        "Upgrading",
        Piece(
            BlockKind.PARAGRAPH,
            "Upgrading the tables is a process of two steps: print the old tables, compress the new ones.",
        ),
    )
    assert named_by_description("Which command compresses the new tables?", [text]).answer is None


def test_an_option_that_two_descriptions_fit_is_not_named() -> None:
    twice = unit_of(
        "print(1)",
        Piece(BlockKind.ITEM, "-a: Print all tables in colour.", 1),
        Piece(BlockKind.ITEM, "-b: Print all tables in colour.", 1),
    )
    assert named_by_description("Which option prints tables in colour?", [twice]).answer is None


FAQ = unit_of(
    "FAQ",
    Piece(BlockKind.PARAGRAPH, "Does the ferry carry bicycles?"),
    Piece(BlockKind.PARAGRAPH, "No, bicycles are left at the pier, since the ferry has no rack."),
    Piece(BlockKind.CODE, "$ tide-print experimental tables"),
    Piece(BlockKind.PARAGRAPH, "See the notice at the pier for why the slipway is shut."),
    Piece(BlockKind.PARAGRAPH, "The slipway is shut because the crane fell on the winter ice."),
    Piece(BlockKind.HEADING, "Printing tables", 1),
    Piece(BlockKind.ITEM, "--port: Print the tables of one port.", 1),
    Piece(BlockKind.ITEM, "--metric: Print tables in metres.", 1),
)


BOOK = unit_of(
    "Harbour book",
    Piece(BlockKind.HEADING, "7.1. Why is a slipway greased?", 2),
    Piece(BlockKind.PARAGRAPH, "A ramp on which boats are drawn up needs it."),
    Piece(BlockKind.PARAGRAPH, "Q: Why are the lamps red?"),
    Piece(BlockKind.PARAGRAPH, "Red light spares the eyes of the crew."),
)
BOOK_OF_CHANGES = Piece(
    BlockKind.ITEM, "Starting the harbour crane: It is now possible to start the crane from the office", 1
)


def answered(question: str, *units: Unit) -> str | None:
    return OfflineLanguage().perform(Read(question, units or (FAQ,))).value.answer


def test_a_heading_that_is_the_question_is_answered_by_what_follows() -> None:
    assert answered("Why is a slipway greased?", BOOK) == "A ramp on which boats are drawn up needs it."


def test_a_statement_that_is_the_question_is_answered_by_the_next() -> None:
    assert answered("Why are the lamps red?", BOOK) == "Red light spares the eyes of the crew."


def test_a_sentence_is_nobodys_name() -> None:
    unit = unit_of("Harbour book", BOOK_OF_CHANGES)
    assert best_cell(analysed("Who started the harbour crane?"), [unit], frozenset()) is None
    keeper = unit_of("Harbour book", Piece(BlockKind.ITEM, "Owner: Bo Marsh, since 2011", 1))
    found = best_cell(analysed("Who is the owner of the harbour book?"), [keeper], frozenset())
    assert found is not None
    assert found.value == "Bo Marsh"


def analysed(text: str) -> Question:
    question = analyse(text)
    assert question is not None
    return question


def test_yes_or_no_is_taken_from_a_statement_that_begins_with_it() -> None:
    assert answered("Does the ferry carry bicycles?") == "no"


def test_code_says_neither_yes_nor_no() -> None:
    assert answered("Are tide-print tables experimental?") is None


def test_a_reference_gives_no_reason() -> None:
    assert answered("Why is the slipway shut?") == "The slipway is shut because the crane fell on the winter ice."


def test_options_are_no_steps() -> None:
    reading = OfflineLanguage().perform(Read("How do I print tables?", (FAQ,))).value
    assert reading.kind is not AnswerKind.STEPS
