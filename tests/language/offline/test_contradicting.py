"""Which of several answers holds: the later one where all say when, none where some do not."""

from __future__ import annotations

import pytest

from hoptrail.language.offline.contradicting import Assertion, Settled, settle
from hoptrail.types import Span

FEE = frozenset({"berth", "fee", "harbour"})


def said(answer: str, document: str = "", date: str = "", about: frozenset[str] = FEE) -> Assertion:
    return Assertion(answer, about, (Span(document or answer, 0, 9),), date)


@pytest.mark.parametrize(
    ("asserted", "held"),
    [
        ([said("30")], 0),
        ([said("30"), said("34")], None),
        ([said("30", date="2023"), said("34", date="2024")], 1),
        ([said("34", date="2024"), said("30", date="2023")], 0),
        ([said("30", date="2023"), said("34", date="2024"), said("36", date="2025-01-02")], 2),
        ([said("30", date="2023"), said("34")], None),
        ([said("30"), said("34", date="2024")], None),
        ([said("30", date="2024"), said("34", date="2024")], None),
        ([said("30", document="a", date="2023"), said("34", document="b", date="2024"), said("34", date="2024")], 1),
    ],
)
def test_the_latest_of_what_is_dated_holds(asserted: list[Assertion], held: int | None) -> None:
    settled = settle(asserted)
    assert (None if settled.contested else settled.place) == held
    assert len(settled.others) == sum(one.answer != asserted[settled.place].answer for one in asserted)
    assert all(span.replaced != settled.contested for span in settled.others)


def test_the_same_answer_is_no_contradiction() -> None:
    assert not said("30", document="a").contradicts(said("30", document="b"))
    assert settle([said("30", document="a"), said("30", document="b")]) == Settled(0)


def test_one_document_does_not_contradict_itself() -> None:
    assert not said("30", document="a").contradicts(said("34", document="a"))


@pytest.mark.parametrize(
    ("words", "least", "contradicts"),
    [
        ({"berth", "fee", "harbour"}, 1.0, True),
        ({"berth", "fee"}, 0.6, True),
        ({"berth", "fee"}, 0.7, False),
        ({"berth", "crane", "slip"}, 0.5, False),
        ({"ladder"}, 0.1, False),
    ],
)
def test_what_is_said_of_something_else_is_no_contradiction(
    words: set[str], least: float, *, contradicts: bool
) -> None:
    assert said("34", about=frozenset(words)).contradicts(said("30"), least) is contradicts


def test_what_contradicts_another_than_the_first_changes_nothing() -> None:
    ladder = frozenset({"ladder"})
    assert settle([said("30"), said("5", about=ladder), said("6", about=ladder)]) == Settled(0)
