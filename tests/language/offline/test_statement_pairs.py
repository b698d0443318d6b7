"""Pairs of statements by rare names and codes, and the answers that the second gives after the first."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.language.closeness import close_statements
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.statement_pairs import StatementPair, entry_of, find_pairs, links_of
from hoptrail.language.offline.statement_reading import StatementReader
from hoptrail.language.tasks import Read
from hoptrail.models.reader import ToRead
from hoptrail.text.statements import statements_of
from hoptrail.types import Kind, Span, Unit
from language.offline.scripted_reader import ScriptedReader

QUESTION = "In what year was the machine made whose needle bar broke?"
LOG = "14 January: the needle bar of M10 broke."
REGISTER = "M10 is a section sewer, made in 1982."
OTHER = "M11 is a section sewer, made in 1975."


def unit(place: int, text: str) -> Unit:
    return Unit(f"u{place}", Kind.PASSAGE, f"Page {place}", text, (Span(f"d{place}", 0, len(text)),))


def units(*texts: str) -> list[Unit]:
    return [unit(place, text) for place, text in enumerate(texts)]


def test_the_second_statement_is_read_after_the_first_and_both_are_cited() -> None:
    model = ScriptedReader({QUESTION: {"1982": 6.0}})
    passages = units(LOG, REGISTER)
    best = StatementReader(model, None).ranked(QUESTION, passages, pairs=True)[0]
    assert ToRead(QUESTION, f"Page 1\n{REGISTER}", f"Page 0\n{LOG}") in model.asked
    assert [(step.answer, step.support) for step in best.steps(QUESTION)][-1] == ("1982", passages[1].sources)


def test_what_an_earlier_unit_says_under_another_date_leads_nowhere() -> None:
    said, quay, bo = "The fair was held in Lund.", "The quay was opened.", "Bo came to the quay."
    fair = Span("d1", 0, len(said))
    before = Unit("a", Kind.AGGREGATE, "Fair 2019-03-05", f"{quay}\n{said}", (Span("d0", 0, len(quay)), fair))
    after = Unit("b", Kind.AGGREGATE, "Fair 2023-04-01", f"{said}\n{bo}", (fair, Span("d2", 0, len(bo))))
    question = "Where was the fair held in 2023?"
    model = ScriptedReader({question: {"Lund": 6.0}})
    assert StatementReader(model, None).ranked(question, [before, after], pairs=True)[0].answer == "Lund"


def test_a_pair_needs_a_name_that_both_have() -> None:
    model = ScriptedReader({QUESTION: {"1975": 6.0}})
    StatementReader(model, None).ranked(QUESTION, units(LOG, OTHER), pairs=True)
    assert not any(pair.before for pair in model.asked)


def test_the_trained_reader_follows_the_code() -> None:
    reading = OfflineLanguage().perform(Read(QUESTION, tuple(units(LOG, REGISTER, OTHER)))).value
    given = reading.steps[-1] if reading.answer else reading.withheld
    assert given is not None
    assert "1982" in given.answer


def pairs(question: str, *texts: str, most: int = 8) -> list[StatementPair]:
    found = units(*texts)
    return find_pairs(question, found, close_statements(question, found, None), most)


def linked(found: Sequence[StatementPair]) -> list[tuple[str, str, str]]:
    return [(pair.first.text.strip(), pair.name, pair.second.text.strip()) for pair in found]


def test_a_code_leads_from_the_log_to_the_register() -> None:
    found = pairs(QUESTION, LOG, "The press was cleaned in May.", REGISTER)
    assert linked(found) == [(REGISTER, "M10", LOG), (LOG, "M10", REGISTER)]
    assert all(pair.share > pair.gain > 0 for pair in found)


def test_a_name_in_the_question_starts_no_pair() -> None:
    assert not pairs("When was M10 made, whose needle bar broke?", LOG, REGISTER)


def test_a_name_in_one_statement_or_in_very_many_links_nothing() -> None:
    assert not pairs(QUESTION, LOG, "A section sewer was made in 1982.")
    assert not pairs(QUESTION, LOG, *(f"M10 ran for {hours} hours." for hours in range(30, 60)))


def test_the_rarer_name_and_the_entry_that_begins_with_it_come_first() -> None:
    question = "What is the telephone number of the woman who mended the roof?"
    texts = (
        "The roof was mended by Ida Berg of Skarn.",
        "Skarn: the number is 11.",
        "Skarn has a bridge.",
        "Ida Berg: telephone number 42.",
        "Cy Lunt has met Ida Berg.",
    )
    assert linked(pairs(question, *texts))[0] == (texts[0], "Ida Berg", texts[3])


def test_each_statement_is_second_once_and_there_are_at_most_so_many() -> None:
    texts = (LOG, REGISTER, "M10 stands in the bindery.", "M10 was bought from a bindery.")
    found = pairs(QUESTION, *texts)
    seconds = [pair.second.text for pair in found]
    assert len(seconds) == len(set(seconds)) > 1
    assert pairs(QUESTION, *texts, most=1) == found[:1]
    assert pairs(QUESTION) == []


def test_the_rarer_of_two_names_comes_first() -> None:
    texts = (
        "The roof was mended by Ida Berg in Skarn.",
        "Her number is in the book of Skarn.",
        "The number of the woman is in the book of Ida Berg.",
        *(f"Skarn has {number} bridges." for number in range(3)),
    )
    found = pairs("Which number has the woman who mended the roof?", *texts)
    assert {pair.name for pair in found[:1]} == {"Ida Berg"}
    rarity = {pair.name: pair.linked for pair in found if pair.second.text.strip() in texts[1:3]}
    assert rarity["Ida Berg"] > rarity["Skarn"]


def test_words_and_codes_link_and_stop_words_do_not() -> None:
    said = statements_of(unit(0, "The order SNO-05 of Ida Berg in Skarn, by YO, is on m1 of 3."))[0]
    assert links_of(said) == {"order", "sno-05", "ida", "berg", "skarn", "yo", "m1"}


def test_an_entry_is_what_a_line_or_a_row_is_about() -> None:
    assert entry_of(statements_of(unit(0, "Ida Berg: telephone number 42."))[0]) == "Ida Berg"
    assert entry_of(statements_of(unit(0, "Ida Berg lives in Skarn."))[0]) == ""


def test_an_entry_about_what_the_first_statement_names_is_linked_even_by_a_single_letter() -> None:
    found = pairs("What does the place of the silver car cost?", "The silver car stands on E.", "E: 52 a month")
    assert [(pair.name, pair.is_entry) for pair in found if pair.second.text.startswith("E:")] == [("E", True)]
