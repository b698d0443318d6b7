"""Two workspaces, each with its key, and a client for the app that serves them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail import Index, Settings
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import Keys, find_keys
from hoptrail.serving.server.limits import ServerLimits
from hoptrail.serving.server.workspaces import Workspace
from world import FACTS, HashingEncoder

NORTH, SOUTH = "north-key-0123456789", "south-key-9876543210"
QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
SECRET = "The zanzibar vault opens at noon."
"""Stands in a document of the south only."""

MakeApp = Callable[..., FastAPI]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexes `north` and `south` to copy from."""
    folder = tmp_path_factory.mktemp("built")
    for name, facts in {"north": FACTS, "south": {"Vault": SECRET}}.items():
        sources = folder / f"{name}-sources"
        sources.mkdir()
        for title, text in facts.items():
            (sources / f"{title}.txt").write_text(text, encoding="utf-8")
        index = Index(folder / name)
        index.encoder = HashingEncoder()
        index.add([sources])
    return folder


def workspace(name: str, folder: Path, settings: Settings | None = None) -> Workspace:
    index = Index(folder, settings)
    index.encoder = HashingEncoder()
    return Workspace(name, index)


def new_app(
    built: Path, folder: Path, keys: Keys | None = None, limits: ServerLimits | None = None, **more: Any
) -> FastAPI:
    """An app over copies of both indexes; `keys=None` serves them without."""
    for name in ("north", "south"):
        if not (folder / name).exists():
            shutil.copytree(built / name, folder / name)
    served = [workspace(name, folder / name) for name in ("north", "south")]
    return create_app(served, keys, limits=limits, **{"warm": False, **more})


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text(f"# who sees what\nnorth {NORTH}\nsouth {SOUTH}\n", encoding="utf-8")
    return find_keys(["north", "south"], file)


@pytest.fixture
def make_app(built: Path, tmp_path: Path) -> MakeApp:
    """`new_app` in a folder of its own; a second call is a second server over the same indexes."""
    return partial(new_app, built, tmp_path)


@pytest.fixture
def app(make_app: MakeApp, keys: Keys) -> FastAPI:
    return make_app(keys)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """Holds the key of the north."""
    with client_of(app, NORTH) as opened:
        yield opened


def client_of(app: FastAPI, key: str | None = None) -> TestClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return TestClient(app, base_url="http://localhost", headers=headers)


def ended(client: TestClient, job: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A job when it is over."""
    for _ in range(600):
        found: dict[str, Any] = client.get(f"/api/jobs/{job['id']}", **more).json()
        if found["state"] in {"done", "failed", "stopped"}:
            return found
        time.sleep(0.02)
    raise AssertionError(f"the job did not end: {found}")


def upload(client: TestClient, *files: tuple[str, bytes], **more: Any) -> dict[str, Any]:
    """The job of an upload, when it is over."""
    answer = client.post("/api/documents", files=[("files", file) for file in files], **more)
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json(), **more)
