"""Answers come as what they are: a cell, the items of a list, the steps of a procedure, the block that gives a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.documents.splitting import passages
from hoptrail.language.offline.listing import list_by_reading, listing
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Abstain, Read, Reading, Step
from hoptrail.text.statements import statements_of
from hoptrail.types import AnswerKind, BlockKind, Unit
from language.offline.outcomes import given
from language.offline.scripted_reader import ScriptedReader
from pieces import document_of


def heading(text: str, level: int = 1) -> Piece:
    return Piece(BlockKind.HEADING, text, level)


def items(*texts: str, ordered: bool = False) -> list[Piece]:
    return [Piece(BlockKind.ITEM, text, 1, ordered) for text in texts]


def table(headers: tuple[str, ...], *rows: tuple[str, ...]) -> list[Piece]:
    first = Piece(BlockKind.ROW, level=1, cells=tuple(("", header) for header in headers))
    return [first, *(Piece(BlockKind.ROW, cells=tuple(zip(headers, row, strict=True))) for row in rows)]


def paragraph(text: str) -> Piece:
    return Piece(BlockKind.PARAGRAPH, text)


CREW = [
    heading("Crew"),
    *table(
        ("Name", "Task", "Started", "Reports to", "Home port"),
        ("Ada Lunt", "Skipper", "2011-03-01", "", "Dunmere"),
        ("Bo Marsh", "Engineer", "2019-08-12", "Ada Lunt", "Wrenmouth"),
        ("Cy Teal", "Deck hand", "2021-01-18", "Ada Lunt", "Dunmere"),
        ("Di Rook", "Cook", "2022-04-04", "Bo Marsh", "Lindeth"),
    ),
]
FERRY = [
    heading("The ferry"),
    paragraph("Owner: Bo Marsh (engine), with help from Cy Teal"),
    paragraph("Crossing time: 25 minutes"),
    heading("Guests waiting", 2),
    paragraph("These guests are waiting for a berth:"),
    *items("The Arrow Rowing Club (4 boats)", "Isk Cannery (1 boat)"),
    heading("Starting the pump", 2),
    *items("Open the sea cock.", "Prime the pump with two litres.", "Press the green button.", ordered=True),
    heading("Calls", 2),
    paragraph("On weekdays the ferry calls at Dunmere, Wrenmouth and Lindeth."),
    heading("History", 2),
    paragraph("The night ferry was stopped in 1998. It was too loud, because the engine had no silencer."),
]


ROTA = [
    *table(("Day", "Ticket desk", "Lamps"), ("Sat 9 Nov", "Di Rook", "Cy Teal"), ("Sun 10 Nov", "Ed Lowe", "Di Rook")),
]
STORES = [
    *table(("Item", "Count", "Shelf"), ("Winch WX-3", "12", "A1"), ("Pump PX-9", "4", "B2")),
    paragraph("Guarantee: five years on the hull, one year on the engine"),
    paragraph("Notice 7 of the harbour office goes to Lindeth in May."),
]
MINUTES = {
    day: [
        heading(f"Harbour board, {day}"),
        paragraph(f"Berth fee: {fee} pounds"),
        paragraph(f"The slipway is shut because of {why}."),
    ]
    for day, fee, why in (
        ("2023-04-11", 30, "the crane that fell on the winter ice"),
        ("2024-05-06", 34, "the crane that has not come"),
    )
}
LETTER = [
    *table(("From", "Date", "Subject"), ("Ada Lunt", "2024-04-15", "The new winch")),
    paragraph("The new winch goes out on 19 August 2024."),
]


@cache
def units() -> tuple[Unit, ...]:
    world = {"Crew": CREW, "The ferry": FERRY, "Rota": ROTA, "The new winch": LETTER, "Stores": STORES} | MINUTES
    return tuple(unit for name, pieces in world.items() for unit in passages(document_of(name, pieces)))


def read(question: str) -> Reading:
    return OfflineLanguage().perform(Read(question, units())).value


@pytest.mark.parametrize(
    ("question", "kind", "answer"),
    [
        ("When did Bo Marsh start?", AnswerKind.SHORT, "2019-08-12"),
        ("What is the home port of Cy Teal?", AnswerKind.SHORT, "Dunmere"),
        ("what is the crossing time of the ferry", AnswerKind.SHORT, "25 minutes"),
        ("Who is the owner of the ferry?", AnswerKind.SHORT, "Bo Marsh"),
        ("home port of Cy Teal", AnswerKind.SHORT, "Dunmere"),
        ("ferry crossing time", AnswerKind.SHORT, "25 minutes"),
        ("BO MARSH STARTED WHEN", AnswerKind.SHORT, "2019-08-12"),
        ("who is at the ticket desk on 10 november", AnswerKind.SHORT, "Ed Lowe"),
        ("how many WX-3 do we have", AnswerKind.SHORT, "12"),
        ("Guarantee on the hull in the stores?", AnswerKind.SHORT, "five years"),
        ("List the crew", AnswerKind.LIST, "Ada Lunt; Bo Marsh; Cy Teal; Di Rook"),
        ("which names have Dunmere as their home port", AnswerKind.LIST, "Ada Lunt; Cy Teal"),
        ("Which tasks report to Ada Lunt?", AnswerKind.LIST, "Engineer; Deck hand"),
        ("Which ports does the ferry call at?", AnswerKind.LIST, "Dunmere; Wrenmouth; Lindeth"),
        (
            "Which guests are waiting for a berth?",
            AnswerKind.LIST,
            "The Arrow Rowing Club (4 boats); Isk Cannery (1 boat)",
        ),
        (
            "how do i start the pump",
            AnswerKind.STEPS,
            "Open the sea cock.; Prime the pump with two litres.; Press the green button.",
        ),
        (
            "Why was the night ferry stopped?",
            AnswerKind.PASSAGE,
            "The night ferry was stopped in 1998. It was too loud, because the engine had no silencer.",
        ),
    ],
)
def test_an_answer_is_of_the_kind_that_is_asked_for(question: str, kind: AnswerKind, answer: str) -> None:
    found = read(question)
    assert (found.answer, found.kind) == (answer, kind)
    assert found.steps[-1].support
    if kind in {AnswerKind.LIST, AnswerKind.STEPS}:
        assert "; ".join(found.items) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Why is the sky over Lindeth green?",
        "Is the ferry made of steel?",
        "List all lighthouses",
        "How do I bake bread?",
        "When is the birthday of our engineer?",
        "What is the price of the Winch WX-3?",
        "How much does the harbour office of Lindeth cost in May?",
    ],
)
def test_what_is_not_said_is_not_answered_with_something_else(question: str) -> None:
    assert given(read(question)) is None


def test_two_words_with_and_between_are_no_list_unless_they_are_names() -> None:
    text = (
        "The Founding Documents are the works entitled “Harbour Charter” and “Berth Rules”. A Founding Document is a document "
        "that is critical to the mission and purposes of the port."
    )
    found = OfflineLanguage().perform(
        Read("Which documents are the Founding Documents?", passages(document_of("Rules", [paragraph(text)])))
    )
    assert found.value.items == ("Harbour Charter", "Berth Rules")


def test_questions_in_the_contents_of_a_page_are_no_steps() -> None:
    contents = items(
        "How do I start the pump?", "How do I fill a tank?", "Where is the key of the pump room?", ordered=True
    )
    pieces = [*contents, heading("How do I start the pump?", 2), paragraph("Turn the black key and wait for a minute.")]
    found = OfflineLanguage().perform(Read("How do I start the pump in May?", passages(document_of("Pump", pieces))))
    assert "fill a tank" not in (found.value.answer or "")


def test_the_text_under_a_heading_that_asks_the_question_answers_it() -> None:
    pieces = [
        *items("Why is the pump room locked?", "What is the pump made of?"),
        heading("Why is the pump room locked?", 2),
        paragraph("Children once fell into the basin below."),
        heading("What is the pump made of?", 2),
        paragraph("The pump room is locked, so ask for a drawing because nobody remembers."),
    ]
    found = OfflineLanguage().perform(Read("why is the pump room locked", passages(document_of("Pump", pieces))))
    assert found.value.answer == "Children once fell into the basin below."


def test_of_two_texts_that_answer_the_same_question_the_later_counts() -> None:
    units = [
        unit
        for title, text in (("Rules of 3 May 2019", "The basin is deep."), ("Rules of 4 May 2024", "Mops were stolen."))
        for unit in passages(document_of(title, [heading("Why is the pump room locked?"), paragraph(text)]))
    ]
    found = OfflineLanguage().perform(Read("Why is the pump room locked?", tuple(units))).value
    assert found.answer == "Mops were stolen."


def test_a_heading_that_only_names_the_matter_does_not_answer() -> None:
    pieces = [
        *(heading("Pump filter"), paragraph("The filter costs ten pounds.")),
        paragraph("Remove the filter of the pump by turning it to the left."),
    ]
    found = OfflineLanguage().perform(
        Read("How do I remove the filter of the pump?", passages(document_of("Pump", pieces)))
    )
    assert found.value.answer is not None
    assert "to the left" in found.value.answer


def test_what_says_nothing_of_one_side_does_not_explain_a_difference() -> None:
    soft = "A soft link is a small file with the path of another one. It breaks when that is moved."
    both = "Unlike a kite, a glider carries a pilot; a kite is held by a line."
    units = passages(document_of("Links and kites", [paragraph(soft), paragraph(both)]))
    questions = ("What is the difference between a hard link and a soft link?", "How does a kite differ from a glider?")
    found = [OfflineLanguage().perform(Read(question, units)).value for question in questions]
    assert [reading.answer for reading in found] == [None, both]


def test_a_question_is_no_explanation() -> None:
    contents = items("How do I start the pump in winter?", "How do I start the winch in winter?")
    assert (
        OfflineLanguage()
        .perform(Read("How do I start the pump in winter?", passages(document_of("Pump", contents))))
        .value.answer
        is None
    )


def test_the_date_of_a_letter_is_not_that_of_what_it_tells() -> None:
    assert read("When does the new winch go out?").answer in {"19 August 2024", None}


def test_a_statement_reads_by_itself_and_stands_where_it_says() -> None:
    said = {one.said: one for unit in units() for one in statements_of(unit)}
    row = said["Name: Bo Marsh; Task: Engineer; Started: 2019-08-12; Reports to: Ada Lunt; Home port: Wrenmouth"]
    assert row.text == "Bo Marsh\tEngineer\t2019-08-12\tAda Lunt\tWrenmouth"
    assert "These guests are waiting for a berth: Isk Cannery (1 boat)" in said
    told = said["The night ferry was stopped in 1998. It was too loud, because the engine had no silencer."]
    assert told.text == "It was too loud, because the engine had no silencer."
    assert told.path == ("The ferry", "History")
    assert not any(one.startswith(("Crew", "History", "Name; ")) for one in said)


@pytest.mark.parametrize(
    ("question", "says"),
    [("what is the berth fee of the harbour", "34 pounds"), ("Why is the slipway shut?", "not come")],
)
def test_what_was_said_later_holds_and_both_are_cited(question: str, says: str) -> None:
    found = read(question)
    assert says in (found.answer or "")
    assert len({span.document for span in found.steps[-1].support}) == 2


@pytest.mark.parametrize(
    "introduced", [[Piece(BlockKind.CODE, "winch --slack rope")], items("winch --slack", "winch --stop")]
)
def test_what_a_colon_introduces_belongs_to_the_answer(introduced: list[Piece]) -> None:
    pieces = [
        heading("Winch"),
        paragraph("To lower the anchor rope of the winch slowly by hand:"),
        *introduced,
        paragraph("It is old."),
    ]
    found = (
        OfflineLanguage()
        .perform(
            Read(
                "Why lower the anchor rope of the winch slowly by hand?", tuple(passages(document_of("Notes", pieces)))
            )
        )
        .value
    )
    assert found.answer is not None
    assert found.answer.startswith("To lower the anchor rope")
    assert "winch --slack" in found.answer
    assert ("winch --stop" in found.answer) == (len(introduced) == 2)
    assert "It is old" not in found.answer


def test_a_reason_in_other_words_is_quoted_where_it_is_judged_to_settle_the_question(
    passage: Callable[[str, str], Unit],
) -> None:
    outing = passage("Outing", "Bring a hat. We cancelled the trip because of the storm. Lunch is at noon.")
    found = read_passages(outing, "Why was the excursion called off?")
    assert found.answer is not None
    assert "We cancelled the trip because of the storm." in found.answer
    assert found.kind is AnswerKind.PASSAGE
    assert found.confidence > 0.5
    assert (
        read_passages(passage("Hall", "We meet on Tuesdays in the hall."), "Why did the roofers pull out?").answer
        is None
    )


def read_passages(unit: Unit, question: str) -> Reading:
    return OfflineLanguage().perform(Read(question, (unit,), Abstain.ALWAYS)).value


def test_notes_on_changes_do_not_say_how_something_is_done() -> None:
    changed = [heading("pumpd (1.2-1) unstable; urgency=medium"), *items("Start the pump in May by the black key.")]
    told = passages(document_of("changelog", changed))
    question = "How do I start the pump in May?"
    assert OfflineLanguage().perform(Read(question, tuple(told))).value.answer is None
    manual = passages(document_of("Manual", [*items("Start the pump in May by the red key.")]))
    assert (
        OfflineLanguage().perform(Read(question, (*told, *manual))).value.answer
        == "Start the pump in May by the red key."
    )


def test_of_a_list_of_steps_the_whole_is_quoted() -> None:
    kept = items("Do not open any lid.", "Ring the security desk.", "After four hours, fetch dry ice.")
    text = document_of("Power cuts", [heading("Freezers"), *kept, heading("Lamps"), *items("Two torches", "A lantern")])
    found = OfflineLanguage().perform(
        Read("What do I do with the freezers in a blackout?", tuple(passages(text)), Abstain.ALWAYS)
    )
    assert found.value.kind is AnswerKind.STEPS
    assert found.value.items == ("Do not open any lid.", "Ring the security desk.", "After four hours, fetch dry ice.")


def test_of_two_lists_the_one_that_settles_the_question_gives_the_steps() -> None:
    rules = items("Only people on the list run a print.", "Nobody leaves before the end.", ordered=True)
    checks = items("Rewind it and inspect it by hand.", "Measure the shrinkage with the gauge.")
    text = document_of("Prints", [heading("Rules"), *rules, heading("Before we run a print"), *checks])
    read = Read("How do we check over a print before we run it?", tuple(passages(text)), Abstain.ALWAYS)
    assert OfflineLanguage().perform(read).value.items == (
        "Rewind it and inspect it by hand.",
        "Measure the shrinkage with the gauge.",
    )


def test_without_a_judge_no_reason_is_quoted(passage: Callable[[str, str], Unit]) -> None:
    outing = passage("Outing", "We cancelled the trip because of the storm.")
    language = OfflineLanguage(settings=OfflineSettings(reader=False))
    assert language.perform(Read("Why was the trip cancelled?", (outing,), Abstain.NEVER)).value.answer is None


def test_a_list_that_no_words_settle_is_the_enumeration_with_what_the_reader_finds(
    passage: Callable[[str, str], Unit],
) -> None:
    note = passage("Quay", "The Foss office is on 8, 12 and 47. Trams end in Arden.")
    asked = "Which lines stop near the Foss office?"

    def read(answer: str) -> Reading:
        language = OfflineLanguage(None, OfflineSettings(), ScriptedReader({asked: {answer: 8.0}}))
        return language.perform(Read(asked, (note,), Abstain.NEVER)).value

    assert read("12").items == ("8", "12", "47")
    assert read("12").kind is AnswerKind.LIST
    assert read("Arden").answer == "Arden"


@pytest.mark.parametrize(
    ("told", "answer", "items"),
    [
        ('He wrote "The Man in Black" and "A Sea of Tin".', "A Sea of Tin", ("The Man in Black", "A Sea of Tin")),
        ("It is only possible on Linux, macOS and Haiku.", "macOS", ("Linux", "macOS", "Haiku")),
    ],
)
def test_an_enumeration_begins_behind_its_lead_and_titles_stay_whole(
    passage: Callable[[str, str], Unit], told: str, answer: str, items: tuple[str, ...]
) -> None:
    note = passage("Note", told)
    found = Reading(answer, (Step("", answer, statements_of(note)[0].support),), 0.9)
    assert list_by_reading((note,), Reading(None), found).items == items


def test_a_list_with_what_the_reader_finds_is_as_sure_as_that() -> None:
    units = tuple(passages(document_of("Pump", [heading("Valid values"), *items("slow", "fast", "off")])))
    quoted = listing("Which values are valid for the mode?", units)
    found, other = (Reading(answer, (Step("mode", answer, ()),), 0.9) for answer in ("fast", "blue"))
    assert list_by_reading(units, quoted, found) == replace(quoted, confidence=0.9)
    assert list_by_reading(units, quoted, other).items == quoted.items


def test_what_the_question_says_of_rows_is_not_what_they_list() -> None:
    listed = {
        "Which people have the home port Dunmere?": ("Ada Lunt", "Cy Teal"),
        "Which staff report to Ada Lunt?": ("Bo Marsh", "Cy Teal"),
        "Which tasks have the home port Dunmere?": ("Skipper", "Deck hand"),
        "list the crew from Wrenmouth": (),
    }
    crew = passages(document_of("Crew", CREW))
    assert {question: listing(question, crew).items for question in listed} == listed
    assert listing("list the crew from Wrenmouth", crew).answer == "Bo Marsh"


def test_a_difference_is_explained() -> None:
    both = "A hard link is a second name of a file, a soft link is a file with its path."
    kinds = (paragraph(both), paragraph("Unlike kill, which takes the number of a process, killall takes its name."))
    units = passages(document_of("Links and signals", [*kinds, paragraph("kill ends a process.")]))
    for difference, side in (("hard and soft links", "hard link"), ("kill and killall", "killall")):
        found = OfflineLanguage().perform(Read(f"What is the difference between {difference}?", units)).value
        assert found.answer
        assert side in found.answer
