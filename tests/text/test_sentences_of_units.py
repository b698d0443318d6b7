"""A passage keeps the sentence ends of its document; they are not computed again."""

from __future__ import annotations

import pytest

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.statements import statements_of
from hoptrail.types import Document, Kind, Span, Unit

TEXT = "It was founded by G.K. Chester. in 1901 Then it grew. It closed."
ENDS = (40, 54, len(TEXT))
"""As a corpus annotates it: no rule would separate `1901` from `Then`, or keep `Chester.` and `in 1901` together."""


def passage(text: str = TEXT, ends: tuple[int, ...] = ENDS) -> Unit:
    (only,) = passages(Document("d", "A mill", text, ends, ("here",)))
    return only


def test_statements_use_the_sentence_ends_of_the_document() -> None:
    assert [said.text for said in statements_of(passage())] == [
        "It was founded by G.K. Chester. in 1901",
        "Then it grew.",
        "It closed.",
    ]


def test_a_part_of_a_passage_clips_its_first_and_last_sentence() -> None:
    unit = passage()
    sentences = [unit.text[start:end] for start, end in unit_sentences(unit, 3, 50)]
    assert sentences == ["was founded by G.K. Chester. in 1901", "Then it gr"]


def test_passages_count_ends_from_their_own_start() -> None:
    text = " First one. Second one. Third one.\n"
    document = Document("d", "", text, (12, 24, len(text)), ("here",))
    units = passages(document, PassageLimits(words=4, short_document_words=0))
    assert [(unit.text, unit.sentence_ends) for unit in units] == [
        ("First one. Second one.", (11, 22)),
        ("Third one.", (10,)),
    ]


def test_text_of_a_derived_unit_is_split() -> None:
    summary = Unit("s", Kind.SUMMARY, "", "It grew. It closed.", (Span("d", 0, 4),))
    assert [summary.text[start:end] for start, end in unit_sentences(summary)] == ["It grew.", "It closed."]


def test_ends_beyond_the_text_are_refused() -> None:
    with pytest.raises(ValueError, match="do not end with"):
        Unit("p", Kind.PASSAGE, "", "Short.", (Span("d", 0, 6),), sentence_ends=(40,))
