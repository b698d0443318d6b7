"""Summaries of more than a window holds: everything is read, and what was read is known."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeai.server import Body, FakeAI
from hoptrail.errors import TaskFailed
from hoptrail.language.chat.context import in_pieces
from hoptrail.language.tasks import Summarise
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Unit
from language_chat import Speaking, passage


def marks_of(body: Body) -> str:
    """A model whose summary is the marks that it was shown, in order."""
    marks = dict.fromkeys(re.findall(r"\bmark\d+\b", body["messages"][1]["content"]))
    return json.dumps({"summary": " ".join(marks)})


def marked(count: int, words: int) -> tuple[Unit, ...]:
    return tuple(
        passage(f"T{number}", f"It is mark{number}. " + "Much is said here. " * words) for number in range(count)
    )


def test_forty_passages_of_which_the_window_holds_few_are_all_read(fake: FakeAI, speaking: Speaking) -> None:
    language = speaking(marks_of, context_window=2048, max_output_tokens=512)
    summary = language.perform(Summarise(marked(40, 40), 60)).value
    assert set(summary.split()) == {f"mark{number}" for number in range(40)}
    assert len(fake.log) > 10
    assert all("more do not fit" not in asked.prompt for asked in fake.log)
    assert all(asked.prompt.count("[…]") == 0 for asked in fake.log), "nothing is cut"


def test_what_the_window_holds_is_one_call(fake: FakeAI, speaking: Speaking) -> None:
    speaking(marks_of).perform(Summarise(marked(5, 10), 60))
    assert len(fake.log) == 1


def test_one_passage_larger_than_the_window_is_read_to_its_end(fake: FakeAI, speaking: Speaking) -> None:
    text = " ".join(f"Here stands mark{number} among other words." for number in range(300))
    language = speaking(marks_of, context_window=2048, max_output_tokens=512)
    language.perform(Summarise((passage("Long", text),), 300))
    shown = [re.findall(r"\bmark\d+\b", asked.prompt) for asked in fake.log]
    assert {mark for marks in shown for mark in marks} == {f"mark{number}" for number in range(300)}
    assert len(fake.log) > 3


def test_summaries_of_parts_are_kept_under_the_documents_of_their_parts(fake: FakeAI, speaking: Speaking) -> None:
    language = speaking(marks_of, context_window=2048, max_output_tokens=512)
    usage = language.perform(Summarise(marked(12, 40), 60)).usage
    assert usage.calls == len(fake.log) == fake.bill.calls


def test_summaries_that_do_not_get_shorter_fail(speaking: Speaking) -> None:
    language = speaking(lambda _: json.dumps({"summary": "語" * 900}), context_window=2048, max_output_tokens=1000)
    with pytest.raises(TaskFailed, match="context_window"):
        language.perform(Summarise(marked(6, 60), 100))


def test_a_server_whose_window_is_smaller_than_was_said_is_no_reason_to_leave_something_out(
    fake: FakeAI, speaking: Speaking
) -> None:
    fake.plan = {1: "small window"}
    summary = speaking(marks_of).perform(Summarise(marked(20, 20), 60)).value
    assert set(summary.split()) == {f"mark{number}" for number in range(20)}


@given(st.text(st.sampled_from("aB .!?\n日é"), max_size=400), st.integers(5, 60))
@settings(max_examples=150, deadline=None)
def test_pieces_are_the_whole_text(text: str, tokens: int) -> None:
    unit = passage("T", text)
    pieces = list(in_pieces(unit, tokens))
    assert "".join(piece.text for piece in pieces) == text
    assert len({piece.id for piece in pieces}) == len(pieces)
    assert all(estimated_tokens(piece.searchable) <= tokens + 2 for piece in pieces)
