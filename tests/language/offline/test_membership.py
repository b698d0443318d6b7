"""Lists answer whether somebody is in them; that they lack a name answers nothing."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.language.offline.membership import claim_by_list
from hoptrail.types import BlockKind
from pieces import unit_of

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
