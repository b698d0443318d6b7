"""Two contradictory documents, one without a date: every interface shows both, each with its place, and chooses neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from command import Hoptrail
from hoptrail import Index
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.workspaces import Workspace
from serving.server.served import call_tool

pytest.importorskip("hoptrail_reader")

QUESTION = "What is the deposit for the rowing boat?"
ITEMS = ["20 euros (Leaflet of May 2024)", "35 euros (handbook)"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("notes")
    leaflet = "# Leaflet of May 2024\n\nThe deposit for the rowing boat is 20 euros.\n"
    (folder / "leaflet.md").write_text(leaflet, encoding="utf-8")
    (folder / "handbook.md").write_text("The deposit for the rowing boat is 35 euros.\n", encoding="utf-8")
    (folder / "other.md").write_text("The ferry leaves at nine. The slip is behind the shed.\n", encoding="utf-8")
    new_index = Index(folder / "index")
    new_index.add(folder, "trail")
    return new_index


@pytest.fixture(scope="module")
def client(index: Index) -> Any:
    app = create_app([Workspace("main", index, ("trail",))], warm=False)
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


def shows_both(said: str) -> bool:
    return all(one in said for one in ITEMS)


def picks_none(answer: dict[str, Any]) -> bool:
    """Whether the answer, or the guess, has the value of each document, and cites both."""
    given = answer["guess"] if answer["abstained"] else {"text": answer["answer"], "evidence": answer["evidence"]}
    cited = {one["title"] for one in given["evidence"]}
    return sorted(given["text"].split("; ")) == ITEMS and len(cited) == 2


def test_the_command_line(hoptrail: Hoptrail, index: Index) -> None:
    ended = hoptrail("ask", QUESTION, "--index", index.folder)
    assert shows_both(ended.out), ended.out
    assert picks_none(hoptrail("ask", QUESTION, "--index", index.folder, "--json").json)


def test_a_notebook(index: Index) -> None:
    shown = index.ask(QUESTION)._repr_html_()
    assert shows_both(shown), shown


def test_the_server(client: TestClient) -> None:
    assert picks_none(client.post("/api/ask", json={"question": QUESTION}).json())


def test_a_stream(client: TestClient) -> None:
    events = client.post("/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}).text
    (answer,) = (block for block in events.split("\n\n") if block.startswith("event: answer"))
    assert picks_none(json.loads(answer.partition("data: ")[2]))


def test_the_address_of_openai(client: TestClient) -> None:
    body = {"model": "trail", "messages": [{"role": "user", "content": QUESTION}]}
    text = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    assert shows_both(text), text


def test_an_agent(client: TestClient) -> None:
    pytest.importorskip("mcp")
    content = call_tool(client, "ask", question=QUESTION)["result"]
    assert picks_none(content["structuredContent"])
    assert shows_both(content["content"][0]["text"])
