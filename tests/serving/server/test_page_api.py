"""The routes of the page besides plain questions: selected documents, follow-ups, suggestions, originals, building."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from fakeai.server import FakeAI, serving
from hoptrail.errors import ModelUnavailable
from hoptrail.serving import setup
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.workspaces import EXAMPLES, examples
from serving.server.browser.states import TABLE, make_folder
from serving.server.served import QUESTION, SECRET, SOUTH, beside, client_of, ended, upload, workspace
from serving.server.test_answering import told


def document_ids(client: TestClient) -> dict[str, str]:
    return {one["title"]: one["id"] for one in client.get("/api/documents").json()["documents"]}


def ask(client: TestClient, question: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/api/ask", json={"question": question, "recipe": "selfask", **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_chosen_documents_are_asked_as_if_there_were_no_others(client: TestClient) -> None:
    ids = document_ids(client)
    some = [ids["Tallow Bridge"], ids["Orla Finch"], ids["Wrenmouth"]]
    assert ask(client, QUESTION, documents=some)["answer"] == "Isk"
    without = ask(client, QUESTION, documents=some[:2])
    assert without["answer"] != "Isk"
    assert {item["document"] for hop in without["trail"] for item in hop["hits"]} <= set(some[:2])
    missing = client.post("/api/ask", json={"question": QUESTION, "documents": ["d00000000000000000000"]})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


def test_chosen_documents_are_gone_when_they_were_removed(client: TestClient) -> None:
    ids = document_ids(client)
    job = client.delete("/api/documents", params={"document": [ids["Orla Finch"], ids["Lindeth"], ids["Lindeth"]]})
    assert [item["name"] for item in ended(client, job.json())["items"]] == ["Orla Finch", "Lindeth"]
    assert not {"Orla Finch", "Lindeth"} & set(document_ids(client))
    answer = client.post("/api/ask", json={"question": "Who?", "documents": [ids["Orla Finch"]]})
    assert answer.status_code == 404
    assert client.delete("/api/documents", params={"document": [ids["Lindeth"]]}).status_code == 404
    ask(client, "Where does the Isk rise?", documents=[ids["Isk"]])


def test_a_follow_up_is_completed_from_the_answer_before(client: TestClient) -> None:
    first = ask(client, "Who designed the Tallow Bridge?")
    before = {
        "question": first["question"],
        "answer": first["answer"],
        "trail": [{"asked": hop["asked"], "answer": hop["answer"]} for hop in first["trail"]],
    }
    follow_up = {"question": "And where was she born?", "recipe": "selfask", "before": before}
    events = told(client.post("/api/ask", json=follow_up, headers={"Accept": "text/event-stream"}).text)
    assert ("completed", {"question": "And where was she born?", "asked": "Where was Orla Finch born?"}) in events
    assert events[-1][1]["question"] == "And where was she born?"
    assert events[-1][1]["asked"] == "Where was Orla Finch born?"
    assert events[-1][1]["answer"] == "Wrenmouth"
    unknown = client.post("/api/ask", json={**follow_up, "before": {**before, "secret": 1}})
    assert unknown.status_code == 400


def test_titles_make_suggestions_once_for_each_state(client: TestClient, app: FastAPI) -> None:
    def suggested() -> list[str]:
        found: list[str] = client.get("/api/suggestions").json()["questions"]
        return found

    assert len(suggested()) == EXAMPLES
    snapshot = app.state.services.workspaces["north"].read(lambda snapshot: snapshot, None)
    assert examples(snapshot) is examples(snapshot)
    upload(
        client, ("reef.md", b"# How to reef a sail\n\nTo reef a sail, ease the halyard and tighten the reefing line.\n")
    )
    others = [one for title, one in document_ids(client).items() if title != "How to reef a sail"]
    ended(client, client.delete("/api/documents", params={"document": others}).json())
    upload(client, ("note.txt", b"The boiler was serviced in May."), ("due.md", b"# What is due?\n\nThe rent."))
    about, *more = suggested()
    assert (about, sorted(more)) == ("Tell me about How to reef a sail.", ["Tell me about note.", "What is due?"])
    assert client.post("/api/ask", json={"question": about}).json()["answer"]


def test_a_chat_model_on_this_machine_is_named_where_none_is_set(
    client: TestClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(FakeAI(lambda _: "", pages={"/v1/models": {"data": [{"id": "qwen3:8b"}]}})) as fake:
        monkeypatch.setattr(setup, "USUAL", (fake.address,))
        offered = f"qwen3:8b at {fake.address} may settle it: `hoptrail setup` tries it and writes the settings."
        assert client.get("/api/offer").json() == {"offer": offered}
        index = app.state.services.workspaces.get("north").index
        monkeypatch.setitem(index.__dict__, "settings", replace(index.settings, language="chat"))
        assert client.get("/api/offer").json() == {"offer": ""}
    monkeypatch.undo()
    monkeypatch.setattr(setup, "USUAL", ("http://127.0.0.1:9/v1",))
    assert client.get("/api/offer").json() == {"offer": ""}


def test_a_document_has_its_structure_with_the_cells_of_rows(client: TestClient) -> None:
    job = upload(client, ("fees.md", b"# Fees\n\n| year | fee |\n|---|---|\n| 2024 | 3 |\n"))
    found = client.get(f"/api/documents/{job['items'][0]['documents'][0]}").json()
    assert (found["sources"], found["uploaded"]) == (["fees.md"], True)
    heading, *_, row = found["blocks"]
    assert (heading["kind"], heading["level"], row["kind"]) == ("heading", 1, "row")
    assert [found["text"][cell["start"] : cell["end"]] for cell in row["cells"]] == ["2024", "3"]


def test_the_original_is_sent_while_it_is_what_was_indexed(client: TestClient, built: Path) -> None:
    one = document_ids(client)["Isk"]
    assert client.get(f"/api/documents/{one}").json()["original"] is True
    sent = client.get(f"/api/documents/{one}/original")
    file = built / "north-sources" / "Isk.txt"
    assert sent.content == file.read_bytes()
    assert sent.headers["content-type"] == "application/octet-stream"
    assert sent.headers["content-disposition"] == "attachment; filename*=UTF-8''Isk.txt"
    assert str(built) not in str(sent.headers)
    before = file.read_bytes()
    try:
        file.write_text("Something else.", encoding="utf-8")
        assert client.get(f"/api/documents/{one}/original").json()["error"]["code"] == "changed"
        file.unlink()
        assert client.get(f"/api/documents/{one}/original").json()["error"]["code"] == "changed"
        assert client.get(f"/api/documents/{one}").json()["original"] is False
    finally:
        file.write_bytes(before)


def test_uploads_and_what_belongs_to_others_have_no_original(client: TestClient) -> None:
    upload(client, ("note.txt", b"A note that was uploaded."))
    one = document_ids(client)["note"]
    assert client.get(f"/api/documents/{one}").json()["original"] is False
    assert client.get(f"/api/documents/{one}/original").status_code == 409
    assert client.get("/api/documents/d00000000000000000000/original").status_code == 404


def folder_app(tmp_path: Path) -> FastAPI:
    """A server over a folder with folders in it, where the command line would put its index."""
    home = tmp_path / "home"
    (home / "choir").mkdir(parents=True)
    make_folder(home / "boat")
    (home / "choir" / "2024-05-03 minutes.md").write_text("# Minutes\n\nThe choir sings.\n" + "We sang. " * 500)
    served = workspace("main", home / ".hoptrail")
    served.index.add([home])
    return create_app([served], warm=False)


def test_documents_have_folders_dates_and_sizes_and_are_sorted(tmp_path: Path) -> None:
    app = folder_app(tmp_path)
    with client_of(app) as client:

        def listed(**more: str) -> list[str]:
            return [one["title"] for one in client.get("/api/documents", params=more).json()["documents"]]

        found = client.get("/api/documents").json()
        assert found["folders"] == [{"path": "boat", "documents": 4}, {"path": "choir", "documents": 1}]
        assert str(tmp_path) not in str(found)
        one = next(it for it in found["documents"] if it["title"] == "boats")
        assert (one["folder"], one["bytes"]) == ("boat", len(TABLE))
        assert listed(folder="choir") == ["Minutes"]
        assert listed(sort="-length")[0] == listed(sort="folder")[-1] == "Minutes"
        assert listed(sort="date")[0] == "Minutes"
        assert listed(sort="-date")[-1] == "Minutes"
        assert upload(client, ("trip/day.md", b"# First day\n\nWe walked."))["state"] == "done"
        served = app.state.services.workspaces["main"]
        with served.writing:  # as what follows a folder does: after an upload the server erases what it replaced
            served.index.add([tmp_path / "home"], sync=True)
        assert {"path": "trip", "documents": 1} in client.get("/api/documents").json()["folders"]
        assert listed(folder="trip") == ["First day"]
        assert client.get("/api/documents", params={"sort": "colour"}).status_code == 400


def test_a_page_of_a_pdf_is_drawn_with_the_box_of_a_sentence(tmp_path: Path) -> None:
    with client_of(folder_app(tmp_path)) as client:
        ids = document_ids(client)
        text = client.get(f"/api/documents/{ids['Boiler quote']}").json()["text"]
        start = text.index("The boiler costs")
        address = f"/api/documents/{ids['Boiler quote']}/pages/2"
        drawn = client.get(
            address, params={"start": start, "end": start + len("The boiler costs 6,150 pounds.")}
        ).json()
        assert b64decode(drawn["picture"]).startswith(b"\x89PNG")
        assert (drawn["pages"], drawn["width"] > 500, drawn["height"] > 500) == (2, True, True)
        ((left, top, right, bottom),) = drawn["boxes"]
        assert 0 < left < right < 1
        assert 0 < top < bottom < 1
        other = client.get(address, params={"start": 0, "end": text.index("\n")}).json()
        assert other["boxes"] == client.get(address).json()["boxes"] == []
        for absent, status in (("/pages/3", 409), ("/pages/0", 400)):
            assert client.get(address.replace("/pages/2", absent)).status_code == status
        assert client.get(f"/api/documents/{ids['boats']}/pages/1").json()["error"]["code"] == "not_drawn"
        (tmp_path / "home" / "boat" / "quote.pdf").unlink()
        assert client.get(address).json()["error"]["code"] == "changed"


def test_documents_of_another_workspace_can_neither_be_asked_nor_removed(client: TestClient) -> None:
    (foreign,) = document_ids(beside(client, SOUTH)).values()
    response = client.post("/api/ask", json={"question": "When does the zanzibar vault open?", "documents": [foreign]})
    assert (response.status_code, SECRET in response.text) == (404, False)
    assert client.delete("/api/documents", params={"document": foreign}).status_code == 404
    assert client.get(f"/api/documents/{foreign}/original").status_code == 404


def test_a_recipe_that_needs_a_model_says_so(client: TestClient) -> None:
    asked = {"question": QUESTION, "recipe": "closed-book"}
    answer = client.post("/api/ask", json=asked).json()
    assert answer["abstained"]
    assert "`hoptrail setup`" in answer["notes"][0]
    events = told(client.post("/api/ask", json=asked, headers={"Accept": "text/event-stream"}).text)
    assert [events[0][0], events[-1][0]] == ["question", "answer"]
    damaged = as_refusal(ModelUnavailable("the weights cannot be read"))  # another recipe or chat model is no help
    assert damaged.content["error"]["what_to_do"] == "Ask the operator."


def test_a_recipe_says_what_it_would_take_and_is_built(client: TestClient) -> None:
    def usable() -> bool:
        told_of = {one["name"]: one["usable"] for one in client.get("/api/recipes").json()["recipes"]}
        return bool(told_of["hipporag"])

    assert not usable()
    cost = client.get("/api/recipes/hipporag/cost").json()
    assert (cost["calls"], cost["prompt_tokens"], cost["completion_tokens"]) == (0, 0, 0)
    assert cost["seconds_so_far"] > 0
    job = ended(client, client.post("/api/recipes/hipporag").json())
    assert (job["kind"], job["state"], job["items"][0]["name"]) == ("build", "done", "hipporag")
    assert usable()
    assert ask(client, QUESTION, recipe="hipporag")["recipe"] == "hipporag"
    assert client.post("/api/recipes/nothing").status_code == 404
