"""Whether replies cite what stands in the evidence, and whether an answer stands in what is cited for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fakeai.brains import by_task
from hoptrail.documents.blocks import Piece
from hoptrail.language.chat.grounding import is_supported, parse_answer, reading_from
from hoptrail.language.chat.schemas import ReadingReply
from hoptrail.language.tasks import Finding, Integrate, Read, Reading, Step
from hoptrail.types import BlockKind, Kind, Span, Unit
from language_chat import ANSWER, Speaking, passage
from language_chat import QUESTION as ASKED
from pieces import unit_of

QUESTION = "Where does the river that flows through Wrenmouth rise?"


def reply(answer: object, *steps: Mapping[str, object]) -> ReadingReply:
    return ReadingReply.model_validate({"answer": answer, "steps": list(steps), "confidence": 0.7})


def cited(reading: Reading, *units: Unit) -> list[list[str]]:
    """The text behind every step's spans."""
    by_document = {unit.document: unit for unit in units}
    return [
        [by_document[span.document].text[span.start - 7 : span.end - 7] for span in step.support]
        for step in reading.steps
    ]


def test_numbers_and_quotes_become_whole_sentences(isk: Unit, wrenmouth: Unit) -> None:
    steps = (
        {"question": "Which river?", "answer": "the Isk", "evidence": [2], "quote": "the river ISK flows  through"},
        {
            "question": "Where?",
            "answer": "the Grey Hills",
            "evidence": [1],
            "quote": "It rises in the Grey Hills and is 90 km long.",
        },
    )
    reading = reading_from(QUESTION, reply("the Grey Hills", *steps), (isk, wrenmouth))
    assert reading.answer == "the Grey Hills"
    assert reading.confidence == 0.7
    assert cited(reading, isk, wrenmouth) == [
        ["The river Isk flows through Wrenmouth."],
        ["It rises in the Grey Hills and is 90 km long."],
    ]


def test_numbers_that_were_never_given_out_do_not_count(isk: Unit, wrenmouth: Unit) -> None:
    step = {"question": "q", "answer": "Isk", "evidence": [0, 3, 99, 2], "quote": None}
    assert cited(reading_from(QUESTION, reply("Isk", step), (isk, wrenmouth)), isk, wrenmouth) == [
        ["The river Isk flows through Wrenmouth."]
    ]


def test_without_a_quote_the_sentences_with_the_answer_are_cited(isk: Unit) -> None:
    step = {"question": "q", "answer": "90 km", "evidence": [1]}
    assert cited(reading_from("How long?", reply("90 km", step), (isk,)), isk) == [
        ["It rises in the Grey Hills and is 90 km long."]
    ]


def test_an_answer_inside_another_word_is_not_found_there(isk: Unit) -> None:
    step = {"question": "q", "answer": "is", "evidence": []}
    assert cited(reading_from("q", reply("is", step), (isk,)), isk) == [["The Isk is a river."]]
    step = {"question": "q", "answer": "rise", "evidence": []}
    assert cited(reading_from("q", reply("rise", step), (isk,)), isk) == [[]]


def test_yes_without_a_quote_cites_the_piece_whole(isk: Unit) -> None:
    step = {"question": "q", "answer": "yes", "evidence": [1]}
    assert cited(reading_from("Is it long?", reply("yes", step), (isk,)), isk) == [[isk.text]]


def test_nothing_cited_cites_where_the_answer_stands_or_nothing(isk: Unit, wrenmouth: Unit) -> None:
    reading = reading_from(QUESTION, reply("Grey Hills"), (wrenmouth, isk))
    assert cited(reading, isk, wrenmouth) == [["It rises in the Grey Hills and is 90 km long."]]
    assert reading_from(QUESTION, reply("yes"), (isk,)).steps == (Step(QUESTION, "yes", ()),)
    assert reading_from(QUESTION, reply("Blue Hills"), (isk,)).steps == (
        Step(QUESTION, "Blue Hills", (), supported=False),
    )


def test_the_last_step_yields_the_answer(isk: Unit) -> None:
    step = {"question": "Which river?", "answer": "Isk", "evidence": [1]}
    reading = reading_from(QUESTION, reply("90 km", step), (isk,))
    assert [one.answer for one in reading.steps] == ["Isk", "90 km"]
    assert reading.steps[-1].support == reading.steps[0].support


def test_steps_that_found_nothing_are_left_out(isk: Unit) -> None:
    steps = (
        {"question": "a", "answer": None},
        {"question": "b", "answer": "unknown"},
        {"question": "c", "answer": "Isk", "evidence": [1]},
    )
    assert [step.question for step in reading_from(QUESTION, reply("isk", *steps), (isk,)).steps] == ["c"]


def test_an_abstention_keeps_the_steps_that_were_answered(isk: Unit) -> None:
    step = {"question": "q", "answer": "Isk", "evidence": [1]}
    reading = reading_from(QUESTION, reply(None, step, {"question": "r", "answer": None}), (isk,))
    assert reading.answer is None
    assert [(one.question, one.answer) for one in reading.steps] == [("q", "Isk")]
    assert reading_from(QUESTION, reply(None), (isk,)) == Reading(None)


def test_derived_units_cite_their_sources() -> None:
    sources = (Span("d1", 5, 20), Span("d2", 0, 9))
    unit = Unit("a", Kind.AGGREGATE, "Isk", "The Isk is long.\nIt is cold.", sources)
    step = {"question": "q", "answer": "cold", "evidence": [1], "quote": "It is cold, cold."}
    assert reading_from("q", reply("cold", step), (unit,)).steps[0].support == (sources[1],)


def test_every_span_lies_inside_what_was_shown(isk: Unit, wrenmouth: Unit) -> None:
    for quote in ("", "The Isk is a river. It rises in", "a sentence that nobody wrote", "Isk"):
        for numbers in ([], [1], [2, 1], [7]):
            step = {"question": "q", "answer": "Isk", "evidence": numbers, "quote": quote}
            for one in reading_from("q", reply("Isk", step), (isk, wrenmouth)).steps:
                assert all(any(unit.sources[0].covers(span) for unit in (isk, wrenmouth)) for span in one.support)


FILMS = (
    passage("Unknown (2011 film)", "Unknown is a thriller by Jaume Collet-Serra. Its budget is unknown."),
    passage("Anatole Litvak", '"Sorry, Wrong Number" was made in 1948. None of his films is lost.'),
    passage("Mike Reid", "With Allen Shamblin he wrote “I Can't Make You Love Me” and, in 1994, Not Known."),
)


@pytest.mark.parametrize(
    "answer", ["Unknown", "“Unknown”", "Sorry, Wrong Number", "I Can't Make You Love Me", "Not Known."]
)
def test_a17_titles_that_sound_like_no_answer_are_answers_where_the_evidence_holds_them(answer: str) -> None:
    reading = reading_from("What was made?", reply(answer, {"question": "q", "answer": answer}), FILMS)
    assert (reading.answer, [step.answer for step in reading.steps]) == (answer, [answer])
    assert parse_answer(answer) is None
    assert parse_answer(answer, (passage("Isk", "It is not known; it is unknown. I cannot say."),)) is None


@pytest.mark.parametrize(
    "answer", ["None", "none", "not known", "I cannot say", "I'm sorry, I cannot help.", "N/A", ""]
)
def test_a17_words_that_only_stand_in_the_evidence_are_no_answer(answer: str) -> None:
    asides = passage(
        "Asides", "I cannot say. None of it is known, the cause is not known, none at all, and N/A in the table."
    )
    assert reading_from("What was made?", reply(answer), (*FILMS, asides)).answer is None


BRIDGE = passage(
    "Tallow Bridge", "The Tallow Bridge spans the harbour. It was designed by Orla Finch. It opened on 12 May 1871."
)
LEASE = passage(
    "Lease of unit 4",
    "The rent is 1,250 euros a month. Notice is three months. It began in 2019. "
    "Rent of 1,250 comes with a deposit of 2,500.",
)
SUMMARY = Unit("s", Kind.SUMMARY, "", "Orla Finch designed it.", (Span("d-1", 0, 90), Span("d-2", 0, 50)))


def sentence(unit: Unit, words: str) -> Span:
    """The sentence of a passage that begins with these words."""
    start = unit.text.index(words)
    return Span(unit.document, 7 + start, 7 + unit.text.index(".", start) + 1)


@pytest.mark.parametrize(
    ("question", "answer", "unit", "words", "supported"),
    [
        ("Who designed it?", "Orla Finch", BRIDGE, "It was", True),
        ("Who designed it?", "orla finch.", BRIDGE, "It was", True),
        ("Who designed it?", "Ada Finch", BRIDGE, "It was", False),
        ("Who designed it?", "Ilse Marrow", BRIDGE, "It was", False),
        ("What did she design?", "the Tallow Bridge", BRIDGE, "It opened", True),
        ("What does it span?", "the harbour", BRIDGE, "It was", True),
        ("When did it open?", "May 12, 1871", BRIDGE, "It opened", True),
        ("When did it open?", "13 May 1871", BRIDGE, "It opened", False),
        ("When did it open?", "1871", BRIDGE, "It opened", True),
        ("When did it open?", "1872", BRIDGE, "It opened", False),
        ("Was it designed by a woman?", "yes", BRIDGE, "It opened", True),
        ("Which is older, the Tallow Bridge or the Mill?", "the Mill", BRIDGE, "It opened", True),
        ("What is the rent?", "1,250 euros", LEASE, "The rent", True),
        ("What is the rent?", "250 euros", LEASE, "The rent", False),
        ("What is the rent?", "1,300 euros", LEASE, "The rent", False),
        ("What are rent and deposit together?", "3,750 euros", LEASE, "Rent of", True),
        ("How long is notice?", "three months", LEASE, "Notice", True),
        ("How long is notice?", "six weeks", LEASE, "Notice", False),
    ],
)
def test_words_and_numbers_must_stand_where_they_are_cited(
    question: str, answer: str, unit: Unit, words: str, *, supported: bool
) -> None:
    assert is_supported(question, answer, (sentence(unit, words),), (LEASE, BRIDGE)) is supported


def test_what_cites_nothing_supports_what_needs_none() -> None:
    assert is_supported("Is it old?", "no", (), (BRIDGE,))
    assert not is_supported("Who?", "Orla Finch", (), (BRIDGE,))


def test_a_summary_says_what_it_says_for_all_its_sources() -> None:
    assert is_supported("Who?", "Orla Finch", SUMMARY.sources, (SUMMARY,))
    assert not is_supported("Who?", "Ilse Marrow", SUMMARY.sources, (SUMMARY,))


def test_other_scripts_are_compared_as_they_stand() -> None:
    tower = passage("東京タワー", "東京タワーは1958年に完成した。設計者は内藤多仲である。")
    assert is_supported("設計者は誰か", "内藤多仲", tower.sources, (tower,))
    assert not is_supported("設計者は誰か", "丹下健三", tower.sources, (tower,))


def test_a_reading_whose_words_are_not_there_is_marked_and_hardly_believed(speaking: Speaking, isk: Unit) -> None:
    step: dict[str, Any] = {**ANSWER["steps"][0], "answer": "the Alps"}
    language = speaking(by_task({"answer": {"steps": [step], "answer": "the Alps", "confidence": 0.9}}))
    reading = language.perform(Read(ASKED, (isk,))).value
    assert (reading.answer, reading.supported, reading.confidence) == ("the Alps", False, 0.225)
    assert reading.steps[0].support, "what was cited is still shown"


def test_a_reading_whose_words_are_there_is_not(speaking: Speaking, isk: Unit) -> None:
    reading = speaking(by_task({"answer": ANSWER})).perform(Read(ASKED, (isk,))).value
    assert (reading.supported, reading.confidence) == (True, 0.9)


def test_conclusions_from_answers_alone_rest_on_these(speaking: Speaking) -> None:
    language = speaking(by_task({"integrate": {"reasoning": "So.", "answer": "Isk", "confidence": "high"}}))
    reading: Reading = language.perform(Integrate("q", (Finding("a", "a", "Isk"),))).value
    assert reading.supported


def test_a_row_is_quoted_as_it_was_shown() -> None:
    header = Piece(BlockKind.ROW, cells=(("", "service"), ("", "price")), level=1)
    rows = [
        Piece(BlockKind.ROW, cells=(("service", name), ("price", cost)))
        for name, cost in (("tyres", "66"), ("oil", "75"))
    ]
    unit = unit_of("Prices", header, *rows)
    step = {"question": "q", "answer": "75", "evidence": [1], "quote": "service: oil; price: 75"}
    reading = reading_from("What does oil cost?", reply("75", step), (unit,))
    (span,) = reading.steps[-1].support
    first = unit.sources[0].start
    assert unit.text[span.start - first : span.end - first].split() == ["oil", "75"]
    assert reading.supported


def test_a_sentence_whose_words_stand_in_one_passage_cites_it(isk: Unit, wrenmouth: Unit) -> None:
    reading = reading_from(QUESTION, reply("The Isk flows through the town of Wrenmouth."), (isk, wrenmouth))
    assert cited(reading, isk, wrenmouth) == [["The river Isk flows through Wrenmouth."]]
    assert reading.confidence == 0.7
    reading = reading_from(QUESTION, reply("The Isk flows through the town of Marn."), (isk, wrenmouth))
    assert (reading.steps[-1].support, reading.supported) == ((), False)
