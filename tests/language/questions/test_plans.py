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
    assert make_plan(question, MOST, LONGEST, ("Tea and Salt",)).questions == (
        "Who is the star of Tea and Salt?",
        "What is the town where Tea and Salt was made?",
        "Did #1 die in #2?",
    )


def test_names_in_quotation_marks_are_no_owners() -> None:
    planned = make_plan("Where was the author of 'The Goose' born?", MOST, LONGEST, ("The Goose",))
    assert planned == make_plan("Where was the author of 'The Goose' born?", MOST, LONGEST)


def test_an_owner_that_ends_in_s_stays_one() -> None:
    planned = make_plan("Where did Peter and Paul Fortress' designer die?", MOST, LONGEST, ("Peter and Paul Fortress",))
    assert planned.questions == ("Who is the designer of Peter and Paul Fortress?", "Where did #1 die?")


def test_the_sides_of_a_comparison_are_whole_names() -> None:
    names = ("Tea and Salt", "Ferry on Cold Water")
    planned = make_plan("Which film came out first, Tea and Salt or Ferry on Cold Water?", MOST, LONGEST, names)
    assert planned.comparison is not None
    assert planned.comparison.sides == names
    assert all(name in question for name, question in zip(names, planned.questions, strict=True))
    assert planned.conclude(("1951", "1949")) == "Ferry on Cold Water"


def test_both_words_of_a_name_are_not_two_sides() -> None:
    question = "Did the author of Tea and Salt die in Port Arden?"
    assert make_plan(question, MOST, LONGEST, ("Tea and Salt",)).questions == (
        "Who is the author of Tea and Salt?",
        "Did #1 die in Port Arden?",
    )


@pytest.mark.parametrize("title", ["Who Is She", "What Is"])
def test_a_title_that_begins_like_a_question_is_no_name(title: str) -> None:
    question = f"{title} the wife of the author of Tea Time?"
    assert make_plan(question, MOST, LONGEST, (title,)) == make_plan(question, MOST, LONGEST)


def test_a_question_with_the_word_used_meanwhile_keeps_it() -> None:
    question = "Where was the author of Xqk and Tea and Salt born?"
    assert make_plan(question, MOST, LONGEST, ("Tea and Salt",)) == make_plan(question, MOST, LONGEST)
