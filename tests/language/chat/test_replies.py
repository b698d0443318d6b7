"""How log-probabilities are asked for, and what they do to a number that a word stands for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakeai.brains import by_task
from fakeai.faults import FAULTS, status
from fakeai.server import Body, FakeAI
from hoptrail.language.chat.replies import apply_logprobs, read_reply
from hoptrail.language.chat.schemas import AssessReply, RecallReply
from hoptrail.language.tasks import Assess, Decompose, Equate, Extract, Read, Sample, Summarise, Task, Verify
from hoptrail.models.chat import ChatRequest, Rung
from hoptrail.models.completion import ALTERNATIVES, Token, read_replies
from hoptrail.types import Unit
from language_chat import ANSWER, QUESTION, Speaking

SERVERS = Path(__file__).parents[2] / "models" / "servers"
BRAIN = by_task(
    {
        "answer": {**ANSWER, "confidence": "high"},
        "assess": {"missing": "nothing", "enough": "yes"},
        "decompose": {"questions": ["a", "b"]},
        "equate": {"difference": "nothing", "same": "yes"},
        "extract": {"entities": [], "facts": []},
        "sample": {"reasoning": "It says so.", "answer": "the Grey Hills"},
        "summarise": {"summary": "The Isk rises in the Grey Hills."},
        "verify": {"reason": "It says so.", "supports": "yes"},
    }
)


def tokens_at_the_end(chances: Mapping[str, float]) -> Callable[[str], list[Body]]:
    """Words and what is between them, all beyond doubt but the last word, in whose place there were these chances."""

    def tokens(text: str) -> list[Body]:
        words = re.findall(r"\w+|\W+", text)
        last = max(place for place, word in enumerate(words) if word in chances)
        others = [{"token": word, "logprob": math.log(chance)} for word, chance in chances.items()]
        return [
            {"token": word, "logprob": math.log(chances[word]), "top_logprobs": others}
            if place == last
            else {"token": word, "logprob": 0.0, "top_logprobs": []}
            for place, word in enumerate(words)
        ]

    return tokens


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("task", "chances", "meant"),
    [
        (Assess, {"yes": 0.6, "no": 0.4}, 0.6),
        (Assess, {"yes": 0.3, "no": 0.1, "Yes": 0.3, "maybe": 0.3}, 6 / 7),
        (Verify, {"yes": 0.5, "partly": 0.4, "no": 0.1}, 0.6),
        (Read, {"high": 0.5, "low": 0.3, "med": 0.2}, 0.9 * 0.5 + 0.3 * 0.3 + 0.6 * 0.2),
    ],
)
def test_a_word_counts_by_how_probable_it_was_among_those_asked_for(
    fake: FakeAI,
    speaking: Speaking,
    isk: Unit,
    task: type[Task[Any]],
    chances: Mapping[str, float],
    meant: float,
    stream: bool,
) -> None:
    def number() -> float:
        asked: dict[type[Task[Any]], Task[Any]] = {
            Assess: Assess(QUESTION, (isk,)),
            Verify: Verify(QUESTION, (isk,), "the Grey Hills"),
            Read: Read(QUESTION, (isk,)),
        }
        value = speaking(BRAIN, stream=stream).perform(asked[task]).value
        return value if isinstance(value, float) else value.confidence

    fake.tokens = tokens_at_the_end(chances)
    assert number() == pytest.approx(meant, abs=1e-4)
    assert [fake.log[0].body[name] for name in ("logprobs", "top_logprobs")] == [True, ALTERNATIVES]
    assert number() == pytest.approx(meant, abs=1e-4), "they are kept with the reply"
    assert fake.bill.calls == 1


def test_only_what_a_word_in_place_of_a_number_settles_asks_for_them(
    fake: FakeAI, speaking: Speaking, isk: Unit, wrenmouth: Unit
) -> None:
    tasks: list[Task[Any]] = [
        *(Decompose(QUESTION), Extract(isk), Summarise((isk, wrenmouth), 60), Sample(QUESTION, (isk,), 2)),
        Equate(QUESTION, "the sea", "the ocean"),
    ]
    for task in tasks:
        speaking(BRAIN).perform(task)
    assert len(fake.log) >= len(tasks)
    assert not any("logprobs" in asked.body or "top_logprobs" in asked.body for asked in fake.log)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (400, "This model does not support the 'logprobs' parameter."),
        (400, "Logprobs is not enabled for models/small"),
        (400, "Unsupported value: top_logprobs may be 0 at most"),
        (400, "logprobs is not supported together with response_format"),
        (400, "the request is not understood"),
        (403, "You are not allowed to request logprobs from this model"),
        (422, "[{'type': 'extra_forbidden', 'loc': ('body', 'logprobs'), 'msg': 'Extra inputs are not permitted'}]"),
        (500, "logprobs is not supported for models created with logits_all=False"),
    ],
)
def test_an_endpoint_that_refuses_them_is_asked_without_from_then_on(
    fake: FakeAI, speaking: Speaking, isk: Unit, wrenmouth: Unit, code: int, words: str
) -> None:
    FAULTS["no logprobs"] = status(code, words)
    fake.choose = lambda _, body: "no logprobs" if "logprobs" in body or "top_logprobs" in body else None
    language = speaking(BRAIN)
    assert [language.perform(Assess(QUESTION, (one,))).value for one in (isk, wrenmouth)] == [1.0, 1.0]
    assert ["logprobs" in asked.body for asked in fake.log] == [True, False, False]
    assert {asked.form for asked in fake.log} == {"json_schema"}, "the form is not what was refused"
    assert fake.bill.calls == 2


def test_what_is_refused_for_another_reason_is_refused_without_them_too(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    FAULTS["unclear"] = status(400, "the request is not understood")
    fake.choose = lambda _, body: "unclear" if "response_format" in body else None
    assert speaking(BRAIN).perform(Assess(QUESTION, (isk,))).value == 1.0
    assert ["logprobs" in asked.body for asked in fake.log] == [True, False, False]


def said(*tokens: str | Mapping[str, float]) -> list[Token]:
    """A token each: the first of several is the one written."""
    return [
        tuple((text, math.log(chance)) for text, chance in ({one: 1.0} if isinstance(one, str) else one).items())
        for one in tokens
    ]


@pytest.mark.parametrize(
    "tokens",
    [
        said('{"', "enough", '": "', {"yes": 0.6, "no": 0.2}, '"}'),
        said('{"en', "ough", '":', {' "yes': 0.6, ' "no': 0.2, " null": 0.2}, '"}'),
        said('{"enough"', ":", ' "', {"y": 0.6, "n": 0.2, '"': 0.2}, "es", '"}'),
        said("ENOUGH", ":", {" Yes": 0.5, " yes": 0.1, " No": 0.2, " Not": 0.2}, "."),
        said('{"enough": "no"}', "\n", '{"enough": ', {'"yes"}': 0.6, '"no"}': 0.2}, "\n", "```"),
        said('{"missing": "enough: no", "enough": "', {"yes": 0.6, "no": 0.2, "yesterday": 0.2}, '"}'),
    ],
)
def test_the_place_is_found_however_a_reply_is_cut_into_tokens(tokens: list[Token]) -> None:
    assert apply_logprobs(AssessReply(enough="yes"), tokens).enough == pytest.approx(0.75, abs=1e-4)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        said('{"enough": "', {"no": 0.6, "yes": 0.4}, '"}'),
        said('{"answer": "', {"yes": 0.6, "no": 0.4}, '"}'),
        said("It is ", {"yes": 0.6, "no": 0.4}),
        said('{"enough": tr', {"ue": 0.6, "no": 0.4}),
    ],
)
def test_tokens_that_say_something_else_than_the_reply_change_nothing(tokens: list[Token]) -> None:
    assert apply_logprobs(AssessReply(enough="yes"), tokens).enough == 1.0  # type: ignore[arg-type]


def test_a_confidence_in_figures_stays_as_it_is() -> None:
    reply = RecallReply(answer="Isk", confidence=0.8)
    assert apply_logprobs(reply, said('{"confidence": ', {"0": 0.6, "1": 0.4}, ".8}")).confidence == 0.8


def test_what_a_real_server_gives_is_understood() -> None:
    cases = json.loads((SERVERS / "llama-server.json").read_text(encoding="utf-8"))["cases"]
    [case] = [case for case in cases if case["what"].startswith("log-probabilities")]
    request = ChatRequest("", "", "assess", (), Rung.PROMPT, "", 0.0, 100)
    found = read_reply(read_replies([json.dumps(case["body"]).encode()], request)[0], request, AssessReply)
    assert found is not None
    assert found.enough == pytest.approx(math.exp(-2.697) / (math.exp(-2.697) + math.exp(-3.092)), abs=1e-3)
