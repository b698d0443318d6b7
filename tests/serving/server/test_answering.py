"""Asking and searching through the server: the same answers as elsewhere, streamed hop by hop, within limits."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail.corpus.writer import writing_to
from hoptrail.errors import EndpointBusy, EndpointRefused, IndexDamaged
from hoptrail.index import contract
from hoptrail.index.settings import ServerLimits
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Reply, Task
from hoptrail.recipes.registry import recipe_names
from hoptrail.serving.server.workspaces import Workspace
from serving.server.served import NORTH, OPERATOR, QUESTION, MakeApp, call_tool, client_of, ended
from world import HashingEncoder, make_document

EVENTS = {"Accept": "text/event-stream"}
ASK = {"question": QUESTION, "recipe": "selfask"}


def north(app: FastAPI) -> Workspace:
    found = app.state.services.workspaces.get("north")
    assert isinstance(found, Workspace)
    return found


def told(text: str) -> list[tuple[str, Any]]:
    """The events of a stream."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    lines = [block.split("\n") for block in blocks]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines]


class Slow(OfflineLanguage):
    """Counts its tasks, and starts each only when released."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Semaphore(0)
        self.begun = 0

    def perform(self, task: Task[Any]) -> Reply[Any]:
        self.begun += 1
        assert self.may.acquire(timeout=60)
        return super().perform(task)


class Refusing(OfflineLanguage):
    """Fails with one error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def perform(self, _: Task[Any]) -> Reply[Any]:
        raise self.error


@pytest.fixture
def slow(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    language = Slow()
    monkeypatch.setattr(north(app), "language", lambda _: language)
    yield language
    language.may.release(1000)


# --- answers


def test_an_answer_is_that_of_the_library(app: FastAPI, client: TestClient) -> None:
    answer = client.post("/api/ask", json=ASK).json()
    expected = north(app).index.ask(QUESTION, "selfask").to_dict()
    assert {**answer, "usage": None} == {**expected, "usage": None}
    assert answer["answer"] == "Isk"
    for item in answer["evidence"]:
        text = client.get(f"/api/documents/{item['document']}").json()["text"]
        assert text[item["start"] : item["end"]] == item["text"]


def test_a_search_is_that_of_the_library(app: FastAPI, client: TestClient) -> None:
    found = client.post("/api/search", json={"question": QUESTION, "recipe": "bm25", "limit": 2}).json()
    assert found == contract.search_json(QUESTION, "bm25", north(app).index.search(QUESTION, "bm25", 2))
    assert len(found["hits"]) == 2


def test_recipes_say_which_can_be_used(client: TestClient) -> None:
    told_of = client.get("/api/recipes").json()
    assert [one["name"] for one in told_of["recipes"]] == list(recipe_names())
    assert told_of["languages"] == ["offline"]
    for one in told_of["recipes"]:
        answer = client.post("/api/ask", json={"question": QUESTION, "recipe": one["name"]})
        assert (answer.status_code == 200) == one["usable"]
        if not one["usable"]:
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_built")


@pytest.mark.parametrize("recipe", ["none", "selfask:none", "chainrag:none", "", "a" * 201, "../bm25"])
def test_recipes_that_are_not_there_are_refused(client: TestClient, recipe: str) -> None:
    for verb in ("ask", "search"):
        answer = client.post(f"/api/{verb}", json={"question": QUESTION, "recipe": recipe})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_valid")


@pytest.mark.parametrize("question", ["", "   ", "\x00\x01", "a" * 8001])
def test_questions_have_bounds(client: TestClient, question: str) -> None:
    for verb in ("ask", "search"):
        answer = client.post(f"/api/{verb}", json={"question": question})
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert (error["code"], error["message"].startswith("question: ")) == ("not_valid", True)


def test_a_body_that_does_not_say_what_it_is_is_told_how_to(client: TestClient) -> None:
    body = json.dumps({"question": QUESTION}).encode()
    for verb in ("api/ask", "api/search", "v1/chat/completions"):
        response = client.post(f"/{verb}", content=body)
        assert (response.status_code, response.json()["error"]["code"]) == (415, "wrong_type")
        assert "Set Content-Type: application/json" in response.json()["error"]["what_to_do"]


@pytest.mark.parametrize("question", ['"', "* OR NEAR(", "who " * 1500, "它在哪里？", "\ud800 who?", "{{7*7}} ${x}"])
def test_odd_questions_are_answered_or_not(client: TestClient, question: str) -> None:
    body = json.dumps({"question": question}).encode()
    answer = client.post("/api/ask", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {200, 400}


# --- streams


def test_hops_are_told_as_they_are_found(client: TestClient) -> None:
    answer = client.post("/api/ask", json=ASK, headers=EVENTS)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = told(answer.text)
    names = [name for name, _ in events]
    assert names == ["question", *["asked", "hop"] * 3, "answer"]
    whole = events[-1][1]
    hops = [content for name, content in events if name == "hop"]
    assert [{key: hop[key] for key in ("question", "asked", "answer", "verdict")} for hop in hops] == [
        {key: hop[key] for key in ("question", "asked", "answer", "verdict")} for hop in whole["trail"]
    ]
    assert [item for hop in hops for item in hop["evidence"]] == whole["evidence"]
    assert [hop["hop"] for hop in hops] == [0, 1, 2]
    assert events[0][1] == {"question": QUESTION, "recipe": "selfask", "language": "offline"}


def test_a_hop_is_told_before_the_next_is_begun(slow: Slow, app: FastAPI) -> None:
    """Through ASGI directly: the test client returns only complete responses."""
    sent: list[bytes] = []

    async def ask() -> None:
        body = json.dumps(ASK).encode()
        leaving = asyncio.Event()
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            for message in messages:
                return message
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        asking = asyncio.create_task(app(scope_of(body), receive, send))
        for count in range(3):  # the next question, its reading, the next question
            await eventually(lambda count=count: slow.begun == count + 1)
            slow.may.release()
        await eventually(lambda: any(b"event: hop" in part for part in sent))
        assert slow.begun <= 4
        leaving.set()
        await asyncio.wait_for(asking, 10)
        begun = slow.begun
        slow.may.release(100)
        await asyncio.sleep(0.3)
        assert slow.begun == begun, "work went on although the client had left"
        await eventually(lambda: app.state.services.metrics.asking._value.get() == 0)

    asyncio.run(ask())
    text = b"".join(sent).decode()
    assert "event: answer" not in text


def scope_of(body: bytes) -> dict[str, Any]:
    headers = {
        "host": "localhost",
        "authorization": f"Bearer {NORTH}",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "content-length": str(len(body)),
    }
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/ask",
        "raw_path": b"/api/ask",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


async def eventually(true: Any) -> None:
    for _ in range(1000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to pass")


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (EndpointBusy("of /home/x, key sk-123"), "model_busy", 503),
        (EndpointRefused("of /home/x, key sk-123"), "model_refused", 502),
        (IndexDamaged("/home/x, key sk-123"), "workspace_unavailable", 503),
        (ZeroDivisionError("/home/x, key sk-123"), "internal", 500),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_end_a_stream_in_the_one_shape(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str, status: int
) -> None:
    monkeypatch.setattr(north(app), "language", lambda _: Refusing(error))
    streamed = client.post("/api/ask", json=ASK, headers=EVENTS)
    name, content = told(streamed.text)[-1]
    assert (name, content["error"]["code"]) == ("error", code)
    plain = client.post("/api/ask", json=ASK)
    assert (plain.status_code, plain.json()) == (status, content)
    assert "sk-123" not in plain.text + streamed.text
    assert "/home" not in plain.text + streamed.text


def test_what_cannot_be_asked_is_refused_before_the_stream(client: TestClient) -> None:
    answer = client.post("/api/ask", json={"question": "Who?", "recipe": "none"}, headers=EVENTS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_valid")


# --- limits


def test_too_many_questions_are_told_to_come_again(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(None, ServerLimits(asks=1, queue=1))
    slow = Slow()
    monkeypatch.setattr(north(app), "language", lambda _: slow)
    monkeypatch.setattr("hoptrail.serving.server.refusals.OVERLOAD_DELAY_SECONDS", (0.2, 0.3))
    with client_of(app) as client, ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(client.post, "/api/ask", json=ASK) for _ in range(2)]
        while app.state.services.metrics.asking._value.get() < 2:
            time.sleep(0.01)
        for headers in ({}, EVENTS):
            sent = time.monotonic()
            refused = client.post("/api/ask", json=ASK, headers=headers)
            assert time.monotonic() - sent >= 0.2, "who asks again at once is kept waiting"
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
            assert int(refused.headers["retry-after"]) > 0
        slow.may.release(1000)
        assert [one.result().status_code for one in waiting] == [200, 200]
        assert client.post("/api/ask", json=ASK).status_code == 200


def test_a_question_has_its_time(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app(None, ServerLimits(ask_seconds=0.2))
    slow = Slow()
    monkeypatch.setattr(north(app), "language", lambda _: slow)
    with client_of(app) as client:
        late = client.post("/api/ask", json=ASK)
        assert (late.status_code, late.json()["error"]["code"]) == (504, "stopped")
        slow.may.release(1000)


def test_many_at_once_get_each_their_own_answer(client: TestClient) -> None:
    questions = {f"Who designed the {name} Bridge?": name for name in ("Tallow", "Nowhere")} | {QUESTION: "Isk"}
    alone = {
        question: client.post("/api/ask", json={"question": question, "recipe": "selfask"}).json()
        for question in questions
    }
    with ThreadPoolExecutor(8) as threads:
        asked = [question for question in questions for _ in range(8)]
        answers = list(
            threads.map(lambda one: client.post("/api/ask", json={"question": one, "recipe": "selfask"}).json(), asked)
        )
    for question, answer in zip(asked, answers, strict=True):
        assert {**answer, "usage": None} == {**alone[question], "usage": None}


# --- what stands beside


def test_metrics_count_and_name_no_workspace(app: FastAPI, client: TestClient) -> None:
    client.post("/api/ask", json=ASK)
    client.post("/api/ask", json={"question": "Who is the king of Nowhere?"})
    text = client_of(app, OPERATOR).get("/metrics").text
    assert 'hoptrail_requests_total{route="/api/ask",status="200"} 2.0' in text
    assert 'hoptrail_answers_total{outcome="answered"} 1.0' in text
    assert 'hoptrail_hops_total{verdict="answered"} 3.0' in text
    assert "hoptrail_questions_under_way 0.0" in text
    for word in ("north", "south", "Tallow", "Nowhere", "king", "Isk", OPERATOR, str(north(app).index.folder)):
        assert word not in text
    assert client.get("/metrics").status_code == 403, "what one key does shows in no other's counts"


def test_a_warm_workspace_has_opened_what_the_usual_recipe_searches(make_app: MakeApp) -> None:
    app = make_app(warm=True)
    with client_of(app):
        pass  # a server that stops waits for what it has begun
    assert north(app).corpus().snapshot._derived


def test_a_workspace_without_documents_says_so(make_app: MakeApp, tmp_path: Path) -> None:
    (tmp_path / "north").mkdir()
    with client_of(make_app()) as client:
        shown = client.get("/api/show").json()
        assert (shown["empty"], shown["contents"]) == (True, None)
        answer = client.post("/api/ask", json={"question": "Who?"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "empty_workspace")
        assert client.get("/api/documents").json() == {"total": 0, "documents": [], "folders": []}
        assert client.get("/api/recipes").status_code == 200
        job = client.post("/api/documents", json=[{"title": "Ash", "text": "The ash was felled in Dorn."}]).json()
        assert ended(client, job)["state"] == "done"
        assert client.get("/api/show").json()["contents"]["documents"] == 1


def test_while_indexing_has_not_ended_answers_say_so(client: TestClient, tmp_path: Path) -> None:
    asked = {"question": "Which river flows through Wrenmouth?", "recipe": "bm25"}
    assert "indexing" not in client.post("/api/ask", json=asked).json()
    assert client.get("/api/show").json()["progress"] == {
        "what": "",
        "done": 0,
        "total": 0,
        "share": None,
        "seconds_left": None,
    }
    with writing_to(tmp_path / "north", HashingEncoder().identity) as writer:
        writer.put_documents([make_document("Ulm", "Ulm is a town on the Isk.")])
        writer.checkpoint()
    indexing = client.post("/api/ask", json=asked).json()["indexing"]
    assert indexing == {"documents": 7, "searchable": 6, "passages": 6, "encoded": 6, "goes_on": False}
    assert client.post("/api/search", json=asked).json()["indexing"] == indexing
    assert client.get("/api/show").json()["indexing"] == indexing
    chat = {"model": "bm25", "messages": [{"role": "user", "content": asked["question"]}]}
    assert client.post("/v1/chat/completions", json=chat).json()["hoptrail"]["indexing"] == indexing
    response = {"model": "bm25", "input": asked["question"]}
    assert client.post("/v1/responses", json=response).json()["hoptrail"]["indexing"] == indexing
    stream = client.post("/v1/responses", json={**response, "stream": True}).text
    assert json.dumps({"indexing": indexing})[1:-1] in stream
    for tool, arguments in (("ask", asked), ("search", asked), ("status", {})):
        assert call_tool(client, tool, **arguments)["result"]["structuredContent"]["indexing"] == indexing
