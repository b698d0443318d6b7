"""Statements are linked by rare names and codes that the question does not name."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.language.closeness import close_statements
from hoptrail.language.statement_links import Link, find_links, names_of
from hoptrail.text.statements import statements_of
from hoptrail.types import Kind, Span, Unit

QUESTION = "In what year was the machine made whose needle bar broke?"
LOG = "14 January: the needle bar of M10 broke."
REGISTER = "M10 is a section sewer, made in 1982."


def unit(place: int, text: str) -> Unit:
    return Unit(f"u{place}", Kind.PASSAGE, f"Page {place}", text, (Span(f"d{place}", 0, len(text)),))


def links(question: str, *texts: str, most: int = 8) -> list[Link]:
    units = [unit(place, text) for place, text in enumerate(texts)]
    return find_links(question, units, close_statements(question, units, None), most)


def linked(found: Sequence[Link]) -> list[tuple[str, str, str]]:
    return [(link.first.text.strip(), link.name, link.second.text.strip()) for link in found]


def test_a_code_leads_from_the_log_to_the_register() -> None:
    best = links(QUESTION, LOG, "The press was cleaned in May.", REGISTER)[0]
    assert linked([best]) == [(LOG, "m10", REGISTER)]
    assert best.share > best.gain > 0


def test_a_name_in_the_question_is_no_link() -> None:
    assert not links("When was M10 made, whose needle bar broke?", LOG, REGISTER)


def test_a_name_in_one_statement_or_in_very_many_links_nothing() -> None:
    assert not links(QUESTION, LOG, "A section sewer was made in 1982.")
    assert not links(QUESTION, LOG, *(f"M10 ran for {hours} hours." for hours in range(3, 33)))


def test_the_rarer_name_and_the_entry_that_begins_with_it_come_first() -> None:
    question = "What is the telephone number of the woman who mended the roof?"
    texts = (
        "The roof was mended by Ida Berg of Skarn.",
        "Skarn: the number is 11.",
        "Skarn has a bridge.",
        "Ida Berg: telephone number 42.",
        "Cy Lunt has met Ida Berg.",
    )
    assert linked(links(question, *texts))[0] == (texts[0], "ida berg", texts[3])


def test_each_statement_is_second_once_and_there_are_at_most_so_many() -> None:
    texts = (LOG, REGISTER, "M10 stands in the bindery.", "M10 was bought from a bindery.")
    found = links(QUESTION, *texts)
    seconds = [link.second.text for link in found]
    assert len(seconds) == len(set(seconds)) > 1
    assert links(QUESTION, *texts, most=1) == found[:1]
    assert links(QUESTION) == []


def test_the_rarer_of_two_names_comes_first() -> None:
    texts = (
        "The roof was mended by Ida Berg in Skarn.",
        "Her number is in the book of Skarn.",
        "The number of the woman is in the book of Ida Berg.",
        *(f"Skarn has {number} bridges." for number in range(3)),
    )
    found = links("Which number has the woman who mended the roof?", *texts)
    assert {link.name for link in found[:1]} == {"ida berg"}
    scores = {link.name: link.score - link.share for link in found if link.second.text.strip() in texts[1:3]}
    assert scores["ida berg"] > scores["skarn"]


def test_measures_ordinals_and_parts_of_codes_are_no_names() -> None:
    said = statements_of(unit(0, "the 2nd of 10kg, 3pm and 24-hour of inv-2024-0012345-00042-x and m100, not m-10."))[0]
    assert names_of(said) == {"m100", "m-10"}


def test_names_are_names_and_codes_without_numbers() -> None:
    said = statements_of(
        unit(0, 'The order SNO-05 of Ida Berg in Skarn, by YO, 30 pieces of "Salt Hours" on 3 May 2021.')
    )[0]
    assert names_of(said) == {"sno-05", "ida berg", "skarn", "yo", "salt hours"}
