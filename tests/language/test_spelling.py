"""Slips in plain words are put right by the words of the evidence; names and what it knows stay as they are."""

from __future__ import annotations

import pytest

from hoptrail.language.spelling import corrected, with_question_word
from hoptrail.types import Kind, Span, Unit

TEXT = "Ada Lunt keeps the lantern of the harbour. The ferry calls at Lindeth; ask Ada for the winter timetable."
UNITS = (Unit("u", Kind.PASSAGE, "Harbour", TEXT, (Span("d", 0, len(TEXT)),)),)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("who keeps the lantren", "who keeps the lantern"),
        ("who keeps the lanter", "who keeps the lantern"),
        ("where is the winnter timetable", "where is the winter timetable"),
        ("where is the wintar timetble", "where is the winter timetable"),
        ("wich timetable", "which timetable"),
        ("Waht does Ada keep?", "what does Ada keep?"),
        ("Who is Ada Lund?", "Who is Ada Lund?"),
        ("where is lindet", "where is lindet"),
        ("who keeps the HR-90", "who keeps the HR-90"),
        ("which dogs", "which dogs"),
        ("", ""),
    ],
)
def test_one_slip_in_a_plain_word_is_put_right(typed: str, meant: str) -> None:
    assert corrected(typed, UNITS) == meant


def test_a_common_word_is_no_slip_for_another() -> None:
    text = "A lantern that is ready for the prize."
    unit = Unit("u", Kind.PASSAGE, "Harbour", text, (Span("d", 0, len(text)),))
    assert corrected("who reads the price of the lantren", [unit]) == "who reads the price of the lantern"


def test_without_evidence_the_word_that_asks_alone_is_put_right() -> None:
    assert with_question_word("wehre is the lantren") == "where is the lantren"
    assert with_question_word("Hoy is a town") == "Hoy is a town"
