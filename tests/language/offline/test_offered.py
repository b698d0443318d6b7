"""Two things are offered and one is asked for: where the sides begin, and what their values say."""

from __future__ import annotations

import pytest

from hoptrail.documents.blocks import Piece, assemble, ends_within
from hoptrail.documents.splitting import passages
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.questions.choices import find_choice
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import BlockKind, Document, Unit, content_id


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Which quote was cheaper, Alder or Birch?", ("Alder", "Birch")),
        ("which takes longer the mill tour or the bread course", ("the mill tour", "the bread course")),
        ("Was the rent lower with the first lease or with the new lease?", ("the first lease", "the new lease")),
        ("Is the weir or the sluice older?", ("the weir", "the sluice")),
        (
            "Which film came out first, Murder, She Said or On Body and Soul (1940 film)?",
            ("Murder, She Said", "On Body and Soul (1940 film)"),
        ),
        ("Who is older than the other, Ada Lunt or Bo Marsh?", ("Ada Lunt", "Bo Marsh")),
        ("Which is older between Foss Light and Arden Light?", ("Foss Light", "Arden Light")),
        ("the old weir or the sluice, which is older?", ("the old weir", "the sluice")),
        ("Did Gull or Tern carry more herring this year?", ("Gull", "Tern")),
        ("Which is longer, Gull or Tern, if the bowsprit counts?", ("Gull", "Tern")),
        ("Did Ada Lunt or Bo Marsh draw the mill?", ("Ada Lunt", "Bo Marsh")),
    ],
)
def test_the_sides_of_a_choice_need_no_capitals(question: str, sides: tuple[str, str]) -> None:
    offered = find_choice(question)
    assert offered is not None
    assert offered.sides == sides


@pytest.mark.parametrize(
    "question",
    [
        "Who owns the mill?",
        "Do you take cards or cash?",
        "Is the weir older?",
        "Who has more than two keys or a fob?",
        "Who ran the mill between the first war and the second?",
    ],
)
def test_what_offers_no_sides_is_no_choice(question: str) -> None:
    assert find_choice(question) is None


HEADERS = ("Name", "Built", "Keeper since")
ROWS = (("Weir", "1788", "2019-04"), ("Sluice", "1834", "2021-02"), ("Tower", "2021", "2021-02-07"))
PIECES = [
    Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in HEADERS)),
    *(Piece(BlockKind.ROW, cells=tuple(zip(HEADERS, row, strict=True))) for row in ROWS),
    Piece(BlockKind.PARAGRAPH, "The mill tour takes 35 minutes, the bread course 90."),
    Piece(BlockKind.PARAGRAPH, "Alder asks 12,400 for the new shaft. Birch 9,950 all in."),
    Piece(BlockKind.PARAGRAPH, "The cart weighs 3 tonnes, the barge 40 metres."),
    Piece(BlockKind.PARAGRAPH, "Ada Lunt was here in 1931. Bo Marsh was born in 1907."),
    Piece(BlockKind.ROW, level=1, cells=(("", "Beam"), ("", "Moisture"))),
    Piece(BlockKind.ROW, cells=(("Beam", "Barn, yard side"), ("Moisture", "31 %"))),
    Piece(BlockKind.ROW, cells=(("Beam", "Barn, lane side"), ("Moisture", "19 %"))),
    Piece(BlockKind.ROW, level=1, cells=(("", "Expense"), ("", "2022"), ("", "2023"))),
    Piece(BlockKind.ROW, cells=(("Expense", "Heating oil"), ("2022", "8950"), ("2023", "7740"))),
    Piece(BlockKind.ROW, cells=(("Expense", "Total"), ("2022", "19000"), ("2023", "21500"))),
]


def units() -> tuple[Unit, ...]:
    parsed = assemble("The new shaft", PIECES)
    ends = ends_within(parsed.text, parsed.blocks, 1000)
    document = Document(content_id("d", parsed.text), "The new shaft", parsed.text, ends, ("/x",), blocks=parsed.blocks)
    return passages(document)


def read(question: str) -> Reading:
    return OfflineLanguage().perform(Read(question, units())).value


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which takes longer the mill tour or the bread course", "the bread course"),
        ("Which shaft was cheaper, Alder or Birch?", "Birch"),
        ("Is the weir or the sluice older?", "the weir"),
        ("Where was the barn wetter, on the lane side or on the yard side?", "the yard side"),
        ("did the heating oil cost more in 2022 or in 2023", "2022"),
    ],
)
def test_the_values_of_both_sides_decide(question: str, answer: str) -> None:
    found = read(question)
    assert found.answer == answer
    assert len(found.steps[-1].support) >= 1


def test_values_that_cannot_be_compared_decide_nothing() -> None:
    assert read("which is heavier, the cart or the barge").answer is None, "tonnes and metres"
    assert read("Who is older, Ada Lunt or Bo Marsh?").answer is None, "when Ada was born is not said"


def test_a_clause_about_the_first_side_is_no_side() -> None:
    assert find_choice("Is the Tern, built in 1901, or the Gull older?") is None
