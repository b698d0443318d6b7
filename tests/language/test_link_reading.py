"""Statements are linked by rare names and codes, and a link is shown if its second statement answers after the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from hoptrail.evaluation.question_run import PerQuestion
from hoptrail.language.closeness import Close, close_statements
from hoptrail.language.lazy import LazyLanguage
from hoptrail.language.link_reading import Pair, find_links, names_of, read_links
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.meter import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Language, Reading, judged
from hoptrail.models.reader import TextReading as ModelReading
from hoptrail.models.reader import ToRead
from hoptrail.text.statements import statements_of
from hoptrail.types import Kind, Span, Unit
from language.offline.scripted_reader import ScriptedReader

QUESTION = "In what year was the machine made whose needle bar broke?"
TEXTS = (
    "14 January: the needle bar of M10 broke.",
    "M10 is a section sewer, made in 1982.",
    "M10 was cleaned by Cy Lunt in 2001.",
)


def units(*texts: str) -> tuple[Unit, ...]:
    return tuple(
        Unit(f"u{at}", Kind.PASSAGE, "", text, (Span(f"d{at}", 0, len(text)),)) for at, text in enumerate(texts)
    )


UNITS = units(*TEXTS)


def test_the_statement_that_answers_best_after_the_first_is_shown() -> None:
    reader = ScriptedReader({QUESTION: {"1982": 3.0, "2001": 6.0}})
    ready = "M10 was made ready in 2001."
    reading = read_links(QUESTION, units(*TEXTS[:2], ready), reader)
    assert reading is not None
    assert (reading.answer, reading.leads) == ("2001", (Span("d2", 0, len(ready)),))
    assert (ready, TEXTS[0]) in {(pair.text, pair.before) for pair in reader.asked}


class ReaderByBefore(ScriptedReader):
    """Each answer has one margin after another text and one by itself."""

    def __init__(self, after: Mapping[str, float], alone: Mapping[str, float]) -> None:
        self._after, self._alone = ScriptedReader({QUESTION: after}), ScriptedReader({QUESTION: alone})

    def read(self, pairs: Sequence[ToRead]) -> list[ModelReading]:
        return [(self._after if pair.before else self._alone).read([pair])[0] for pair in pairs]


@pytest.mark.parametrize(
    ("after", "alone", "answer"),
    [
        ({"1982": 6.0, "2001": 3.0}, {"1982": -1.0, "2001": 3.0}, "1982"),
        ({"1982": 4.0, "2001": 3.9}, {"1982": -9.0, "2001": 9.0}, "2001"),
    ],
)
def test_both_readings_count(after: Mapping[str, float], alone: Mapping[str, float], answer: str) -> None:
    passages = units(*TEXTS[:2], "M10 was made ready in 2001.")
    reading = read_links(QUESTION, passages, ReaderByBefore(after, alone))
    assert reading is not None
    assert reading.answer == answer


def test_an_unlikely_link_is_not_shown() -> None:
    unlikely = read_links(QUESTION, UNITS, ScriptedReader({QUESTION: {"1982": -9.0}}))
    assert unlikely is not None
    assert (unlikely.answer, unlikely.leads) == ("1982", ())
    assert read_links(QUESTION, UNITS, ScriptedReader({})) == Reading(None)
    assert read_links(QUESTION, UNITS[1:2], ScriptedReader({})) == Reading(None)


def test_no_second_statement_is_sought_where_one_says_the_whole_question() -> None:
    said = units(*TEXTS, "The machine whose needle bar broke was made in the year 1982.")
    assert read_links(QUESTION, said, ScriptedReader({})) is None
    assert read_links(QUESTION, (), ScriptedReader({})) is None


def test_the_trained_reader_follows_the_code() -> None:
    reading = OfflineLanguage().read_links(QUESTION, UNITS)
    assert reading is not None
    assert reading.answer is not None
    assert "1982" in reading.answer
    assert reading.leads == (Span("d1", 0, len(TEXTS[1])),)


def test_without_a_reader_no_link_is_followed() -> None:
    assert OfflineLanguage(settings=OfflineSettings(reader=False)).read_links(QUESTION, UNITS) is None
    assert not judged(ScriptedLanguage([]), QUESTION, UNITS)
    assert Meter(ScriptedLanguage([])).read_links(QUESTION, UNITS) is None


class Follower(ScriptedLanguage):
    """Always leads to the second passage."""

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading:
        assert question == QUESTION
        return Reading("1982", leads=passages[1].sources)

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        assert question == QUESTION
        return close_statements(question, units, None)[:1]


@pytest.mark.parametrize(
    "wrapped",
    [lambda one: LazyLanguage(lambda: one), lambda one: ObservedLanguage(one, Listener())],
    ids=["lazy", "observed"],
)
def test_evidence_is_judged_through_whatever_holds_the_language(wrapped: Callable[[Language], Language]) -> None:
    language = wrapped(Follower([]))
    assert judged(language, QUESTION, UNITS) == close_statements(QUESTION, UNITS, None)[:1]
    meter = Meter(language)
    assert meter.read_links(QUESTION, UNITS) == Reading("1982", leads=UNITS[1].sources)
    assert meter.tasks == 0


def test_links_of_an_evaluated_question_are_read() -> None:
    evaluated = PerQuestion("follower", lambda: Follower([]))
    with evaluated.metered(evaluated.open_performer()):
        assert Meter(evaluated).read_links(QUESTION, UNITS) == Reading("1982", leads=UNITS[1].sources)


LOG = "14 January: the needle bar of M10 broke."
REGISTER = "M10 is a section sewer, made in 1982."


def unit(place: int, text: str) -> Unit:
    return Unit(f"u{place}", Kind.PASSAGE, f"Page {place}", text, (Span(f"d{place}", 0, len(text)),))


def links(question: str, *texts: str, most: int = 8) -> list[Pair]:
    units = [unit(place, text) for place, text in enumerate(texts)]
    return find_links(question, units, close_statements(question, units, None), most)


def linked(found: Sequence[Pair]) -> list[tuple[str, str, str]]:
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
