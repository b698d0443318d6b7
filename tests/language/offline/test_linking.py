"""Two statements that answer together: which pairs are read, and what is made of the readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hoptrail.language.offline.concluding import options, study
from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.linking import find_links
from hoptrail.language.offline.reading import Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.sheets import sheet_of
from hoptrail.text.words import content_stems
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
SETTINGS = OfflineSettings()
QUESTION = "On which pier does the keeper of the Gull live?"


def harbour(passage: MakeUnit) -> tuple[Unit, ...]:
    return (
        passage("Boats", "The keeper of the Gull is Ida Berg. The Tern has no keeper."),
        passage("Houses", "Ida Berg lives on the north pier. Bo Marsh lives on the south pier."),
        passage("Weather", "It rains on most days of the year."),
    )


def found_by(units: tuple[Unit, ...], script: Mapping[str, Mapping[str, float]]) -> tuple[ScriptedReader, Reader]:
    model = ScriptedReader(script)
    return model, Reader(open_evidence(units, SETTINGS), model, SETTINGS)


def test_a_link_joins_statements_that_each_say_a_part_and_share_a_rare_word(passage: MakeUnit) -> None:
    sheets = [sheet_of(unit, SETTINGS.unit_characters) for unit in harbour(passage)]
    best = find_links(content_stems(QUESTION), sheets)[0]
    assert best.part.said.said == "The keeper of the Gull is Ida Berg."
    assert best.rank == 1
    assert best.shared == content_stems("Ida Berg")
    assert 0 < best.gain < best.covered <= 1


def test_nothing_is_linked_where_one_statement_says_it_all(passage: MakeUnit) -> None:
    units = (
        passage("Boats", "The keeper of the Gull lives on the north pier with Ida Berg."),
        passage("People", "Ida Berg sings."),
    )
    sheets = [sheet_of(unit, SETTINGS.unit_characters) for unit in units]
    assert find_links(content_stems(QUESTION), sheets) == []


def test_the_second_page_is_read_after_the_first_statement_and_both_are_cited(passage: MakeUnit) -> None:
    units = harbour(passage)
    model, reader = found_by(units, {QUESTION: {"north pier": 4.0}})
    (best, *_) = reader.linked(QUESTION)
    assert best.found.answer == "north pier"
    assert best.is_stated
    cited = {
        unit.text[span.start - 7 : span.end - 7]
        for span in best.found.support
        for unit in units
        if unit.sources[0].document == span.document
    }
    assert cited == {"The keeper of the Gull is Ida Berg.", "Ida Berg lives on the north pier."}
    assert {"Boats\nThe keeper of the Gull is Ida Berg."} <= {asked.before for asked in model.asked}


def test_an_answer_that_several_ways_give_is_one_option_and_says_so(passage: MakeUnit) -> None:
    evidence = open_evidence(harbour(passage), SETTINGS)
    script = {
        QUESTION: {"north pier": 4.0},
        "Who is the keeper of the Gull?": {"Ida Berg": 5.0},
        "On which pier does Ida Berg live?": {"north pier": 5.0},
    }
    (option,) = options(study(QUESTION, evidence, Reader(evidence, ScriptedReader(script), SETTINGS), SETTINGS))
    assert option.answer == "north pier"
    assert option.evidence.agreed == 2
    assert option.evidence.against == 0


def test_ways_that_disagree_are_options_beside_one_another(passage: MakeUnit) -> None:
    evidence = open_evidence(harbour(passage), SETTINGS)
    script = {
        QUESTION: {"south pier": 4.0},
        "Who is the keeper of the Gull?": {"Ida Berg": 5.0},
        "On which pier does Ida Berg live?": {"north pier": 5.0},
    }
    found = options(study(QUESTION, evidence, Reader(evidence, ScriptedReader(script), SETTINGS), SETTINGS))
    assert {one.answer: (one.evidence.agreed, one.evidence.against) for one in found} == {
        "north pier": (0.0, 2.0),
        "south pier": (1.0, 1.0),
    }
