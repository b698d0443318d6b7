"""Explanations: what stands below a question, what gives no reason, and what is no procedure."""

from __future__ import annotations

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Read
from hoptrail.types import AnswerKind, BlockKind, Unit
from pieces import unit_of

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


def answered(question: str, *units: Unit) -> str | None:
    return OfflineLanguage().perform(Read(question, units or (FAQ,))).value.answer


def test_a_heading_that_is_the_question_is_answered_by_what_follows() -> None:
    assert answered("Why is a slipway greased?", BOOK) == "A ramp on which boats are drawn up needs it."


def test_a_statement_that_is_the_question_is_answered_by_the_next() -> None:
    assert answered("Why are the lamps red?", BOOK) == "Red light spares the eyes of the crew."


def test_a_reference_gives_no_reason() -> None:
    assert answered("Why is the slipway shut?") == "The slipway is shut because the crane fell on the winter ice."


def test_options_are_no_steps() -> None:
    reading = OfflineLanguage().perform(Read("How do I print tables?", (FAQ,))).value
    assert reading.kind is not AnswerKind.STEPS
