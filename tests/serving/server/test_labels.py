"""A key limited to labels: on every route, other documents do not exist, and nothing can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail import Index, Settings
from hoptrail.errors import UsageError
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import find_keys
from hoptrail.serving.server.workspaces import Workspace
from serving.server.served import AGENT, SECRET, call_tool, client_of, listed_tools
from serving.server.test_security import OF_WORKSPACES, REQUESTS, Route, send
from world import FACTS, HashingEncoder

FULL, PUBLIC, HIDDEN = (f"{name}-key-0123456789" for name in ("full", "public", "hidden"))
LABELS = ("public=*/public/*", "hidden=*/hidden/*")
VAULT = "When does the zanzibar vault open?"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("labelled")
    for group, facts in {"public": FACTS, "hidden": {"Vault": SECRET}}.items():
        (folder / group).mkdir()
        for title, text in facts.items():
            (folder / group / f"{title}.txt").write_text(text, encoding="utf-8")
    index = Index(folder / "index", Settings(labels=LABELS))
    index.encoder = HashingEncoder()
    index.add([folder / "public", folder / "hidden"])
    return index


@pytest.fixture(scope="module")
def served(labelled: Index, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("served")
    other = Index(folder / "other")
    file = folder / "keys"
    file.write_text(
        f"main {FULL}\nother {FULL}\nmain {PUBLIC} public\nmain {HIDDEN} hidden,public\n",
        encoding="utf-8",
    )
    places = [Workspace("main", labelled), Workspace("other", other)]
    return create_app(places, find_keys(["main", "other"], file), warm=False, agents_may_change=True)


@pytest.fixture(scope="module")
def public(served: FastAPI) -> Iterator[TestClient]:
    with client_of(served, PUBLIC) as client:
        yield client


@pytest.fixture
def full(served: FastAPI) -> TestClient:
    return client_of(served, FULL)


def asked_for(route: Route) -> dict[str, Any]:
    """The request to a route, asking for the secret if it takes a question."""
    request: dict[str, Any] = {**REQUESTS[route]}
    texts = {"question": VAULT, "input": VAULT, "messages": [{"role": "user", "content": VAULT}]}
    if "json" in request and isinstance(request["json"], dict):
        request["json"] = {name: texts.get(name, value) for name, value in request["json"].items()}
    return request


@pytest.mark.parametrize("route", OF_WORKSPACES)
def test_nothing_without_the_label_is_told_on_any_route(public: TestClient, full: TestClient, route: Route) -> None:
    names = {one["title"]: one["id"] for one in full.get("/api/documents").json()["documents"]}
    answers = [send(public, route, name, **asked_for(route)) for name in ("none", names["Vault"], names["Isk"])]
    text = "".join(answer.text for answer in answers).replace(VAULT, "")
    assert not [word for word in ("Vault", "vault", "noon", SECRET) if word in text]
    if "json" in REQUESTS[route] and not {"documents", "{name}"} & set(route[1].split("/")):
        assert answers[0].status_code == 200, "it was asked"
    absent, hidden = answers[:2]
    assert absent.status_code == hidden.status_code, "what is hidden is as what does not exist"
    if "{name}" in route[1] and absent.status_code == 404:
        assert absent.content == hidden.content


@pytest.mark.parametrize("route", sorted(route for route in OF_WORKSPACES if route[0] != "GET"))
def test_a_limited_key_changes_nothing(public: TestClient, full: TestClient, route: Route) -> None:
    before = full.get("/api/documents").json()
    document = next(one["id"] for one in before["documents"] if one["title"] == "Isk")
    answer = send(public, route, document)
    if "documents" in route[1] or "jobs" in route[1]:
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert full.get("/api/documents").json() == before
    assert full.get("/api/jobs").json() == {"jobs": []}


def test_the_label_opens_what_has_it(served: FastAPI, public: TestClient, full: TestClient) -> None:
    hidden = client_of(served, HIDDEN)
    counted = [one.get("/api/documents").json()["total"] for one in (public, hidden, full)]
    assert counted == [len(FACTS), len(FACTS) + 1, len(FACTS) + 1]
    shown = [one.get("/api/show").json()["contents"]["documents"] for one in (public, hidden, full)]
    assert shown == counted
    found = [one.post("/api/search", json={"question": VAULT}).text.count("noon") for one in (public, hidden, full)]
    assert found[0] == 0 < found[1] == found[2]


def test_a_limited_key_has_a_history_and_sees_no_answer_from_what_it_may_not(
    public: TestClient, full: TestClient
) -> None:
    asked = {"question": "Where was Orla Finch born?", "recipe": "bm25", "keep": True}
    own = public.post("/api/ask", json=asked).json()
    shared = full.post("/api/ask", json=asked | {"documents": [it["document"] for it in own["closest"]]}).json()
    secret = full.post("/api/ask", json=asked | {"question": VAULT}).json()
    assert public.get(f"/api/history/{shared['id']}").status_code == 200
    assert public.get(f"/api/history/{secret['id']}").status_code == 404
    assert [one["id"] for one in public.get("/api/history").json()["threads"]] == [own["id"]]
    assert public.post(f"/api/history/{own['id']}", json={"name": "Mine"}).status_code == 200
    assert public.delete(f"/api/history/{shared['id']}").status_code == 404
    assert public.delete("/api/history").json() == {"erased": True}


def test_counts_of_all_are_not_for_a_limited_key(served: FastAPI, public: TestClient, full: TestClient) -> None:
    assert public.get("/metrics").status_code == 403
    assert full.get("/metrics").status_code == 200
    assert client_of(served, HIDDEN).get("/metrics").status_code == 403


def test_an_agent_with_a_limited_key_reads_what_it_may(public: TestClient, full: TestClient) -> None:
    assert listed_tools(full) - listed_tools(public) == {"add", "remove"}
    assert "error" in call_tool(public, "add", documents=[{"title": "New", "text": "It is."}])
    trail = call_tool(full, "ask", question=VAULT)["result"]["structuredContent"]["trail_id"]
    explanation = call_tool(public, "explain", trail=trail)["result"]
    assert explanation["isError"]
    assert explanation == call_tool(public, "explain", trail="t" + "0" * 20)["result"]
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
    vault = next(one["id"] for one in full.get("/api/documents").json()["documents"] if one["title"] == "Vault")
    answers = [
        public.post("/mcp", json={**read, "params": {"uri": f"hoptrail://documents/{one}"}}, headers=AGENT).json()[
            "error"
        ]
        for one in (vault, "none")
    ]
    assert answers[0] == answers[1]
    assert call_tool(public, "status")["result"]["structuredContent"]["jobs"] == []


def test_keys_with_labels_that_there_are_not_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    place = Workspace("main", Index(tmp_path / "index", Settings(labels=LABELS)))
    for line, message in (
        (f"main {PUBLIC} secrets", "no label secrets"),
        (f"main {PUBLIC} ,", "NAME KEY LABEL"),
        (f"main {PUBLIC} public hidden", "NAME KEY LABEL"),
        (f"main {PUBLIC} public\nmain {PUBLIC}", "occurs twice"),
    ):
        file.write_text(line, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            create_app([place], find_keys(["main"], file), warm=False)
