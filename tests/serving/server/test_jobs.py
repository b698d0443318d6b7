"""Documents are added and removed in the background: each has a state, finished work stays, readers see only commits."""

from __future__ import annotations

import contextlib
import errno
import gzip
import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail import Index, Settings
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.read_sources import read_sources
from hoptrail.index.contents import DocumentSummary
from hoptrail.index.indexing import Watcher
from hoptrail.index.settings import ServerLimits
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.serving.server import workspaces
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.wire import Text, as_file
from hoptrail.types import Document, Kind
from serving.server.served import MakeApp, client_of, ended, upload, workspace
from world import FACTS, HashingEncoder


class HoldingEncoder(HashingEncoder):
    """An encoder that waits at a text with a certain word until released."""

    def __init__(self, word: str) -> None:
        super().__init__()
        object.__setattr__(self, "word", word)
        object.__setattr__(self, "reached", threading.Event())
        object.__setattr__(self, "go", threading.Event())

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        if any(self.word in text for text in texts):  # type: ignore[attr-defined]
            self.reached.set()  # type: ignore[attr-defined]
            assert self.go.wait(60)  # type: ignore[attr-defined]
        return super().encode(texts, progress)


def hold(app: FastAPI, word: str) -> Any:
    held = HoldingEncoder(word)
    app.state.services.workspaces.get("north").index.encoder = held
    return held


def texts(*names: str) -> list[dict[str, str]]:
    return [{"title": name, "text": f"The {name} nests in the reeds."} for name in names]


def titles(client: TestClient) -> set[str]:
    return {one["title"] for one in client.get("/api/documents").json()["documents"]}


def test_an_upload_becomes_documents_that_can_be_asked_about(client: TestClient, tmp_path: Path) -> None:
    lines = "\n".join(
        json.dumps({"id": name, "title": name, "text": f"{name} is a hill."}) for name in ("Arn", "Brock")
    )
    job = upload(
        client, ("Curlew.txt", b"The curlew sings in Varden."), ("hills.jsonl", lines.encode()), ("empty.txt", b"")
    )
    assert (job["state"], job["error"]) == ("done", None)
    assert [item["state"] for item in job["items"]] == ["done", "done", "done"]
    assert [len(item["documents"]) for item in job["items"]] == [1, 2, 1]
    assert job["items"][2]["notes"] == ["holds no text"]
    found = client.get(f"/api/documents/{job['items'][0]['documents'][0]}").json()
    assert (found["title"], found["sources"], found["sentences"]) == ("Curlew", ["Curlew.txt"], [len(found["text"])])
    assert client.post("/api/ask", json={"question": "Where does the curlew sing?"}).json()["answer"] == "Varden"
    assert titles(client) == {*FACTS, "Curlew", "Arn", "Brock", "empty"}
    brock = client.get("/api/documents", params={"title": "brock"}).json()["documents"][0]
    assert (brock["sources"], brock["uploaded"], found["uploaded"]) == (["hills.jsonl#Brock"], True, True)
    indexed = client.get("/api/documents", params={"title": "Isk"}).json()["documents"][0]
    assert indexed["uploaded"] is False
    assert client.get(f"/api/documents/{indexed['id']}").json()["uploaded"] is False
    assert {path.suffix for path in (tmp_path / "north" / "uploads").iterdir()} == {".lock"}


def test_ids_of_lines_may_hold_whatever_paths_hold(client: TestClient) -> None:
    ids = ["https://x.example/wiki/Paris", "https://x.example/wiki/Rome", "a#b/c#d", "a#b/e#d", "#", "/"]
    lines = "\n".join(json.dumps({"id": name, "title": f"On {name}", "text": f"Of {name}."}) for name in ids)
    job = upload(client, ("wiki #1/pages.jsonl", lines.encode()))
    assert job["items"][0]["state"] == "done"
    found = client.get("/api/documents", params={"title": "On "}).json()["documents"]
    assert {one["id"] for one in found} == set(job["items"][0]["documents"])
    assert sorted(one["sources"][0] for one in found) == sorted(f"wiki #1/pages.jsonl#{name}" for name in ids)


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[TestClient]:
    """A server that reads texts of 20,000 bytes."""
    settings = replace(Settings(), reading=ReadingLimits(text=20_000))
    with client_of(create_app([workspace("main", tmp_path / "narrow", settings)], warm=False)) as opened:
        yield opened


PROSE = "Это простое предложение из слов. "
FULL = {
    "many letters of two bytes": PROSE * 330,
    "many lines": "a\n" * 9_999,
    "many quotes": '"' * 20_000,
    "of another encoding": "\ufeff" + PROSE * 300,
}


@pytest.mark.parametrize("text", FULL.values(), ids=FULL)
def test_a_text_just_below_the_limit_is_indexed(narrow: TestClient, text: str) -> None:
    """Even if its JSON lines take more bytes than the uploaded file."""
    data = text.encode("utf-16-le") if text.startswith("\ufeff") else text.encode()
    assert 18_000 < len(data) <= 20_000
    job = upload(narrow, ("full.txt", data))
    (item,) = job["items"]
    assert (item["state"], len(item["documents"])) == ("done", 1), item
    assert narrow.get(f"/api/documents/{item['documents'][0]}").json()["text"] == text.removeprefix("\ufeff")


def test_texts_sent_as_json_are_as_long_as_files_may_be(narrow: TestClient) -> None:
    text = PROSE * 330
    body = json.dumps([{"title": "full", "text": text}])
    job = ended(
        narrow, narrow.post("/api/documents", content=body, headers={"Content-Type": "application/json"}).json()
    )
    assert narrow.get(f"/api/documents/{job['items'][0]['documents'][0]}").json()["text"] == text


def test_a_text_as_a_line_is_what_it_was_and_hardly_longer() -> None:
    text = PROSE + '\ud800 "half" \\ \n \u2028 \N{GRINNING FACE}'
    line = as_file(Text(title="t", text=text))[1].read()
    assert json.loads(line)["text"] == text
    assert len(line) < len(text.encode("utf-8", "replace")) + 60


def test_what_is_beyond_the_limit_is_told(narrow: TestClient) -> None:
    job = upload(narrow, ("over.txt", (PROSE * 400).encode()))
    assert (job["items"][0]["state"], job["items"][0]["documents"]) == ("failed", [])
    assert "larger than the limit of 20000 bytes" in job["items"][0]["reason"]


def test_sentences_that_a_line_gives_are_kept(client: TestClient) -> None:
    sentences = ["Arn is a hill. It is", " high.", " Nobody lives there."]
    plain = {"id": "b", "title": "Brock", "text": "Brock is a hill. It is high."}
    lines = [{"id": "a", "title": "Arn", "text": "".join(sentences), "sentences": sentences}, plain]
    job = upload(client, ("hills.jsonl", "\n".join(map(json.dumps, lines)).encode()))
    found = [client.get(f"/api/documents/{name}").json()["sentences"] for name in job["items"][0]["documents"]]
    assert found == [[21, 27, 46], [17, 28]]


def test_of_two_lines_with_one_id_the_second_is_told_of(client: TestClient) -> None:
    lines = [{"id": "a", "title": f"Hill {number}", "text": "A hill."} for number in (1, 2)]
    job = upload(client, ("hills.jsonl", "\n".join(map(json.dumps, lines)).encode()))
    (item,) = job["items"]
    assert (item["state"], len(item["documents"])) == ("done", 1)
    assert item["notes"] == ["hills.jsonl#a: an earlier document has this id"]
    assert "Hill 1" in titles(client)


def test_lines_that_cannot_be_read_are_told_before_notes_and_counted(client: TestClient) -> None:
    lines = [json.dumps({"id": f"i{n}", "title": f"Hill {n}", "text": ""}) for n in range(30)]
    (item,) = upload(client, ("hills.jsonl", "\n".join([*lines, "{torn"]).encode()))["items"]
    assert (item["state"], len(item["documents"]), len(item["notes"])) == ("done", 30, 21)
    assert item["notes"][0].startswith("line 31: is not JSON")
    assert item["notes"][-1] == "and 11 more notes like these"


def test_an_upload_that_was_lost_is_not_done(app: FastAPI, client: TestClient) -> None:
    served = app.state.services.workspaces.get("north")
    files = [("alone.txt", b"The heron waits."), ("gone.txt", b"The ibis waits."), ("kept.txt", b"The owl waits.")]
    with served.writing:
        job = client.post("/api/documents", files=[("files", file) for file in files]).json()
        for item in job["items"][:2]:
            (served.index.folder / "uploads" / f"{item['id']}.txt").unlink()
    job = ended(client, job)
    assert [item["state"] for item in job["items"]] == ["failed", "failed", "done"]
    assert [item["reason"] for item in job["items"]] == ["does not exist: check the path"] * 2 + [""]
    assert [len(item["documents"]) for item in job["items"]] == [0, 0, 1]
    assert titles(client) == {*FACTS, "kept"}


def test_a_new_version_takes_the_place_of_the_old(client: TestClient) -> None:
    upload(client, ("notes.txt", b"The heron waits at dawn."))
    upload(client, ("notes.txt", b"The heron waits at dusk."))
    found = client.get("/api/documents", params={"title": "notes"}).json()
    assert found["total"] == 1
    assert "dusk" in client.get(f"/api/documents/{found['documents'][0]['id']}").json()["text"]


def test_of_two_files_of_one_name_the_first_is_told_that_its_place_was_taken(client: TestClient) -> None:
    """Whether they are alone or in one batch with others."""
    for before in ((), ("f.txt", "g.txt", "h.txt")):
        others = [(name, f"The {name} nests.".encode()) for name in before]
        both = [("readme.md", b"Readme of one."), ("readme.md", f"Readme of two after {len(before)}.".encode())]
        job = upload(client, *others, *both)
        first, second = job["items"][-2:]
        assert (first["state"], first["documents"], second["state"]) == ("failed", [], "done")
        assert "replaced by a later one of the same name" in first["reason"]
        (there,) = client.get("/api/documents", params={"title": "readme"}).json()["documents"]
        assert [there["id"]] == second["documents"]


def test_a_broken_file_harms_no_other_of_its_name(client: TestClient) -> None:
    job = upload(client, ("a.txt", b"Filler."), ("b.txt", b"Alpha of b."), ("b.txt", b"\0\1\2binary\0"))
    assert [item["state"] for item in job["items"]] == ["done", "done", "failed"]
    assert {"a", "b"} <= titles(client)


def test_of_two_files_of_lines_the_first_keeps_what_the_second_does_not_hold(client: TestClient) -> None:
    pages = [
        [{"id": name, "title": f"{name} {n}", "text": f"{name} {n}."} for name in held]
        for n, held in enumerate(("ab", "bc"))
    ]
    job = upload(client, *(("p.jsonl", "\n".join(map(json.dumps, lines)).encode()) for lines in pages))
    first, second = job["items"]
    assert [(item["state"], len(item["documents"])) for item in (first, second)] == [("done", 1), ("done", 2)]
    assert "1 documents were replaced" in first["notes"][0]
    assert titles(client) == {*FACTS, "a 0", "b 1", "c 1"}


def test_long_names_are_told_apart_by_their_ends(client: TestClient) -> None:
    long = "A" * 200
    body = [{"title": f"{long} Annex {n}", "text": f"Annex {n}."} for n in (1, 2)]
    job = ended(client, client.post("/api/documents", json=body).json())
    assert [item["state"] for item in job["items"]] == ["done", "done"]
    assert titles(client) == {*FACTS, f"{long} Annex 1", f"{long} Annex 2"}
    job = upload(client, (f"{long} 1.txt", b"First."), (f"{long} 2.txt", b"Second."))
    assert [item["state"] for item in job["items"]] == ["done", "done"]
    assert client.get("/api/documents", params={"title": long}).json()["total"] == 4


def test_what_is_refused_takes_nothing_from_a_job_at_work(make_app: MakeApp) -> None:
    app = make_app(None, ServerLimits(waiting_uploads=5000))
    held = hold(app, "bittern")
    with client_of(app) as client:
        job = client.post("/api/documents", json=texts("avocet", "bittern", "crake")).json()
        assert held.reached.wait(60)
        over = [*texts("bittern"), {"title": "long", "text": "x" * 6000}]
        refused = client.post("/api/documents", json=over)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
        at_work = app.state.services.workspaces.get("north").index.folder / "uploads"
        assert len(list(at_work.glob("u*.jsonl"))) == 2
        held.go.set()
        assert ended(client, job)["state"] == "done"
        assert titles(client) == {*FACTS, "avocet", "bittern", "crake"}


def test_a_document_is_removed_with_all_that_came_of_it(client: TestClient) -> None:
    (one,) = client.get("/api/documents", params={"title": "lindeth"}).json()["documents"]
    job = ended(client, client.delete(f"/api/documents/{one['id']}").json())
    assert (job["kind"], job["state"]) == ("remove", "done")
    assert client.get(f"/api/documents/{one['id']}").status_code == 404
    assert "Lindeth" not in titles(client)
    hits = client.post("/api/search", json={"question": "Lindeth Arrow", "recipe": "bm25"}).json()["hits"]
    assert all(hit["document"] != one["id"] for hit in hits)


def test_documents_are_listed_in_pages(client: TestClient) -> None:
    whole = client.get("/api/documents").json()
    assert whole["total"] == len(FACTS)
    pages = [client.get("/api/documents", params={"start": start, "limit": 4}).json()["documents"] for start in (0, 4)]
    assert pages[0] + pages[1] == whole["documents"]
    assert [one["title"] for one in whole["documents"]] == sorted(FACTS)
    for wrong in ({"start": -1}, {"limit": 0}, {"limit": 5000}, {"title": "x" * 400}):
        assert client.get("/api/documents", params=wrong).status_code == 400


def test_documents_are_put_in_order_once_for_each_state(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    in_order: Callable[[Snapshot], Sequence[DocumentSummary]] = inspect.unwrap(workspaces._by_title)

    def counted(snapshot: Snapshot) -> Sequence[DocumentSummary]:
        made.append(len(snapshot.register))
        return in_order(snapshot)

    monkeypatch.setattr(workspaces, "_by_title", cached_per_snapshot(counted))
    for start in range(4):
        client.get("/api/documents", params={"start": start, "limit": 1, "title": "in" if start == 3 else ""})
    upload(client, ("Avocet.txt", b"The avocet wades."))
    assert titles(client) == {*FACTS, "Avocet"}
    assert made == [len(FACTS), len(FACTS) + 1]


def test_readers_go_on_while_a_job_works_and_then_see_all_of_it(app: FastAPI, client: TestClient) -> None:
    held = hold(app, "bittern")
    before = app.state.services.workspaces.get("north").corpus()
    job = client.post("/api/documents", json=texts("avocet", "bittern")).json()
    assert held.reached.wait(60)
    working = client.get(f"/api/jobs/{job['id']}").json()
    assert working["state"] == "indexing"
    assert [item["state"] for item in working["items"]] == ["done", "indexing"]
    assert {*FACTS, "avocet"} <= titles(client)
    during = app.state.services.workspaces.get("north").corpus()
    assert app.state.services.workspaces.get("north").corpus().snapshot is during.snapshot is not before.snapshot
    assert {entry.title for entry in before.snapshot.register.entries} == set(FACTS)
    held.go.set()
    assert ended(client, job)["state"] == "done"
    assert titles(client) == {*FACTS, "avocet", "bittern"}


def test_what_is_finished_when_a_job_is_stopped_stays_and_it_can_go_on(app: FastAPI, client: TestClient) -> None:
    held = hold(app, "crake")
    job = client.post("/api/documents", json=texts("avocet", "bittern", "crake", "dunlin", "egret")).json()
    assert held.reached.wait(60)
    assert client.post(f"/api/jobs/{job['id']}/resume").status_code == 409
    client.post(f"/api/jobs/{job['id']}/cancel")
    held.go.set()
    stopped = ended(client, job)
    assert stopped["state"] == "stopped"
    assert [item["state"] for item in stopped["items"]] == ["done", *["stopped"] * 4]
    assert {*FACTS, "avocet"} <= titles(client) <= {*FACTS, "avocet", "bittern", "crake"}
    client.post(f"/api/jobs/{job['id']}/resume")
    assert ended(client, job)["state"] == "done"
    assert titles(client) == {*FACTS, "avocet", "bittern", "crake", "dunlin", "egret"}
    assert client.post(f"/api/jobs/{job['id']}/resume").status_code == 409


def test_a_job_that_waits_can_be_stopped_too(app: FastAPI, client: TestClient) -> None:
    held = hold(app, "avocet")
    first = client.post("/api/documents", json=texts("avocet")).json()
    assert held.reached.wait(60)
    second = client.post("/api/documents", json=texts("bittern")).json()
    client.post(f"/api/jobs/{second['id']}/cancel")
    held.go.set()
    assert ended(client, first)["state"] == "done"
    assert ended(client, second)["state"] == "stopped"
    assert titles(client) == {*FACTS, "avocet"}
    assert [job["id"] for job in client.get("/api/jobs").json()["jobs"]] == [second["id"], first["id"]]


def test_another_writer_makes_a_job_fail_until_it_is_resumed(client: TestClient, tmp_path: Path) -> None:
    with writing_to(tmp_path / "north", HashingEncoder().identity):
        job = ended(client, client.post("/api/documents", json=texts("avocet")).json())
        assert (job["state"], job["error"]["code"]) == ("failed", "busy")
        assert str(tmp_path) not in json.dumps(job)
    client.post(f"/api/jobs/{job['id']}/resume")
    assert ended(client, job)["state"] == "done"


def test_what_another_process_commits_is_seen(client: TestClient, tmp_path: Path) -> None:
    assert "Dipper" not in titles(client)
    (tmp_path / "Dipper.txt").write_text("The dipper dives.", encoding="utf-8")
    index = Index(tmp_path / "north")
    index.encoder = HashingEncoder()
    index.add([tmp_path / "Dipper.txt"])
    time.sleep(1.1)
    assert "Dipper" in titles(client)
    (one,) = client.get("/api/documents", params={"title": "Dipper"}).json()["documents"]
    assert one["sources"] == ["Dipper.txt"]


def test_a_second_server_leaves_the_uploads_of_the_first_alone(make_app: MakeApp) -> None:
    app = make_app()
    held = hold(app, "bittern")
    with client_of(app) as client:
        job = client.post("/api/documents", json=texts("avocet", "bittern", "crake", "dunlin", "egret")).json()
        assert held.reached.wait(60)
        with client_of(make_app()) as other:
            app.state.services.jobs["north"].take_up()  # as at the start, when a request came before it
            busy = ended(other, other.post("/api/documents", json=texts("bittern")).json())
            assert (busy["state"], busy["error"]["code"]) == ("failed", "busy")
            assert len(other.get("/api/jobs").json()["jobs"]) == len(client.get("/api/jobs").json()["jobs"]) == 1
            held.go.set()
            done = ended(client, job)
            assert (done["state"], {item["state"] for item in done["items"]}) == ("done", {"done"}), done
            for _ in range(100):  # the first may still be sweeping
                other.post(f"/api/jobs/{busy['id']}/resume")
                if ended(other, busy)["state"] == "done":
                    break
                time.sleep(0.1)
            else:
                raise AssertionError("the second server was never let in")
        assert titles(client) == {*FACTS, "avocet", "bittern", "crake", "dunlin", "egret"}


@pytest.mark.parametrize(
    "body",
    [[], {}, [{}], [{"title": "", "text": "x"}], [{"title": "x"}], [{"title": "x", "text": 1}], texts("a") * 200],
)
def test_texts_are_checked(client: TestClient, body: Any) -> None:
    answer = client.post("/api/documents", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_valid")


def test_what_was_removed_is_gone_from_the_disk_although_the_server_reads_on(
    app: FastAPI, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if an earlier question keeps the old state open for a while."""
    monkeypatch.setattr("hoptrail.serving.server.jobs.SWEEP_SECONDS", 0.05)
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)
    (one,) = client.get("/api/documents", params={"title": "lindeth"}).json()["documents"]
    under_way = app.state.services.workspaces.get("north").corpus()
    ended(client, client.delete(f"/api/documents/{one['id']}").json())
    time.sleep(0.2)
    assert files_with(tmp_path / "north", b"river Arrow flows"), "a question under way keeps what it reads"
    assert [unit.title for unit in under_way.snapshot.units(Kind.PASSAGE) if unit.document == one["id"]] == ["Lindeth"]
    del under_way
    for _ in range(200):
        if not files_with(tmp_path / "north", b"river Arrow flows"):
            break
        time.sleep(0.02)
    assert not files_with(tmp_path / "north", b"river Arrow flows")
    assert (
        client.post("/api/ask", json={"question": "Who designed the Tallow Bridge?"}).json()["answer"] == "Orla Finch"
    )
    assert app.state.services.workspaces.get("north").index.verify() > 0


def test_while_another_reads_the_server_stays_warm_and_looks_ever_more_seldom(
    app: FastAPI, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.serving.server.jobs.SWEEP_SECONDS", 0.05)
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.01)
    served = app.state.services.workspaces.get("north")
    clean = served.index.clean
    looks: list[float] = []

    def noted() -> bool:
        looks.append(time.monotonic())
        return bool(clean())

    monkeypatch.setattr(served.index, "clean", noted)
    other = Snapshot.open(tmp_path / "north")
    (one,) = client.get("/api/documents", params={"title": "lindeth"}).json()["documents"]
    ended(client, client.delete(f"/api/documents/{one['id']}").json())
    while not looks:
        time.sleep(0.02)
    warm = served.corpus().snapshot
    while len(looks) < 6:
        time.sleep(0.02)
    gaps = [after - before for before, after in pairwise(looks)]
    assert all(gap >= 0.05 * 2**number for number, gap in enumerate(gaps)), gaps
    assert served.corpus().snapshot is warm, "nothing was committed"
    assert other.register.entries
    del other, warm
    for _ in range(400):
        if not files_with(tmp_path / "north", b"river Arrow flows"):
            break
        time.sleep(0.02)
    assert not files_with(tmp_path / "north", b"river Arrow flows")


@pytest.mark.parametrize("broken", ["clean", "language"])
def test_what_fails_after_a_job_keeps_no_later_job_from_being_done(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    failed = threading.Event()

    def fail(*_: Any) -> Any:
        failed.set()
        raise OSError(errno.EMFILE, "Too many open files: /home/someone")

    workspace = app.state.services.workspaces.get("north")
    monkeypatch.setattr(workspace.index if broken == "clean" else workspace, broken, fail)
    assert ended(client, client.post("/api/documents", json=texts("avocet")).json())["state"] == "done"
    assert failed.wait(60)
    assert ended(client, client.post("/api/documents", json=texts("bittern")).json())["state"] == "done"
    assert "workspace north could not be" in caplog.text
    assert "someone" not in caplog.text


def test_nothing_of_a_stopped_upload_is_visible_until_it_goes_on(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = app.state.services.workspaces.get("north").index
    add, looks = index.add, count()

    def stopped_midway(sources: Any, recipes: Any, watcher: Watcher, **options: Any) -> Any:
        return add(sources, recipes, replace(watcher, stopped=lambda: next(looks) >= 1), **options)

    monkeypatch.setattr(index, "add", stopped_midway)
    job = ended(client, client.post("/api/documents", json=texts("avocet")).json())
    assert job["state"] == "stopped"
    assert next(looks) > 1, "it was stopped while it was indexed"
    titles = [one["title"] for one in client.get("/api/documents").json()["documents"]]
    assert "avocet" not in titles
    monkeypatch.undo()
    assert ended(client, client.post(f"/api/jobs/{job['id']}/resume").json())["state"] == "done"
    assert client.get("/api/documents", params={"title": "avocet"}).json()["total"] == 1


def test_a_thread_that_died_is_followed_by_another(app: FastAPI, client: TestClient) -> None:
    dead = threading.Thread(target=lambda: None)
    dead.start()
    dead.join()
    app.state.services.jobs["north"]._thread = dead
    assert ended(client, client.post("/api/documents", json=texts("avocet")).json())["state"] == "done"


def test_a_workspace_that_cannot_be_made_ready_keeps_no_other_from_it(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(None, warm=True)
    warmed = threading.Event()

    def fail(_: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(app.state.services.workspaces.get("north"), "language", fail)
    monkeypatch.setattr(app.state.services.workspaces.get("south"), "warm", warmed.set)
    with client_of(app):
        assert warmed.wait(60)


def files_with(folder: Path, text: bytes) -> list[Path]:
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            if text in path.read_bytes():
                found.append(path)
    return found


def test_texts_keep_their_titles_and_whatever_is_in_them(client: TestClient) -> None:
    odd = ["Dr. No, v1.5", "either/or", "T" * 300, "<b>", "x.txt"]
    body = json.dumps([{"title": title, "text": f"No {number} is odd."} for number, title in enumerate(odd)])
    answer = client.post("/api/documents", content=body, headers={"Content-Type": "application/json"})
    job = ended(client, answer.json())
    assert [item["state"] for item in job["items"]] == ["done"] * len(odd), job
    assert titles(client) == {*FACTS, *odd}


def test_a_long_name_keeps_its_ending(client: TestClient) -> None:
    job = upload(client, ("x" * 500 + ".TXT", b"The ash was felled in Dorn."))
    assert job["items"][0]["name"] == "x" * 200 + ".txt"
    assert job["items"][0]["state"] == "done"


def test_an_upload_is_read_like_a_file_from_a_folder(client: TestClient, tmp_path: Path) -> None:
    notes = b"# Otters\n\n- They sleep in the reeds.\n- They fish at dusk.\n"
    files = {
        "README": b"Voles\n=====\n\nThe voles dig under the wall.\n",
        "README.Debian": b"The heron stands by the weir.\n",
        "README.gz": gzip.compress(b"The dipper nests behind the fall.\n"),
        "notes.MD": notes.replace(b"Otters", b"Martens"),
        "otters-2024-03-05.md.gz": gzip.compress(notes),
    }
    job = upload(client, *files.items())
    assert [item["state"] for item in job["items"]] == ["done"] * len(files), job
    served = [client.get(f"/api/documents/{item['documents'][0]}").json() for item in job["items"]]
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    read = [one for one in read_sources([folder]) if isinstance(one, Document)]
    assert [(one["title"], one["text"], one["sentences"]) for one in served] == [
        (one.title, one.text, list(one.sentence_ends))
        for one in sorted(read, key=lambda one: list(files).index(Path(one.sources[0]).name))
    ]


def test_what_was_doubtful_in_an_upload_is_told(client: TestClient) -> None:
    job = upload(client, ("café.txt", "Das Café liegt am Fluß, drei Häuser hinter der Brücke.".encode("cp1252")))
    (item,) = job["items"]
    assert item["notes"] == ["not UTF-8; read as cp1252, a guess from its bytes"]
    assert client.get(f"/api/documents/{item['documents'][0]}").json()["notes"] == item["notes"]


def test_an_upload_that_is_no_text_is_refused_and_a_damaged_one_named(client: TestClient) -> None:
    answer = client.post("/api/documents", files=[("files", ("photo", b"\x89PNG\r\n\x1a\n\x00\x00"))])
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "wrong_type")
    job = upload(client, ("notes.gz", b"\x1f\x8b broken"), ("plan.txt", b"The ash was felled in Dorn."))
    assert [item["state"] for item in job["items"]] == ["failed", "done"]
    assert "damaged gzip file" in job["items"][0]["reason"]


def test_a_file_in_another_field_is_not_lost_unsaid(client: TestClient) -> None:
    one, other = (("files", ("plan.txt", b"The ash was felled.")), ("file", ("list.txt", b"The elm stands.")))
    for files in ([one, other], [other]):
        answer = client.post("/api/documents", files=files)
        assert (answer.status_code, "another field than `files`" in answer.text) == (400, True), answer.text
    assert client.post("/api/documents", files=[one], data={"note": "from the archive"}).status_code == 202


def test_a_disk_that_refuses_is_told_without_its_path(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "north" / "uploads").write_text("in the way")
    answer = client.post("/api/documents", json=texts("avocet"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage")
    assert "uploads" not in answer.text
