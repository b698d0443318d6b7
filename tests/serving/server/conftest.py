"""Two small indexes, their keys, and a client for the app that serves them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail import Index
from hoptrail.serving.server.keys import Keys, find_keys
from serving.server.listening import listening
from serving.server.served import NORTH, OPERATOR, SECRET, SOUTH, MakeApp, client_of, new_app
from world import FACTS, HashingEncoder


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a second app in the same process stands for a restarted server: what the first was doing has ended by then, however
    busy the machine is.
    """
    monkeypatch.setattr("hoptrail.serving.server.app.STOP_SECONDS", 60.0)


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


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text(
        f"# who sees what\nnorth {NORTH}\nsouth {SOUTH}\nnorth {OPERATOR}\nsouth {OPERATOR}\n", encoding="utf-8"
    )
    return find_keys(["north", "south"], file)


@pytest.fixture(scope="module")
def address(built: Path, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over both indexes, for clients that need a connection."""
    with listening(new_app(built, tmp_path_factory.mktemp("served"), keys)) as address:
        yield address


@pytest.fixture
def make_app(built: Path, tmp_path: Path) -> MakeApp:
    """`new_app` in a temporary folder; a second call is a second server over the same indexes."""
    return partial(new_app, built, tmp_path)


@pytest.fixture
def app(make_app: MakeApp, keys: Keys) -> FastAPI:
    return make_app(keys)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client with the key of the north."""
    with client_of(app, NORTH) as opened:
        yield opened
