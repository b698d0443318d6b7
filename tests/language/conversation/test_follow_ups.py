"""What a follow-up asks, by rules, from the questions and answers before it."""

from __future__ import annotations

import pytest

from hoptrail.language.conversation.follow_ups import complete_follow_up, stands_alone
from hoptrail.language.tasks import Exchange, Finding

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
        ("Who came?", "Nadia Fell, Peter Hahn", "When did they leave?", "When did Nadia Fell and Peter Hahn leave?"),
        (JOINED, "2012", "Why did he leave it?", "Why did Marek leave the choir?"),
        ("Who is head of sales?", "Nadia Fell", "and her deputy?", "Who is Nadia Fell's deputy?"),
        # things
        (RESET, STEPS, "and who installed it?", INSTALLED),
        (INSTALLED, "Lowe Engineering", "and when was it last serviced?", "When was the boiler last serviced?"),
        ("What does the boiler cost?", "900 EUR", "who made it?", "Who made the boiler?"),
        ("What is the pressure of the boiler?", "1.3 bar", "Who installed it?", INSTALLED),
        ("How much is the deposit?", None, "When is it due?", "When is the deposit due?"),
        ("Where is the Lisbon office?", "Rua 5", "Who runs it?", "Who runs the Lisbon office?"),
        ("Which machine roasts it?", "Bertha", "When was it last serviced?", "When was Bertha last serviced?"),
        (AARHUS, "Aarhus", "How many people live in it?", "How many people live in Aarhus?"),
        ("In which town was Ilse born?", "Tarnwick", "Who founded that town?", "Who founded Tarnwick?"),
        # fragments, also where the question before was not settled
        (BRIO, None, "What about a full service?", "How much is a full service for the Brio 3?"),
        (BRIO, None, "And for the Vento?", "How much is a tyre change for the Vento?"),
        (BRIO, "48 EUR", "and the Vento?", "How much is a tyre change for the Vento?"),
        (BRIO, "48 EUR", "the Vento?", "How much is a tyre change for the Vento?"),
        (BRIO, "48 EUR", "Vento?", "How much is a tyre change for the Vento?"),
        ("Does the Brio need a service?", "yes", "How about the Vento?", "Does the Vento need a service?"),
        (AARHUS, "Aarhus", "And Nils Lund?", "Where was Nils Lund born?"),
        (JOINED, "2012", "and Ilona?", "When did Ilona join the choir?"),
        (TEAM, "Omar Quist", "and the sales team?", "Who leads the sales team?"),
        (BOOKS, "six", "and members?", "How many books may members borrow?"),
        (RENT, "900 EUR", "and in 2025?", "What was the rent of the studio in 2025?"),
        (RENT, "900 EUR", "2025?", "What was the rent of the studio in 2025?"),
        ("What is the rent of the studio?", "900 EUR", "and in 2025?", "What is the rent of the studio in 2025?"),
        # question words alone
        (AARHUS, "Aarhus", "and when?", "When was Tessa Lund born?"),
        ("In which town was Ilse Marrow born?", "Lund", "in which year?", "In which year was Ilse Marrow born?"),
        ("Is the gym open on Sundays?", "yes", "Why?", "Why is the gym open on Sundays?"),
        ("Who is head of sales?", "Nadia Fell", "since when?", "Since when is Nadia Fell head of sales?"),
        (TEAM, "Omar Quist", "Since when?", "Since when does Omar Quist lead the PR team?"),
        (INSTALLED, "Lowe Engineering", "and when?", "When was the boiler installed?"),
        # whole already
        (JOINED, "2012", "and where is Tarnwick?", "Where is Tarnwick?"),
        (JOINED, "2012", "Where is Tarnwick?", "Where is Tarnwick?"),
        (JOINED, "2012", "opening hours", "opening hours"),
        (JOINED, "2012", "Is it true that Ilona sings?", "Is it true that Ilona sings?"),
    ],
)
def test_what_a_follow_up_asks(before: str, answer: str | None, message: str, asked: str) -> None:
    assert complete_follow_up(message, [Exchange(before, answer)]) == asked


@pytest.mark.parametrize(
    ("before", "answer", "message"),
    [
        (INSTALLED, "Lowe Engineering", "What about a full service?"),  # no piece of the question is like it
        (AARHUS, "Aarhus", "What about a dog?"),
        (AARHUS, "Aarhus", "And when did she open it?"),  # nobody opens a town
        (RESET, STEPS, "Where was she born?"),  # no person was spoken of
        (RESET, STEPS, "Is that allowed?"),
        (BOOKS, "six", "why?"),
        ("Was the boiler installed?", "yes", "Who?"),
        ("Does the boiler leak?", None, "How much?"),
    ],
)
def test_what_cannot_be_completed_well_is_not(before: str, answer: str | None, message: str) -> None:
    assert complete_follow_up(message, [Exchange(before, answer)]) is None
    assert not stands_alone(message)


def test_hops_say_whom_a_question_is_about() -> None:
    hops = (("Who is the designer?", "Ilse Marrow"), ("Where was she born?", "Tarnwick"))
    turn = Exchange(RIVER, "River Lathe", tuple(Finding(asked, asked, answer) for asked, answer in hops))
    assert complete_follow_up("Where did she live?", [turn]) == "Where did Ilse Marrow live?"
    assert complete_follow_up("How long is it?", [turn]) == "How long is River Lathe?"


def test_an_earlier_turn_is_meant_where_the_latest_has_nobody() -> None:
    turns = [Exchange(AARHUS, "Aarhus"), Exchange("How much is the deposit?", "50 EUR")]
    assert complete_follow_up("When did she die?", turns) == "When did Tessa Lund die?"


def test_without_a_turn_before_only_what_stands_alone_is_asked() -> None:
    assert complete_follow_up("and when was she born?", []) is None
    assert complete_follow_up("And where is Tarnwick?", []) == "Where is Tarnwick?"
