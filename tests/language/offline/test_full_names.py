"""A person is named in full where the rest of the evidence does so."""

from __future__ import annotations

import pytest

from hoptrail.language.offline.full_names import asks_for_part, in_full

MINUTES = "Ada Lunt took the chair. Lunt read the accounts. Treasurer Ada Lunt thanked Bert Osk and Cora Osk for the European AI."


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("Lunt", "Ada Lunt"),
        ("Ada", "Ada"),  # a first name
        ("Osk", "Osk"),  # two people
        ("Ada Lunt", "Ada Lunt"),
        ("treasurer", "treasurer"),
        ("AI", "AI"),
        ("Quill", "Quill"),
    ],
)
def test_a_single_name_is_completed_from_its_document(name: str, full: str) -> None:
    assert in_full(name, [MINUTES], []) == full


def test_another_document_may_have_the_full_name() -> None:
    assert in_full("Lunt", ["Lunt read the accounts."], [MINUTES]) == "Ada Lunt"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Washington", "He read the Washington Post."),
        ("Ford", "The Ford Motor Company paid."),
        ("Adams", "The ferry calls at Port Adams."),
        ("Lincoln", "They marched to Fort Lincoln."),
        ("Lunt", "Tea is in Lunt Hall."),
    ],
)
def test_a_place_or_an_organisation_is_no_person(name: str, text: str) -> None:
    assert in_full(name, [text], []) == name


def test_its_own_document_comes_first() -> None:
    assert in_full("Lunt", ["Mr Lunt is Carl Lunt, the joiner."], [MINUTES]) == "Carl Lunt"


def test_a_style_or_an_office_is_no_first_name() -> None:
    assert in_full("Lunt", ["Mr Lunt and Dr Lunt read the Head of Lunt."], []) == "Lunt"


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is the middle name of the treasurer?", True),
        ("Who was given the surname?", True),
        ("Who read it?", False),
    ],
)
def test_a_question_for_one_name_gets_one(question: str, asks: bool) -> None:
    assert asks_for_part(question) is asks
