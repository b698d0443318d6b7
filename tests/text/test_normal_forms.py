"""Names, titles and answers compare equal in all their spellings, and unequal where they differ."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hoptrail.text.normal_forms import (
    base_title,
    composed,
    folded,
    same_words,
    squeeze,
    stands_in,
    without_article,
)
from hoptrail.text.title_scanning import can_be_found, name_key, names_in, title_key

ANY = st.text(st.characters(exclude_categories=()), max_size=100)
TITLES = st.text(st.sampled_from(list("aB é(){}'-,. \n\u00a0\u00ad\u0301ßΣİ中😀\x00")), max_size=40)
SPELLINGS = {
    "Zürich Bank": ["zürich  bank", "Zu\u0308rich Bank", "ZÜRICH BANK", "Zü\u00adrich\nBank", "\tZürich\u00a0Bank "],
    "Straße": ["STRASSE", "STRAẞE", "straße"],
    "Οδυσσεύς": ["ΟΔΥΣΣΕΎΣ", "οδυσσεύσ"],
    "O'Neill": ["o'neill", "O'NEILL"],
}


@pytest.mark.parametrize(("name", "other"), [(name, one) for name, others in SPELLINGS.items() for one in others])
def test_spellings_of_a_name_fold_to_one_form(name: str, other: str) -> None:
    assert folded(name) == folded(other)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Zürich", "Zurich"),
        ("Ida Berg", "IdaBerg"),
        ("Mercury", "Mercury (planet)"),
        ("Ida", "Ida."),
        ("Bo", "\u200bBo"),
    ],
)
def test_other_names_keep_apart(name: str, other: str) -> None:
    assert folded(name) != folded(other)


@given(TITLES)
@example("a\u00ad\u0301")
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    for form in (squeeze, composed, name_key):
        assert form(form(text)) == form(text)


@given(st.one_of(ANY, TITLES))
def test_how_accents_are_stored_changes_no_form(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert composed(decomposed) == composed(text)
    assert folded(decomposed) == folded(text)
    assert name_key(decomposed) == name_key(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  a \r\n\r\n b\t\tc ", "a b c"),
        ("a\u00a0b\u202fc\u3000d", "a b c d"),
        ("\n", ""),
        ("a\u200bb\x00c", "a\u200bb\x00c"),
    ],
)
def test_a_text_is_squeezed_to_one_line(text: str, line: str) -> None:
    assert squeeze(text) == line


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("The Who", "Who"),
        ("AN apple", "apple"),
        ("a mill", "mill"),
        ("the", "the"),
        ("There", "There"),
        ("Le Havre", "Le Havre"),
        ("Ada the Great", "Ada the Great"),
        ("", ""),
    ],
)
def test_only_an_article_before_more_words_is_left_out(text: str, rest: str) -> None:
    assert without_article(text) == rest


@pytest.mark.parametrize(
    ("title", "base"),
    [
        ("Mercury (planet)", "Mercury"),
        ("The Game (1997 film) ", "The Game"),
        ("A(b)", "A"),
        ("A ()", "A"),
        ("A (b) (c)", "A (b)"),
        ("A (b (c))", "A (b (c))"),
        ("(What's the Story) Morning Glory?", "(What's the Story) Morning Glory?"),
        ("(film)", "(film)"),
        ("A (not closed", "A (not closed"),
        (f"A ({'x' * 81})", f"A ({'x' * 81})"),
        ("  A\u00a0 B\n(c)", "A B"),
        ("", ""),
    ],
)
def test_a_title_loses_its_last_parenthesis_unless_it_is_nothing_else(title: str, base: str) -> None:
    assert base_title(title) == base


@pytest.mark.parametrize("title", [" " * 300_000 + "x", "(" * 300_000, "() " * 100_000 + "x", "( " * 150_000 + ")"])
def test_a_title_of_any_form_is_read_in_linear_time(title: str) -> None:
    assert base_title(title)  # takes minutes where white space is searched again from each of its characters


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Élan (magazine)", "elan"),
        ("St. John's", "st john s"),
        ("Jean-Luc O’Neill", "jean luc o neill"),
        ("GROẞ", "gross"),
        ("ﬁre", "fire"),
        ("1984", ""),
        ("1984 (novel)", ""),
        ("12345", "12345"),
        ("20 30", "20 30"),
        ("7 Up", "7 up"),
        ("…", ""),
        ("", ""),
        ("李白", "李白"),
    ],
)
def test_a_title_is_called_by_its_words_and_a_year_is_no_title(title: str, key: str) -> None:
    assert title_key(title) == key


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("the", False),
        ("who", False),
        ("the who", True),
        ("foss", True),
        ("a " * 11 + "b", True),
        ("a " * 12 + "b", False),
    ],
)
def test_function_words_and_very_long_titles_are_not_searched_for(key: str, *, found: bool) -> None:
    assert can_be_found(key) is found


@given(
    st.lists(st.sampled_from(["Ida", "berg", "Berg", "Élan", "5", "the", "中文", "-", "😀"]), max_size=30).map(" ".join)
)
def test_every_name_found_is_a_known_one_in_the_text_and_no_name_comes_twice(text: str) -> None:
    known = {"ida", "ida berg", "berg", "elan", "5 the", "the"}
    found = names_in(text, known.__contains__)
    assert known.issuperset(found)
    assert len(set(found)) == len(found)
    assert all(f" {key} " in f" {name_key(text)} " for key in found)


def test_a_name_within_a_longer_one_is_not_found_there() -> None:
    known = {"ida berg", "berg", "ida"}
    assert names_in("Ida Berg left", known.__contains__) == ("ida berg",)
    assert names_in("Berg and Ida Berg left", known.__contains__) == ("berg", "ida berg")


def test_a_name_is_asked_for_a_bounded_number_of_times_for_each_word() -> None:
    asked: list[str] = []

    def is_name(key: str) -> bool:
        asked.append(key)
        return False

    names_in("Ida " * 5000, is_name)
    assert len(asked) <= 12 * 5000


@pytest.mark.parametrize(
    ("answer", "sentence", "there"),
    [
        ("$5", "it costs $5 now", True),
        ("5%", "about 5% of them", True),
        ("c++", "written in c++, mostly", True),
        ("a.b", "axb", False),
        ("ada", "adamant", False),
        ("münchen", "in münchen", True),
        ("押金", "划艇的押金是二十", True),
        ("", "", False),
        ("", "a sentence", False),
        ("1", "a sentence", False),
    ],
)
def test_an_answer_stands_in_a_sentence_character_for_character(answer: str, sentence: str, *, there: bool) -> None:
    assert stands_in(answer, sentence) is there


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The Mill.", "mill", True),
        ("a  boat", "boat", True),
        (" PARIS ", "Paris", True),
        ("Zu\u0308rich", "zürich", True),
        ("Straße", "STRASSE", True),
        ("the", "", False),
        ("Zurich", "Zürich", False),
        ("Ida Berg", "Berg", False),
        ("12", "12.", True),
        ("1.2", "12", False),
    ],
)
def test_answers_are_equal_but_for_case_space_article_and_stop(one: str, other: str, *, same: bool) -> None:
    assert same_words(one, other) is same_words(other, one) is same
