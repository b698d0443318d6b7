"""Plans around names that must not be cut."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.plans import make_plan

MOST, LONGEST = 6, 300


@pytest.mark.parametrize(
    ("question", "name", "steps"),
    [
        (
            "What languages can the star of Ferry on Cold Water speak?",
            "Ferry on Cold Water",
            ("Who is the star of Ferry on Cold Water?", "What languages can #1 speak?"),
        ),
        (
            "Where was the author of Edda and the Rude, Loud, Awful Goose born?",
            "Edda and the Rude, Loud, Awful Goose",
            ("Who is the author of Edda and the Rude, Loud, Awful Goose?", "Where was #1 born?"),
        ),
        (
            "Where does the director of The Clerk Who Lost the Seal live?",
            "The Clerk Who Lost the Seal",
            ("Who is the director of The Clerk Who Lost the Seal?", "Where does #1 live?"),
        ),
        (
            "In which year did the maker of the Nord 1500 Gauge close?",
            "Nord 1500 Gauge",
            ("Who is the maker of the Nord 1500 Gauge?", "In which year did #1 close?"),
        ),
    ],
)
def test_a_known_name_is_never_cut(question: str, name: str, steps: tuple[str, ...]) -> None:
    assert make_plan(question, MOST, LONGEST, ("Harbour rules", name)).questions == steps
    assert make_plan(question, MOST, LONGEST).questions != steps


def test_the_longest_of_nested_names_counts() -> None:
    names = ("Cold Water", "Ferry on Cold Water", "Ferry on Cold Water Bay")
    planned = make_plan("Who is the wife of the star of Ferry on Cold Water Bay?", MOST, LONGEST, names)
    assert planned.questions == ("Who is the star of Ferry on Cold Water Bay?", "Who is the wife of #1?")


@pytest.mark.parametrize("name", ["Water", "the star", "Ferry on Cold Wat", "Ferry on the Cold Water"])
def test_other_titles_change_nothing(name: str) -> None:
    question = "What languages can the star of Ferry on Cold Water speak?"
    assert make_plan(question, MOST, LONGEST, (name,)) == make_plan(question, MOST, LONGEST)


def test_a_name_that_occurs_twice_is_put_back_twice() -> None:
    question = "Did the star of Tea and Salt die in the town where Tea and Salt was made?"
    assert "Xq" not in " ".join(make_plan(question, MOST, LONGEST, ("Tea and Salt",)).questions)
