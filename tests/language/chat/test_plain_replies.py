"""Replies in plain text: marks, lists one item a line, and what would have to be guessed. Row A8 of the fault table."""

from __future__ import annotations

from typing import Any

import pytest

from hoptrail.language.chat import schemas
from hoptrail.language.chat.grounding import reading_from
from hoptrail.language.chat.prompting import known_prompts, load_prompt
from hoptrail.language.chat.replies import read_plain
from hoptrail.language.chat.reply_parsing import InvalidReply
from hoptrail.models.chat import ChatReply
from hoptrail.types import Unit
from language_chat import QUESTION


def plain(text: str, reply: type[schemas.ReplyForm], finish: str = "stop") -> Any:
    return read_plain(ChatReply(text, finish), reply)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ANSWER: the Grey Hills", "the Grey Hills"),
        ("It rises there.\nANSWER: the Grey Hills.\n", "the Grey Hills."),
        ("**Answer:** the Grey Hills", "the Grey Hills"),
        ("> answer : *the Grey Hills*", "the Grey Hills"),
        ("ANSWER:\nthe Grey Hills\nIt is 90 km long.", "the Grey Hills"),
        ("<think>Hm. ANSWER: no</think>ANSWER: the Grey Hills", "the Grey Hills"),
        ("ANSWER: the Grey Hills\nANSWER: the Marn", "the Grey Hills"),
        ("The Isk rises in the Grey Hills. It is long. I like rivers.", "The Isk rises in the Grey Hills."),
        ("The answer to this question is: the Grey Hills. It is long.", "the Grey Hills."),
        ("It rises there, so the final answer is\nthe Grey Hills.", "the Grey Hills."),
        ("The answer is: the answer is: The answer: the Grey Hills", "the Grey Hills"),
        ("The answer is that it rises in the Grey Hills.", "that it rises in the Grey Hills."),
        ('{"answer": "the Grey Hills"}', "the Grey Hills"),
        ("ANSWER: the Grey Hills\n" + "and so on, " * 200, "the Grey Hills"),
    ],
)
def test_an_answer_stands_after_its_mark_or_is_the_first_sentence(text: str, answer: str) -> None:
    assert plain(text, schemas.ReadingReply).answer == answer


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("", schemas.ReadingReply),
        ("<think>The Isk</think>", schemas.ReadingReply),
        ('{"answer": "the Grey', schemas.ReadingReply),
        ("word " * 100, schemas.ReadingReply),
        ("ENOUGH: perhaps", schemas.AssessReply),
        ("It is hard to say.", schemas.AssessReply),
        ("Rivers rise in hills.", schemas.DecomposeReply),
        ("The Isk and the Marn are rivers.", schemas.ExtractReply),
    ],
)
def test_a8_what_would_have_to_be_guessed_is_refused(text: str, reply: type[schemas.ReplyForm]) -> None:
    with pytest.raises(InvalidReply):
        plain(text, reply)


def test_lists_have_one_item_a_line() -> None:
    marked = "QUESTION: Who designed it?\nQUESTION: Where was #1 born?\n"
    under = "First the designer.\nQUESTIONS:\n1. Who designed it?\n2) Where was #1 born?"
    bare = "Here they are.\n- Who designed it?\n- Where was #1 born?"
    for text in (marked, under, bare):
        assert plain(text, schemas.DecomposeReply).questions == ["Who designed it?", "Where was #1 born?"]
    assert plain("Nothing.\nQUESTION: none", schemas.NextReply).questions == []
    assert plain(marked, schemas.CompleteReply).question == "Who designed it?"


def test_a_list_that_was_cut_off_loses_its_last_line() -> None:
    assert plain("QUESTION: Who designed it?\nQUESTION: Where w", schemas.DecomposeReply, "length").questions == [
        "Who designed it?"
    ]


def test_judgements_are_read_in_a_word() -> None:
    assert plain("Nothing is missing.\nENOUGH: Yes, it is.", schemas.AssessReply).enough == 1.0
    assert plain("SUPPORTS: partly", schemas.VerifyReply).supports == 0.25
    assert plain("No, they differ.", schemas.EquateReply).same == "no"


def test_facts_are_about_the_names_that_stand_in_them() -> None:
    said = "NAME: Isk\nNAME: Wrenmouth\nFACT: The Isk is a river.\nFACT: The Isk flows through Wrenmouth."
    reply = plain(said, schemas.ExtractReply)
    assert [entity.name for entity in reply.entities] == ["Isk", "Wrenmouth"]
    assert [(fact.text, fact.entities) for fact in reply.facts] == [
        ("The Isk is a river.", ["Isk"]),
        ("The Isk flows through Wrenmouth.", ["Isk", "Wrenmouth"]),
    ]


def test_a_summary_may_run_over_lines() -> None:
    assert plain("SUMMARY: The Isk is long.\nIt rises there.", schemas.SummariseReply).summary == (
        "The Isk is long.\nIt rises there."
    )


@pytest.mark.parametrize(
    "text",
    [
        "The answer to this question is: " * 12
        + "\n\nThe passage n=14 has no answers.\n\nThe passage n=2 has no answers.",
        "The answer to this question is: " * 8 + "\n\nThe answer to this question is:",
        "The answer is not stated.",
        "The answer: the passages do not say.",
        "No passage gives the answer.",
    ],
)
def test_an_answer_that_is_none_is_none_without_a_mark_too(isk: Unit, text: str) -> None:
    assert reading_from(QUESTION, plain(text, schemas.ReadingReply), (isk,)).answer is None


def test_what_leads_to_an_answer_without_a_mark_is_its_reason(isk: Unit, wrenmouth: Unit) -> None:
    reply = plain("It rises in the Grey Hills and is 90 km long. So the answer is yes.", schemas.ReadingReply)
    assert reply.answer == "yes."
    spans = reading_from(QUESTION, reply, (wrenmouth, isk)).steps[-1].support
    assert {span.document for span in spans} == {"d-Isk"}


@pytest.mark.parametrize(
    "reason",
    [
        "It rises in the Grey Hills and is 90 km long.",
        'Passage 2 says "It rises in the Grey Hills", so yes.',
        "As passage 2 says, it does.",
        "We read: It rises in the Grey Hills and is 90 km long. So it does.",
    ],
)
def test_a_reason_is_matched_against_the_evidence(isk: Unit, wrenmouth: Unit, reason: str) -> None:
    reply = plain(f"{reason}\nANSWER: yes", schemas.ReadingReply)
    spans = reading_from(QUESTION, reply, (wrenmouth, isk)).steps[-1].support
    assert {span.document for span in spans} == {"d-Isk"}


def test_every_task_can_be_asked_for_in_plain_text_with_the_marks_that_are_read() -> None:
    tasks = [load_prompt(name) for name in known_prompts() if name not in {"repair", "schema"}]
    for prompt in tasks:
        reply = getattr(schemas, prompt.reply)
        for name, field in reply.model_fields.items():
            if field.is_required():
                assert (
                    f"{ {'entities': 'NAME', 'facts': 'FACT', 'questions': 'QUESTION'}.get(name, name.upper()) }: "
                    in (prompt.plain)
                ), prompt.name
        messages = prompt.fill_plain(dict.fromkeys(prompt.names, "x"))
        assert messages[-1].text.endswith(prompt.plain)
        assert "JSON object" not in messages[0].text
