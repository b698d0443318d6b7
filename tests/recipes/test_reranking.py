"""Passages are read in the order in which a reading finds them helpful, whatever stands around the language."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from hoptrail.evaluation.question_meter import PerQuestion, QuestionMeter
from hoptrail.language.lazy import LazyLanguage
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.meter import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Language
from hoptrail.recipes.reranking import reranked
from hoptrail.types import Hit, Kind, Ranking, Span, Unit

QUESTION = "Who looks after the lamp?"
TEXTS = (
    "The tower was painted in spring.",
    "Two boats lie at the quay.",
    "Ida Berg looks after the lamp.",
    "Cy Lunt brings the oil.",
)
FOUND: Ranking = tuple(
    Hit(Unit(f"u{place}", Kind.PASSAGE, "", text, (Span(f"d{place}", 0, len(text)),)), 1 / (1 + place), "test")
    for place, text in enumerate(TEXTS)
)
UNITS = tuple(hit.unit for hit in FOUND)


def places(ranking: Ranking) -> list[int]:
    return [FOUND.index(hit) for hit in ranking]


def test_the_passage_that_answers_comes_first() -> None:
    assert places(reranked(QUESTION, FOUND, Meter(OfflineLanguage()), 4))[0] == 2


def test_only_the_first_are_judged() -> None:
    assert places(reranked(QUESTION, FOUND, Meter(OfflineLanguage()), 2))[2:] == [2, 3]
    assert reranked(QUESTION, FOUND, Meter(OfflineLanguage()), 0) == FOUND
    assert reranked(QUESTION, (), Meter(OfflineLanguage()), 4) == ()


@pytest.mark.parametrize("language", [ScriptedLanguage([]), OfflineLanguage(settings=OfflineSettings(reader=False))])
def test_without_a_judge_the_order_of_the_search_stays(language: Language) -> None:
    assert reranked(QUESTION, FOUND, Meter(language), 4) == FOUND


class Judge(ScriptedLanguage):
    """Judges passages by their last character."""

    def judge_passages(self, question: str, passages: tuple[Unit, ...]) -> tuple[float, ...]:
        assert question == QUESTION
        return tuple(float(unit.id[-1]) for unit in passages)


@pytest.mark.parametrize(
    "wrapped",
    [lambda one: LazyLanguage(lambda: one), lambda one: ObservedLanguage(one, Listener()), QuestionMeter],
    ids=["lazy", "observed", "metered"],
)
def test_a_judge_is_asked_through_whatever_holds_it(wrapped: Callable[[Language], Language]) -> None:
    meter = Meter(wrapped(Judge([])))
    assert meter.judge_passages(QUESTION, UNITS) == (0.0, 1.0, 2.0, 3.0)
    assert meter.tasks == 0


def test_an_evaluated_judge_is_asked_for_its_question() -> None:
    evaluated = PerQuestion("judge", lambda: Judge([]))
    with evaluated.metered(evaluated.open_performer()):
        assert Meter(evaluated).judge_passages(QUESTION, UNITS) == (0.0, 1.0, 2.0, 3.0)


def test_a_judgement_has_to_make_up_for_the_rank() -> None:
    """From place 4 to place 1 takes 1.5 * log2(4) = 3 points."""
    assert 1.5 * math.log2(4) == 3
    assert places(reranked(QUESTION, FOUND, Meter(Judge([])), 4)) == [0, 3, 2, 1]
