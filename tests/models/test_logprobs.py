"""Log-probabilities as endpoints give them, kept with the reply, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakeai.clients import KEY, endpoint_at, paid_chat, replies_in, request
from fakeai.server import Body, FakeAI, serving
from hoptrail.models.client import FailureKind, failure_of_status
from hoptrail.models.completion import KEPT, read_logprobs
from hoptrail.models.recording import RecordedChat, write_recording


def by_character(text: str) -> list[Body]:
    others = [{"token": "?", "logprob": -3.25}]
    return [{"token": character, "logprob": -0.125, "top_logprobs": others} for character in text]


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: '{"enough": "yes"}', tokens=by_character)) as running:
        yield running


def test_they_are_kept_and_recorded_with_the_reply_that_they_are_of(fake: FakeAI, tmp_path: Path) -> None:
    asked = replace(request(), logprobs=True)
    paid = paid_chat(fake, tmp_path).ask(asked).reply
    assert paid.logprobs[-1] == (("}", -0.125), ("?", -3.25))
    assert replies_in(tmp_path).reply(asked.key) == paid
    write_recording(replies_in(tmp_path).stored(), tmp_path / "replies.jsonl")
    heard = RecordedChat.open(tmp_path / "replies.jsonl").remembered(asked)
    assert heard is not None
    assert heard.reply == paid


def test_asking_for_them_does_not_change_what_a_reply_is_known_by(fake: FakeAI, tmp_path: Path) -> None:
    paid_chat(fake, tmp_path).ask(request())
    assert paid_chat(fake, tmp_path).ask(replace(request(), logprobs=True)).reply.logprobs == ()
    assert fake.bill.calls == 1


def test_of_a_long_reply_the_end_is_kept(fake: FakeAI) -> None:
    fake.brain = lambda _: "word " * 100
    kept = endpoint_at(fake).send(replace(request(), logprobs=True)).logprobs
    assert "".join(token[0][0] for token in kept) == ("word " * 100)[-KEPT:]


@pytest.mark.parametrize("stream", [False, True])
def test_d12_they_do_not_spell_out_the_key(fake: FakeAI, stream: bool) -> None:
    fake.brain = lambda _: f"Your key is {KEY}"
    reply = endpoint_at(fake, stream=stream).send(replace(request(), logprobs=True))
    assert KEY not in reply.text
    assert reply.logprobs == ()


@pytest.mark.parametrize(
    "told",
    [
        *(None, [], "none", 3, {}, {"content": None}, {"content": [None]}, {"content": [{"token": "a"}]}),
        {"content": [{"token": "a", "logprob": "often"}]},
        {"content": [{"token": "a", "logprob": float("nan")}]},
        {"content": [{"token": 3, "logprob": -1.0}]},
        {"content": [{"token": "a", "logprob": -1.0, "top_logprobs": {"b": -2.0}}]},
        {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": [{"a": -1.0}]},
    ],
)
def test_what_is_not_as_documented_is_none(told: Any) -> None:
    assert read_logprobs(told) == ()


def test_a_probability_is_no_more_than_one_and_the_impossible_has_a_number() -> None:
    token = {"token": "a", "logprob": 2.0, "top_logprobs": [{"token": "b", "logprob": float("-inf")}]}
    assert read_logprobs({"content": [token]}) == ((("a", 0.0), ("b", -9999.0)),)


@pytest.mark.parametrize(
    ("code", "asked", "kind"),
    [
        (403, True, FailureKind.FORMAT),
        (500, True, FailureKind.FORMAT),
        (403, False, FailureKind.REFUSED),
        (500, False, FailureKind.PASSING),
        (429, True, FailureKind.BUSY),
    ],
)
def test_a_refusal_of_them_is_one_only_where_they_were_asked_for(code: int, asked: bool, kind: FailureKind) -> None:
    assert failure_of_status(code, {}, "logprobs: 60 requests per minute", logprobs=asked).kind is kind
