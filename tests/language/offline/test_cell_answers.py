"""Answers that stand in a cell: which cell fits, which do not, and rows that say different things."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece, assemble, ends_within
from hoptrail.documents.splitting import passages
from hoptrail.language.offline.cell_answers import CellAnswer, best_cell
from hoptrail.text.questions import analyse
from hoptrail.types import BlockKind, Document, Unit, content_id

FLEET = (
    ("Boat", "Skipper", "Berth", "Length", "Built"),
    ("Gull", "Ida Berg", "North 3", "12 m", "1931"),
    ("Tern", "Bo Marsh", "South 1", "9 m", "1954-05-02"),
)


def table(*rows: tuple[str, ...]) -> list[Piece]:
    headers, *body = rows
    first = Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in headers))
    return [first, *(Piece(BlockKind.ROW, cells=tuple(zip(headers, row, strict=True))) for row in body)]


def units(title: str, *pieces: Piece) -> tuple[Unit, ...]:
    parsed = assemble(title, list(pieces))
    ends = ends_within(parsed.text, parsed.blocks, 1000)
    return passages(
        Document(content_id("d", title, parsed.text), title, parsed.text, ends, ("/x",), blocks=parsed.blocks)
    )


def found(question: str, evidence: tuple[Unit, ...], avoid: frozenset[str] = frozenset()) -> CellAnswer | None:
    asked = analyse(question)
    assert asked is not None
    return best_cell(asked, evidence, avoid)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Who is the skipper of the Gull?", "Ida Berg"),
        ("What is the berth of the Tern?", "South 1"),
        ("What is the length of the Tern?", "9 m"),
        ("When was the Tern built?", "1954-05-02"),
        ("When was the Gull built?", "1931"),
        ("Who is the skipper of the Kite?", None),
        ("What is the price of the Gull?", None),
        ("When was the skipper of the Gull born?", None),
    ],
)
def test_a_cell_is_of_its_row_and_of_what_is_asked(question: str, value: str | None) -> None:
    cell = found(question, units("Fleet", *table(*FLEET)))
    assert (cell.value if cell else None) == value
    assert cell is None or not cell.contested


@pytest.mark.parametrize(
    ("line", "question", "value"),
    [
        ("Skipper: Ida Berg (since May), mate Bo Marsh", "Who is the skipper of the Gull?", "Ida Berg"),
        (
            "Deposit: 40 pounds on the boat, 5 pounds on the oars",
            "What is the deposit of the Gull on the oars?",
            "5 pounds on the oars",
        ),
        ("Counter: 4531 when the Gull was sold", "How old was the Gull when it was sold?", None),
        ("Draught: see below", "How much is the draught of the Gull?", None),
        ("The Gull leaves at nine", "When does the Gull leave?", None),
    ],
)
def test_a_line_with_a_key_says_its_value(line: str, question: str, value: str | None) -> None:
    cell = found(question, units("The Gull", Piece(BlockKind.PARAGRAPH, line)))
    assert (cell.value if cell else None) == value


def test_a_name_to_avoid_is_no_value() -> None:
    fleet = units("Fleet", *table(*FLEET))
    assert found("Who is the skipper of the Gull?", fleet, frozenset({"ida", "berg"})) is None


def test_two_rows_that_fit_alike_choose_none() -> None:
    rows = (("Boat", "Berth"), ("Gull one", "North 3"), ("Gull two", "South 1"))
    assert found("What is the berth of the Gull?", units("Fleet", *table(*rows))) is None


def minutes(date: str, fee: str) -> tuple[Unit, ...]:
    heading = Piece(BlockKind.HEADING, f"Minutes {date}".strip(), 1)
    return units("Harbour board", heading, Piece(BlockKind.PARAGRAPH, f"Berth fee: {fee}"))


@pytest.mark.parametrize(
    ("dates", "value", "contested"),
    [
        (("2023-04-11", "2024-05-06"), "34 pounds", False),
        (("2024-05-06", "2023-04-11"), "30 pounds", False),
        (("", ""), "30 pounds", True),
        (("2023-04-11", ""), "30 pounds", True),
    ],
)
def test_the_later_of_two_values_holds_and_undated_ones_are_contested(
    dates: tuple[str, str], value: str, *, contested: bool
) -> None:
    first, second = minutes(dates[0], "30 pounds"), minutes(dates[1], "34 pounds")
    cell = found("What is the berth fee of the harbour board?", (*first, *second))
    assert cell is not None
    assert cell.contested is contested
    assert contested or cell.value == value
    assert {span.document for span in cell.support} == {first[0].document, second[0].document}
