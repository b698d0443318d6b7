"""Sentences tile the text and passages have exact spans; hard cases check the sentence ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.documents.blocks import Piece, assemble, ends_within
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.errors import UsageError
from hoptrail.text.sentences import sentence_ends, shortened_ends
from hoptrail.text.words import words_in
from hoptrail.types import BlockKind, Document, content_id

# Text that provokes: stops, quotes, breaks, marks, directions, joiners, wide scripts, plain words.
PROVOKING = st.text(
    st.sampled_from(list(".!?…。！\"'”)([ \n\t\r\u3000\u200d\u202e\u0301\u0e01中aA1é\U0001f469\U0001f3fd#-")),
    max_size=300,
)
ANY = st.text(st.characters(exclude_categories=()), max_size=300)


def make_document(text: str, ends: tuple[int, ...] | None = None) -> Document:
    ends = sentence_ends(text) if ends is None else ends
    return Document(content_id("d", "", text), "A title", text, ends, ("/a",))


def sentences(text: str) -> list[str]:
    document = make_document(text)
    return [document.slice(span).strip() for span in document.sentences()]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Pyckle met Mr. Pryde.", "They left."],
        ["St. Maurice's Abbey stands.", "It is old."],
        ["J. R. R. Tolkien wrote it.", "C. S. Lewis read it."],
        ["It cost 3.5 million.", "Nobody paid."],
        ["He moved to the U.S. Senate in 1990.", "He stayed."],
        ["She lived in the U.S.", "He did not."],
        ["See No. 5 on the list.", "No other is as good."],
        ["Was it so?", "Yes!", "It was."],
        ['"Stop!" he said.', '"Never."', "She ran."],
        ["He was born c. 1204 in York.", "He died there."],
        ["Acme Inc. Europe was sold to Brand Ltd.", "The price was low."],
        ["It ended (see vol. 3).", "[It began again.]", "Done."],
        ["One claim.[1]", "Another claim.[2][3]", "A third."],
        ["Wait...", "What?!", "No."],
        ["wait... and see.", "Good."],
        ["今日は雨です。", "明日は晴れです。", "「行こう！」", "彼は言った。"],
        ["他来了。", "她走了！", "真的吗？"],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["هل هذا صحيح؟", "نعم."],
        ["Der Zug fuhr z.B. Richtung Bonn.", "Dann hielt er."],
        ["Er wurde am 12. März 1879 in Ulm geboren.", "Er starb 1955."],
        ["Der 1. FC Köln zahlte 3,5 Mio. Euro.", "Das war viel."],
        ["She was 12.", "Apples were dear."],
        ["円周率は３．１４です。", "次は５。", "終わり。"],
        ["Er sagte: „Ich komme.“", "Dann ging er.", "‚Nein.‘", "„Dr. Maier“ blieb.", "»Ja.«", "Gut."],
        ["He left.", "“Stop,” she said.", "Sie kam.", "»Komm.«"],
        ["Il a dit : « Non. » et il partit.", "« Oui.\u00a0»", "« Quoi ?\u202f» dit-elle.", "Rien."],
        ["It is **important.**", "So is **Dr.** Smith.", "_Then._", "*So.* **it** goes."],
        ["საქართველო არის ქვეყანა.", "თბილისი არის დედაქალაქი.", "ის დიდია."],
        ["A claim.¹", "Another.[2]", "“A third.”³", "A fourth."],
    ],
)
def test_hard_cases(expected: list[str]) -> None:
    separator = "" if "。" in expected[0] else " "
    assert sentences(separator.join(expected)) == expected


def test_layout_ends_sentences() -> None:
    text = "# A heading\nA paragraph that runs on over the end of a line that is full\nand goes on."
    text += "\n\nno stop here\n\n- one item\n- two"
    expected = [
        "# A heading",
        "A paragraph that runs on over the end of a line that is full\nand goes on.",
        "no stop here",
        "- one item",
        "- two",
    ]
    assert sentences(text) == expected


def test_the_number_of_an_item_is_no_sentence() -> None:
    steps = ["1. First do this.", "2. Then do that: it takes longer than a line of this width.", "10. Rest."]
    for between in (" ", "\n", "\n\n"):
        assert sentences(between.join(steps)) == steps
    assert sentences("Eggs\n1. Boil\n2. Eat") == ["Eggs", "1. Boil", "2. Eat"]
    assert sentences("１．はじめに\n２．方法") == ["１．はじめに", "２．方法"]
    assert sentences("He lived in great peace and died at the age of\n72. His house stands.")[-1] == "His house stands."


def test_a_sentence_runs_on_over_lines_that_are_full() -> None:
    wrapped = "Ilse Marrow was born in Ostrey. The sloop she sailed was called\nGannet, after a bird. "
    wrapped += "Later she sold the sloop to her cousin\nNerys Dole."
    assert sentences(wrapped) == [
        "Ilse Marrow was born in Ostrey.",
        "The sloop she sailed was called\nGannet, after a bird.",
        "Later she sold the sloop to her cousin\nNerys Dole.",
    ]
    assert sentences("Spring\nGannet lies at anchor") == ["Spring", "Gannet lies at anchor"]


def test_wide_characters_fill_lines_of_half_as_many() -> None:
    wrapped = "人口は約千四百万人であり、政治と経済の中心と\nなっている。多くの大学がある。"
    assert sentences(wrapped) == ["人口は約千四百万人であり、政治と経済の中心と\nなっている。", "多くの大学がある。"]
    assert sentences("人口は約千四百万人\n政治と経済の中心") == ["人口は約千四百万人", "政治と経済の中心"]


@pytest.mark.parametrize("opening", ["**dog** and runs", "*dog* and runs", "-5 degrees", "+5 degrees", "-- as it was"])
def test_a_mark_without_space_opens_no_item(opening: str) -> None:
    wrapped = f"The line before is as full as lines of wrapped text are\n{opening} and so on."
    assert sentences(wrapped) == [wrapped]


@pytest.mark.parametrize("opening", ["- one", "* one", "+ one", "•one", "1. one", "| one |", "---\n"])
def test_items_and_rules_open_lines_of_their_own(opening: str) -> None:
    line = "The line before is as full as lines of wrapped text are"
    assert sentences(f"{line}\n{opening}")[0] == line


def test_lines_with_labels_stand_by_themselves() -> None:
    labelled = [
        "Status: in production since the third of October 2023",
        "**Owner:** Callum Baird",
        "Second source: Tampere",
    ]
    assert sentences("\n".join(labelled)) == labelled
    prose = "He said of the ship that was lost: it was too small for a crew of\nsix: no more than four had a berth, and he knew."
    assert sentences(prose) == [prose]


def test_white_space_belongs_to_the_sentence_before() -> None:
    text = "  One.  \n Two. \n"
    assert [text[a:b] for a, b in pairwise((0, *sentence_ends(text)))] == ["  One.  \n ", "Two. \n"]


@pytest.mark.parametrize(("text", "ends"), [("", ()), ("x", (1,)), (" \n\t ", (4,)), (".", (1,))])
def test_c1_hardly_any_text(text: str, ends: tuple[int, ...]) -> None:
    assert sentence_ends(text) == ends


@given(st.one_of(ANY, PROVOKING), st.integers(1, 50))
def test_c8_any_text_is_tiled(text: str, longest: int) -> None:
    ends = sentence_ends(text, longest)
    assert "".join(text[a:b] for a, b in pairwise((0, *ends))) == text
    assert all(len(text[a:b].strip()) <= longest for a, b in pairwise((0, *ends)))
    assert all(a < b for a, b in pairwise((0, *ends)))


@given(st.one_of(ANY, PROVOKING), st.integers(1, 12), st.integers(0, 20))
def test_c8_passages_are_exact_and_lose_only_white_space(text: str, words: int, short: int) -> None:
    document = make_document(text)
    units = passages(document, PassageLimits(words, short))
    place = 0
    for unit in units:
        (span,) = unit.sources
        assert unit.text == text[span.start : span.end] == unit.text.strip() != ""
        assert not text[place : span.start].strip()
        assert unit.id == content_id("p", document.id, str(span.start), str(span.end))
        place = span.end
    assert not text[place:].strip()
    assert (units == ()) == (not text.strip())


@pytest.mark.parametrize(
    "text",
    ["a" * 500_000, "." * 500_000, " " * 500_000 + "x", "\n" * 500_000, "中" * 250_000, "." + " " * 500_000 + "A",
     ".[1" * 200_000, "." + '"' * 500_000, " \n" * 250_000 + "A", "\u0301" * 250_000,
     " " * 250_000 + "1. " * 50_000, "．" * 250_000],
    ids=["letters", "stops", "spaces", "breaks", "chinese", "gap", "notes", "quotes", "blank lines", "accents", "numbers",
         "wide stops"],
)  # fmt: skip
def test_c1_time_is_linear_whatever_the_text(text: str) -> None:
    passages(make_document(text))  # a quadratic pattern takes longer than a test may


def test_c1_a_long_line_is_cut_at_white_space() -> None:
    text = "word " * 2000
    ends = sentence_ends(text, 98)
    assert max(b - a for a, b in pairwise((0, *ends))) <= 98
    assert all(text[end - 1] == " " for end in ends)


def test_a_cut_keeps_accents_with_their_letter() -> None:
    text = "e\u0301" * 50
    assert all(end % 2 == 0 for end in sentence_ends(text, 11))


def test_given_ends_are_kept_and_only_long_sentences_cut() -> None:
    assert shortened_ends("abc def. ghi", (9, 12), 5) == (4, 9, 12)


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        sentence_ends("a", 0)
    with pytest.raises(UsageError, match="at least 1 word"):
        PassageLimits(words=0)


def test_c9_scripts_without_spaces_count_characters() -> None:
    assert words_in("two words") == 2
    assert words_in("今日は雨") == 4
    assert words_in("ภาษาไทย") == 2
    assert words_in("x" * 48) == 2
    chinese = make_document("他来了，她也来了。" * 100)
    assert [words_in(unit.text) <= 200 for unit in passages(chinese)] == [True] * 5


def test_c9_mixed_languages_tile() -> None:
    assert sentences("Tokyo is 東京。大きい。 Paris ist groß. นี่คือภาษาไทย") == [
        "Tokyo is 東京。",
        "大きい。",
        "Paris ist groß.",
        "นี่คือภาษาไทย",
    ]


def test_a_short_document_stays_whole() -> None:
    text = "Five words are in here. " * 80
    (only,) = passages(make_document(text), PassageLimits(words=10, short_document_words=400))
    assert only.text == text.strip()
    assert len(passages(make_document(text + "More."), PassageLimits(words=10, short_document_words=400))) > 1


def test_passages_hold_whole_sentences_up_to_the_limit() -> None:
    units = passages(make_document("Five words are in here. " * 9), PassageLimits(words=12, short_document_words=0))
    assert [words_in(unit.text) for unit in units] == [10, 10, 10, 10, 5]


def test_passages_prefer_paragraph_ends() -> None:
    paragraphs = ["Six words are in this one. " * 2, "Six words are in that one. " * 3]
    units = passages(make_document("\n\n".join(paragraphs)), PassageLimits(words=20, short_document_words=0))
    assert [unit.text for unit in units] == [paragraph.strip() for paragraph in paragraphs]


def test_one_sentence_above_the_limit_is_its_own_passage() -> None:
    units = passages(
        make_document("Short. Very " + "long " * 29 + "end. Short."), PassageLimits(words=5, short_document_words=0)
    )
    assert [words_in(unit.text) for unit in units] == [1, 31, 1]


def test_a_passage_that_begins_within_a_list_is_searched_with_what_introduces_it() -> None:
    items = (Piece(BlockKind.ITEM, f"Pack the {thing} with care.", 1) for thing in ("sextant", "lamp", "anchor"))
    parsed = assemble("", [Piece(BlockKind.PARAGRAPH, "Before the move:"), *items])
    ends = ends_within(parsed.text, parsed.blocks, 1000)
    document = Document("d", "Moving", parsed.text, ends, ("here",), blocks=parsed.blocks)
    first, second = passages(document, PassageLimits(words=14, short_document_words=0))
    assert first.searchable == "Moving\nBefore the move:\n\nPack the sextant with care.\nPack the lamp with care."
    assert second.text == "Pack the anchor with care."
    assert second.searchable == "Moving\nBefore the move:\nPack the anchor with care."
