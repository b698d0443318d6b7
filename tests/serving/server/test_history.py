"""Kept answers: what is kept for whom, found, renamed, erased; and that nothing of a removed document stays."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail.corpus import journal
from serving.server.served import OPERATOR, QUESTION, SECRET, SOUTH, MakeApp, beside, client_of, ended, upload
from serving.server.test_answering import told
from world import HashingEncoder


def ask(client: TestClient, question: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = client.post(
        "/api/ask", json={"question": question, "recipe": "selfask", "keep": True, **more}
    ).json()
    return found


def names(client: TestClient, words: str = "") -> list[str]:
    return [one["name"] for one in client.get("/api/history", params={"words": words}).json()["threads"]]


def flowing(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the closest statements on one line each: a passage read again has no line breaks between sentences."""
    return {**answer, "closest": [{**one, "said": " ".join(one["said"].split())} for one in answer["closest"]]}


def files_with(folder: Path, text: str) -> list[str]:
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and text.casefold().encode() in path.read_bytes().lower()
    ]


def test_an_answer_is_kept_only_where_that_is_asked_for(client: TestClient) -> None:
    asked = client.post("/api/ask", json={"question": QUESTION, "recipe": "selfask"}).json()
    assert "id" not in asked
    assert client.get("/api/history").json() == {"total": 0, "threads": []}
    kept = ask(client, QUESTION)
    opened = client.get(f"/api/history/{kept['id']}").json()
    (again,) = opened["answers"]
    assert flowing(again) == flowing(kept)
    assert (opened["name"], opened["own"]) == (QUESTION, True)
    events = told(
        client.post(
            "/api/ask",
            json={"question": "Where was Orla Finch born?", "recipe": "selfask", "keep": True},
            headers={"Accept": "text/event-stream"},
        ).text
    )
    (again,) = client.get(f"/api/history/{events[-1][1]['id']}").json()["answers"]
    assert flowing(again) == flowing(events[-1][1])
    assert names(client) == ["Where was Orla Finch born?", QUESTION]


def test_a_thread_has_what_followed_and_an_answer_shows_what_came_before_it(client: TestClient) -> None:
    first = ask(client, "Who designed the Tallow Bridge?")
    second = ask(client, "Where was Orla Finch born?", thread=first["thread"])
    assert (first["thread"], second["thread"]) == (first["id"], first["id"])
    assert names(client) == ["Who designed the Tallow Bridge?"]
    shown = [client.get(f"/api/history/{one['id']}").json()["answers"] for one in (first, second)]
    assert [[turn["id"] for turn in turns] for turns in shown] == [[first["id"]], [first["id"], second["id"]]]
    assert client.delete(f"/api/history/{first['thread']}").status_code == 200
    assert client.get(f"/api/history/{second['id']}").status_code == 404


def test_a_thread_is_found_by_its_words_renamed_and_erased(client: TestClient, tmp_path: Path) -> None:
    one, _ = ask(client, QUESTION), ask(client, "Where was Orla Finch born?")
    assert names(client, "tallow DESIGNER") == [QUESTION]
    assert names(client, "wrenmouth") == ["Where was Orla Finch born?", QUESTION], "what was found counts, too"
    assert names(client, "nothing_of_this") == []
    assert client.post(f"/api/history/{one['id']}", json={"name": "Quite another name"}).json()["name"]
    assert names(client, "another quite") == ["Quite another name"]
    page = client.get("/api/history", params={"start": 1, "limit": 1}).json()
    assert (page["total"], [it["name"] for it in page["threads"]]) == (2, ["Quite another name"])
    assert client.delete("/api/history").json() == {"erased": True}
    assert (names(client), files_with(tmp_path / "north", "Quite another name")) == ([], [])
    for absent in (client.get, client.delete):
        assert absent(f"/api/history/{one['id']}").status_code == 404
    assert client.post(f"/api/history/{one['id']}", json={"name": "x"}).status_code == 404


def test_places_are_kept_and_no_quotations(client: TestClient, tmp_path: Path) -> None:
    kept = ask(client, QUESTION)
    quoted = kept["evidence"][0]["text"]
    file = tmp_path / "north" / "history.sqlite"
    assert quoted.encode() not in file.read_bytes()
    with sqlite3.connect(file) as opened:
        (content,) = opened.execute("SELECT content FROM answers").fetchone()
    assert '"start"' in content


@pytest.mark.parametrize("how", ["page", "command", "replaced"])
def test_with_a_document_the_answers_go_that_came_from_it(
    app: FastAPI, client: TestClient, tmp_path: Path, how: str
) -> None:
    """Also those that go on from them; others stay. It is in no file when the removal has ended (P12)."""
    upload(client, ("Wharf.txt", b"The wharfinger of Dunquay is Isolde Quenby."))
    other = ask(client, QUESTION)
    first = ask(client, "Who is the wharfinger of Dunquay?")
    assert "Isolde Quenby" in first["answer"]
    second = ask(client, "Which river flows through Wrenmouth?", thread=first["thread"])
    assert files_with(tmp_path / "north", "Quenby")
    (one,) = {item["document"] for item in first["evidence"]}
    if how == "page":
        ended(client, client.delete(f"/api/documents/{one}").json())
    elif how == "replaced":
        upload(client, ("Wharf.txt", b"There is no wharf any more."))
    else:
        index = app.state.services.workspaces["north"].index
        index.encoder = HashingEncoder()
        index.remove([one])
    for gone in (first, second):
        assert client.get(f"/api/history/{gone['id']}").status_code == 404
    assert names(client) == [other["question"]]
    assert client.get(f"/api/history/{other['id']}").status_code == 200
    assert [name for name in files_with(tmp_path / "north", "Quenby") if name == "history.sqlite"] == []


def test_each_key_has_a_history_of_its_own_and_may_share_an_answer(client: TestClient) -> None:
    kept = ask(client, QUESTION)
    operator, south = beside(client, OPERATOR), beside(client, SOUTH)
    assert names(operator) == []
    shared = operator.get(f"/api/history/{kept['id']}", params={"workspace": "north"}).json()
    assert ([flowing(one) for one in shared["answers"]], shared["own"]) == ([flowing(kept)], False)
    assert operator.delete(f"/api/history/{kept['id']}").status_code == 404
    assert operator.post(f"/api/history/{kept['id']}", json={"name": "Mine"}).status_code == 404
    followed = ask(operator, "Where was Orla Finch born?", thread=kept["thread"])
    assert followed["thread"] == followed["id"], "nobody goes on in a thread of others"
    assert south.get(f"/api/history/{kept['id']}").status_code == 404
    secret = ask(south, "When does the zanzibar vault open?")
    assert SECRET in str(secret)
    assert client.get(f"/api/history/{secret['id']}").status_code == 404


def test_the_oldest_answers_go_first(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "KEPT", 2)
    for place in ("Dunmere", "Lindeth", "Wrenmouth"):
        ask(client, f"Which river flows through {place}?")
    assert names(client) == ["Which river flows through Wrenmouth?", "Which river flows through Lindeth?"]


def test_a_damaged_history_costs_no_answer_and_is_repaired(make_app: MakeApp, tmp_path: Path) -> None:
    app = make_app()
    index = app.state.services.workspaces["north"].index
    with client_of(app) as client:
        assert ask(client, QUESTION)["id"]
        (tmp_path / "north" / "history.sqlite").write_bytes(b"no database" * 400)
        asked = ask(client, QUESTION)
        assert (asked["answer"], "id" in asked) == ("Isk", False)
        assert client.get("/api/history").status_code == 503
    assert index.repair() == ["history.sqlite"]
    with client_of(make_app()) as client:
        assert ask(client, QUESTION)["id"]
