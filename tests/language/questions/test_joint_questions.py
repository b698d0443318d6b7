"""A sentence that asks two things gets both answers or none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.questions.joint_questions import asked_together
from hoptrail.language.tasks import Read
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who began the winch project, and when?", ("Who began the winch project?", "When began the winch project?")),
        ("who built the pier and in what year", ("who built the pier?", "In what year built the pier?")),
        ("When and where was Ilse Marrow born?", ("When was Ilse Marrow born?", "Where was Ilse Marrow born?")),
        ("Which firm moved the crane and by whom?", ("Which firm moved the crane?", "By whom moved the crane?")),
        ("How did the crane fall and when?", ("How did the crane fall?", "When did the crane fall?")),
        ("How many boats came, and from where?", ("How many boats came?", "From where came?")),
        ("Who owns the ferry and the pier?", None),
        ("What do Ada and Bo eat?", None),
        ("Who is the keeper and where does he live?", None),
        ("Where is the key, and who has it?", None),
        ("and when?", None),
    ],
)
def test_questions_that_ask_two_things(question: str, parts: tuple[str, str] | None) -> None:
    assert asked_together(question) == parts


def test_both_answers_are_given_with_their_evidence_or_none(passage: MakeUnit) -> None:
    units = (passage("The old quay", "The east pier was built by Bo Marsh on 3 May 1931."),)
    both = OfflineLanguage().perform(Read("Who built the east pier and when?", units)).value
    assert both.answer == "Bo Marsh; 3 May 1931"
    assert len(both.steps) == 2
    assert all(step.support for step in both.steps)
    one = OfflineLanguage().perform(Read("Who built the east pier and in which town?", units)).value
    assert one.answer is None
