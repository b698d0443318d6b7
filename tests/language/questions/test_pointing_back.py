"""When a sub-question points back, and when its completion may be taken."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.references import is_completion, is_left_open, points_back, word_references
from hoptrail.language.tasks import Finding


def after(question: str, answer: str | None = "Orla Finch") -> tuple[Finding, ...]:
    return (Finding(question, question, answer),)


@pytest.mark.parametrize(
    "question",
    [
        "Where is the hometown of this author?",
        "THIS author was born where?",
        "In which region of Norland does this place lie?",
        "How many people live in that town?",
        "Where was she born?",
        "Which band did he leave for the Larks?",
        "What is its length?",
        "#1 >> spouse",
        "Who married #1 in Lindeth?",
    ],
)
def test_words_that_point_back(question: str) -> None:
    assert points_back(question, after("Who wrote The Saltwife?"))


@pytest.mark.parametrize(
    "question",
    [
        "Where did Martin die?",
        "Which other theory is whether bathers hold out?",
        "Which river that flows through Lindeth is longest?",
        "Did Martin ever meet his brother?",
        "Where was the author of The Saltwife born?",
        "",
        "?",
    ],
)
def test_words_that_stand_alone(question: str) -> None:
    """Neither a word inside another nor a pronoun with its own name before it, nor a clause, points back."""
    assert not points_back(question, after("Who wrote The Saltwife?"))


def test_a_description_points_back_where_nothing_is_named() -> None:
    assert points_back("When was the city founded?", after("Where was Martin born?"))
    assert points_back("How long is the old bridge?", after("Which bridge did Orla Finch design?"))
    assert not points_back("When was the Tallow Bridge founded?", after("Where was Martin born?"))


def test_the_first_sub_question_never_points_back() -> None:
    assert not points_back("Where was she born?", ())


@pytest.mark.parametrize(
    ("completed", "taken"),
    [
        ("Which region of Norland is Dunmere Bay in?", True),
        ("Which region of NORLAND holds Dunmere?", True),
        ("Which region is Dunmere Bay in?", False),  # loses Norland
        ("Which region of Norland is this place in?", False),  # adds nothing
        ("Which region of Norland is Lindeth in?", False),  # adds what no answer said
        ("", False),
    ],
)
def test_a_completion_keeps_names_and_adds_an_answer(completed: str, *, taken: bool) -> None:
    findings = after("Where did they land?", "Dunmere Bay")
    assert is_completion("Which region of Norland is this place in?", completed, findings) is taken


def test_without_an_answer_nothing_is_a_completion() -> None:
    assert not is_completion("Where was she born?", "Where was Orla Finch born?", after("Who was it?", None))
    assert not is_completion("Where was she born?", "Where was the she born?", after("Who was it?", "The"))


@pytest.mark.parametrize(
    ("earlier", "question", "expected"),
    [
        ("Who is the author of The Saltwife?", "Where is the hometown of #1?", "Where is the hometown of this author?"),
        ("Who wrote The Saltwife?", "Where was #1 born?", "Where was this person born?"),
        ("In which town was Ann Lee born?", "Which river flows through #1?", "Which river flows through this town?"),
        ("Where was Ann Lee born?", "Which river flows through #1?", "Which river flows through this place?"),
        ("What did Ann Lee build?", "How high is #1?", "How high is this thing?"),
        ("Who wrote it?", "Was #2 there?", "Was #2 there?"),
    ],
)
def test_numbers_are_worded_as_people_word_them(earlier: str, question: str, expected: str) -> None:
    assert word_references(question, [earlier]) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Where was she born?",
        "Who married #1?",
        "In which region does this place lie?",
        "Is it long?",
        "Did he know Martin?",
    ],
)
def test_a_question_that_still_points_back_is_left_open(question: str) -> None:
    assert is_left_open(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where was Orla Finch born?",
        "When was the city founded?",
        "Is it true that Orla Finch was born in Lindeth?",
        "Is it allowed to moor at the Tallow Bridge?",
        "What is it that Orla Finch designed?",
        "Did Martin ever meet his brother?",
    ],
)
def test_filler_and_descriptions_leave_nothing_open(question: str) -> None:
    assert not is_left_open(question)
