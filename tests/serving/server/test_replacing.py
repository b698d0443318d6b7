"""A new version of an upload: while it is indexed, or when its job is cancelled, discarded or killed, the old one is whole."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail import Index
from hoptrail.corpus.writer import Writer
from hoptrail.errors import Interrupted
from serving.server.processes import PATIENCE, forked, free_port, wait_for_server
from serving.server.processes import _serve as serve
from serving.server.served import MakeApp, client_of, ended, upload
from world import FACTS

Uploaded = tuple[str, bytes]


def text(version: str) -> Uploaded:
    return "report.md", f"# Report\n\nThe {version} barge belongs to Anna.".encode()


def lines(version: str) -> Uploaded:
    rows = [{"id": str(n), "title": f"line {n}", "text": f"Barge {n} is {version}."} for n in range(12)]
    return "barges.jsonl", "\n".join(json.dumps(row) for row in rows).encode()


KINDS = pytest.mark.parametrize("make", [text, lines])


def shown(client: TestClient, make: Callable[[str], Uploaded]) -> str:
    """The version that is there: each document once and found; fails unless there is exactly one."""
    documents = client.get("/api/documents", params={"limit": 100}).json()["documents"]
    documents = [one for one in documents if one["title"] not in FACTS]
    found = [client.get(f"/api/documents/{one['id']}").json()["text"] for one in documents]
    assert len(found) == (1 if make is text else 12), found
    versions = {version for version in ("uqxold", "uqxnew") if any(version in one for one in found)}
    assert len(versions) == 1
    [version] = versions
    assert all(version in one for one in found)
    for word in ("uqxold", "uqxnew"):
        hits = client.post("/api/search", json={"question": word, "recipe": "bm25", "limit": 50}).json()["hits"]
        assert bool([hit for hit in hits if word in hit["text"]]) == (word == version)
    return version


def at_step(monkeypatch: pytest.MonkeyPatch, wanted: int, act: Callable[[], object]) -> None:
    """Do something at a step of the next indexing, from 0."""
    checkpoint, steps = Writer.checkpoint, count()

    def acting(writer: Writer) -> None:
        if next(steps) == wanted:
            act()
        checkpoint(writer)

    monkeypatch.setattr(Writer, "checkpoint", acting)


@pytest.fixture
def app(make_app: MakeApp) -> FastAPI:
    return make_app()


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with client_of(app) as opened:
        yield opened


@KINDS
@pytest.mark.parametrize(("first", "then"), [(0, "discarded"), (3, "resumed")])
def test_wherever_a_job_is_cancelled_the_old_version_is_whole(
    app: FastAPI,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[str], Uploaded],
    first: int,
    then: str,
) -> None:
    upload(client, make("uqxold"))
    jobs = app.state.services.jobs["north"]
    for step in range(first, 100, 6):
        with monkeypatch.context() as patch:
            at_step(patch, step, lambda: jobs.cancel(jobs.all()[0].id))
            job = upload(client, make("uqxnew"))
        if job["state"] == "done":
            break
        assert job["state"] == "stopped"
        assert shown(client, make) == "uqxold"
        if then == "resumed":
            client.post(f"/api/jobs/{job['id']}/resume")
            assert ended(client, job)["state"] == "done"
            assert shown(client, make) == "uqxnew"
            upload(client, make("uqxold"))
        else:
            assert client.delete(f"/api/jobs/{job['id']}").status_code == 200
        assert shown(client, make) == "uqxold"
    assert step > 5
    assert shown(client, make) == "uqxnew"


@KINDS
def test_while_a_new_version_is_indexed_readers_have_the_old_one_alone(
    client: TestClient, make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, make: Callable[[str], Uploaded]
) -> None:
    upload(client, make("uqxold"))
    looks: list[str] = []
    with client_of(make_app()) as reader:
        checkpoint = Writer.checkpoint

        def looking(writer: Writer) -> None:
            looks.append(shown(reader, make))
            checkpoint(writer)

        monkeypatch.setattr(Writer, "checkpoint", looking)
        upload(client, make("uqxnew"))
        assert set(looks) == {"uqxold"}
        assert shown(client, make) == "uqxnew"


def test_a_damaged_new_version_leaves_the_old_one(client: TestClient) -> None:
    upload(client, text("uqxold"))
    job = upload(client, ("report.md", b"# Report\n\n\x00\x01\x02" * 200))
    assert [item["state"] for item in job["items"]] == ["failed"]
    assert shown(client, text) == "uqxold"


def test_damaged_lines_of_a_new_version_leave_their_old_documents(client: TestClient) -> None:
    upload(client, lines("uqxold"))
    name, content = lines("uqxnew")
    rows = content.split(b"\n")
    upload(client, (name, b"\n".join([rows[0], b'{"id": "1", "te', *rows[2:]])))
    documents = client.get("/api/documents", params={"title": "line", "limit": 100}).json()["documents"]
    found = [client.get(f"/api/documents/{one['id']}").json()["text"] for one in documents]
    assert sorted(found) == sorted(f"Barge {n} is {'uqxold' if n == 1 else 'uqxnew'}." for n in range(12))


def _serve_until(step: int, folder: Path, port: int) -> None:
    """A server that is killed at a step of indexing."""
    at_step(pytest.MonkeyPatch(), step, lambda: os.kill(os.getpid(), signal.SIGKILL))
    serve(folder, ["north"], port)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
@KINDS
@pytest.mark.parametrize("step", [0, 4])
def test_a_server_that_is_killed_while_it_replaces_loses_neither_version(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[str], Uploaded], step: int
) -> None:
    import httpx

    with client_of(make_app()) as client:
        upload(client, make("uqxold"))
    port = free_port()
    process = forked(_serve_until, step, tmp_path, port)
    wait_for_server(port, process.is_alive)
    answer = httpx.post(f"http://127.0.0.1:{port}/api/documents", files=[("files", make("uqxnew"))], timeout=PATIENCE)
    job = answer.json()
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL

    def stopped(*_: Any, **__: Any) -> None:
        raise Interrupted("stopped.")

    with monkeypatch.context() as patch, client_of(make_app()) as client:
        patch.setattr(Index, "add", stopped)
        assert ended(client, job)["state"] == "stopped"
        assert shown(client, make) == "uqxold"
        client.post(f"/api/jobs/{job['id']}/cancel")
    with client_of(make_app()) as client:
        assert ended(client, job)["state"] == "stopped"
        assert shown(client, make) == "uqxold"
        client.post(f"/api/jobs/{job['id']}/resume")
        assert ended(client, job)["state"] == "done"
        assert shown(client, make) == "uqxnew"
