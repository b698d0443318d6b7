"""Triples read off sentences and questions by rules."""

from __future__ import annotations

import pytest

from hoptrail.types import Fact, Span, Triple
from hoptrail_papers.comprag.lemmas import lemmatised
from hoptrail_papers.comprag.question_triples import Pattern, question_triples
from hoptrail_papers.comprag.sentence_triples import MOST, triples_in, triples_of

PLACE = Span("d", 0, 1)


def read(text: str, *names: str) -> list[str]:
    return [f"{triple.subject} | {triple.relation} | {triple.object}" for triple in triples_in(text, names)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Orla Finch was born in Wrenmouth in 1841.", ["was born in | Wrenmouth", "was born in | 1841"]),
        ("Orla Finch designed the Tallow Bridge and the Isk Weir.", ["designed | Tallow Bridge", "designed | Isk Weir"]),
        ("Orla Finch (4 May 1841 – 2 June 1902) was a designer.", ["born | 4 May 1841", "died | 2 June 1902", "was | designer"]),
        ("Orla Finch was the eldest daughter of Maud Finch.", ["was | eldest daughter", "was eldest daughter of | Maud Finch"]),
    ],
)  # fmt: skip
def test_the_mentions_of_a_sentence_are_joined_by_the_words_between(text: str, expected: list[str]) -> None:
    assert read(text, "Orla Finch") == [f"Orla Finch | {rest}" for rest in expected]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("The film was directed by Ada Quill.", "Night Boats"),
        ("It was directed by Ada Quill.", "Night Boats"),
        ("Boats was directed by Ada Quill.", "Night Boats"),
        ("In 1931 it was directed by Ada Quill.", "Night Boats"),
    ],
)
def test_what_points_back_to_the_title_stands_for_it(text: str, about: str) -> None:
    assert read(text, about)[0].startswith("Night Boats | ")
    assert read(text, about)[0].endswith("directed by | Ada Quill")


def test_another_thing_than_the_title_is_its_own_subject() -> None:
    assert read("The last dance of autumn is opened by Jonas Pell.", "Harrow Fair") == [
        "last dance of autumn | is opened by | Jonas Pell"
    ]


def test_who_a_clause_is_about_is_the_name_before_it() -> None:
    found = read("Orla Finch married Tom Reed, who designed the Isk Weir.", "Orla Finch")
    assert found == ["Orla Finch | married | Tom Reed", "Tom Reed | designed | Isk Weir"]
    assert "Tom Reed | brother of | Ida Voss" in read("Orla Finch met Tom Reed, the brother of Ida Voss.", "Orla Finch")


@pytest.mark.parametrize("text", ["", "...", "Hello", "zqx", "它在哪里？", "the of and", "Orla Finch", "1841 1842"])
def test_what_says_nothing_gives_nothing(text: str) -> None:
    assert triples_in(text, ()) == triples_in(text, ("Orla Finch",)) == ()


def test_a_list_of_names_is_cut() -> None:
    names = ", ".join(f"Ann{chr(97 + place)}" for place in range(20))
    assert len(triples_in(f"Orla Finch met {names}.", ("Orla Finch",))) == MOST


def test_a_stated_triple_is_taken_as_it_is() -> None:
    stated = Triple("Orla Finch", "designer of", "the bridge")
    assert triples_of(Fact("Ada Quill wrote Night Boats.", (), PLACE, stated), "x") == (stated,)
    assert triples_of(Fact("Ada Quill wrote Night Boats.", (), PLACE), "") == (
        Triple("Ada Quill", "wrote", "Night Boats"),
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who designed the Tallow Bridge?", [Pattern(None, "designed", "Tallow Bridge")]),
        ("Where was Orla Finch born?", [Pattern("Orla Finch", "was born", None)]),
        ("When did Orla Finch die?", [Pattern("Orla Finch", "die", None)]),
        ("Who is the mother of Orla Finch?", [Pattern("Orla Finch", "mother"), Pattern(None, "mother of", "Orla Finch")]),
        ("Who is Orla Finch's mother?", [Pattern("Orla Finch", "is mother"), Pattern("Orla Finch", "mother"),
                                         Pattern(None, "mother of", "Orla Finch")]),
        ("Where was the director of the film Night Boats born?", [Pattern("Night Boats", "director"),
                                                                  Pattern(None, "director of", "Night Boats")]),
        ("Who died first, Orla Finch or Tom Reed?", [Pattern("Orla Finch", "died"), Pattern("Tom Reed", "died")]),
    ],
)  # fmt: skip
def test_a_question_is_a_triple_with_an_open_slot(question: str, expected: list[Pattern]) -> None:
    found = question_triples(question)
    assert list(found.whole) == expected
    assert all(slot != "?" for pattern in found.patterns for slot in pattern.slots)
    names = {slot for pattern in expected for slot in (pattern.subject, pattern.object) if slot}
    assert set(found.partial) == {Pattern(subject=name) for name in names} | {Pattern(object=name) for name in names}


def test_relations_between_things_that_are_not_named_are_kept_for_the_walk() -> None:
    found = question_triples("Which river flows through the town where Orla Finch was born?")
    assert found.whole == (Pattern("Orla Finch", "was born"),)
    assert set(found.relations) == {"was born", "flows through"}


def test_noun_phrases_are_partial_patterns_only_when_asked_for() -> None:
    question = "Which harbour festival opens in winter?"
    assert question_triples(question).patterns == ()
    assert Pattern(subject="harbour festival") in question_triples(question, noun_phrases=True).partial


@pytest.mark.parametrize("question", ["", "?", "zqx", "Who?", "it", "it's", "The", "它在哪里？", "'s", "of of of"])
def test_odd_questions_have_no_pattern(question: str) -> None:
    assert question_triples(question).patterns == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("was directed by", "be direct by"),
        ("wrote studies", "write study"),
        ("releasing boxes", "release box"),
        ("sing class Texas", "sing class texa"),
        ("winning stopped", "win stop"),
        ("", ""),
    ],
)
def test_base_forms(text: str, expected: str) -> None:
    assert lemmatised(text) == expected
