"""Whether an answer stands in what is cited for it."""

from __future__ import annotations

from typing import Any

import pytest

from fakeai.brains import by_task
from hoptrail.language.chat.supporting import is_supported
from hoptrail.language.tasks import Finding, Integrate, Read, Reading
from hoptrail.types import Kind, Span, Unit
from language_chat import ANSWER, QUESTION, Speaking, passage

BRIDGE = passage(
    "Tallow Bridge", "The Tallow Bridge spans the harbour. It was designed by Orla Finch. It opened on 12 May 1871."
)
LEASE = passage(
    "Lease of unit 4",
    "The rent is 1,250 euros a month. Notice is three months. It began in 2019. "
    "Rent of 1,250 comes with a deposit of 2,500.",
)
SUMMARY = Unit("s", Kind.SUMMARY, "", "Orla Finch designed it.", (Span("d-1", 0, 90), Span("d-2", 0, 50)))


def sentence(unit: Unit, words: str) -> Span:
    """The sentence of a passage that begins with these words."""
    start = unit.text.index(words)
    return Span(unit.document, 7 + start, 7 + unit.text.index(".", start) + 1)


@pytest.mark.parametrize(
    ("question", "answer", "unit", "words", "supported"),
    [
        ("Who designed it?", "Orla Finch", BRIDGE, "It was", True),
        ("Who designed it?", "orla finch.", BRIDGE, "It was", True),
        ("Who designed it?", "Ada Finch", BRIDGE, "It was", False),
        ("Who designed it?", "Ilse Marrow", BRIDGE, "It was", False),
        ("What did she design?", "the Tallow Bridge", BRIDGE, "It opened", True),
        ("What does it span?", "the harbour", BRIDGE, "It was", True),
        ("When did it open?", "May 12, 1871", BRIDGE, "It opened", True),
        ("When did it open?", "13 May 1871", BRIDGE, "It opened", False),
        ("When did it open?", "1871", BRIDGE, "It opened", True),
        ("When did it open?", "1872", BRIDGE, "It opened", False),
        ("Was it designed by a woman?", "yes", BRIDGE, "It opened", True),
        ("Which is older, the Tallow Bridge or the Mill?", "the Mill", BRIDGE, "It opened", True),
        ("What is the rent?", "1,250 euros", LEASE, "The rent", True),
        ("What is the rent?", "250 euros", LEASE, "The rent", False),
        ("What is the rent?", "1,300 euros", LEASE, "The rent", False),
        ("What are rent and deposit together?", "3,750 euros", LEASE, "Rent of", True),
        ("How long is notice?", "three months", LEASE, "Notice", True),
        ("How long is notice?", "six weeks", LEASE, "Notice", False),
    ],
)
def test_words_and_numbers_must_stand_where_they_are_cited(
    question: str, answer: str, unit: Unit, words: str, *, supported: bool
) -> None:
    assert is_supported(question, answer, (sentence(unit, words),), (LEASE, BRIDGE)) is supported


def test_what_cites_nothing_supports_what_needs_none() -> None:
    assert is_supported("Is it old?", "no", (), (BRIDGE,))
    assert not is_supported("Who?", "Orla Finch", (), (BRIDGE,))


def test_a_summary_says_what_it_says_for_all_its_sources() -> None:
    assert is_supported("Who?", "Orla Finch", SUMMARY.sources, (SUMMARY,))
    assert not is_supported("Who?", "Ilse Marrow", SUMMARY.sources, (SUMMARY,))


def test_other_scripts_are_compared_as_they_stand() -> None:
    tower = passage("東京タワー", "東京タワーは1958年に完成した。設計者は内藤多仲である。")
    assert is_supported("設計者は誰か", "内藤多仲", tower.sources, (tower,))
    assert not is_supported("設計者は誰か", "丹下健三", tower.sources, (tower,))


def test_a_reading_whose_words_are_not_there_is_marked_and_hardly_believed(speaking: Speaking, isk: Unit) -> None:
    step: dict[str, Any] = {**ANSWER["steps"][0], "answer": "the Alps"}
    language = speaking(by_task({"answer": {"steps": [step], "answer": "the Alps", "confidence": 0.9}}))
    reading = language.perform(Read(QUESTION, (isk,))).value
    assert (reading.answer, reading.supported, reading.confidence) == ("the Alps", False, 0.225)
    assert reading.steps[0].support, "what was cited is still shown"


def test_a_reading_whose_words_are_there_is_not(speaking: Speaking, isk: Unit) -> None:
    reading = speaking(by_task({"answer": ANSWER})).perform(Read(QUESTION, (isk,))).value
    assert (reading.supported, reading.confidence) == (True, 0.9)


def test_conclusions_from_answers_alone_rest_on_these(speaking: Speaking) -> None:
    language = speaking(by_task({"integrate": {"reasoning": "So.", "answer": "Isk", "confidence": "high"}}))
    reading: Reading = language.perform(Integrate("q", (Finding("a", "a", "Isk"),))).value
    assert reading.supported
