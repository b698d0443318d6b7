"""Plans of questions: every step is a piece of the question, from the inside out, or one of two that tell a relative."""

from __future__ import annotations

import re

import pytest
from training.question_rows import judged

from hoptrail.language.questions.plans import make_plan
from hoptrail.models.question_tagger import QuestionForm
from hoptrail.text.lexicon import RELATIVES

MOST, LONGEST = 6, 300

CHAINS = {
    "Where was the inventor of the Halden Valve born?": (
        "Who is the inventor of the Halden Valve?",
        "Where was #1 born?",
    ),
    "In which hills does the river that flows through the birthplace of the Tallow Bridge's designer rise?": (
        "Who is the Tallow Bridge's designer?",
        "What is the birthplace of #1?",
        "What is the river that flows through #2?",
        "In which hills does #3 rise?",
    ),
    "What is the capital of the country where the founder of the company that makes Kestrel Cider was born?": (
        "What is the company that makes Kestrel Cider?",
        "Who is the founder of #1?",
        "What is the country where #2 was born?",
        "What is the capital of #3?",
    ),
    "On which hill does the stream that flows past the mill where the painter of The Grey Hen died rise?": (
        "Who is the painter of The Grey Hen?",
        "What is the mill where #1 died?",
        "What is the stream that flows past #2?",
        "On which hill does #3 rise?",
    ),
    "Who is the mother of the playwright whose play opened the theatre that Ada Lunt built?": (
        "What is the theatre that Ada Lunt built?",
        "Who is the playwright whose play opened #1?",
        "Who is the mother of #2?",
    ),
    "Did the author of Tea and Salt die in Port Arden?": (
        "Who is the author of Tea and Salt?",
        "Did #1 die in Port Arden?",
    ),
    "Since when has the manager of the Foss evening been a member?": (
        "Who is the manager of the Foss evening?",
        "Since when has #1 been a member?",
    ),
    "Which stadium lies in the city where the striker who scored for Port Arden was born?": (
        "Who is the striker who scored for Port Arden?",
        "What is the city where #1 was born?",
        "Which stadium lies in #2?",
    ),
    "When was the firm that bottles Kestrel Cider founded?": (
        "What is the firm that bottles Kestrel Cider?",
        "When was #1 founded?",
    ),
    "Where was the author of Edda and the Rude, Loud, Awful Goose born?": (
        "Who is the author of Edda and the Rude, Loud, Awful Goose?",
        "Where was #1 born?",
    ),
    "What nationality is the director of film The Tarn Bridge (1962 Film)?": (
        "Who is the director of film The Tarn Bridge (1962 Film)?",
        "What nationality is #1?",
    ),
    "Who is the mother-in-law of Ada Lunt?": (
        "Who is the spouse of Ada Lunt?",
        "Who is the mother of #1?",
    ),
    "Who is Bo Lind's paternal grandmother?": (
        "Who is Bo Lind's father?",
        "Who is #1's mother?",
    ),
    "Where was Bo Lind's uncle born?": (
        "Who is Bo Lind's uncle?",
        "Where was #1 born?",
    ),
    "Who is Ada Lunt, 3rd Baroness Foss's brother's wife?": (
        "Who is Ada Lunt, 3rd Baroness Foss's brother?",
        "Who is #1's wife?",
    ),
    "Which firm owns the tugboat which cleared Foss Bar?": (
        "What is the tugboat which cleared Foss Bar?",
        "Which firm owns #1?",
    ),
}


@pytest.mark.parametrize("question", CHAINS)
def test_nested_questions_are_asked_from_the_inside(question: str) -> None:
    assert make_plan(question, MOST, LONGEST).questions == CHAINS[question]


@pytest.mark.xfail(
    reason="a title is read as a description, or as two; a clause stands apart from its noun", strict=True
)
@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "Where does the director of The Clerk Who Lost the Seal live?",
            ("Who is the director of The Clerk Who Lost the Seal?", "Where does #1 live?"),
        ),
        (
            "In which town does the keeper live who built Foss Bridge?",
            ("Who is the keeper who built Foss Bridge?", "In which town does #1 live?"),
        ),
    ],
)
def test_what_should_be_taken_apart(question: str, steps: tuple[str, ...]) -> None:
    assert make_plan(question, MOST, LONGEST).questions == steps


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote Bread and Roses?",
        "What was the error of the Foss gauge when it was new?",
        "At what time is the yard gate locked in the evening?",
        "Who is the woman who founded the choir?",
        "When did Anna marry Piet?",
        "Who wrote Charley's Aunt?",
        "Who is the N\u0130ECE of Anna Lind?",
    ],
)
def test_a_question_about_one_fact_stays_whole(question: str) -> None:
    assert make_plan(question, MOST, LONGEST).questions == (question,)


def test_the_steps_of_any_question_are_pieces_of_it() -> None:
    planned = 0
    whole = [one for one in judged() if not any(relative in one.message for relative in RELATIVES)]
    for one in whole:
        if one.form is not QuestionForm.COMPARE and not (plan := make_plan(one.message, MOST, LONGEST)).comparison:
            steps = [re.sub(r"^(?:Who|What) is (.*)\?$", r"\1", step) for step in plan.questions[:-1]]
            asked = plan.questions[-1]
            for at in range(len(steps), 0, -1):
                assert asked.count(f"#{at}") == 1
                asked = asked.replace(f"#{at}", steps[at - 1])
            assert asked.rstrip(" ?.!") == " ".join(one.message.split()).rstrip(" ?.!")
            planned += len(steps) > 0
    assert planned > 50


@pytest.mark.parametrize(
    "question", [".", "...", "... \udfff", "", "?", "Who is the head of ...?", "\ud83d\ude00 who?"]
)
def test_odd_questions_are_planned(question: str) -> None:
    assert make_plan(question, MOST, LONGEST).questions


def test_a_plan_is_within_its_bounds() -> None:
    question = "Which stadium lies in the city where the striker who scored for Port Arden was born?"
    assert len(make_plan(question, 2, LONGEST).questions) == 2
    assert make_plan(question, 1, LONGEST).questions == (question,)
    assert make_plan(question, MOST, 20).questions == (question,)


def test_the_sides_of_a_comparison_are_asked_about() -> None:
    planned = make_plan("Which film came out first, Tea Time or Ferry on Cold Water?", MOST, LONGEST)
    assert planned.comparison is not None
    assert planned.comparison.sides == ("Tea Time", "Ferry on Cold Water")
    assert planned.comparison.verdict("1951", "1949") == "Ferry on Cold Water"
    assert planned.comparison.verdict("1951", None) is None
