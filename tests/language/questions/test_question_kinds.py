"""A question tells what kind of answer it wants."""

from __future__ import annotations

from hoptrail.models.question_tagger import tag_question
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
        "Would you kindly tell me what the ferry costs?",
        "hours of the ticket desk",
        "谁建造了这座桥？",
        "In which hills does the Isk rise?",
        "What was the cause of death of the keeper?",
        "",
    ),
    AnswerKind.YES_NO: (
        "Is Wrenmouth a port?",
        "can i bring a dog",
        "Were both bridges built by Finch?",
        "Could you tell me whether dogs are allowed in the cellar?",
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
        "who stayed overnight in the boat house",
        "Which ports does the ferry call at?",
        "which washing machines and dryers are in the cellar",
    ),
    AnswerKind.STEPS: ("How do I reef the mainsail?", "how to start the pump", "What should I do if the alarm rings?"),
    AnswerKind.PASSAGE: (
        "Why was the ferry stopped?",
        "explain the tide gate",
        "Tell me about the mill.",
        "What happened to the old pier?",
        "How does the pump work?",
        "what is the purpose of the second gate",
        "What was the cause of the leak?",
    ),
}


def test_the_kind_that_a_question_asks_for() -> None:
    for kind, questions in QUESTIONS.items():
        assert [one for one in questions if tag_question(one).kind is not kind] == []
