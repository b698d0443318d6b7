"""Dates: every interface shows the date of the evidence and what it replaces, and can ask the past."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from command import Hoptrail
from hoptrail import Index
from hoptrail.errors import UsageError
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.workspaces import Workspace
from serving.server.served import call_tool

pytest.importorskip("hoptrail_reader")

QUESTION = "What is the deposit for the rowing boat?"
PAST = "2024-12-31"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "leaflet.md").write_text(
        "# Leaflet of May 2024\n\nThe deposit for the rowing boat is 20 euros.\n", encoding="utf-8"
    )
    (folder / "2025-03 rules.md").write_text(
        "# Rules\n\nThe boats lie at the slip.\n\nThe deposit for the rowing boat is 35 euros.\n", encoding="utf-8"
    )
    (folder / "other.md").write_text("The ferry leaves at nine. The slip is behind the shed.\n", encoding="utf-8")
    new_index = Index(folder / "index")
    new_index.add(folder, "trail")
    return new_index


@pytest.fixture(scope="module")
def client(index: Index) -> Iterator[TestClient]:
    with TestClient(create_app([Workspace("main", index, ("trail",))], warm=False), base_url="http://localhost") as one:
        yield one


def cited(answer: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    return [(one["text"][-10:-1], one["date"], one["file"], one["replaced"]) for one in answer["evidence"]]


NOW = [("35 euros", "2025-03", "2025-03 rules.md", False), ("20 euros", "2024-05", "leaflet.md", True)]
THEN = [("20 euros", "2024-05", "leaflet.md", False)]


def check(answer: dict[str, Any], then: dict[str, Any]) -> None:
    """The newer statement wins and the older one is marked as replaced; as of an earlier date, the older one wins."""
    assert answer["answer"] == "35 euros"
    assert [(text.strip(), *rest) for text, *rest in cited(answer)] == NOW
    assert then["answer"] == "20 euros"
    assert [(text.strip(), *rest) for text, *rest in cited(then)] == THEN
    assert "35 euros" not in json.dumps(then)


def test_the_command_line(hoptrail: Hoptrail, index: Index) -> None:
    where = ("--index", index.folder)
    check(
        hoptrail("ask", QUESTION, *where, "--json").json,
        hoptrail("ask", QUESTION, *where, "--as-of", PAST, "--json").json,
    )
    shown = " ".join(hoptrail("ask", QUESTION, *where).out.split())
    assert "2025-03 replaces what was said in 2024-05: The deposit for the rowing boat is 20 euros." in shown
    found = hoptrail("search", QUESTION, *where, "--recipe", "bm25", "--json").json["hits"]
    assert {one["date"] for one in found if "deposit" in one["text"]} == {"2025-03", "2024-05"}
    past = hoptrail("search", QUESTION, *where, "--recipe", "bm25", "--as-of", "2024", "--json").json["hits"]
    assert {one["date"] for one in past if "deposit" in one["text"]} == {"2024-05"}
    assert "2024-05" in hoptrail("search", QUESTION, *where, "--recipe", "bm25").out
    wrong = hoptrail("ask", QUESTION, *where, "--as-of", "yesterday")
    assert (wrong.code, "is not a date" in " ".join(wrong.err.split())) == (2, True)


def test_from_python(index: Index) -> None:
    now, then = index.ask(QUESTION), index.ask(QUESTION, as_of="2024")
    assert (now.text, then.text) == ("35 euros", "20 euros")
    assert [(one.date, one.replaced) for one in now.evidence] == [("2025-03", False), ("2024-05", True)]
    assert Path(now.evidence[0].source).name == "2025-03 rules.md"
    assert "2025-03" in [one.date for one in now.closest]
    with pytest.raises(UsageError, match="is not a date"):
        index.search(QUESTION, as_of="2024-13")


def test_the_server(client: TestClient) -> None:
    body = {"question": QUESTION}
    past = {**body, "as_of": PAST}
    check(client.post("/api/ask", json=body).json(), client.post("/api/ask", json=past).json())
    found = client.post("/api/search", json={**past, "recipe": "bm25"}).json()["hits"]
    assert "2025-03" not in {one["date"] for one in found}
    for verb in ("ask", "search"):
        refused = client.post(f"/api/{verb}", json={**body, "as_of": "soon"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "not_valid")


def test_the_addresses_of_openai(client: TestClient) -> None:
    chat: dict[str, Any] = {"model": "trail", "messages": [{"role": "user", "content": QUESTION}]}
    completions = [client.post("/v1/chat/completions", json=one).json() for one in (chat, {**chat, "as_of": PAST})]
    check(*(one["hoptrail"] for one in completions))
    assert "(2024-05, replaced): “The deposit" in completions[0]["choices"][0]["message"]["content"]
    body = {"model": "trail", "input": QUESTION}
    answers = [client.post("/v1/responses", json=one).json() for one in (body, {**body, "as_of": PAST})]
    check(*(one["hoptrail"] for one in answers))
    marks = [one["hoptrail"] for one in answers[0]["output"][0]["content"][0]["annotations"]]
    assert [(one["date"], one["replaced"]) for one in marks] == [("2025-03", False), ("2024-05", True)]


def test_an_agent(client: TestClient) -> None:
    pytest.importorskip("mcp")
    answers = [call_tool(client, "ask", question=QUESTION, **more) for more in ({}, {"as_of": PAST})]
    check(*(answer["result"]["structuredContent"] for answer in answers))
