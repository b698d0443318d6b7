"""Statements that name both parents, or one parent beside other relatives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hoptrail.language.offline.parents import named_parent, parent_found
from hoptrail.language.offline.reader_input import sheet_of
from hoptrail.text.questions import analyse
from hoptrail.types import Unit

MakeUnit = Callable[[str, str], Unit]


BOTH = [
    "Ida Lunt (1850 – 1921) was the daughter of Jon Lunt, 2nd Mayor of Arden and Berta Marsh, and the sister of Bo Lunt.",
    "Ida was born to Jon Lunt and his second wife, Berta Marsh.",
]


@pytest.mark.parametrize("statement", BOTH)
def test_the_father_is_named_before_the_mother(statement: str) -> None:
    father, mother = (named_parent(kin, "Ida Lunt", statement) for kin in ("father", "mother"))
    assert father is not None
    assert mother is not None
    assert (father.name, mother.name) == ("Jon Lunt", "Berta Marsh")


def test_what_is_read_is_the_parent_asked_for_or_nothing() -> None:
    parent = named_parent("mother", "Ida Lunt", BOTH[0])
    assert parent is not None
    read = {"Jon Lunt": "", "Berta": "Berta Marsh", "Bo Lunt": "", "Ida": "Ida"}
    for words, name in read.items():
        at = BOTH[0].index(words)
        assert parent.read(words, at, at + len(words)) == name


def test_after_the_word_for_a_parent_only_that_parent_is_named() -> None:
    statement = "Ida is a smith: her mother is Berta, daughter of Karl Marsh."
    parent = named_parent("mother", "Ida", statement)
    assert parent is not None
    assert parent.name == "Berta"
    assert parent.read("Karl Marsh", statement.index("Karl"), len(statement) - 1) == ""


def test_a_parent_is_no_child_of_the_other() -> None:
    parent = named_parent("father", "Berta Marsh", BOTH[0])
    assert parent is not None
    at = BOTH[0].index("Jon")
    assert parent.read("Jon Lunt", at, at + len("Jon Lunt")) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "Ida was the daughter of the smith Jon Lunt.",
        "Ida was the daughter of Jon Lunt and lived in Arden.",
        "Her father was charged twice.",
    ],
)
def test_one_parent_alone_is_not_told_apart(statement: str) -> None:
    assert named_parent("father", "Ida", statement) is None


@pytest.mark.parametrize(
    ("words", "read"),
    [("daughter of Jon Lunt", "Jon Lunt"), ("Jon Lunt and Berta Marsh", "Jon Lunt"), ("Berta Marsh", None)],
)
def test_an_answer_is_the_name_alone(words: str, read: str | None, passage: MakeUnit) -> None:
    sheet = sheet_of(passage("Ida Lunt", "Ida Lunt was the daughter of Jon Lunt and Berta Marsh."), 10_000)
    start, question = sheet.text.index(words), analyse("Who is the father of Ida Lunt?")
    found = sheet.answer(start, start + len(words), "Who is the father of Ida Lunt?")
    assert found is not None
    assert question is not None
    named = parent_found(found, start, start + len(words), question)
    assert (named and named.text) == read


@pytest.mark.parametrize(
    ("statement", "mother"),
    [
        ("Ida is the daughter of Ada Lind and her husband Karl Brandt.", "Ada Lind"),
        ("Ida is the daughter of Queen Victoria and Prince Albert.", "Victoria"),
        ("Ida is the daughter of Jon Berg, Minister of Trade and Industry.", None),
        ("Ida was born to Swedish and Finnish parents.", None),
    ],
)
def test_words_for_a_woman_tell_and_offices_and_peoples_name_nobody(statement: str, mother: str | None) -> None:
    parent = named_parent("mother", "Ida", statement)
    assert (parent and parent.name.removeprefix("Queen ")) == mother
