"""Yes or no: what is said outright is affirmed or denied, or left open; nothing wrong is said with confidence."""

from __future__ import annotations

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import AnswerKind, Kind, Span, Unit
from language.offline.outcomes import given

TEXTS = {
    "Visits": "Dogs on a lead are welcome in the yard and the shop, but not in the mill loft. There is a "
    "ramp to the lower gallery. "
    "No lamps near the flour bins. The old wheel may be sold if the trust agrees. Do children climb the tower? "
    "Guides speak Welsh and English.",
    "Wheel": "The noise comes from the bearing, not from the sluice. It runs without a governor.",
}
LANGUAGE = OfflineLanguage()


def units() -> tuple[Unit, ...]:
    return tuple(Unit(title, Kind.PASSAGE, title, text, (Span(title, 0, len(text)),)) for title, text in TEXTS.items())


def read(question: str) -> Reading:
    return LANGUAGE.perform(Read(question, units())).value


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("is there a ramp to the lower gallery", "yes"),
        ("Do guides speak Welsh?", "yes"),
        ("Can I bring a dog into the mill loft?", "no"),
        ("Should I carry lamps near the flour bins?", "no"),
        ("Does the noise come from the sluice?", "no"),
    ],
)
def test_what_a_statement_says_or_denies_is_not_answered_wrongly(question: str, answer: str | None) -> None:
    found = read(question)
    assert given(found) in {answer, None}
    assert found.kind is AnswerKind.YES_NO
    assert found.answer is None or found.steps[-1].support


def test_some_are_answered_and_the_statement_is_cited() -> None:
    found = read("Can I bring a dog into the mill loft?")
    assert found.answer == "no"
    (span,) = found.steps[-1].support
    assert TEXTS[span.document][span.start : span.end].endswith("but not in the mill loft.")
