"""Documents that contradict each other: the later one holds where dates tell, else the question is left open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hoptrail import Index
from hoptrail.documents.blocks import Piece
from hoptrail.documents.splitting import passages
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import Block, BlockKind, Unit
from language.offline.scripted_reader import ScriptedReader
from pieces import document_of

MakeUnit = Callable[[str, str], Unit]
DEPOSIT = "What is the deposit for the rowing boat?"
BOTH = {DEPOSIT: {"20 euros": 5.0, "35 euros": 4.0}}


def read(question: str, *units: Unit, script: dict[str, dict[str, float]] | None = None) -> Reading:
    reader = ScriptedReader(BOTH if script is None else script, {"glued": 8.0, "cut": 8.0})
    return OfflineLanguage(None, OfflineSettings(), reader).perform(Read(question, units)).value


def dated(unit: Unit, date: str) -> Unit:
    start = unit.sources[0].start
    block = Block(BlockKind.PARAGRAPH, start, start + len(unit.text), ("Notes",), date=date)
    return replace(unit, blocks=(block,))


@pytest.fixture
def prices(passage: MakeUnit) -> tuple[Unit, Unit]:
    return (
        passage("Leaflet", "The deposit for the rowing boat is 20 euros."),
        passage("Handbook", "The deposit for the rowing boat is 35 euros."),
    )


@pytest.mark.parametrize("order", [1, -1])
def test_two_undated_documents_that_differ_settle_nothing(prices: tuple[Unit, Unit], order: int) -> None:
    assert read(DEPOSIT, *prices[::order]).answer is None


def test_one_of_them_alone_settles_it(prices: tuple[Unit, Unit]) -> None:
    assert read(DEPOSIT, prices[0]).answer == "20 euros"
    assert read(DEPOSIT, prices[1]).answer == "35 euros"


def test_a_date_on_one_of_them_tells_nothing(prices: tuple[Unit, Unit]) -> None:
    assert read(DEPOSIT, dated(prices[0], "2024-05-01"), prices[1]).answer is None
    assert read(DEPOSIT, prices[0], dated(prices[1], "2024-05-01")).answer is None


@pytest.mark.parametrize(("one", "other", "answer"), [("2023", "2024", "35 euros"), ("2024", "2023", "20 euros")])
def test_the_later_one_holds(prices: tuple[Unit, Unit], one: str, other: str, answer: str) -> None:
    assert read(DEPOSIT, dated(prices[0], one), dated(prices[1], other)).answer == answer


def test_what_holds_now_is_said_by_the_later_one_in_other_words(passage: MakeUnit) -> None:
    old = dated(passage("Rules", "Whoever asks for the rowing boat leaves a deposit of 20 euros in the box."), "2021")
    new = dated(passage("Board", "Rowing boat: the deposit rises to 35 euros; three members were against."), "2024")
    asked = "What deposit does the rowing boat need now?"
    script = {one: {"20 euros": 5.0, "35 euros": 0.0} for one in (asked, DEPOSIT)}
    assert read(asked, old, new, script=script).answer == "35 euros"
    assert read(DEPOSIT, old, new, script=script).answer == "20 euros", "nothing tells that both say the same"


@pytest.mark.parametrize(
    ("asked", "decided", "answer"),
    [
        ("What is the deposit for the rowing boat now?", "2024-09-09", "35 euros"),
        ("What is the deposit for the rowing boat now?", "2023-09-09", "20 euros"),
        ("What was the deposit for the rowing boat?", "2024-09-09", "20 euros"),
    ],
)
def test_what_holds_now_is_said_by_a_text_that_is_later_than_the_table(
    asked: str, decided: str, answer: str, passage: MakeUnit
) -> None:
    rows = [(("", "Boat"), ("", "Deposit")), (("Boat", "rowing boat"), ("Deposit", "20 euros"))]
    pieces = [Piece(BlockKind.ROW, level=int(not at), cells=cells) for at, cells in enumerate(rows)]
    (table,) = passages(document_of("Prices from 2024-04-01", pieces))
    minutes = dated(passage("Board", "The rowing boat: deposit up to 35 euros; three were against."), decided)
    script = {asked: {"35 euros": 5.0}}
    assert read(asked, table, minutes, script=script).answer == answer


def test_documents_that_agree_are_no_contradiction(passage: MakeUnit) -> None:
    texts = ("The deposit for the rowing boat is 20 euros.", "The deposit for the rowing boat is 20 euros, as ever.")
    assert read(DEPOSIT, *(passage(str(at), text) for at, text in enumerate(texts))).answer == "20 euros"


def test_what_is_said_of_another_thing_is_no_contradiction(passage: MakeUnit) -> None:
    units = (
        passage("Leaflet", "The deposit for the rowing boat is 20 euros."),
        passage("Handbook", "The deposit for the ladder is 35 euros."),
    )
    assert read(DEPOSIT, *units).answer == "20 euros"


def test_one_document_may_say_two_things(passage: MakeUnit) -> None:
    unit = passage("Log", "The deposit for the rowing boat is 20 euros. The deposit for the rowing boat is 35 euros.")
    assert read(DEPOSIT, unit).answer == "20 euros"


def test_lines_of_two_documents_that_differ_settle_nothing(passage: MakeUnit) -> None:
    question = "What is the capacity of the Gull?"
    one, other = passage("The Gull", "Capacity: 12 persons"), passage("The Gull", "Capacity: 14 persons")
    script: dict[str, dict[str, float]] = {question: {"12 persons": 5.0}}
    assert read(question, one, other, script=script).answer is None
    assert read(question, one, script=script).answer == "12 persons"


@pytest.mark.parametrize("order", [1, -1])
def test_an_assertion_and_its_denial_settle_nothing(passage: MakeUnit, order: int) -> None:
    question = "Are dogs allowed in the boathouse?"
    yes = passage("Leaflet", "Dogs are welcome in the boathouse.")
    no = passage("Rules", "Dogs are not admitted to the boathouse.")
    assert read(question, yes, script={}).answer == "yes"
    assert read(question, no, script={}).answer == "no"
    assert read(question, *(yes, no)[::order], script={}).answer is None
    assert read(question, dated(yes, "2023"), dated(no, "2024"), script={}).answer == "no"
    assert read(question, dated(yes, "2024"), dated(no, "2023"), script={}).answer == "yes"


def test_both_are_shown_where_nothing_is_settled(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "leaflet.md").write_text("The deposit for the rowing boat is 20 euros.\n", encoding="utf-8")
    (folder / "handbook.md").write_text("The deposit for the rowing boat is 35 euros.\n", encoding="utf-8")
    (folder / "other.md").write_text("The ferry leaves at nine. The slip is behind the shed.\n", encoding="utf-8")
    index = Index(tmp_path / "index")
    index.add(folder, "trail")
    answer = index.ask(DEPOSIT, recipe="trail")
    assert answer.text is None
    shown = " ".join(one.text for one in answer.closest)
    assert "20 euros" in shown
    assert "35 euros" in shown


@pytest.mark.parametrize("order", [1, -1])
def test_the_later_reason_holds_and_a_later_statement_of_something_else_is_none(passage: MakeUnit, order: int) -> None:
    question = "Why does the display of the Heron fog up?"
    cause = dated(passage("Faults", "The display of the Heron fogs up because the membrane was glued wrongly."), "2023")
    returns = dated(
        passage("Minutes", "Heron: fogged up displays came back, and Callum swaps them free of charge."), "2024"
    )
    assert read(question, *(cause, returns)[::order], script={}).answer == cause.text
    later = dated(passage("Faults", "The display of the Heron fogs up because the membrane was cut wrongly."), "2025")
    told = read(question, *(cause, later)[::order], script={})
    assert told.answer == later.text
    assert [span.replaced for span in told.steps[0].support] == [False, True]
