"""Sentences of everyday texts end where a reader would end them, and their spans are the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.sentences import (
    is_labelled_pair,
    sentence_ends,
    sentence_spans,
    unit_sentences,
    width_of,
    without_space,
)
from hoptrail.types import Kind, Span, Unit

EVERYDAY = st.lists(
    st.sampled_from(
        [
            *(
                "Dr.",
                "Ida",
                "Berg",
                "left",
                "at",
                "5",
                "p.m.",
                "The",
                "3.5",
                "etc.",
                "Why?",
                "No!",
                "...",
                "(a)",
                "U.S.",
            ),
            *(
                "\n",
                "\n\n",
                "\r\n",
                "\t",
                "- ",
                "1. ",
                "# ",
                "中文。",
                "😀",
                "\x00",
                "\u200b",
                "e\u0301",
                '"Go."',
                "Jan.",
            ),
        ]
    ),
    max_size=40,
).map(" ".join)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, 1000)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Prof. Dr. Ing. Holm came.", "He sat."],
        ["Lt. Green met Col. Marsh and Sgt. Pryde.", "Ok."],
        ["Berg et al. Found it first.", "Others followed."],
        ["It holds ca. 40 boats, i.e. Three rows.", "Each is full."],
        ["Mr.\u00a0Holm came.", "He sat."],
    ],
)
def test_a_title_or_abbreviation_before_a_name_ends_nothing(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["Jan. 3rd was cold.", "Feb. was warm."],
        ["It began in Sept. 2020.", "It ended in Oct.", "It was over."],
        ["See p. 12 and pp. 3-5.", "Then stop."],
        ["See fig. 3.", "It helps."],
        ["No. 5 won.", "No.", "It lost."],
        ["Ida (b. 1850) sang.", "She died."],
    ],
)
def test_an_abbreviation_before_a_number_ends_nothing_and_before_a_word_it_may(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["At 5 p.m.", "The shop shuts."],
        ["At 5 p.m. Monday it shut.", "Good."],
        ["Ida Berg, M.D.", "She runs it."],
        ["He has a Ph.D. from Arden.", "He reads."],
        ["They lived in Washington D.C.", "The house was small."],
        ["She works for Lunt & Co.", "It pays."],
        ["The U.K. Parliament met.", "It rose."],
        ["Bring rope, pegs, etc. Bring them dry.", "Thanks."],
        ["Choose plan B.", "Then go."],
        ["J.K. Rowling wrote.", "M. Dupont read."],
    ],
)
def test_what_ends_either_way_ends_before_a_word_that_opens_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "He paid $3.50 for version 3.11.2",
        "Visit example.com or mail ida.berg@x.org",
        "Yahoo! was sold",
        "Who? me? or you",
        "He said wait... and then nothing",
        "It was old (1.5 years) and new (see b.) there",
        "One.Two",
    ],
)
def test_a_stop_before_a_small_letter_or_within_a_word_ends_nothing(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "expected",
    [
        ["Wow!!!", "Really?!", "Hmm..", "Yes."],
        ['He asked, "Who?"', "Then he left."],
        ["He said: 'Go.'", "She went."],
        ["(He left.)", "She stayed."],
        ["Wait…", "And you?"],
        ["¿Qué?", "¡No!", "Sí."],
        ["Это дом.", "Это сад."],
        ["Great 😀.", "😀 Next.", "Done."],
        ["\x00One.", "Two.\x00"],
        ["Is it 5?", "6?", "No."],
    ],
)
def test_marks_quotes_brackets_and_other_scripts_end_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_windows_end_like_those_of_other_systems(end: str) -> None:
    lines = ["Opening hours", "Nine to noon.", "- bread", "- milk", "1. Wash", "2. Dry"]
    assert sentences(end.join(lines)) == lines
    wrapped = f"This line is as full as the lines of wrapped text are,{end}so that it goes on"
    assert sentences(wrapped) == [wrapped]


@given(EVERYDAY)
def test_spans_follow_each_other_and_leave_out_only_white_space(text: str) -> None:
    place = 0
    for start, end in sentence_spans(text, 1000):
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        place = end
    assert not text[place:].strip()


@given(EVERYDAY, st.integers(0, 5))
def test_no_more_spans_are_given_than_asked_for(text: str, limit: int) -> None:
    assert list(sentence_spans(text, limit)) == list(sentence_spans(text, 1000))[:limit]


@given(EVERYDAY)
def test_sentences_of_a_text_do_not_depend_on_the_text_before(text: str) -> None:
    """Pages are split alone and read together."""
    before = "A first paragraph.\n\n"
    shifted = (len(before) + end for end in sentence_ends(text.lstrip()))
    assert sentence_ends(before + text.lstrip()) == (len(before), *shifted)


def test_a_sentence_that_is_too_long_is_cut_between_its_words() -> None:
    text = "All of this is one sentence, " * 100
    parts = sentences(text)
    assert max(map(len, parts)) <= 1000
    assert " ".join(parts) == text.strip()
    assert len(parts) == 3


def test_a_family_of_emoji_is_not_cut_apart() -> None:
    family = "👩\u200d👩\u200d👧"
    text = family * 20
    ends = sentence_ends(text, 12)
    assert len(ends) > 1
    assert all("\u200d" not in text[end - 1 : end + 1] for end in ends)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Status: open\nOwner: Marta", True),
        ("  **Status:** open\n**Owner:** Marta", True),
        ("Second source of it: Tampere\nOwner: Marta", True),
        ("Status: open\nand Marta", False),
        ("Status open\nOwner: Marta", False),
        ("12:30 lunch\n13:30 work", False),
        ("http://a.org x\nhttp://b.org y", False),
        ("So it came that everyone had to say: no\nOwner: Marta", False),
    ],
)
def test_two_lines_with_labels_are_a_pair(text: str, *, pair: bool) -> None:
    assert is_labelled_pair(text, 0, text.index("\n") + 1) is pair


@pytest.mark.parametrize(
    ("line", "width"), [("", 0), ("abc", 3), ("äß", 2), ("中文", 4), ("ｶﾅ", 2), ("カナ", 4), ("Ａ", 2)]
)
def test_wide_characters_take_two_columns(line: str, width: int) -> None:
    assert width_of(line) == width


@pytest.mark.parametrize(
    ("text", "stripped"),
    [("  a b \n", (2, 5)), ("a", (0, 1)), ("\u3000\u00a0x\u2009", (2, 3)), ("\u200bx", (0, 2))],
)
def test_white_space_around_a_part_is_left_out(text: str, stripped: tuple[int, int]) -> None:
    assert without_space(text, 0, len(text)) == stripped


def test_a_part_of_nothing_but_white_space_is_empty() -> None:
    begin, stop = without_space("a \n\t b", 1, 5)
    assert begin == stop


@given(EVERYDAY, st.data())
def test_sentences_of_a_part_of_a_unit_stay_within_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    for ends in ((), sentence_ends(text)):
        unit = Unit("u", Kind.PASSAGE, "", text, (Span("d", 0, len(text)),), sentence_ends=ends)
        found = list(unit_sentences(unit, start, end))
        assert all(start <= first < last <= end for first, last in found)
        assert all(last <= first for (_, last), (first, _) in pairwise(found))
        assert "".join("".join(text[first:last].split()) for first, last in found) == "".join(text[start:end].split())
