"""What is derived from a passage is computed once, and follows from all that the passage is."""

from __future__ import annotations

from dataclasses import replace

from hoptrail.text.statements import statements_of
from hoptrail.types import Kind, Span, Unit

UNIT = Unit("u1", Kind.PASSAGE, "Arden", "Arden has a mill. It was built in 1802.", (Span("d1", 0, 39),))


def test_an_equal_passage_has_the_statements_that_were_made_of_the_first() -> None:
    assert statements_of(replace(UNIT)) is statements_of(UNIT)
    assert statements_of(UNIT)[1].said == "Arden has a mill. It was built in 1802."


def test_another_text_or_title_with_the_same_id_has_statements_of_its_own() -> None:
    statements_of(UNIT)
    other = statements_of(replace(UNIT, text="Arden has a quay. It was built in 1802."))
    renamed = statements_of(replace(UNIT, title="Linn"))
    assert [said.text for said in other] == ["Arden has a quay.", "It was built in 1802."]
    assert [said.seen for said in renamed] == [
        "Linn: Arden has a mill.",
        "Linn: Arden has a mill. It was built in 1802.",
    ]
