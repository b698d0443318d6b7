"""Dates and places of birth and death in the parenthesis after a name."""

from __future__ import annotations

import pytest

from hoptrail.text.mentions import find_mentions
from hoptrail_papers.comprag.sentence_triples import life_roles


def roles(text: str) -> dict[str, str]:
    mentions = find_mentions(text)
    named = {mention.start: mention.text for mention in mentions}
    return {named[start]: role for start, role in life_roles(text, mentions).items()}


@pytest.mark.parametrize(
    ("text", "birth", "death"),
    [
        ("Ida Berg (3 May 1850 – 12 June 1921) was a pilot.", {"3 May 1850"}, {"12 June 1921"}),
        (
            "Ida Berg (Dunmere, 3 May 1850 – Arden, 12 June 1921) was a pilot.",
            {"Dunmere", "3 May 1850"},
            {"Arden", "12 June 1921"},
        ),
        ("Ida Berg MP (I) (3 May 1850 – 12 June 1921) was a pilot.", {"3 May 1850"}, {"12 June 1921"}),
        ("Ida Berg (3 May 1850 12 June 1921) was a pilot.", {"3 May 1850"}, {"12 June 1921"}),
        ("Ida Berg (born 3 May 1850) is a pilot.", {"3 May 1850"}, set()),
        ("Ida Berg (died 12 June 1921) was a pilot.", set(), {"12 June 1921"}),
        ("The Gull (3 May 1850) is a boat.", set(), set()),
        ("Ida Berg was born on 3 May 1850.", set(), set()),
    ],
)
def test_birth_stands_before_the_dash_and_death_after_it(text: str, birth: set[str], death: set[str]) -> None:
    role_by_name = roles(text)
    assert {name for name, role in role_by_name.items() if role == "birth"} == birth
    assert {name for name, role in role_by_name.items() if role == "death"} == death


@pytest.mark.parametrize(
    "text",
    [
        "The Arden Cup (won in 1990 and 1995) is silver.",
        "Max Holm (1990, 1995) won it.",
        "Ida Berg (pilot) married Bo Lunt (1850 – 1921) in Arden.",
    ],
)
def test_lists_of_years_and_the_lives_of_others_are_no_lives(text: str) -> None:
    assert life_roles(text, find_mentions(text)) == {}
