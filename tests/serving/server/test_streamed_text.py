"""The text of an answer reaches a client while a model writes it: the page, chat windows, responses. Hops come before it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from fakeai.clients import KEY, quick_settings
from fakeai.faults import FAULTS
from fakeai.server import Asked, FakeAI, Handler, events, serving
from hoptrail.index.settings import Settings
from hoptrail.serving.answer_text import WITHDRAWN, SentText, answer_in
from hoptrail.serving.server.app import create_app
from serving.server.listening import listening
from serving.server.served import workspace
from serving.server.test_answering import told as events_in

QUESTION = "Where does the Isk rise?"
LONG = "in the Grey Hills, far above the market town of Wrenmouth"
CHAT: Any = {"model": "hybrid", "messages": [{"role": "user", "content": QUESTION}], "stream": True}


def reading(answer: str | None) -> str:
    step = {"question": QUESTION, "evidence": [1], "quote": "It rises in the Grey Hills.", "answer": answer}
    return json.dumps({"steps": [step] if answer else [], "answer": answer, "confidence": "high"})


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: reading(LONG), pace=0.04)) as running:
        yield running


@pytest.fixture
def address(fake: FakeAI, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server over the facts in the north, whose language is the model."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shutil.copytree(built / "north", tmp_path / "north")
    settings = Settings(recipe="hybrid", language="chat", chat=quick_settings(fake))
    with listening(create_app([workspace("north", tmp_path / "north", settings)], None, warm=False)) as address:
        yield address


@pytest.fixture
def client(address: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def told(address: str) -> list[tuple[str, Any]]:
    with httpx.Client(base_url=address, timeout=60) as http:
        return events_in(
            http.post("/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}).text
        )


def withdrawing(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    """An answer begins, and the reply breaks off; the next one has none."""
    content = reading("in the Black Hills of the far north, I believe") if asked.number == 1 else reading(None)
    parts = events(content, fake.charge(asked.body, content), finish=None if asked.number == 1 else "stop")
    handler.send_events(parts[:-3] if asked.number == 1 else parts, done=asked.number > 1)


def test_the_page_is_told_what_is_written_then_the_hop_and_the_answer(address: str) -> None:
    found = told(address)
    names = [name for name, _ in found]
    texts = [content["text"] for name, content in found if name == "writing"]
    assert names[0] == "question"
    assert names[-2:] == ["hop", "answer"]
    assert set(names[1:-2]) <= {"asked", "writing"}
    assert len(texts) > 2
    assert len(set(texts)) == len(texts), "nothing is told twice"
    assert all(LONG.startswith(text) for text in texts)
    assert found[-1][1]["answer"] == LONG
    assert not [name for name, _ in told(address) if name == "writing"], "a remembered reply is not written again"


def test_a_client_that_waits_for_the_whole_answer_needs_no_stream(address: str, fake: FakeAI) -> None:
    answer = httpx.post(f"{address}/api/ask", json={"question": QUESTION}, timeout=60).json()
    assert answer["answer"] == LONG
    assert not any("stream" in asked.body for asked in fake.log)


def test_a_chat_window_gets_the_text_in_pieces_and_then_the_citations(client: OpenAI) -> None:
    pieces = [chunk.choices[0].delta.content for chunk in client.chat.completions.create(**CHAT) if chunk.choices]
    words = [piece for piece in pieces if piece]
    assert len(words) > 2, "several pieces before the last, which has the citations"
    assert LONG.startswith("".join(words[:-1]))
    assert "".join(words).startswith(f"{LONG} [1]\n\n- [1] Isk: “")
    assert client.chat.completions.create(**{**CHAT, "stream": False}).choices[0].message.content == "".join(words)


def test_a_response_gets_it_too_and_its_parts_agree(client: OpenAI) -> None:
    found = list(client.responses.create(model="hybrid", input=QUESTION, stream=True))
    deltas = [one.delta for one in found if one.type == "response.output_text.delta"]
    kinds = [one.type for one in found if not one.type.startswith("hoptrail")]
    assert len(deltas) > 2
    assert kinds.count("response.output_item.added") == kinds.count("response.content_part.added") == 1
    assert kinds.index("response.content_part.added") < kinds.index("response.output_text.delta")
    [done] = [one for one in found if one.type == "response.output_text.done"]
    assert done.text == "".join(deltas)
    assert found[-1].type == "response.completed"
    assert found[-1].response.output_text == done.text
    [cited] = found[-1].response.output[0].content[0].annotations  # type: ignore[union-attr,index]
    assert done.text[cited.index :].startswith("[1]")  # type: ignore[union-attr]


def test_what_was_written_and_does_not_stand_is_said_to_be_withdrawn(
    client: OpenAI, fake: FakeAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAULTS, "withdrawing", withdrawing)
    fake.always = "withdrawing"
    found = list(client.responses.create(model="hybrid", input=QUESTION, stream=True))
    text = found[-1].response.output_text  # type: ignore[union-attr]
    begun, _, rest = text.partition(f"\n\n{WITHDRAWN}")
    assert "in the Black Hills of the far north, I believe".startswith(begun)
    assert begun
    assert rest.startswith("Not settled")
    assert "".join(one.delta for one in found if one.type == "response.output_text.delta") == text
    for annotation in found[-1].response.output[0].content[0].annotations:  # type: ignore[union-attr,index]
        assert annotation.index <= len(text)  # type: ignore[union-attr]
    assert answer_in(QUESTION, text).text is None, "who sends it back has not got an answer"


@pytest.mark.parametrize(
    ("texts", "final", "whole"),
    [
        ([], "Isk [1]", "Isk [1]"),
        (["the", "the Grey", "the Grey Hi"], "the Grey Hills [1]", "the Grey Hills [1]"),
        (["see http", "see http://x y"], r"see http\://x y [1]", r"see http\://x y [1]"),
        (["the Black Hills", "", "the Grey"], "the Grey Hills", f"the Black\n\n{WITHDRAWN}the Grey Hills"),
        (["the Grey Hi"], "A note.\n\nthe Grey Hills", "the Grey\n\nA note.\n\nthe Grey Hills"),
    ],
)
def test_what_is_sent_adds_up(texts: list[str], final: str, whole: str) -> None:
    sent = SentText(question="q")
    pieces = [sent.more({"question": "q", "text": text}) for text in texts]
    assert sent.more({"question": "another", "text": f"{final} and more"}) == ""
    assert "".join(pieces) + sent.rest(final) == whole
