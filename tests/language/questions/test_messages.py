"""Which questions a message asks, and what is said to one that asks nothing."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoptrail.language.questions.follow_ups import complete_follow_up, stands_alone
from hoptrail.language.questions.messages import HELP, WRITING, read_message
from hoptrail.language.tasks import Turn
from hoptrail.models.follow_up_writer import SMALL

BORN = "Where was Peter Hahn born?"
MAN = "Who is the man who built Foss Bridge and who wrote Night Ferry?"


@pytest.mark.parametrize(
    "message",
    [
        BORN,
        f"Question: {BORN}",
        f"Q: {BORN}",
        "Hi, quick one: where was Peter Hahn born?",
        "Based on the documents, where was Peter Hahn born?",
        "Using the documents below, where was Peter Hahn born?",
        f"Please answer in one word: {BORN}",
        "My question is: where was Peter Hahn born?",
        f"{BORN} Answer in one sentence.",
        f"{BORN} Please cite the source.",
        f"Answer in German. {BORN}",
        f"Hi! I am preparing a birthday card. {BORN} Thanks!",
        f"Dear team,\n\n{BORN}\n\nBest regards,\nMia",
        f"/ask {BORN}",
        f"@docs {BORN}",
        f"“{BORN}”",
        "Where was Peter Hahn born, please?",
    ],
)
def test_the_words_around_a_question_are_left_out(message: str) -> None:
    assert read_message(message).questions == (BORN,)


@pytest.mark.parametrize(
    "message", ["half price?", "and Lund?", "parking?", "free entry?", "three bedrooms?", "only adults?", "same day?"]
)
def test_a_question_of_few_words_keeps_them_all(message: str) -> None:
    assert read_message(message).questions == (message,)


@pytest.mark.parametrize(
    "message",
    [
        "opening hours",
        "Could you tell me where Peter Hahn was born?",
        "For the Vento, how much is a full service?",
        "In 2023, who led the team?",
        "If I resign, when do I get paid?",
        "Brio 3: what does a tyre change cost?",
        "According to the contract of 2023, who pays?",
        "We have two dogs. Is that allowed?",
        "Which city is larger and which is older?",
        "Who wrote it and is still alive?",
        "What do Ada and Ben share?",
        "How much is a tyre change and a full service?",
        "Welche Hunde sind erlaubt?",
    ],
)
def test_what_a_question_needs_stays(message: str) -> None:
    assert read_message(message).questions == (message,)


def test_a_request_to_tell_goes_and_all_that_it_asks_for_stays() -> None:
    assert read_message("Tell me who leads the team and where he lives.").questions == (
        "Who leads the team and where he lives.",
    )


@pytest.mark.parametrize(
    ("message", "questions"),
    [
        (f"{BORN} Who leads the PR team?", (BORN, "Who leads the PR team?")),
        ("Where was Peter Hahn born and when did Omar fly?", (BORN, "When did Omar fly?")),
        ("Who wrote the book and who illustrated it?", ("Who wrote the book?", "Who illustrated it?")),
        ("Who leads it, and what does PR stand for?", ("Who leads it?", "What does PR stand for?")),
        ("Thanks, and where was she born?", ("Where was she born?",)),
        ("Ok, and when?", ("When?",)),
        (MAN, (MAN,)),
        ("Is the gym open and can guests use it?", ("Is the gym open?", "Can guests use it?")),
        ("According to the staff list, where was Peter Hahn born?", (BORN,)),
        ("Hello, where was Peter Hahn born?", (BORN,)),
        (f"Hi, {BORN.lower()} And when?", ("Where was peter hahn born?", "When?")),
    ],
)
def test_several_questions_are_told_apart(message: str, questions: tuple[str, ...]) -> None:
    assert read_message(message).questions == questions


@pytest.mark.xfail(reason="the tagger finds one question too few or too many, or a word", strict=True)
@pytest.mark.parametrize(
    ("message", "questions"),
    [
        ("When and where was Peter Hahn born?", ("When was Peter Hahn born?", BORN)),
    ],
)
def test_questions_that_should_be_told_apart(message: str, questions: tuple[str, ...]) -> None:
    assert read_message(message).questions == questions


def test_a_sentence_that_a_question_needs_is_noted() -> None:
    assert read_message("We have two dogs. Is that allowed?").introduced
    assert not read_message(f"I have a quick question. {BORN}").introduced


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("thanks", "You are welcome."),
        ("Thank you very much!", "You are welcome."),
        ("ok", f"All right. {HELP}"),
        ("hi there", f"Hello. {HELP}"),
        ("help", HELP),
        ("/help", HELP),
        ("What can you do?", HELP),
        ("Summarise the report.", WRITING),
    ],
)
def test_what_asks_nothing_of_the_documents_gets_a_reply(message: str, reply: str) -> None:
    read = read_message(message)
    assert (read.questions, read.reply) == ((), reply)


def test_a_model_is_asked_to_write() -> None:
    assert read_message("Summarise the report.", writes=True).questions == ("Summarise the report.",)


WORDS = [
    *("and", "what", "about", "who", "was", "the", "it", "she", "Ada", "Brio", "3", "2024", "born", ",", "?", ".", ":"),
    *("please", "thanks", "#1", "“", "”", "that", "town", "this", "how", "much", "in", "of", "for"),
]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.lists(st.sampled_from(WORDS), max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_words_are_read_and_followed_up(message: list[str], before: list[str]) -> None:
    """Nothing fails, and what is completed says nothing that nobody said."""
    text, turn = " ".join(message), Turn(" ".join(before), " ".join(before[:3]) or None)
    read = read_message(text)
    assert read.reply or len(read.questions) >= 1
    completed = complete_follow_up(text, [turn])
    said = re.findall(r"\w+", " ".join([*message, *before, *SMALL]).lower())
    # A word of several pieces, such as a year, may be copied in part.
    assert completed is None or all(
        any(word in one for one in said) for word in re.findall(r"\w+", completed.text.lower())
    )


def test_a_long_message_is_read_in_bounded_time() -> None:
    started = time.process_time()
    for text in (", please" * 900, "who is it and " * 500, "a: b, " * 1300, "I am. " * 1300, "(" * 8000):
        read_message(text)
        stands_alone(text, [Turn(BORN, text)])
    assert time.process_time() - started < 15


def test_a_chat_window_gets_a_title_from_its_first_line() -> None:
    task = '### Task:\nGenerate a title.\n### Output:\nJSON format: {{ "{}": … }}\n### Chat History:\nUSER: {}\nASSISTANT: No'
    assert json.loads(read_message(task.format("title", BORN)).reply) == {"title": BORN}
    assert json.loads(read_message(task.format("tags", BORN)).reply) == {"tags": []}
    assert read_message(f"### Task:\nName this chat.\nUser: {BORN}").reply == BORN
