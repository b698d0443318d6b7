"""Sentences of a passage end where its document says; nothing splits them again."""

from __future__ import annotations

import pytest

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.statements import statements_of
from hoptrail.types import Document, Kind, Span, Unit

TEXT = "It was founded by G.K. Chester. in 1901 Then it grew. It closed."
ENDS = (40, 54, len(TEXT))
"""As the makers of a corpus see it: no rule would part `1901` from `Then`, or keep `Chester.` and `in 1901` together."""


def passage(text: str = TEXT, ends: tuple[int, ...] = ENDS) -> Unit:
    (only,) = passages(Document("d", "A mill", text, ends, ("here",)))
    return only


def test_statements_end_where_the_document_says() -> None:
    assert [said.text for said in statements_of(passage())] == [
        "It was founded by G.K. Chester. in 1901",
        "Then it grew.",
        "It closed.",
    ]


def test_a_part_of_a_passage_has_the_parts_of_its_sentences() -> None:
    unit = passage()
    found = [unit.text[start:end] for start, end in unit_sentences(unit, 3, 50)]
    assert found == ["was founded by G.K. Chester. in 1901", "Then it gr"]


def test_passages_count_ends_from_their_own_start() -> None:
    text = " First one. Second one. Third one.\n"
    document = Document("d", "", text, (12, 24, len(text)), ("here",))
    found = passages(document, PassageLimits(words=4, short_document_words=0))
    assert [(unit.text, unit.sentence_ends) for unit in found] == [
        ("First one. Second one.", (11, 22)),
        ("Third one.", (10,)),
    ]


def test_what_stands_in_no_document_is_split() -> None:
    summary = Unit("s", Kind.SUMMARY, "", "It grew. It closed.", (Span("d", 0, 4),))
    assert [summary.text[start:end] for start, end in unit_sentences(summary)] == ["It grew.", "It closed."]


def test_ends_that_belong_to_another_text_are_refused() -> None:
    with pytest.raises(ValueError, match="do not end with"):
        Unit("p", Kind.PASSAGE, "", "Short.", (Span("d", 0, 6),), sentence_ends=(40,))
