"""What a follow-up asks, as the trained writer writes it, from the questions and answers before it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hoptrail.language.questions.follow_ups import complete_follow_up, stands_alone
from hoptrail.language.tasks import Finding, Turn

RIVER = "Which river flows through the town where the designer of the Candlerock Lighthouse was born?"
DESIGNER = "Who designed the Candlerock Lighthouse?"
BRIO = "How much is a tyre change for the Brio 3?"
AARHUS = "Where was Tessa Lund born?"
GARAGE = "Who runs the garage?"
RESET = "How do I reset the boiler?"
STEPS = "Turn the dial to 0 and wait ten seconds.; Press the flame button.; Turn the dial back to 2."
INSTALLED = "Who installed the boiler?"
JOINED = "When did Marek join the choir?"
RENT = "What was the rent of the studio in 2024?"
BOOKS = "How many books may guests borrow?"
TEAM = "Who leads the PR team?"


def completed(message: str, before: Sequence[Turn]) -> str | None:
    """What is asked."""
    written = complete_follow_up(message, before)
    return written.text if written else None


@pytest.mark.parametrize(
    ("before", "answer", "message", "asked"),
    [
        # persons
        (DESIGNER, "Ilse Marrow", "and when was she born?", "When was Ilse Marrow born?"),
        ("When was Ilse Marrow born?", "2 June 1832", "And where was she born?", "Where was Ilse Marrow born?"),
        (AARHUS, "Aarhus", "And her brother?", "Where was Tessa Lund's brother born?"),
        (GARAGE, "Tessa Lund", "And when did she open it?", "When did Tessa Lund open the garage?"),
        ("Who is Nadia Fell's deputy?", "Peter Hahn", "What is his extension?", "What is Peter Hahn's extension?"),
        ("Which dog won the race?", "Bella", "who trained her?", "Who trained Bella?"),
        # things
        (RESET, STEPS, "and who installed it?", INSTALLED),
        (INSTALLED, "Lowe Engineering", "and when was it last serviced?", "When was the boiler last serviced?"),
        ("What does the boiler cost?", "900 EUR", "who made it?", "Who made the boiler?"),
        ("How much is the deposit?", None, "When is it due?", "When is the deposit due?"),
        ("Where is the Lisbon office?", "Rua 5", "Who runs it?", "Who runs the Lisbon office?"),
        ("Which machine roasts it?", "Bertha", "When was it last serviced?", "When was Bertha last serviced?"),
        (AARHUS, "Aarhus", "How many people live in it?", "How many people live in Aarhus?"),
        ("In which town was Ilse born?", "Tarnwick", "Who founded that town?", "Who founded Tarnwick?"),
        (RIVER, "River Lathe", "How long is it?", "How long is River Lathe?"),
        # fragments, also where the question before was not settled
        (BRIO, None, "What about a full service?", "How much is a full service for the Brio 3?"),
        (BRIO, None, "And for the Vento?", "How much is a tyre change for the Vento?"),
        (BRIO, "48 EUR", "and the Vento?", "How much is a tyre change for the Vento?"),
        (BRIO, "48 EUR", "the Vento?", "How much is a tyre change for the Vento?"),
        (AARHUS, "Aarhus", "And Nils Lund?", "Where was Nils Lund born?"),
        (TEAM, "Omar Quist", "and the sales team?", "Who leads the sales team?"),
        (BOOKS, "six", "and members?", "How many books may members borrow?"),
        (RENT, "900 EUR", "and in 2025?", "What was the rent of the studio in 2025?"),
        (RENT, "900 EUR", "2025?", "What was the rent of the studio in 2025?"),
        ("What is the rent of the studio?", "900 EUR", "and in 2025?", "What is the rent of the studio in 2025?"),
        ("Does the Brio need a service?", "yes", "How about the Vento?", "Does the Vento need a service?"),
        # question words alone
        (AARHUS, "Aarhus", "and when?", "When was Tessa Lund born?"),
        ("In which town was Ilse Marrow born?", "Lund", "in which year?", "In which year was Ilse Marrow born?"),
        ("Is the gym open on Sundays?", "yes", "Why?", "Why is the gym open on Sundays?"),
        # whole already
        (JOINED, "2012", "and where is Tarnwick?", "Where is Tarnwick?"),
        (JOINED, "2012", "Where is Tarnwick?", "Where is Tarnwick?"),
        (JOINED, "2012", "Is it true that Ilona sings?", "Is it true that Ilona sings?"),
    ],
)
def test_what_a_follow_up_asks(before: str, answer: str | None, message: str, asked: str) -> None:
    assert completed(message, [Turn(before, answer)]) == asked


@pytest.mark.xfail(strict=False, reason="the writer takes another piece, or a word too few")
@pytest.mark.parametrize(
    ("before", "answer", "message", "asked"),
    [
        (JOINED, "2012", "Why did he leave it?", "Why did Marek leave the choir?"),
        (INSTALLED, "Lowe Engineering", "and when?", "When was the boiler installed?"),
        ("Who came?", "Nadia Fell, Peter Hahn", "When did they leave?", "When did Nadia Fell and Peter Hahn leave?"),
        ("Who is head of sales?", "Nadia Fell", "and her deputy?", "Who is Nadia Fell's deputy?"),
        ("What is the pressure of the boiler?", "1.3 bar", "Who installed it?", INSTALLED),
        (BRIO, "48 EUR", "Vento?", "How much is a tyre change for the Vento?"),
        (JOINED, "2012", "and Ilona?", "When did Ilona join the choir?"),
        ("Who is head of sales?", "Nadia Fell", "since when?", "Since when is Nadia Fell head of sales?"),
        (TEAM, "Omar Quist", "Since when?", "Since when does Omar Quist lead the PR team?"),
    ],
)
def test_what_a_follow_up_should_ask(before: str, answer: str | None, message: str, asked: str) -> None:
    assert completed(message, [Turn(before, answer)]) == asked


@pytest.mark.parametrize(
    ("before", "answer", "message"),
    [
        (INSTALLED, "Lowe Engineering", "42?"),  # no piece of the question is like it
        (JOINED, "2012", "half price?"),
        (JOINED, "2012", "louder?"),
    ],
)
def test_what_cannot_be_completed_well_is_not(before: str, answer: str | None, message: str) -> None:
    turns = [Turn(before, answer)]
    assert completed(message, turns) is None
    assert not stands_alone(message, turns)


def test_hops_say_whom_a_question_is_about() -> None:
    hops = ((DESIGNER, "Ilse Marrow"), ("Where was Ilse Marrow born?", "Tarnwick"))
    turn = Turn(RIVER, "River Lathe", tuple(Finding(asked, asked, answer) for asked, answer in hops))
    assert completed("Where did she live?", [turn]) == "Where did Ilse Marrow live?"


def test_an_earlier_turn_is_meant_where_the_latest_has_nobody() -> None:
    turns = [Turn(AARHUS, "Aarhus"), Turn("How much is the deposit?", "50 EUR")]
    assert completed("When did she die?", turns) == "When did Tessa Lund die?"


def test_without_a_turn_before_only_what_stands_alone_is_asked() -> None:
    assert completed("and when was she born?", []) is None
    assert completed("And where is Tarnwick?", []) == "Where is Tarnwick?"
