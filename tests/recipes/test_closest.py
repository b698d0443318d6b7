"""What is shown as closest: each statement once, what stands together as one, and what a question or a lead announces."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import cast

from hoptrail.documents.blocks import Piece, assemble, ends_within
from hoptrail.documents.splitting import passages
from hoptrail.language.closeness import Close, close_statements, judged
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.recipes.closest import closest
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.statements import LONGEST, statements_of
from hoptrail.types import BlockKind, Document, Hit, Kind, Span, Statement, Unit, content_id
from world import HashingEncoder

NO_LANGUAGE = ScriptedLanguage([])
"""It judges no statement."""

PIECES = [
    Piece(BlockKind.HEADING, "The quay", 1),
    Piece(
        BlockKind.PARAGRAPH,
        "Q-4 (2024-02-05): Ferries go by the outer quay. Decided by Ada. It was too shallow inside.",
    ),
    Piece(BlockKind.PARAGRAPH, "The crane was painted on 7 March 2023."),
    Piece(BlockKind.PARAGRAPH, "Which ropes do we use?"),
    Piece(BlockKind.PARAGRAPH, "Hemp on the old boats, nylon on the others."),
    Piece(BlockKind.HEADING, "Lamps", 1),
    *(Piece(BlockKind.ITEM, text, 1) for text in ("bow lamp", "stern lamp", "mast lamp")),
    Piece(BlockKind.HEADING, "Sails", 1),
    Piece(BlockKind.PARAGRAPH, "All sails are tan."),
]


def units(pieces: list[Piece]) -> tuple[Unit, ...]:
    parsed = assemble("Notes", pieces)
    ends = ends_within(parsed.text, parsed.blocks, 1000)
    return passages(Document(content_id("d", parsed.text), "Notes", parsed.text, ends, ("/x",), blocks=parsed.blocks))


def shown(question: str, pieces: list[Piece] = PIECES) -> tuple[Statement, ...]:
    found = tuple(Hit(unit, 1.0, "test") for unit in units(pieces))
    return closest(
        question, found, cast("Corpus", SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {})), NO_LANGUAGE
    )


def test_a_date_is_the_same_however_it_is_written() -> None:
    assert "outer quay" in shown("What was decided on 5 February 2024?")[0].said
    assert "crane" in shown("what happened on 2023-03-07")[0].said


def test_what_stands_together_is_shown_as_one_and_nothing_twice() -> None:
    statements = shown("lamp on the bow, lamp on the stern, lamp on the mast")
    assert statements[0].said.splitlines() == ["bow lamp", "stern lamp", "mast lamp"]
    assert len(statements) == 3
    assert len({statement.said for statement in statements}) == 3


def test_a_statement_is_not_shown_again_with_the_one_before_it() -> None:
    said = "The budget for the launch is 12,000 EUR. It is in Oslo."
    assert [
        one.said.splitlines() for one in shown("What is the budget for the launch?", [Piece(BlockKind.PARAGRAPH, said)])
    ] == [["The budget for the launch is 12,000 EUR.", "It is in Oslo."]]


def test_where_a_reader_looked_is_shown_second() -> None:
    question = "What was decided on 5 February 2024?"
    found = tuple(Hit(unit, 1.0, "test") for unit in units(PIECES))
    sails = next(said for hit in found for said in statements_of(hit.unit) if "tan" in said.text)
    corpus = cast("Corpus", SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {}))
    told = closest(question, found, corpus, NO_LANGUAGE, promising=sails.support)
    assert "outer quay" in told[0].said
    assert told[1].said == "All sails are tan."
    assert shown(question)[1].said != "All sails are tan."


def test_a_question_in_a_text_is_shown_with_what_follows_it() -> None:
    assert "nylon" in shown("Which ropes do we use?")[0].said


def test_statements_stand_where_they_say_within_300_characters() -> None:
    text = units(PIECES)[0].text
    for statement in shown("Which lamp did Ada decide on?"):
        assert text[statement.start : statement.end] == statement.text
        assert max(len(statement.text), len(statement.said)) <= LONGEST
    long = [Piece(BlockKind.PARAGRAPH, "Ropes lie " + "in the long shed " * 30), *PIECES]
    assert all(len(one.said) <= LONGEST for one in shown("Where do ropes lie?", long))


LOG = "\n".join(
    f"2024-0{month}-01  engine  oil changed, {hours} hours, nothing else to report"
    for month, hours in enumerate(range(100, 900, 100), 1)
)
LOG_WITH_BELT = LOG.replace("700 hours, nothing else to report", "700 hours, belt of the alternator torn")


def test_of_a_long_statement_the_part_is_shown_that_says_what_is_asked() -> None:
    statement = shown(
        "When was the belt of the alternator torn?", [Piece(BlockKind.PARAGRAPH, LOG_WITH_BELT), *PIECES]
    )[0]
    assert "2024-07-01  engine  oil changed, 700 hours, belt of the alternator torn" in statement.text
    assert "2024-07-01 engine oil changed, 700 hours, belt of the alternator torn" in statement.said
    assert len(statement.text) <= LONGEST


def test_a_line_that_announces_is_shown_with_what_it_announces() -> None:
    told = [
        Piece(BlockKind.PARAGRAPH, text)
        for text in ("To enter the dock you need the following two things", "a pilot", "a radio")
    ]
    assert {"a pilot", "a radio"} <= set(
        shown("What do I need to enter the dock?", [*told, *PIECES])[0].said.splitlines()
    )


def test_a_value_is_shown_after_its_heading() -> None:
    listed = [
        Piece(BlockKind.HEADING, "Divers", 1),
        Piece(BlockKind.ITEM, "Di Rook", 1),
        Piece(BlockKind.ITEM, "Cy Teal", 1),
    ]
    assert shown("Is Rook one of the divers?", [*listed, *PIECES])[0].said.splitlines() == [
        "Divers: Di Rook",
        "Cy Teal",
    ]


def test_where_only_summaries_were_found_what_they_were_made_from_is_shown() -> None:
    text = "The quay was built in 1790. Nylon ropes lie in the long shed. The crane is new."
    document = Document("d1", "Harbour", text, (27, 62, len(text)), ("/x",))
    spans = (Span("d1", 0, 27), Span("d1", 28, 62), Span("d1", 63, len(text)))
    summary = Unit("s1", Kind.SUMMARY, "", "A harbour with a quay and ropes.", spans)
    corpus = SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {}, documents=lambda _ids: {"d1": document})
    statements = closest("Where do nylon ropes lie?", (Hit(summary, 1.0, "test"),), cast("Corpus", corpus), NO_LANGUAGE)
    assert len(statements) == 3
    assert statements[0].said == "Nylon ropes lie in the long shed."
    assert all(text[one.start : one.end] == one.text and one.unit == "s1" for one in statements)


def test_no_two_statements_show_the_same_words_of_a_document() -> None:
    (passage,) = units(PIECES)
    at = passage.text.index("stern lamp")
    (span,) = passage.sources
    inside = Span(span.document, span.start + at, span.start + at + len("stern lamp"))
    sentence = Unit("s1", Kind.SENTENCE, passage.title, "stern lamp", (inside,))
    found = tuple(Hit(unit, 1.0, "test") for unit in (sentence, passage))
    corpus = cast("Corpus", SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {}))
    statements = closest("lamp on the stern, lamp on the bow, lamp on the mast", found, corpus, NO_LANGUAGE)
    places = sorted((one.start, one.end) for one in statements)
    assert len(places) == 3
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


def test_what_a_reading_found_in_a_later_passage_is_shown() -> None:
    texts = [f"The crane of quay {place} was painted in red and blue." for place in range(11)] + ["Ida oils the winch."]
    hits = tuple(Hit(unit, 1.0, "test") for text in texts for unit in units([Piece(BlockKind.PARAGRAPH, text)]))
    corpus = cast("Corpus", SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {}))
    lead = statements_of(hits[-1].unit)[0].support[0]
    assert "Ida oils the winch." in [
        one.said for one in closest("Who painted the crane?", hits, corpus, NO_LANGUAGE, [lead])
    ]
    assert "Ida oils the winch." not in [
        one.said for one in closest("Who painted the crane?", hits, corpus, NO_LANGUAGE)
    ]


class Judge(ScriptedLanguage):
    """Finds that what names the crane settles every question."""

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        close = close_statements(question, units, None)
        return judged(close, [5.0 if "crane" in one.said.text else -5.0 for one in close[:12]])


def test_what_the_language_judges_to_settle_the_question_comes_first() -> None:
    question = "What colour are the sails?"
    found = tuple(Hit(unit, 1.0, "test") for unit in units(PIECES))
    corpus = cast("Corpus", SimpleNamespace(encoder=HashingEncoder(), sources=lambda _ids: {}))
    assert closest(question, found, corpus, NO_LANGUAGE)[0].said == "All sails are tan."
    assert "crane" in closest(question, found, corpus, Judge([]))[0].said
