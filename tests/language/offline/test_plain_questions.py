"""How readings of pages become answers: cells first, the question's own names never, later statements before earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hoptrail.language.offline.concluding import read_by_hops, study
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.page_reading import NoReader, ReadAnswer, Reader
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Read
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
SETTINGS = OfflineSettings()


def ranked(
    question: str, units: Sequence[Unit], answers: Mapping[str, float], avoid: Sequence[str] = ()
) -> list[ReadAnswer]:
    reader = Reader(open_evidence(units, SETTINGS), ScriptedReader({question: answers}), SETTINGS)
    return reader.ranked(question, avoid)


def test_answers_are_ordered_and_come_once(passage: MakeUnit) -> None:
    units = (
        passage("Gull", "The Gull was drawn by Ida Berg in Dunmere."),
        passage("Yard", "Ida Berg drew the Gull, and Bo Marsh built her."),
    )
    found = ranked("Who drew the Gull?", units, {"Ida Berg": 5.0, "Bo Marsh": 1.0})
    assert [one.answer for one in found] == ["Ida Berg", "Bo Marsh"]
    assert found[0].lead > 0 > found[1].lead
    assert found[0].support[0].document == units[1].document  # it says more of the question


def test_an_earlier_page_counts_for_more(passage: MakeUnit) -> None:
    units = (passage("One", "It was drawn by Ida Berg."), passage("Two", "It was drawn by Bo Marsh."))
    answers = {"Ida Berg": 3.0, "Bo Marsh": 3.0}
    assert ranked("Who drew the Gull?", units, answers)[0].answer == "Ida Berg"
    assert ranked("Who drew the Gull?", units[::-1], answers)[0].answer == "Bo Marsh"


def test_names_to_avoid_are_no_answers(passage: MakeUnit) -> None:
    units = (passage("Gull", "The Gull was drawn by Ida Berg."),)
    found = ranked("Who drew the Gull?", units, {"The Gull": 9.0, "Ida Berg": 0.0}, avoid=["the Gull"])
    assert [one.answer for one in found] == ["Ida Berg"]


def test_a_line_that_states_the_value_comes_before_what_a_text_may_mean(passage: MakeUnit) -> None:
    units = (
        passage("Log", "The crossing of the ferry took 40 minutes in the storm."),
        passage("The ferry", "Crossing time: 25 minutes"),
    )
    found = ranked("What is the crossing time of the ferry?", units, {"40 minutes": 9.0})
    assert [(one.answer, one.is_cell) for one in found] == [("25 minutes", True), ("40 minutes", False)]


def test_what_was_said_later_of_the_same_thing_holds_and_cites_both(passage: MakeUnit) -> None:
    units = (
        passage("Minutes of 2023-04-11", "The berth fee is 30 pounds."),
        passage("Minutes of 2024-05-06", "The berth fee is 34 pounds."),
    )
    best = ranked("How high is the berth fee?", units, {"30 pounds": 6.0, "34 pounds": 5.0})[0]
    assert best.answer == "34 pounds"
    assert {span.document for span in best.support} == {unit.document for unit in units}


def test_a_later_statement_of_something_else_changes_nothing(passage: MakeUnit) -> None:
    units = (
        passage("Minutes of 2023-04-11", "The berth fee is 30 pounds."),
        passage("Minutes of 2024-05-06", "For the new winch the yard wants 900 pounds in advance."),
    )
    best = ranked("How high is the berth fee?", units, {"30 pounds": 6.0, "900 pounds": 5.0})[0]
    assert best.answer == "30 pounds"


def test_a_choice_is_one_of_its_sides(passage: MakeUnit) -> None:
    units = (passage("Drinks", "Orrin Ale comes in glass, Kestrel Cider in tins; Bo Marsh likes both."),)
    question = "Which is bottled in glass, Kestrel Cider or Orrin Ale?"
    script = ScriptedReader({question: {"Bo Marsh": 9.0, "Orrin Ale": 4.0, "Kestrel Cider": 1.0}})
    evidence = open_evidence(units, SETTINGS)
    studied = study(question, Reader(evidence, script, SETTINGS))
    assert [one.answer for one in studied.at_once] == ["Orrin Ale", "Kestrel Cider"]


def test_a_doubtful_answer_is_not_given(passage: MakeUnit) -> None:
    units = (passage("Gull", "The Gull was drawn by Ida Berg."),)
    evidence = open_evidence(units, SETTINGS)
    sure, doubtful = (
        read_by_hops(
            "Who drew the Gull?",
            Reader(evidence, ScriptedReader({"Who drew the Gull?": {"Ida Berg": margin}}), SETTINGS),
        )
        for margin in (9.0, -25.0)
    )
    assert sure.answer == "Ida Berg"
    assert doubtful.answer is None or doubtful.confidence < sure.confidence / 2


def test_without_a_reader_only_what_is_stated_outright_is_answered(passage: MakeUnit) -> None:
    language = OfflineLanguage(settings=OfflineSettings(reader=False))
    units = (passage("The ferry", "Crossing time: 25 minutes"), passage("Gull", "The Gull was drawn by Ida Berg."))
    assert language.perform(Read("What is the crossing time of the ferry?", units)).value.answer == "25 minutes"
    assert language.perform(Read("Who drew the Gull?", units)).value.answer is None
    assert NoReader().read([]) == []
