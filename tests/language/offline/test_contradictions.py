"""Documents that contradict each other: the later one holds where dates tell, else all are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hoptrail import Index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import AnswerKind, Block, BlockKind, Unit
from language.offline.outcomes import given
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
DEPOSIT = "What is the deposit for the rowing boat?"
BOTH = {DEPOSIT: {"20 euros": 14.0, "35 euros": 13.8}}


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
def test_of_two_undated_documents_that_differ_both_are_given(prices: tuple[Unit, Unit], order: int) -> None:
    found = read(DEPOSIT, *prices[::order])
    assert found.kind is AnswerKind.LIST
    assert sorted(found.items) == ["20 euros (Leaflet)", "35 euros (Handbook)"]
    assert found.answer == "; ".join(found.items)
    assert {span.document for span in found.steps[-1].support} == {unit.document for unit in prices}


def test_all_together_are_no_likelier_than_the_likeliest(prices: tuple[Unit, Unit]) -> None:
    """Neither may answer the question."""
    unlikely = {DEPOSIT: {"20 euros": 1.0, "35 euros": 0.9}}
    together, *alone = (read(DEPOSIT, *units, script=unlikely).confidence for units in (prices, prices[:1], prices[1:]))
    assert 0 < together < 1.2 * max(alone)


def test_one_of_them_alone_settles_it(prices: tuple[Unit, Unit]) -> None:
    assert given(read(DEPOSIT, prices[0])) == "20 euros"
    assert given(read(DEPOSIT, prices[1])) == "35 euros"


def test_a_date_on_one_of_them_tells_nothing(prices: tuple[Unit, Unit]) -> None:
    one = read(DEPOSIT, dated(prices[0], "2024-05-01"), prices[1])
    other = read(DEPOSIT, prices[0], dated(prices[1], "2024-05-01"))
    assert len(one.items) == len(other.items) == 2


@pytest.mark.parametrize(("one", "other", "answer"), [("2023", "2024", "35 euros"), ("2024", "2023", "20 euros")])
def test_the_later_one_holds(prices: tuple[Unit, Unit], one: str, other: str, answer: str) -> None:
    assert given(read(DEPOSIT, dated(prices[0], one), dated(prices[1], other))) == answer


def test_documents_that_agree_are_no_contradiction(passage: MakeUnit) -> None:
    texts = ("The deposit for the rowing boat is 20 euros.", "The deposit for the rowing boat is 20 euros, as ever.")
    assert given(read(DEPOSIT, *(passage(str(at), text) for at, text in enumerate(texts)))) == "20 euros"


def test_what_is_said_of_another_thing_is_no_contradiction(passage: MakeUnit) -> None:
    units = (
        passage("Leaflet", "The deposit for the rowing boat is 20 euros."),
        passage("Handbook", "The deposit for the ladder is 35 euros."),
    )
    assert given(read(DEPOSIT, *units)) == "20 euros"


def test_one_document_may_say_two_things(passage: MakeUnit) -> None:
    unit = passage("Log", "The deposit for the rowing boat is 20 euros. The deposit for the rowing boat is 35 euros.")
    assert given(read(DEPOSIT, unit)) == "20 euros"


def test_of_lines_of_two_documents_that_differ_both_are_given(passage: MakeUnit) -> None:
    question = "What is the capacity of the Gull?"
    one, other = passage("The Gull", "Capacity: 12 persons"), passage("The Gull", "Capacity: 14 persons")
    script = {question: {"12 persons": 14.0, "14 persons": 14.0}}
    assert sorted(read(question, one, other, script=script).items) == ["12 persons", "14 persons"]
    assert given(read(question, one, script=script)) == "12 persons"


def test_both_are_cited_where_documents_differ(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "leaflet.md").write_text("The deposit for the rowing boat is 20 euros.\n", encoding="utf-8")
    (folder / "handbook.md").write_text("The deposit for the rowing boat is 35 euros.\n", encoding="utf-8")
    (folder / "other.md").write_text("The ferry leaves at nine. The slip is behind the shed.\n", encoding="utf-8")
    index = Index(tmp_path / "index")
    index.add(folder, "trail")
    answer = index.ask(DEPOSIT, recipe="trail")
    evidence = answer.evidence if answer.guess is None else answer.guess.evidence
    shown = " ".join(one.text for one in evidence)
    assert "20 euros" in shown
    assert "35 euros" in shown


@pytest.mark.parametrize("order", [1, -1])
def test_the_later_reason_holds_and_a_later_statement_of_something_else_is_none(passage: MakeUnit, order: int) -> None:
    question = "Why does the display of the Heron fog up?"
    cause = dated(passage("Faults", "The display of the Heron fogs up because the membrane was glued wrongly."), "2023")
    returns = dated(
        passage("Minutes", "Heron: fogged up displays came back, and Callum swaps them free of charge."), "2024"
    )
    assert given(read(question, *(cause, returns)[::order], script={})) == cause.text
    later = dated(passage("Faults", "The display of the Heron fogs up because the membrane was cut wrongly."), "2025")
    told = read(question, *(cause, later)[::order], script={})
    assert told.answer == later.text
    assert [span.replaced for span in told.steps[0].support] == [False, True]
