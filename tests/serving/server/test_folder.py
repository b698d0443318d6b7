"""A folder that a server keeps in step with, and what it tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from hoptrail import Index, Settings
from hoptrail.index.syncing import IndexingReport
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import find_keys
from hoptrail.serving.server.workspaces import Workspace, watched_folder
from serving.server.served import client_of
from waiting import wait_until
from world import HashingEncoder

FULL, LIMITED = "full-key-0123456789", "limited-key-0123456789"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tern.txt").write_text("The Tern is a boat of the harbour.", encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"no PDF")
    (folder / "photo.jpg").write_bytes(b"GIF89a" + bytes(300))
    index = Index(tmp_path / "index", Settings(labels=("boats=*/tern*",)))
    index.encoder = HashingEncoder()
    return Workspace("main", index, ["bm25"])


@pytest.fixture
def client(workspace: Workspace, tmp_path: Path) -> Iterator[TestClient]:
    file = tmp_path / "keys"
    file.write_text(f"main {FULL}\nmain {LIMITED} boats\n", encoding="utf-8")
    with client_of(create_app([workspace], find_keys(["main"], file), warm=False), FULL) as opened:
        yield opened


def test_what_could_not_be_read_is_told_until_it_can_be(
    workspace: Workspace, client: TestClient, tmp_path: Path
) -> None:
    assert client.get("/api/show").json()["folder"] is None
    reports: list[IndexingReport] = []

    with watched_folder(workspace, tmp_path / "notes", reports.append):
        wait_until(lambda: reports)
        unread = client.get("/api/show").json()["folder"]["unread"]
        assert unread["total"] == 1
        assert unread["files"][0]["file"] == "broken.pdf"
        assert unread["files"][0]["reason"]
        assert (unread["left_out"], unread["files"][1]) == (
            1,
            {"file": "photo.jpg", "reason": "neither text nor of a known format", "left_out": True},
        )
        limited = client.get("/api/show", headers={"Authorization": f"Bearer {LIMITED}"}).json()
        assert limited["folder"] is None, "the key does not see that file"
        (tmp_path / "notes" / "broken.pdf").unlink()
        wait_until(lambda: len(reports) == 2)
        assert client.get("/api/show").json()["folder"] == {
            "unread": {"total": 0, "left_out": 1, "files": unread["files"][1:]}
        }
