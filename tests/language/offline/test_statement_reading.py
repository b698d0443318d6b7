"""How readings of single statements become answers, and how sure these are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import pytest

from hoptrail.language.offline import answer_weights
from hoptrail.language.offline.answer_weights import ReadAnswer, confidence_numbers, stored_weights, weighed
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.statement_reading import READ, StatementReader
from hoptrail.language.tasks import Read
from hoptrail.models.reader import TextReading, ToRead
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
DREW = "Who drew the Gull?"


def ranked(
    question: str, units: Sequence[Unit], answers: Mapping[str, float], avoid: Sequence[str] = ()
) -> list[ReadAnswer]:
    return StatementReader(ScriptedReader({question: answers}), None).ranked(question, units, avoid)


def test_answers_are_ordered_and_come_once(passage: MakeUnit) -> None:
    units = (
        passage("Yard", "Ida Berg drew the Gull."),
        passage("Gull", "The Gull was drawn by Ida Berg in Dunmere."),
        passage("Tern", "Bo Marsh drew the Tern."),
    )
    found = ranked(DREW, units, {"Ida Berg": 8.0, "Bo Marsh": -6.0})
    assert [one.answer for one in found] == ["Ida Berg", "Bo Marsh"]
    assert found[0].confidence > found[1].confidence
    assert found[0].support[0].document in {units[0].document, units[1].document}


def test_names_to_avoid_are_no_answers(passage: MakeUnit) -> None:
    units = (passage("Gull", "The Gull was drawn by Ida Berg."),)
    script = {"Ida Berg": 3.0}
    assert [one.answer for one in ranked(DREW, units, script)] == ["Ida Berg"]
    assert ranked(DREW, units, script, avoid=["the Ida Berg"]) == []


def test_what_two_statements_give_is_likelier_than_what_one_gives(passage: MakeUnit) -> None:
    one, other = (
        passage("Gull", "The Gull was drawn by Ida Berg."),
        passage("Log", "Ida Berg: the Gull was drawn here."),
    )
    reader = StatementReader(ScriptedReader({DREW: {"Ida Berg": 2.0}}), None)
    (alone,) = weighed(reader.candidates(DREW, [one]), stored_weights())
    (both,) = weighed(reader.candidates(DREW, [one, other]), stored_weights())
    assert both.together > both.probability
    assert alone.together == pytest.approx(alone.probability)


def test_another_answer_that_is_as_likely_is_a_number_of_the_confidence(passage: MakeUnit) -> None:
    units = (passage("Leaflet", "The Gull was drawn by Ida Berg."), passage("Book", "The Gull was drawn by Bo Marsh."))
    reader = StatementReader(ScriptedReader({DREW: {"Ida Berg": 5.0, "Bo Marsh": 5.0}}), None)
    found = weighed(reader.candidates(DREW, units), stored_weights())
    candidate, answer, following, margin, *_ = confidence_numbers(0, found)
    assert candidate == pytest.approx(answer)
    assert following > candidate - 1
    assert margin == 5


def test_what_the_question_tagger_marks_too_is_surer(passage: MakeUnit) -> None:
    unit = passage("Yard book", "The Gull was drawn by Ida Berg in the spring at Dunmere. She was paid in June.")
    right, wrong = (
        weighed(
            StatementReader(ScriptedReader({DREW: {answer: 3.0}}), None).candidates(DREW, [unit]), stored_weights()
        )[0]
        for answer in ("Ida Berg", "Dunmere")
    )
    assert right.candidate.marked == wrong.candidate.others_marked > 0.5
    assert wrong.candidate.marked == right.candidate.others_marked == 0
    sure, unmarked, doubtful = (
        stored_weights().confidence.probability(confidence_numbers(0, [replace(right, candidate=one)]))
        for one in (
            right.candidate,
            replace(right.candidate, marked=0.0),
            replace(right.candidate, marked=0.0, others_marked=right.candidate.marked),
        )
    )
    assert sure > unmarked > doubtful


def test_the_closest_statements_are_read_once_whatever_is_asked_of_them(passage: MakeUnit) -> None:
    model = ScriptedReader({DREW: {"Ida Berg": 3.0}})
    units = [passage("Gull", " ".join(f"The Gull of {year} was drawn by Ida Berg." for year in range(1900, 1930)))]
    reader = StatementReader(model, None)
    for _ in range(2):
        reader.ranked(DREW, units)
        reader.judged(DREW, units)
    assert len(model.asked) == READ
    assert len(reader.judged(DREW, units)) > READ


class Verdicts:
    """Says yes of what names the Gull, and of anything else that it tells nothing."""

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        shares = [(0.9, 0.05, 0.05) if "Gull" in pair.text else (0.02, 0.03, 0.95) for pair in pairs]
        return [TextReading((), yes, no, neither, helps=yes, settles=8 * yes - 4) for yes, no, neither in shares]


def test_a_question_that_begins_with_a_verb_is_answered_by_yes_or_no(passage: MakeUnit) -> None:
    units = (passage("Log", "The Gull was white."), passage("Book", "It rained."))
    found = StatementReader(Verdicts(), None).ranked("Was the Gull white?", units)
    assert [one.answer for one in found] == ["yes", "no"]
    assert found[0].support[0].document == units[0].document


def test_without_a_reader_nothing_is_answered_but_statements_are_ordered(passage: MakeUnit) -> None:
    language = OfflineLanguage(settings=OfflineSettings(reader=False))
    units = (passage("The ferry", "Crossing time: 25 minutes"), passage("Gull", "The Gull was drawn by Ida Berg."))
    assert language.perform(Read(DREW, units)).value.answer is None
    assert language.judged(DREW, units)[0].said.text == "The Gull was drawn by Ida Berg."


def test_weights_for_other_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = json.loads((files("hoptrail.language.offline") / "weights" / "answers.json").read_text(encoding="utf-8"))
    assert list(stored) == ["span", "path", "verdict", "confidence", "chain"]
    monkeypatch.setitem(answer_weights.NUMBERS, "span", ("length",))
    stored_weights.cache_clear()
    with pytest.raises(ValueError, match="weights of span were fitted to other numbers"):
        stored_weights()
    stored_weights.cache_clear()
