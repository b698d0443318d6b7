"""Words of a text as people write them, with the places where they stand; their stems; how many there are."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.words import content_stems, stem, terms, unspaced_pieces, words, words_in

ODD = st.text(st.sampled_from(list("aBé5'’-.&,#_ \n\x00\u00ad\u200b\u0301😀中文ไทय\u093fß")), max_size=60)
ANY = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("O'Neill and l’eau", ["O'Neill", "and", "l’eau"]),
        ("state-of-the-art rock-n-roll", ["state-of-the-art", "rock-n-roll"]),
        ("AT&T and R.E.M. and e.g.", ["AT&T", "and", "R.E.M", "and", "e.g"]),
        ("don't", ["don't"]),
        ("x--y snake_case a/b", ["x", "y", "snake", "case", "a", "b"]),
        ("'quoted' “said”", ["quoted", "said"]),
        ("ida@x.org", ["ida", "x.org"]),
        ("@ida #ida", ["ida", "ida"]),
        ("C++ & C#", ["C", "C"]),
    ],
)
def test_marks_join_words_only_from_within(text: str, said: list[str]) -> None:
    assert [word.text for word in words(text)] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ida's boat", ["Ida", "s", "boat"]),
        ("Ida’s boat", ["Ida", "s", "boat"]),
        ("the boys' boat", ["the", "boys", "boat"]),
        ("it's O'Neill's", ["it", "s", "O'Neill", "s"]),
        ("a’sb", ["a’sb"]),
    ],
)
def test_a_possessive_is_a_word_of_its_own(text: str, said: list[str]) -> None:
    assert [word.text for word in words(text)] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3.14, 1,234.5 and -5.", ["3.14", "1,234.5", "and", "5"]),
        ("3-5 v1.2-beta 5kg", ["3-5", "v1.2-beta", "5kg"]),
        ("#1 of 2", ["#1", "of", "2"]),
        ("at 10:30", ["at", "10", "30"]),
        ("½ x² ١٢٣", ["½", "x²", "١٢٣"]),
    ],
)
def test_figures_keep_their_points_and_lose_their_signs(text: str, said: list[str]) -> None:
    assert [word.text for word in words(text)] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nai\u0308ve", ["nai\u0308ve"]),
        ("so\u00adft", ["so\u00adft"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مَرْحَبًا بك", ["مَرْحَبًا", "بك"]),
        ("😀 hi 👋🏽", ["hi"]),
        ("NUL\x00x", ["NUL", "x"]),
        ("zero\u200bwidth", ["zero", "width"]),
        ("\u0301a", ["a"]),
        ("one\r\ntwo", ["one", "two"]),
        ("&-.'", []),
    ],
)
def test_marks_of_letters_belong_to_them_and_signs_do_not(text: str, said: list[str]) -> None:
    assert [word.text for word in words(text)] == said


@given(st.one_of(ODD, ANY))
def test_words_and_terms_stand_where_they_say(text: str) -> None:
    for found in (words(text), terms(text)):
        assert all(text[word.start : word.end] == word.text != "" for word in found)
        assert all(word.lower == word.text.lower() for word in found)
        assert [word.start for word in found] == sorted({word.start for word in found})


@given(st.one_of(ODD, ANY))
def test_no_letter_and_no_digit_is_left_out(text: str) -> None:
    said = {place for word in words(text) for place in range(word.start, word.end)}
    assert not [one for place, one in enumerate(text) if one.isalnum() and place not in said]
    paired = {place for term in terms(text) for place in range(term.start, term.end)}
    assert said == paired


def test_a_word_knows_whether_it_has_a_capital() -> None:
    assert [word.text for word in words("Ida and Élan, éclair, ØRE, 5th, 中文") if word.capitalised] == [
        "Ida",
        "Élan",
        "ØRE",
    ]


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("plain", ["plain"]),
        ("押", ["押"]),
        ("押金是", ["押金", "金是"]),
        ("ไทยabc", ["ไท", "ทย", "abc"]),
        ("第20回", ["第", "20", "回"]),
        ("한국어", ["한국어"]),
    ],
)
def test_scripts_without_spaces_are_cut_in_pairs(word: str, pieces: list[str]) -> None:
    assert unspaced_pieces(word) == pieces == [term.text for term in terms(word)]


@pytest.mark.parametrize(
    ("key", "forms"),
    [
        ("stop", "stop stops stopped stopping STOPPED stop's stop’s"),
        ("citi", "city cities City's"),
        ("box", "box boxes"),
        ("clas", "class classes"),
        ("zürich", "Zürich Zu\u0308rich ZÜ\u00adRICH"),
        ("death", "die died dies dying"),
        ("marri", "wife husband spouse wedded"),
    ],
)
def test_forms_of_a_word_share_a_stem(key: str, forms: str) -> None:
    assert {stem(form) for form in forms.split()} == {key}


@pytest.mark.parametrize("word", ["bee", "the", "ing", "red", "her", "use", "fly", "a", "", "é", "中", "5"])
def test_a_word_too_short_for_an_ending_is_its_own_stem(word: str) -> None:
    assert stem(word) == word


@given(ANY)
def test_a_stem_is_the_same_for_all_spellings_of_a_word(word: str) -> None:
    other = unicodedata.normalize("NFD", word)
    if unicodedata.normalize("NFC", other) == word:
        assert stem(other) == stem(word)
    assert stem(word) == stem(f"\u00ad{word}")


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("Who designed the old bridge?", {"design", "old", "bridg"}),
        ("the names of a person", set()),
        ("The designer's bridges", {"design", "bridg"}),
        ("", set()),
        ("😀 \x00 …", set()),
    ],
)
def test_what_a_text_is_about_is_in_the_stems_of_its_other_words(text: str, stems: set[str]) -> None:
    assert content_stems(text) == stems


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0),
        (" \n\u3000\t", 0),
        ("a-b c", 2),
        ("one\r\ntwo\u00a0three", 3),
        ("中文 ab", 3),
        ("ab中文cd", 4),
        ("カナ", 2),
        ("한국어 단어", 2),
        ("ภาษาไ", 2),
        ("x" * 24, 1),
        ("x" * 25, 2),
        ("a\x00b", 1),
        ("a\u200bb", 1),
        ("👋🏽 hi", 2),
    ],
)
def test_words_are_counted_in_every_script(text: str, number: int) -> None:
    assert words_in(text) == number


@given(ANY, ANY)
def test_two_texts_have_together_the_words_of_both(one: str, other: str) -> None:
    assert words_in(f"{one} {other}") == words_in(one) + words_in(other)


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "a-" * 150_000, "a’" * 150_000, "1,." * 100_000, "a" + "\u0301" * 300_000, "#" * 300_000]
)
def test_time_is_linear_whatever_the_text(text: str) -> None:
    words(text)  # each takes minutes where a pattern looks at a character again for each before it
    content_stems(text)
    words_in(text)
