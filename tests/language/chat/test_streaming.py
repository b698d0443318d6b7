"""An answer is told while the model writes it; what is paid is stored all the same, and what is told is never used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fakeai.brains import task_of
from fakeai.clients import KEY, replies_in
from fakeai.faults import FAULTS, status
from fakeai.server import Asked, FakeAI, Handler
from hoptrail.errors import TaskFailed
from hoptrail.language.chat.reply_parsing import answer_so_far
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.tasks import Abstain, Decompose, Integrate, Language, Read, Reading, Recall, Sample
from hoptrail.types import Unit
from language_chat import ANSWER, QUESTION, Speaking

LONG = "the Grey Hills, ninety kilometres above the market town of Wrenmouth"
WRITTEN = json.dumps({**ANSWER, "answer": LONG})
Told = list[tuple[str, str]]


def heard(language: Language, told: Told, then: Callable[[], None] = lambda: None) -> ObservedLanguage:
    """`language` with a listener that notes what is written."""

    def wrote(question: str, text: str) -> None:
        told.append((question, text))
        then()

    return ObservedLanguage(language, Listener(wrote=wrote))


def read(language: Language, isk: Unit, question: str = QUESTION) -> Reading:
    return language.perform(Read(question, (isk,))).value


def test_an_answer_grows_while_it_is_written(fake: FakeAI, speaking: Speaking, isk: Unit, tmp_path: Path) -> None:
    fake.pace = 0.02
    told: Told = []
    language = heard(speaking(lambda _: WRITTEN), told)
    assert read(language, isk).answer == LONG
    assert {question for question, _ in told} == {QUESTION}
    texts = list(dict.fromkeys(text for _, text in told))
    assert texts[0] == ""
    assert texts[-1] == LONG
    assert len(texts) > 2
    assert all(LONG.startswith(text) for text in texts), "the answers of steps are not told"
    assert [asked.body["stream_options"] for asked in fake.log] == [{"include_usage": True}]
    assert replies_in(tmp_path).ledger().tokens == fake.bill.prompt_tokens + fake.bill.completion_tokens
    told.clear()
    assert read(language, isk).answer == LONG
    assert (len(fake.log), told) == (1, []), "a remembered reply is not written again"


def test_only_answers_are_streamed_and_only_where_somebody_listens(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    replies = {"decompose": {"questions": ["Where?"]}, "recall": {"answer": "Paris"}, "sample": {"answer": "Paris"}}
    language = speaking(lambda body: json.dumps(replies.get(task_of(body), ANSWER)))
    told: Told = []
    observed = heard(language, told)
    read(language, isk)
    observed.perform(Decompose(QUESTION))
    observed.perform(Sample(QUESTION, (isk,), 2))
    assert not any("stream" in asked.body for asked in fake.log)
    assert told == []
    observed.perform(Recall("Which city?", Abstain.ALWAYS))
    observed.perform(Integrate("Where to?", (), (isk,)))
    assert ("Which city?", "Paris") in told
    assert told[-1] == ("Where to?", "the Grey Hills")


@pytest.mark.parametrize("fault", ["stream cut", "stream malformed", "stream error"])
def test_a6_a_stream_that_breaks_off_begins_anew_and_its_cost_is_kept(
    fake: FakeAI, speaking: Speaking, isk: Unit, tmp_path: Path, fault: str
) -> None:
    fake.plan, fake.pace = {1: fault}, 0.01
    told: Told = []
    assert read(heard(speaking(lambda _: WRITTEN), told), isk).answer == LONG
    ledger = replies_in(tmp_path).ledger()
    assert (len(fake.log), ledger.calls, ledger.unsettled) == (2, 2, 1)
    assert told[-1] == (QUESTION, LONG)
    fake.always = fault
    with pytest.raises(TaskFailed, match=r"broke off|broken reply|the model crashed"):
        read(heard(speaking(), told), isk, "And where does it end?")
    assert replies_in(tmp_path).ledger().calls == len(fake.log)
    assert len(list(replies_in(tmp_path).stored())) == 1, "half a reply is none"


def test_a_listener_that_fails_loses_no_reply(
    fake: FakeAI, speaking: Speaking, isk: Unit, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise BrokenPipeError

    assert read(heard(speaking(lambda _: WRITTEN), [], fail), isk).answer == LONG
    assert "cannot be shown while it is written" in caplog.text
    assert (len(fake.log), replies_in(tmp_path).ledger().unsettled) == (1, 0)


@pytest.mark.parametrize("name", ["stream", "stream_options"])
def test_a_server_that_takes_no_streams_is_asked_for_whole_replies(
    fake: FakeAI, speaking: Speaking, isk: Unit, name: str
) -> None:
    FAULTS["no streams"] = status(400, f"Unsupported parameter: '{name}' is not supported.")
    fake.choose = lambda _, body: "no streams" if name in body else None
    told: Told = []
    language = heard(speaking(lambda _: WRITTEN), told)
    assert read(language, isk).answer == LONG
    read(language, isk, "And where does it end?")
    assert [name in asked.body for asked in fake.log] == [True, False, False], "found out once"
    assert ((QUESTION, LONG) in told) == (name == "stream_options")


def test_a_server_that_replies_at_once_all_the_same_is_understood(
    fake: FakeAI, speaking: Speaking, isk: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(handler: Handler, _fake: FakeAI, asked: Asked) -> None:
        handler.answer({**asked.body, "stream": False}, WRITTEN)

    monkeypatch.setitem(FAULTS, "at once", at_once)
    fake.always = "at once"
    assert read(heard(speaking(), []), isk).answer == LONG
    assert len(fake.log) == 1


def test_a_web_page_in_place_of_a_stream_is_said(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    fake.always = "web page"
    with pytest.raises(TaskFailed, match="a web page, perhaps a login"):
        read(heard(speaking(), []), isk)
    assert len(fake.log) == 1


def test_d12_what_is_told_holds_no_key(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    fake.pace = 0.01
    told: Told = []
    read(heard(speaking(lambda _: json.dumps({**ANSWER, "answer": f"It is {KEY}, they say."})), told), isk)
    assert told[-1][1] == "It is (key), they say."
    assert not any(KEY[:8] in text for _, text in told)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", ""),
        ('{"steps": [{"answer": "Tarn', ""),
        ('{"steps": [{"answer": "Tarnwick"}], "answer": "the Gr', "the Gr"),
        ('{"answer": "a \\"quoted\\" w\\u00e9', 'a "quoted" wé'),
        ('{"answer": "cut in an escape \\u00', "cut in an escape "),
        ('{"answer": nul', ""),
        ('{"answer": ["one", "tw', ""),
        ('```json\n{"answer": "in a fence", "confidence": "hi', "in a fence"),
        ('<think>Perhaps {"answer": "no"', ""),
        ('<think>Perhaps {"answer": "no"}</think>{"answer": "yes', "yes"),
        ("No object at all: 5", ""),
        ("{'answer': 'in quotes of Python'", ""),
    ],
)
def test_the_answer_in_a_reply_that_is_not_whole_yet(text: str, answer: str) -> None:
    assert answer_so_far(text) == answer


def test_the_answer_in_plain_text_is_what_follows_its_mark() -> None:
    assert answer_so_far("It rises there, says passage 1.") == ""
    assert answer_so_far("It rises there.\nANSWER: the Grey") == "the Grey"
