from __future__ import annotations

import pytest

from hoptrail.language.questions.references import complete
from hoptrail.language.tasks import Finding

FINDINGS = (Finding("Who wrote Night Ferry?", "Who wrote Night Ferry?", "Ada Lunt"), Finding("q", "q", "Dunmere"))


@pytest.mark.parametrize(
    ("question", "completed"),
    [
        ("Where was #1 born?", "Where was Ada Lunt born?"),
        ("Did #1 live in #2?", "Did Ada Lunt live in Dunmere?"),
        ("Which river flows through that town?", "Which river flows through Dunmere?"),
        ("What is its population?", "What is Dunmere's population?"),
        ("When was it founded?", "When was Dunmere founded?"),
        ("Where did Martin die?", "Where did Martin die?"),
        ("Where did Martin lose his hat?", "Where did Martin lose his hat?"),
        ("What is the answer to this question?", "What is the answer to this question?"),
        ("Who wrote #3?", "Who wrote #3?"),
        ("Which item is within the mitten?", "Which item is within the mitten?"),
    ],
)
def test_references_become_answers_and_nothing_else_changes(question: str, completed: str) -> None:
    assert complete(question, FINDINGS) == completed


def test_unanswered_findings_leave_their_reference() -> None:
    assert complete("Where was #1 born?", [Finding("q", "q", None)]) == "Where was #1 born?"
    assert complete("Where was she born?", [Finding("q", "q", None)]) == "Where was she born?"


def test_an_answer_that_looks_like_a_pattern_is_put_in_as_it_stands() -> None:
    assert complete("Where is #1?", [Finding("q", "q", r"\g<0> \1 #2")]) == r"Where is \g<0> \1 #2?"
