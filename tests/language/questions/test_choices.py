"""The two sides of a question, in the wordings that people use."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.choices import sides_compared
from hoptrail.text.words import stem


@pytest.mark.parametrize(
    ("question", "stems"),
    [
        ("What is the difference between a hard link and a soft link?", {"hard", "soft"}),
        ("What are the differences between tar and cpio", {"tar", "cpio"}),
        ("How does a kite differ from a glider?", {"kite", "glider"}),
        ("How do oak and ash differ?", {"oak", "ash"}),
        ("How is tar different from cpio?", {"tar", "cpio"}),
        ("What is the difference between tar and cpio, and which is faster?", {"tar", "cpio"}),
        ("What is the difference between apt and dpkg and when should I use each?", {"apt", "dpkg"}),
        ("Why is it different now?", set()),
        ("How does the ferry run?", set()),
    ],
)
def test_a_question_for_a_difference_names_two_sides(question: str, stems: set[str]) -> None:
    assert sides_compared(question) == {stem(word) for word in stems}
