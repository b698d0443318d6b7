"""Several replies to one prompt: in one call where the endpoint gives several, each kept and billed once."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from fakeai.clients import quick_settings, replies_in
from fakeai.faults import FAULTS, status
from fakeai.server import Brain, FakeAI, form_of
from hoptrail.errors import BudgetExhausted
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.tasks import Decompose, Sample
from hoptrail.models.billing import RecordedChat
from hoptrail.models.ledger import write_recording
from hoptrail.types import Unit
from language_chat import QUESTION, Speaking


def numbering() -> Brain:
    """A model that plans, and whose answers are never the same twice."""
    numbers = count(1)

    return lambda _: json.dumps({"questions": ["a"], "answer": f"answer {next(numbers)}"})


@pytest.fixture
def several(fake: FakeAI) -> FakeAI:
    fake.several = True
    return fake


def drawn(fake: FakeAI) -> list[int]:
    return [asked.body.get("n", 1) for asked in fake.log]


def test_samples_come_in_one_call_once_it_is_known_which_rung_works(
    several: FakeAI, speaking: Speaking, tmp_path: Path, isk: Unit
) -> None:
    language = speaking(numbering())
    first = language.perform(Sample(QUESTION, (isk,), 5))
    assert drawn(several) == [1, 4]
    second = language.perform(Sample("Another?", (isk,), 5))
    assert drawn(several) == [1, 4, 5]
    assert len({*first.value.answers, *second.value.answers}) == 10, "each reply counts by itself"
    assert (first.usage.calls, second.usage.calls) == (2, 1)
    bill, ledger = several.bill, replies_in(tmp_path).ledger()
    for side in (first.usage + second.usage, ledger):
        assert (side.calls, side.prompt_tokens, side.completion_tokens) == (
            bill.calls,
            bill.prompt_tokens,
            bill.completion_tokens,
        )
    assert len(list(replies_in(tmp_path).stored())) == 10


def test_a_second_run_and_a_replay_find_every_sample(
    several: FakeAI, speaking: Speaking, tmp_path: Path, isk: Unit
) -> None:
    tasks = [Sample(QUESTION, (isk,), 5), Sample("Another?", (isk,), 5)]
    language = speaking(numbering())
    first = [language.perform(task) for task in tasks]
    again = [speaking(numbering()).perform(task) for task in tasks]
    assert [reply.value for reply in again] == [reply.value for reply in first]
    assert sum(reply.usage.calls for reply in again) == 0
    more = speaking(numbering()).perform(Sample(QUESTION, (isk,), 7))
    assert (more.usage.calls, drawn(several)[-1]) == (1, 2), "only what is missing is asked for"
    write_recording(replies_in(tmp_path).stored(), tmp_path / "replies.jsonl")
    replay = ChatLanguage(RecordedChat.open(tmp_path / "replies.jsonl"), quick_settings(several))
    replayed = [replay.perform(task) for task in tasks]
    assert [reply.value for reply in replayed] == [reply.value for reply in first]
    assert sum(reply.usage.calls for reply in replayed) == 3


def test_an_endpoint_that_gives_one_reply_a_call_is_asked_for_one(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    """Ollama and llama.cpp's Python server take `n` and ignore it."""
    language = speaking(numbering())
    answers = language.perform(Sample(QUESTION, (isk,), 4)).value.answers
    assert drawn(fake) == [1, 3, 1, 1]
    assert len(set(answers)) == 4
    language.perform(Sample("Another?", (isk,), 2))
    assert drawn(fake)[4:] == [1, 1]


def test_an_endpoint_that_refuses_several_is_asked_for_one(
    fake: FakeAI, speaking: Speaking, isk: Unit, caplog: pytest.LogCaptureFixture
) -> None:
    FAULTS["no n"] = status(400, "Invalid value for 'n': only 1 is supported.")
    fake.choose = lambda _, body: "no n" if "n" in body else None
    assert len(speaking(numbering()).perform(Sample(QUESTION, (isk,), 4)).value.answers) == 4
    assert drawn(fake) == [1, 3, 1, 1, 1]
    assert not caplog.records


def test_one_of_several_that_cannot_be_used_is_repaired_by_itself(
    several: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    language = speaking(numbering())
    language.perform(Decompose("one"))
    said = iter(['{"answer": "x"}', "no", '{"answer": "y"}', '{"answer": "z"}'])
    several.brain = lambda _: next(said)
    assert language.perform(Sample(QUESTION, (isk,), 3)).value.answers == ("x", "z", "y")
    assert drawn(several) == [1, 3, 1]


def test_several_at_once_stay_within_the_limits(several: FakeAI, speaking: Speaking, isk: Unit) -> None:
    speaking(numbering()).perform(Decompose("one"))
    with pytest.raises(BudgetExhausted):
        speaking(numbering(), limit_tokens=3000).perform(Sample(QUESTION, (isk,), 9))
    assert drawn(several) == [1], "nine replies of 1,024 tokens each are not within 3,000"


def test_samples_are_drawn_in_plain_text_too(several: FakeAI, speaking: Speaking, isk: Unit) -> None:
    numbers = count(1)
    said = speaking(lambda body: f"ANSWER: {next(numbers)}" if form_of(body) == "plain" else "no", structured="plain")
    assert said.perform(Sample(QUESTION, (isk,), 3)).value.answers == ("1", "2", "3")
    assert drawn(several) == [3]
