"""A link is shown if its second statement answers the question after the first, whatever stands around the language."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.language.offline.scripted_reader import ScriptedReader

from hoptrail.evaluation.question_meter import PerQuestion, QuestionMeter
from hoptrail.language.lazy import LazyLanguage
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.meter import Meter
from hoptrail.language.offline.link_reading import best_link
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Language
from hoptrail.types import Kind, Span, Unit

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
    link = best_link(QUESTION, units(*TEXTS[:2], ready), reader)
    assert link is not None
    assert link.second.text == ready
    assert (ready, TEXTS[0]) in {(pair.text, pair.before) for pair in reader.asked}


def test_an_unlikely_link_is_not_shown() -> None:
    assert best_link(QUESTION, UNITS, ScriptedReader({QUESTION: {"1982": -9.0}})) is None
    assert best_link(QUESTION, UNITS, ScriptedReader({})) is None
    assert best_link(QUESTION, (), ScriptedReader({})) is None


def test_the_trained_reader_follows_the_code() -> None:
    assert OfflineLanguage().linked_spans(QUESTION, UNITS) == (Span("d1", 0, len(TEXTS[1])),)


@pytest.mark.parametrize("language", [ScriptedLanguage([]), OfflineLanguage(settings=OfflineSettings(reader=False))])
def test_a_language_without_a_reader_follows_none(language: Language) -> None:
    assert Meter(language).linked_spans(QUESTION, UNITS) == ()


class Follower(ScriptedLanguage):
    """Always leads to the second passage."""

    def linked_spans(self, question: str, passages: tuple[Unit, ...]) -> tuple[Span, ...]:
        assert question == QUESTION
        return passages[1].sources


@pytest.mark.parametrize(
    "wrapped",
    [lambda one: LazyLanguage(lambda: one), lambda one: ObservedLanguage(one, Listener()), QuestionMeter],
    ids=["lazy", "observed", "metered"],
)
def test_links_are_read_through_whatever_holds_the_language(wrapped: Callable[[Language], Language]) -> None:
    meter = Meter(wrapped(Follower([])))
    assert meter.linked_spans(QUESTION, UNITS) == UNITS[1].sources
    assert meter.tasks == 0


def test_links_of_an_evaluated_question_are_read() -> None:
    evaluated = PerQuestion("follower", lambda: Follower([]))
    with evaluated.metered(evaluated.open_performer()):
        assert Meter(evaluated).linked_spans(QUESTION, UNITS) == UNITS[1].sources
