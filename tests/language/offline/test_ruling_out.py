"""Figures that somebody has to work out, and values of which nobody says whose they are, are no answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.ruling_out import asks_twice, may_answer, options_in
from hoptrail.language.tasks import Read
from hoptrail.text.questions import analyse
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]


@pytest.mark.parametrize(
    ("question", "answer", "fits"),
    [
        ("How many boats lie in Dunmere?", "22 boats", True),
        ("How many boats lie in Dunmere?", "twenty two", True),
        ("How many boats lie in Dunmere?", "The harbour office", False),
        ("When does the ferry leave?", "on Mondays at noon", True),
        ("When does the ferry leave?", "Bo Marsh", False),
        ("What does the winch cost?", "Ada Lunt", False),
        ("Who steers the ferry?", "Ada Lunt", True),
        ("How long does the ferry take?", "9,750", False),
        ("How long does the ferry take?", "25 minutes", True),
        ("How long has Bo been here?", "since 1931", True),
        ("How long is the quay?", "118 m", True),
        ("How long may the boat lie here?", "118 m", False),
        ("How long does the ferry take?", "Three offers", False),
        ("How long does the ferry take?", "ninety minutes", True),
        ("How often does the ferry run?", "02:30", False),
        ("How often does the ferry run?", "every night at 02:30", True),
        ("How often did the ferry break down?", "19 times", True),
        ("How often does the ferry run?", "on weekdays", True),
        ("How much rent does the kiosk pay?", "4 %", False),
        ("How much rent does the kiosk pay?", "£400", True),
    ],
)
def test_a_figure_is_asked_for_or_a_name(question: str, answer: str, *, fits: bool) -> None:
    assert may_answer(answer, analyse(question), None) is fits


def test_what_is_left_is_not_what_there_was(passage: MakeUnit) -> None:
    evidence = (
        passage(
            "The Foss Fund", "The Foss Fund began with 9,000 crowns. Bo Marsh spent 4,000 crowns of the Foss Fund."
        ),
    )
    language = OfflineLanguage()
    assert language.perform(Read("How much of the Foss Fund is left?", evidence)).value.answer is None


def test_two_values_in_one_sentence_are_not_told_apart(passage: MakeUnit) -> None:
    evidence = (
        passage("Winches", "Of the Foss Winch and the Arden Winch one has a length of 18 metres against 15 metres."),
    )
    read = Read("Which is longer, the Foss Winch or the Arden Winch?", evidence)
    assert OfflineLanguage().perform(read).value.confidence < 0.5


@pytest.mark.parametrize(
    ("question", "twice"),
    [
        ("With whom will the new hand sail and where is her cabin?", True),
        ("Who built the Gull, and when?", True),
        ("Who built the Gull and the Tern?", False),
        ("What does the ferry cost and carry?", False),
        ("Which boat was built first, the Gull or the Tern?", False),
    ],
)
def test_two_things_that_are_asked_for_have_no_one_answer(question: str, *, twice: bool) -> None:
    assert asks_twice(question) == twice


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("What does -t do with --one-file-system?", {"-t", "--one-file-system"}),
        ("`-t`, _-n_ and \u2212v", {"-t", "-n", "-v"}),
        ("--[no-]colour", {"--colour"}),
        ("tar -xvf, a Paris -based group, well-known, 2-3 and - that", set()),
    ],
)
def test_options_of_commands(text: str, options: set[str]) -> None:
    assert options_in(text) == options
