"""Yes or no by what one statement or list says: asserted in full, denied in part, or left open."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.yes_no import claim_by_list
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import AnswerKind, BlockKind, Kind, Span, Unit
from pieces import unit_of

TEXTS = {
    "Visits": "Dogs on a lead are welcome in the yard and the shop, but not in the mill loft. There is a "
    "ramp to the lower gallery. "
    "No lamps near the flour bins. The old wheel may be sold if the trust agrees. Do children climb the tower? "
    "Guides speak Welsh and English.",
    "Wheel": "The noise comes from the bearing, not from the sluice. It runs without a governor.",
}


def units() -> tuple[Unit, ...]:
    return tuple(Unit(title, Kind.PASSAGE, title, text, (Span(title, 0, len(text)),)) for title, text in TEXTS.items())


def read(question: str) -> Reading:
    return OfflineLanguage().perform(Read(question, units())).value


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("is there a ramp to the lower gallery", "yes"),
        ("Do guides speak Welsh?", "yes"),
        ("Can I bring a dog into the mill loft?", "no"),
        ("Should I carry lamps near the flour bins?", "no"),
        ("Does the noise come from the sluice?", "no"),
        ("Does the noise of the wheel come from the bearing?", "yes"),
        ("does the wheel run without a governor", None),
        ("Is there a ramp to the upper gallery?", None),
        ("Will the old wheel be sold?", None),
        ("Do children climb the tower?", None),
        ("Is flour sold?", None),
    ],
)
def test_what_a_statement_says_or_denies(question: str, answer: str | None) -> None:
    found = read(question)
    assert found.answer == answer
    if answer is not None:
        assert found.kind is AnswerKind.YES_NO
        assert found.steps[-1].support


def test_the_statement_is_cited() -> None:
    (span,) = read("Can I bring a dog into the mill loft?").steps[-1].support
    assert TEXTS[span.document][span.start : span.end].endswith("but not in the mill loft.")


CREW = unit_of(
    "Crew of the Tern",
    Piece(BlockKind.HEADING, "Lifeguards", 1),
    Piece(BlockKind.ITEM, "Ada Lunt", 1),
    Piece(BlockKind.ITEM, "Bo Marsh", 1),
)
MINUTES = unit_of(
    "Budget meeting, 4 May",
    Piece(BlockKind.PARAGRAPH, "Present: Ada, Bo (by telephone) and Cy"),
    Piece(BlockKind.PARAGRAPH, "Apologies: Di"),
    Piece(BlockKind.PARAGRAPH, "Dates: Ed will be asked"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is Bo a lifeguard?", "yes"),
        ("Is Ada Lunt one of the lifeguards?", "yes"),
        ("Is Di a lifeguard?", None),
        ("Is Ada Marsh a lifeguard?", None),
        ("Was Cy at the budget meeting?", "yes"),
        ("did bo attend the budget meeting", "yes"),
        ("Was Di at the budget meeting?", "no"),
        ("Was Ed at the budget meeting?", None),
        ("Was Di at the harbour meeting?", None),
        ("Was Di at the meeting?", None),
    ],
)
def test_a_list_says_who_is_in_it(question: str, answer: str | None) -> None:
    reading = claim_by_list(question, [CREW, MINUTES], None)
    assert reading.answer == answer
    assert (answer is None) == (not reading.steps)
