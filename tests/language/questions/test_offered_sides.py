"""Two things are offered and one is asked for: where the sides begin, and what their values say."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.comparisons import find_choice


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


def test_a_clause_about_the_first_side_is_no_side() -> None:
    assert find_choice("Is the Tern, built in 1901, or the Gull older?") is None
