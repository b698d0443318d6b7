"""Two statements read as one: a link is a name that both have and the question lacks, rare ones first."""

from __future__ import annotations

from collections.abc import Callable

from hoptrail.language.offline.evidence import open_evidence
from hoptrail.language.offline.linking import links_between
from hoptrail.language.offline.reading import Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.sheets import sheet_of
from hoptrail.text.words import content_stems
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
SETTINGS = OfflineSettings()
QUESTION = "Which desk does the keeper of the harbour lamps use?"


def links(question: str, *units: Unit) -> list[tuple[str, str]]:
    """The statement read before, and the title of the page read after it."""
    sheets = [sheet_of(unit, SETTINGS.unit_characters) for unit in units]
    found = links_between(content_stems(question), sheets)
    return [(link.before.said.text, sheets[link.rank].unit.title) for link in found]


def test_a_statement_is_linked_to_the_page_that_says_the_rest(passage: MakeUnit) -> None:
    units = (
        passage("Duties", "The keeper of the harbour lamps is Ida Berg. Bo Marsh sweeps the quay."),
        passage("Rooms", "Ida Berg has the desk by the window."),
        passage("Boats", "The Gull is painted every year."),
    )
    assert links(QUESTION, *units)[0] == ("The keeper of the harbour lamps is Ida Berg.", "Rooms")


def test_a_name_of_the_question_links_nothing(passage: MakeUnit) -> None:
    units = (passage("Duties", "The keeper of the Gull sleeps."), passage("Rooms", "The Gull has a desk."))
    assert links("Which desk does the keeper of the Gull use?", *units) == []


def test_the_rarer_name_links_first(passage: MakeUnit) -> None:
    units = (
        passage("Duties", "The keeper of the harbour lamps is Ida Berg of Varden."),
        passage("Hall", "Varden has a desk in the hall."),
        passage("Rooms", "Ida Berg has a desk in the tower."),
        passage("Shop", "Varden sells ropes."),
    )
    assert [title for _, title in links(QUESTION, *units)][:2] == ["Rooms", "Hall"]


def test_the_reader_sees_the_statement_before_the_page_and_both_are_cited(passage: MakeUnit) -> None:
    units = (
        passage("Duties", "The keeper of the harbour lamps is Ida Berg."),
        passage("Rooms", "Ida Berg has the oak desk."),
    )
    model = ScriptedReader({QUESTION: {"oak desk": 5.0}})
    found = Reader(open_evidence(units, SETTINGS), model, SETTINGS).linked(QUESTION)
    assert [one.answer for one in found] == ["oak desk"]
    assert {span.document for span in found[0].support} == {span.document for unit in units for span in unit.sources}
    assert [pair.before for pair in model.asked if pair.text.startswith("Rooms") and pair.before] == [
        "Duties: The keeper of the harbour lamps is Ida Berg."
    ]
    assert found[0].covered > 0.5


def test_what_one_statement_says_alone_is_covered_by_it(passage: MakeUnit) -> None:
    units = (passage("Rooms", "Ida Berg, the keeper of the harbour lamps, uses the oak desk."),)
    model = ScriptedReader({QUESTION: {"oak desk": 5.0}})
    best = Reader(open_evidence(units, SETTINGS), model, SETTINGS).read(QUESTION)
    assert best is not None
    assert best.covered == 1.0
