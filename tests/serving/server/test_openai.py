"""Chat windows: the official client of OpenAI's API against a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from openai import OpenAI

from hoptrail import Index
from hoptrail.errors import EndpointBusy
from hoptrail.index.contract import FAILED, NOTHING_FOUND
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.answer_text import CITED, harmless, written
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.workspaces import Workspace
from serving.server.listening import listening
from serving.server.served import NORTH, QUESTION, SOUTH, MakeApp
from world import FACTS

PLAIN = {"kind": "short", "parts": [], "notes": []}
"""What an answer has that is to one question, with nothing to note."""
CHAT: list[Any] = [{"role": "user", "content": QUESTION}]


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[OpenAI]:
    with client_at(address) as client:
        yield client


def client_at(address: str, key: str = NORTH) -> OpenAI:
    return OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)


def extra_of(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = message.model_extra["hoptrail"]
    return found


def test_recipes_are_models(client: OpenAI, app: FastAPI) -> None:
    names = [model.id for model in client.models.list()]
    assert names[0] == "trail"
    usable = app.state.services.workspaces.get("north").recipe_names()
    assert set(names) == {name for name, is_usable in usable.items() if is_usable} < set(usable)
    assert client.models.retrieve("trail").owned_by == "hoptrail"
    with pytest.raises(openai.NotFoundError, match="no such model"):
        client.models.retrieve("raptor")  # a recipe, but nothing was built for it


def test_the_last_message_of_the_user_is_answered_with_citations(client: OpenAI) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Answer in French."},
        {"role": "user", "content": "Where does the Isk rise?"},
        {"role": "assistant", "content": "In the Grey Hills."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    completion = client.chat.completions.create(model="trail", messages=messages, temperature=0, max_tokens=5)
    text = completion.choices[0].message.content or ""
    details = extra_of(completion)
    assert text.startswith("Isk [1]")
    assert (details["question"], details["answer"]) == (QUESTION, "Isk")
    assert len(details["trail"]) > 1
    assert [one["number"] for one in details["citations"]] == list(range(1, len(details["citations"]) + 1))
    for one in details["citations"]:
        assert FACTS[one["title"]][one["start"] : one["end"]] == one["text"]
        assert f"- [{one['number']}] {one['title']}: “{' '.join(one['said'].split())}”" in text.splitlines()
    assert (completion.model, completion.choices[0].finish_reason) == ("trail", "stop")
    assert completion.usage is not None
    assert completion.usage.total_tokens == 0  # rules answered


def test_a_follow_up_is_completed_from_the_messages_before(client: OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "Hi! Who designed the Tallow Bridge?"}]
    for follow_up, asked, answer in (
        ("And where was she born?", "Where was Orla Finch born?", "Wrenmouth"),
        ("And which river flows through Wrenmouth?", "Which river flows through Wrenmouth?", "Isk"),
    ):
        said = client.chat.completions.create(model="trail", messages=messages)
        messages += [
            {"role": "assistant", "content": said.choices[0].message.content},
            {"role": "user", "content": follow_up},
        ]
        details = extra_of(client.chat.completions.create(model="trail", messages=messages))
        assert (details["question"], details["asked"], details["answer"]) == (follow_up, asked, answer)


def test_several_questions_are_answered_line_by_line(client: OpenAI) -> None:
    question = "Who designed the Tallow Bridge? Where does the Isk rise?"
    completion = client.chat.completions.create(model="trail", messages=[{"role": "user", "content": question}])
    first, second, *_ = (completion.choices[0].message.content or "").splitlines()
    assert first.startswith("Who designed the Tallow Bridge? Orla Finch [1]")
    assert second.startswith("Where does the Isk rise? ")
    assert [part["asked"] for part in extra_of(completion)["parts"]] == [
        f"{one.strip(' ?')}?" for one in question.split("? ")
    ]


def test_a_title_is_given_without_a_search(client: OpenAI) -> None:
    task = '### Task:\nGenerate a title.\nJSON format: { "title": "…" }\n### Chat History:\nUSER: Who designed it?'
    completion = client.chat.completions.create(model="trail", messages=[{"role": "user", "content": task}])
    assert json.loads(completion.choices[0].message.content or "") == {"title": "Who designed it?"}
    assert (extra_of(completion)["trail"], extra_of(completion)["kind"]) == ([], "reply")


def test_a_stream_tells_hops_then_the_same_answer(client: OpenAI) -> None:
    whole = client.chat.completions.create(model="trail", messages=CHAT)
    options: Any = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="trail", messages=CHAT, stream=True, stream_options=options))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert choices[0].delta.role == "assistant"
    assert "".join(choice.delta.content or "" for choice in choices) == whole.choices[0].message.content
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    extras = [extra_of(chunk) for chunk in chunks if "hoptrail" in (chunk.model_extra or {})]
    assert [one["event"] for one in extras if "event" in one][:2] == ["asked", "hop"]
    assert {**extras[-1], "usage": None} == {**extra_of(whole), "usage": None}
    assert (chunks[-1].choices, chunks[-1].usage is not None) == ([], True)
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1


def test_a_stream_ends_as_clients_expect(app: FastAPI) -> None:
    with TestClient(app, base_url="http://localhost", headers={"Authorization": f"Bearer {NORTH}"}) as client:
        body = {"model": "trail", "messages": CHAT, "stream": True}
        response = client.post("/v1/chat/completions", json=body)
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in response.text.split("\n") if line]
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in lines)
    assert not any("usage" in json.loads(line.removeprefix("data: ")) for line in lines[:-1])


def test_null_stands_for_what_is_not_given(address: str) -> None:
    options: list[dict[str, Any]] = [
        {"stream": None},
        {"stream_options": {"include_usage": None}},
        {
            "stream": None,
            "stream_options": None,
            "n": None,
            "tools": None,
            "response_format": None,
            "temperature": None,
        },
    ]
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {NORTH}"}, verify=False) as client:
        for nothing in options:
            response = client.post("/v1/chat/completions", json={"model": "bm25", "messages": CHAT, **nothing})
            assert (response.status_code, response.json().get("object")) == (200, "chat.completion"), response.text


def test_half_a_character_is_refused(address: str) -> None:
    half = b'"a \\ud800 b"'
    bodies = [
        b'{"model": "bm25", "messages": [{"role": "user", "content": %b}]}' % half,
        b'{"model": "bm25", "messages": [{"role": "user", "content": [{"type": "text", "text": %b}]}]}' % half,
        b'{"model": %b, "messages": [{"role": "user", "content": "Who?"}]}' % half,
    ]
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {NORTH}"}, verify=False) as client:
        for body in bodies:
            response = client.post("/v1/chat/completions", content=body, headers={"Content-Type": "application/json"})
            assert (response.status_code, response.json()["error"]["code"]) == (400, "not_valid"), response.text


def test_an_abstention_says_so(client: OpenAI) -> None:
    asked: list[Any] = [{"role": "user", "content": "Who painted the ceiling of the opera in Vantry?"}]
    completion = client.chat.completions.create(model="hybrid", messages=asked)
    guess = extra_of(completion)["guess"]
    head = f"Not settled. Perhaps: {guess['text']}" if guess else "Not settled. Closest:"
    assert (completion.choices[0].message.content or "").startswith(f"{head}\n\n- ")
    assert extra_of(completion)["abstained"] is True
    assert len(extra_of(completion)["closest"]) == 3
    nothing: dict[str, Any] = {"answer": None, "evidence": [], "closest": [], "guess": None, "trail": [], **PLAIN}
    assert written(nothing).text == NOTHING_FOUND
    assert written(nothing | {"trail": [{"verdict": "failed"}]}).text == FAILED


IMAGE = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}, "Tools are not supported"),
    ({"functions": [{"name": "f", "parameters": {}}]}, "Tools are not supported"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}, IMAGE]}]}, "Images, sound and files"),
    ({"n": 2}, "Several choices"),
    ({"response_format": {"type": "json_object"}}, "Response formats"),
    ({"modalities": ["text", "audio"]}, "Modalities other than text"),
    ({"logprobs": True}, "Log probabilities"),
    ({"messages": [{"role": "system", "content": "Who?"}]}, "there is no question"),
    ({"messages": [{"role": "user", "content": " \n"}]}, "there is no question"),
    ({"messages": [{"role": "user", "content": "x" * 8001}]}, "of at most 8,000"),
    ({"messages": []}, "messages: List should have at least 1 item"),
    ({"messages": [{"role": "king", "content": "Who?"}]}, "messages.0.role"),
    ({"messages": [{"content": "Who?"}]}, "messages.0.role: Field required"),
]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_done_here_is_refused_by_name(client: OpenAI, stream: bool) -> None:
    for wrong, message in REFUSED:
        request: dict[str, Any] = {"model": "trail", "messages": CHAT, "stream": stream, **wrong}
        with pytest.raises(openai.BadRequestError, match=message) as refused:
            client.chat.completions.create(**request)
        assert refused.value.type == "invalid_request_error"
        assert refused.value.code in {"not_supported", "not_valid"}


def test_errors_are_those_that_the_client_knows(address: str, client: OpenAI) -> None:
    for name in ("gpt-4o", "raptor", "../trail", "scripted:/etc/passwd"):
        with pytest.raises(openai.NotFoundError) as unknown:
            client.chat.completions.create(model=name, messages=CHAT)
        assert unknown.value.code == "model_not_found"
        assert unknown.value.type == "invalid_request_error"
        assert "passwd" not in unknown.value.message
    with pytest.raises(openai.BadRequestError, match=r"Input should be .*\. Correct the request\."):
        client.chat.completions.create(model="trail", messages=CHAT, stream="perhaps")  # type: ignore[call-overload]
    with client_at(address, "a-wrong-key-0123456789") as stranger:
        with pytest.raises(openai.AuthenticationError) as refused:
            stranger.models.list()
        assert (refused.value.code, refused.value.type) == ("no_key", "authentication_error")
        assert "wrong-key" not in str(refused.value.body)
    with pytest.raises(openai.NotFoundError):
        client.get("/nothing", cast_to=object)
    with client_at(address, SOUTH) as south:
        other = south.chat.completions.create(model="trail", messages=CHAT)
    assert "Isk" not in (other.choices[0].message.content or "")


def test_too_many_are_told_to_come_again(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: Any) -> Any:
        begun.set()
        go_on.wait(60)
        raise EndpointBusy("the endpoint at http://secret.example asks to wait")

    monkeypatch.setattr("hoptrail.serving.server.streaming.answering", slow)
    monkeypatch.setattr("hoptrail.serving.server.refusals.OVERLOAD_DELAY_SECONDS", (0.0, 0.1))
    ends: list[openai.APIStatusError] = []

    def ask(client: OpenAI) -> None:
        try:
            client.chat.completions.create(model="trail", messages=CHAT)
        except openai.APIStatusError as error:
            ends.append(error)

    app = make_app(None, ServerLimits(asks=1, queue=0))
    with listening(app) as address, client_at(address) as client:
        first = threading.Thread(target=ask, args=(client,))
        first.start()
        assert begun.wait(60)
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(model="trail", messages=CHAT)
        go_on.set()
        first.join(60)
    assert (refused.value.code, refused.value.type) == ("too_many", "rate_limit_error")
    assert refused.value.response.headers["retry-after"] == "5"
    assert isinstance(ends[0], openai.InternalServerError)
    assert ends[0].code == "model_busy"
    assert "secret" not in str(ends[0].body)


def test_a_failure_in_the_middle_of_a_stream_is_told(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_asking: Any, _stopped: Any, send: Any) -> Any:
        send("question", {"question": QUESTION})
        raise ZeroDivisionError("the secret of /home/someone")

    monkeypatch.setattr("hoptrail.serving.server.streaming.answering", broken)
    with listening(make_app(None)) as address, client_at(address) as client:
        chunks = client.chat.completions.create(model="trail", messages=CHAT, stream=True)
        with pytest.raises(openai.APIError, match="inside the server") as failed:
            list(chunks)
    assert failed.value.code == "internal"
    assert "secret" not in str(failed.value.body)


def test_an_empty_workspace_has_no_models(tmp_path: Path) -> None:
    app = create_app([Workspace("main", Index(tmp_path / "none"))], warm=False)
    with listening(app) as address, client_at(address) as client:
        assert list(client.models.list()) == []
        with pytest.raises(openai.ConflictError, match="no documents yet"):
            client.chat.completions.create(model="trail", messages=CHAT)


# --- markup

HOSTILE = [
    "![x](http://evil.example/?q=secret)",
    "[click](http://evil.example)",
    "see http://evil.example/a or www.evil.example or a@evil.example",
    "<img src=http://evil.example/x> <http://evil.example>",
    "[1]: http://evil.example",
    "`code` *em* _em_ ~~gone~~ $x$ &lt;",
    "\\[x\\](http://evil.example)",
    "first\n\n# Heading\n- item",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_of_documents_stays_text(text: str) -> None:
    """The text as Markdown renders it: unescaped, with nothing left that could be markup."""
    written = harmless(text)
    assert "\n" not in written
    remaining = "".join(written.split("\\\\"))
    for start in ("[", "]", "<", ">", "`", "*", "_", "~", "$", "&", "@", "://", "www."):
        assert start not in remaining.replace(f"\\{start}", ""), start
    assert unescaped(written) == " ".join(text.split())


def unescaped(markdown: str) -> str:
    """Remove backslashes before punctuation, as Markdown does."""
    characters = iter(markdown)
    return "".join(next(characters) if character == "\\" else character for character in characters)


def test_numbers_in_brackets_are_ours_alone() -> None:
    item: dict[str, Any] = dict.fromkeys(CITED, "")
    item |= {
        "document": "d1",
        "title": "A [2] title",
        "start": 0,
        "end": 4,
        "text": "It is so\t[7].",
        "said": "It is so [7].",
    }
    text = written({"answer": "So [9]", "trail": [], "evidence": [item, item, {**item, "start": 1}], **PLAIN}).text
    assert text.splitlines()[0] == "So \\[9\\] [1][2]"
    assert text.splitlines()[2:] == [f"- [{n}] A \\[2\\] title: “It is so \\[7\\].”" for n in (1, 2)]


def test_each_open_question_is_named_with_the_statement_of_its_guess() -> None:
    step, guess, near = (dict.fromkeys(CITED, "") | {"start": n, "end": 9, "said": f"S{n}."} for n in range(3))
    about: dict[str, Any] = {"answer": None, "trail": [], "evidence": [step], "closest": [near], **PLAIN}
    first = about | {"asked": "Who?", "guess": {"text": "Ann", "evidence": [guess]}}
    second = about | {"asked": "Where?", "guess": None}
    whole = written(about | {"guess": None, "parts": [first, second]})
    assert whole.text.splitlines() == [
        "Who? Not settled. Perhaps: Ann [1]",
        "Where? Not settled.",
        "",
        "- [1] : “S1.”",
        "- : “S2.”",
    ]
    assert [whole.text[at:][:3] for at, _ in whole.quotations] == ["[1]", ""]
