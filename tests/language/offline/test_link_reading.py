"""A link is shown if its second statement answers the question after the first, whatever stands around the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from hoptrail.evaluation.question_run import PerQuestion, QuestionMeter
from hoptrail.language.lazy import LazyLanguage
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.meter import Meter
from hoptrail.language.offline.link_reading import read_links
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Language, Reading
from hoptrail.models.reader import Reading as ModelReading
from hoptrail.models.reader import ToRead
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
    assert Meter(ScriptedLanguage([])).read_links(QUESTION, UNITS) is None


class Follower(ScriptedLanguage):
    """Always leads to the second passage."""

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading:
        assert question == QUESTION
        return Reading("1982", leads=passages[1].sources)


@pytest.mark.parametrize(
    "wrapped",
    [lambda one: LazyLanguage(lambda: one), lambda one: ObservedLanguage(one, Listener()), QuestionMeter],
    ids=["lazy", "observed", "metered"],
)
def test_links_are_read_through_whatever_holds_the_language(wrapped: Callable[[Language], Language]) -> None:
    meter = Meter(wrapped(Follower([])))
    assert meter.read_links(QUESTION, UNITS) == Reading("1982", leads=UNITS[1].sources)
    assert meter.tasks == 0


def test_links_of_an_evaluated_question_are_read() -> None:
    evaluated = PerQuestion("follower", lambda: Follower([]))
    with evaluated.metered(evaluated.open_performer()):
        assert Meter(evaluated).read_links(QUESTION, UNITS) == Reading("1982", leads=UNITS[1].sources)
