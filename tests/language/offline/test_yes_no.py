"""Yes or no by what one statement says: asserted in full, denied in part, or left open."""

from __future__ import annotations

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Read, Reading
from hoptrail.types import AnswerKind, Kind, Span, Unit

TEXTS = {
    "Visits": "Dogs on a lead are welcome in the yard and the shop, but not in the mill loft. There is a "
    "ramp to the lower gallery. "
    "No lamps near the flour bins. The old wheel may be sold if the trust agrees. Do children climb the tower? "
    "Guides speak Welsh and English.",
    "Wheel": "The noise comes from the bearing, not from the sluice. It runs without a governor.",
}


def units() -> tuple[Unit, ...]:
    return tuple(Unit(title, Kind.PASSAGE, title, text, (Span(title, 0, len(text)),)) for title, text in TEXTS.items())


def read(question: str) -> Reading:
    return OfflineLanguage().perform(Read(question, units())).value


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("is there a ramp to the lower gallery", "yes"),
        ("Do guides speak Welsh?", "yes"),
        ("Can I bring a dog into the mill loft?", "no"),
        ("Should I carry lamps near the flour bins?", "no"),
        ("Does the noise come from the sluice?", "no"),
        ("Does the noise of the wheel come from the bearing?", "yes"),
        ("does the wheel run without a governor", None),
        ("Is there a ramp to the upper gallery?", None),
        ("Will the old wheel be sold?", None),
        ("Do children climb the tower?", None),
        ("Is flour sold?", None),
    ],
)
def test_what_a_statement_says_or_denies(question: str, answer: str | None) -> None:
    found = read(question)
    assert found.answer == answer
    if answer is not None:
        assert found.kind is AnswerKind.YES_NO
        assert found.steps[-1].support


def test_the_statement_is_cited() -> None:
    (span,) = read("Can I bring a dog into the mill loft?").steps[-1].support
    assert TEXTS[span.document][span.start : span.end].endswith("but not in the mill loft.")
