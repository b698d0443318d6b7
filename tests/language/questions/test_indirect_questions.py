"""Requests and indirect questions ask plain ones; requests for lists and descriptions stay."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.indirect_questions import direct
from hoptrail.language.questions.plans import make_plan
from hoptrail.language.questions.question_kinds import kind_asked
from hoptrail.types import AnswerKind


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("Tell me which bank lent the money.", "Which bank lent the money?"),
        ("please tell me who keeps the key", "Who keeps the key?"),
        ("I would like to know what the mill costs a day.", "What the mill costs a day?"),
        ("do you know since when Ida has been here?", "Since when Ida has been here?"),
        ("Give me the telephone number of Bo Marsh.", "What is the telephone number of Bo Marsh?"),
        ("Could you tell me whether dogs are allowed in the cellar?", "Are dogs allowed in the cellar?"),
        ("who comes first in the queue (I need the name)", "who comes first in the queue"),
        ("Whose boat is on berth 12? Name please, not the number.", "Whose boat is on berth 12?"),
    ],
)
def test_a_request_asks_what_it_is_about(question: str, plain: str) -> None:
    assert direct(question) == plain
    assert direct(plain) == plain


@pytest.mark.parametrize(
    "question",
    [
        "Who keeps the key?",
        "Tell me about the mill.",
        "Give me a list of all keys",
        "give me the names of the keepers",
        "Show me all invoices",
        "We have two dogs. Is that all right?",
        "What is a mill (in general)?",
        "",
    ],
)
def test_what_is_plain_or_asks_for_more_than_a_name_stays(question: str) -> None:
    assert direct(question) == question


def test_kinds_and_hops_are_those_of_the_plain_question() -> None:
    assert kind_asked("Can you tell me if the mill is open on Sundays?") is AnswerKind.YES_NO
    asked = "Give me the number of the lady who has replaced Ida Berg."
    plan = make_plan(asked, 8, 2_000)
    assert plan.questions == ("Who is the lady who has replaced Ida Berg?", "Give me the number of #1.")
