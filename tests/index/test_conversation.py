"""Conversations over a small world: what each message really asks, and what is answered; streams, threads and choices."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from hoptrail import Answer, Hop, Index, UsageError
from hoptrail.errors import TaskFailed
from hoptrail.language.questions import follow_ups
from hoptrail.language.scripted import Failure, Quote, QuotedReading, QuotedStep, ScriptedLanguage
from hoptrail.language.tasks import FollowUp, Read
from hoptrail.models.follow_up_writer import WrittenFollowUp
from hoptrail.serving.answer_text import answers_in, written
from hoptrail.types import AnswerKind, Guess
from world import HashingEncoder

FILES = {
    "garage.md": """# The garage

A tyre change for the Brio costs 48 EUR. A full service for the Brio costs 210 EUR. A tyre change for the Vento costs 66 EUR. A
full service for the Vento costs 275 EUR.

Tessa Lund runs the garage. Nils Lund was born in Odense in 1983. Nils Lund repairs the bodywork.
Tessa Lund opened the garage in 2009.
""",
    "staff.md": """# Staff

Nadia Fell is head of sales. The deputy of Nadia Fell is Peter Hahn. Peter Hahn was born in Utrecht in 1984.

Omar Quist leads the PR team. Omar Quist flew to Tunis in May 2023.
""",
    "boiler.md": """# Boiler

The boiler was installed by Lowe Engineering in October 2021. The boiler was last serviced on 11 February 2026.

To reset the boiler:

1. Turn the dial to 0 and wait ten seconds.
2. Press the flame button.
3. Turn the dial back to 2.
""",
    "fair.md": "# Fair\n\nThe fair was held in Lund in 2022 and in Arhus in 2023.\n",
}
BORN = "Where was Peter Hahn born?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Read only."""
    folder = tmp_path_factory.mktemp("talk")
    (folder / "files").mkdir()
    for name, text in FILES.items():
        (folder / "files" / name).write_text(text, encoding="utf-8")
    index = Index(folder / "index")
    index.encoder = HashingEncoder()
    index.add([folder / "files"])
    return index


@pytest.mark.parametrize(
    "turns",
    [
        (
            ("How much is a tyre change for the Brio?", "How much is a tyre change for the Brio?", "48 EUR"),
            ("And for the Vento?", "How much is a tyre change for the Vento?", "66 EUR"),
            ("and for the Brio?", "How much is a tyre change for the Brio?", "48 EUR"),
        ),
        (
            ("How do I reset the boiler?", "How do I reset the boiler?", "Turn the dial"),
            ("and who installed it?", "Who installed the boiler?", "Lowe Engineering"),
            ("and when was it last serviced?", "When was the boiler last serviced?", "11 February 2026"),
        ),
        (
            ("Who is the deputy of Nadia Fell?", "Who is the deputy of Nadia Fell?", "Peter Hahn"),
            ("thanks", "thanks", "You are welcome."),
            ("Where was he born?", BORN, "Utrecht"),
            ("and Nils Lund?", "Where was Nils Lund born?", "Odense"),
            ("Great. And when?", "When was Nils Lund born?", "1983"),
        ),
        (
            ("Hi, quick one: who runs the garage?", "Who runs the garage?", "Tessa Lund"),
            ("When did she open it?", "When did Tessa Lund open the garage?", "2009"),
        ),
    ],
    ids=lambda turns: turns[1][0],
)
def test_a_conversation_goes_on(index: Index, turns: tuple[tuple[str, str, str], ...]) -> None:
    talk = index.conversation()
    for message, asked, answer in turns:
        found = talk.ask(message)
        assert (found.question, found.asked, found.notes) == (message, asked, ())
        assert (found.text or "").startswith(answer)
    assert [one.asked for one in talk.answers] == [asked for _, asked, _ in turns]


def test_what_cannot_be_completed_is_asked_as_it_stands_and_told(index: Index) -> None:
    talk = index.conversation()
    talk.ask("Who installed the boiler?")
    answer = talk.ask("half price?")
    assert answer.asked == "half price?"
    assert answer.notes == ("It is not clear what “half price?” follows up: it was asked as it stands.",)
    assert answer.notes[0] in str(answer)
    assert index.ask("half price?").notes == (), "nothing was asked before"


def test_each_of_several_questions_is_answered_and_the_open_ones_are_named(index: Index) -> None:
    answer = index.ask(f"Hello! {BORN} Who painted the ceiling? When did Omar Quist fly to Tunis?")
    assert [(one.asked, one.text) for one in answer.parts] == [
        (BORN, "Utrecht"),
        ("Who painted the ceiling?", None),
        ("When did Omar Quist fly to Tunis?", "May 2023"),
    ]
    assert answer.items == (
        f"{BORN} Utrecht",
        "Who painted the ceiling? Not settled.",
        "When did Omar Quist fly to Tunis? May 2023",
    )
    assert answer.confidence == min(one.confidence or 0 for one in answer.parts if one.text)
    assert {item.hop for item in answer.evidence} == {0, len(answer.trail) - 1}
    for item in answer.evidence:
        assert (answer.trail[item.hop].answer or "?") in item.text
    assert "Who painted the ceiling?\nNot settled." in str(answer)


def test_a_second_question_may_point_to_the_first(index: Index) -> None:
    answer = index.ask("Who is the deputy of Nadia Fell? And where was he born?")
    assert [(one.asked, one.text) for one in answer.parts][1] == (BORN, "Utrecht")


def test_what_asks_nothing_is_not_searched(index: Index) -> None:
    answer = index.ask("thanks")
    assert (answer.kind, answer.text, len(answer.trail), answer.abstained) == (
        AnswerKind.REPLY,
        "You are welcome.",
        0,
        False,
    )


def quoted(answer: str, quote: str) -> QuotedReading:
    return QuotedReading(answer, (QuotedStep("q", answer, (Quote(quote),)),), 0.9)


def test_a_model_completes_what_is_not_whole_in_one_counted_call(index: Index) -> None:
    first = quoted("Peter Hahn", "The deputy of Nadia Fell is Peter Hahn.")
    then = quoted("Utrecht", "Peter Hahn was born in Utrecht in 1984.")
    script = ScriptedLanguage([(Read, first), (FollowUp, BORN), (Read, then), (Read, then)])
    talk = index.conversation(recipe="bm25", language=script)
    assert talk.ask("Who is the deputy of Nadia Fell?").usage.calls == 1
    answer = talk.ask("and where was he born?")
    assert (answer.asked, answer.text, answer.usage.calls) == (BORN, "Utrecht", 2)
    whole = f"Hi! {BORN} Answer in German."
    answer = talk.ask(whole)
    assert (answer.asked, answer.usage.calls) == (whole, 1), "a model sees the wishes, and completes nothing"


def test_a_model_that_fails_leaves_the_message_as_it_stands(index: Index) -> None:
    script = ScriptedLanguage([(FollowUp, Failure("no reply")), (Read, quoted("Utrecht", "born in Utrecht"))])
    answer = index.ask("where?", "bm25", script, before=index.ask(BORN))
    assert (answer.asked, len(answer.notes)) == ("where?", 1)
    with pytest.raises(TaskFailed):
        script.perform(FollowUp("x", ()))


def test_answers_before_complete_a_question_and_a_search(index: Index) -> None:
    before = index.ask("Who is the deputy of Nadia Fell?")
    assert index.ask("Where was he born?", before=before).asked == BORN
    later = index.ask("Who leads the PR team?")
    assert index.ask("Where was he born?", before=[before, later]).asked == "Where was Omar Quist born?"
    assert index.search("Where was he born?", "bm25", before=before) == index.search(BORN, "bm25")


@pytest.mark.parametrize(("meant", "given"), [(0.9, True), (0.4, False)])
def test_an_answer_is_no_surer_than_its_question(
    index: Index, monkeypatch: pytest.MonkeyPatch, meant: float, given: bool
) -> None:
    alone = index.ask(BORN)
    assert alone.text == "Utrecht"
    assert alone.confidence
    monkeypatch.setattr(follow_ups, "write_follow_up", lambda *_: WrittenFollowUp(BORN, meant))
    answer = index.ask("and where?", before=index.ask("Who is the deputy of Nadia Fell?"))
    assert answer.asked == BORN
    assert answer.confidence == pytest.approx(alone.confidence * meant, abs=1e-4)
    assert answer.text == ("Utrecht" if given else None)
    if not given:
        assert answer.guess
        assert (answer.guess.text, answer.guess.confidence) == ("Utrecht", answer.confidence)
        assert answer.guess.evidence


def test_a_guess_that_was_shown_can_be_followed_up(index: Index) -> None:
    unsure = replace(index.ask("Who is the deputy of Nadia Fell?"), text=None, guess=Guess("Peter Hahn", 0.4, ()))
    assert index.ask("Where was he born?", before=unsure).asked == BORN


def test_only_chosen_documents_are_asked(index: Index) -> None:
    ids = {one.title: one.id for one in index.contents().documents}
    assert index.ask(BORN, documents=[ids["Staff"]]).text == "Utrecht"
    assert index.ask(BORN, documents=ids["Boiler"]).text is None
    assert {hit.unit.document for hit in index.search("Who?", documents=[ids["Boiler"]])} == {ids["Boiler"]}
    with pytest.raises(UsageError, match="no document 'd0'"):
        index.ask(BORN, documents=[ids["Staff"], "d0"])


def test_a_stream_has_the_hops_then_the_answer(index: Index) -> None:
    question = "Where was the deputy of Nadia Fell born?"
    *hops, answer = index.stream(question)
    assert isinstance(answer, Answer)
    assert all(isinstance(hop, Hop) for hop in hops)
    assert [hop.asked for hop in hops if isinstance(hop, Hop)] == [hop.asked for hop in answer.trail]
    assert answer.text == index.ask(question).text == "Utrecht"
    stream = index.stream(question)
    next(stream)
    stream.close()
    with pytest.raises(UsageError):
        list(index.stream(""))


def test_an_answer_can_be_awaited(index: Index) -> None:
    assert asyncio.run(index.aask(BORN)).text == "Utrecht"


def test_records_print_as_people_read_them(index: Index) -> None:
    answer = index.ask(BORN)
    first, sentence = str(answer).splitlines()
    assert first.startswith("Utrecht (")
    assert sentence == "  Peter Hahn was born in Utrecht in 1984. [Staff, line 3]"
    assert answer.trail[0] == next(iter(answer.trail))
    assert repr(answer.trail[0]) == f"<Hop {BORN!r} -> 'Utrecht', {len(answer.trail[0].hits)} hits>"
    (hit,) = index.search("boiler", "bm25", 1)
    assert repr(hit).startswith("<Hit 'Boiler' ")
    assert "\n" not in repr(hit)


def test_answers_sent_back_complete_a_question_as_the_answers_do(index: Index) -> None:
    for first, then in (
        (("Who is the deputy of Nadia Fell?", "thanks"), "Where was he born?"),
        (("Who installed the boiler? Who is the deputy of Nadia Fell?",), "Where was he born?"),
        (("Hello!", "How much is a tyre change for the Brio?"), "And for the Vento?"),
    ):
        talk = index.conversation()
        sent = [
            said
            for message in first
            for said in (("user", message), ("assistant", written(talk.ask(message).to_dict()).text))
        ]
        kept, back = talk.ask(then), index.ask(then, before=answers_in(sent))
        assert (back.asked, back.text, back.confidence) == (kept.asked, kept.text, kept.confidence)


def test_the_dates_that_fit_are_those_looked_at(index: Index) -> None:
    assert index.ask("Where was the fair held in 2023?").notes == ("Dates looked at for “in 2023”: 2023 to 2023-05.",)


def test_an_answer_that_is_sent_back_has_its_guess_and_its_parts() -> None:
    guessed = answers_in([("user", "Who?"), ("assistant", "Not settled. Perhaps: Ann \\[x\\]\n\n- T: “Ann.”")])
    assert [(one.text, one.guess and one.guess.text) for one in guessed] == [(None, "Ann [x]")]
    [both] = answers_in(
        [("user", "Who? Show it."), ("assistant", "Who? Ann [1]\nShow it. Not settled.\n\n- [1] T: “Ann.”")]
    )
    assert [(one.question, one.text) for one in both.parts] == [("Who?", "Ann"), ("Show it.", None)]


def test_lines_that_others_wrote_are_no_answers_to_several_questions() -> None:
    [one] = answers_in([("user", "What is it?"), ("assistant", "It is large. It is red.\nIt is old. It is new.")])
    assert (one.question, one.parts) == ("What is it?", ())
