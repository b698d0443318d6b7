"""The words of a question decide the kind of its answer."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.question_kinds import kind_asked
from hoptrail.types import AnswerKind

QUESTIONS = {
    AnswerKind.SHORT: (
        "Who designed the Tallow Bridge?",
        "how long does the ferry take",
        "How many boats lie in Dunmere?",
        "Which river flows through the town where Orla Finch was born?",
        "which variable limits the number of threads",
        "Is the Isk or the Arrow longer?",
        "What are the opening hours of the museum?",
        "price of a season ticket",
        "who is at the desk on Sunday",
        "In which hills does the Isk rise?",
        "What was the cause of death of the keeper?",
        "",
    ),
    AnswerKind.YES_NO: (
        "Is Wrenmouth a port?",
        "can i bring a dog",
        "Were both bridges built by Finch?",
        "Am I allowed to fish from the pier?",
        "may two boats share a berth",
        "We have two dogs. Is that allowed?",
    ),
    AnswerKind.LIST: (
        "List all bridges",
        "Which members are waiting for a berth?",
        "what boats were sold in 1871",
        "Who was present at the meeting of 4 May?",
        "name all keepers of the lighthouse",
        "Name everybody who sails on Sunday",
        "Give me the planned dates of the races.",
        "Which ports does the ferry call at?",
        "which washing machines and dryers are in the cellar",
    ),
    AnswerKind.STEPS: ("How do I reef the mainsail?", "how to start the pump", "What should I do if the alarm rings?"),
    AnswerKind.PASSAGE: (
        "Why was the ferry stopped?",
        "explain the tide gate",
        "What happened to the old pier?",
        "How does the pump work?",
        "what is the purpose of the second gate",
        "What was the cause of the leak?",
    ),
}


@pytest.mark.parametrize(("kind", "question"), [(kind, one) for kind, several in QUESTIONS.items() for one in several])
def test_the_kind_that_a_question_asks_for(kind: AnswerKind, question: str) -> None:
    assert kind_asked(question) is kind
