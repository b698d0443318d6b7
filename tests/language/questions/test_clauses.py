"""Where a description by clause begins and ends, and the question that finds what it describes."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.clauses import describing_clauses
from hoptrail.language.questions.decomposing import chain
from hoptrail.text.phrases import tokens_of

DESCRIBED = {
    "When was the man who drew Foss Light born?": ("the man who drew Foss Light", "Who"),
    "In which year did the woman whose brother built Foss Light die?": (
        "the woman whose brother built Foss Light",
        "Who",
    ),
    "Where does the keeper that Ida Berg taught live?": ("the keeper that Ida Berg taught", "Who"),
    "Who owns the yard in which the Gull was built?": ("the yard in which the Gull was built", "What"),
    "What is the depth of the lake that feeds the canal?": ("the lake that feeds the canal", "What"),
    "Which river flows past the mill owned by Bo Marsh?": ("the mill owned by Bo Marsh", "What"),
    "What did the captain commanding the Gull write?": ("the captain commanding the Gull", "Who"),
    "The harbour where the Gull lies is in which county?": ("The harbour where the Gull lies", "What"),
    "Did the tug that towed the Gull sink?": ("the tug that towed the Gull", "What"),
    "Since when has the officer who looks after the catalogue worked at the museum?": (
        "the officer who looks after the catalogue",
        "Who",
    ),
    "In which year was the church that overlooks the harbour consecrated by the bishop?": (
        "the church that overlooks the harbour",
        "What",
    ),
}


@pytest.mark.parametrize("question", DESCRIBED)
def test_a_clause_ends_where_the_question_goes_on(question: str) -> None:
    phrase, asker = DESCRIBED[question]
    first = next(describing_clauses(question, tokens_of(question)))
    assert question[first.start : first.end] == phrase
    assert first.question == f"{asker} is {phrase[0].lower()}{phrase[1:]}?"


@pytest.mark.parametrize(
    "question",
    [
        "What was the error of the gauge when it was new?",
        "Who ran the building site when Colm fell ill?",
        "Where did the Gull sink?",
        "In which county does the Gull lie?",
        "Who is the leader of which revolution?",
        "What did Ida Berg, who drew Foss Light, say?",
        "Which building stands beside the mill?",
        "",
    ],
)
def test_what_describes_nothing_by_a_clause(question: str) -> None:
    assert list(describing_clauses(question, tokens_of(question))) == []


CHAINS = {
    "Who taught the painter of the mill that Ida Berg bought?": (
        "What is the mill that Ida Berg bought?",
        "Who is the painter of #1?",
        "Who taught #2?",
    ),
    "Who leads the party that governs the town where the Gull was built?": (
        "What is the town where the Gull was built?",
        "What is the party that governs #1?",
        "Who leads #2?",
    ),
    "Who is Ida Berg's brother's wife?": (
        "Who is the brother of Ida Berg?",
        "Who is the wife of #1?",
    ),
    "Who is the maternal grandmother of Bo Marsh?": (
        "Who is the mother of Bo Marsh?",
        "Who is the mother of #1?",
    ),
    "When did Bo Marsh's father-in-law die?": (
        "Who is the spouse of Bo Marsh?",
        "Who is the father of #1?",
        "When did #2 die?",
    ),
    "Where did Ida Berg's boat sink?": (
        "What is the boat of Ida Berg?",
        "Where did #1 sink?",
    ),
    "What is the country of birth of the keeper of Foss Light?": (
        "Who is the keeper of Foss Light?",
        "What is the country of birth of #1?",
    ),
    "What year did Ida Berg's opera come out?": (
        "What is the opera of Ida Berg?",
        "What year did #1 come out?",
    ),
    "When did the owner of the Gull project retire?": (
        "Who is the owner of the Gull project?",
        "When did #1 retire?",
    ),
}


@pytest.mark.parametrize("question", CHAINS)
def test_descriptions_are_resolved_from_the_inside(question: str) -> None:
    assert chain(question, 8) == CHAINS[question]


@pytest.mark.parametrize(
    "question",
    [
        "Who is the member of the Foss Club?",
        "What happened after the sinking of the Gull?",
        "Who ruled during the childhood of Ida Berg?",
        "How many of the members of Arden FC live in Foss?",
        "Which side of the Tarn Bridge is older?",
        "What was built at the end of Foss Pier?",
        "Who drew one of Ida Berg's boats?",
    ],
)
def test_a_part_of_something_or_a_time_is_no_description(question: str) -> None:
    assert chain(question, 8) == (question,)


def test_no_more_hops_than_are_allowed() -> None:
    question = "Who taught the painter of the mill that Ida Berg bought?"
    assert chain(question, 2) == ("What is the mill that Ida Berg bought?", "Who taught the painter of #1?")
    assert chain(question, 1) == (question,)
    assert chain(question, 3, offset=4)[-1] == "Who taught #6?"
