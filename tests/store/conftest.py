"""Places for indexes: a folder, and addresses on object stores of two protocols."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import cloud_storage
from cloud_storage import CloudStorage
from hoptrail.store.place import Place
from object_store import FaultyStore, serving, use

BUCKETS = count()


@pytest.fixture(scope="session")
def object_store_server() -> Iterator[FaultyStore]:
    with serving() as store:
        yield store


@pytest.fixture
def object_store(object_store_server: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    """A running server that the environment names."""
    use(object_store_server, monkeypatch)
    object_store_server.requests.clear()
    return object_store_server


@pytest.fixture
def stored(object_store: FaultyStore) -> Place:
    """A place in a new bucket."""
    bucket = f"bucket-{next(BUCKETS)}"
    object_store.make_bucket(bucket)
    return Place.of(f"s3://{bucket}/the index")


@pytest.fixture(scope="session")
def cloud_storage_server() -> Iterator[FaultyStore]:
    with serving(CloudStorage()) as store:
        yield store


@pytest.fixture
def in_cloud(
    cloud_storage_server: FaultyStore, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """A place in a new bucket of a server that speaks Google's protocol."""
    for name, value in cloud_storage.environment(cloud_storage_server, tmp_path_factory.mktemp("account")).items():
        monkeypatch.setenv(name, value)
    return Place.of(f"gs://bucket-{next(BUCKETS)}/the index")


@pytest.fixture(params=["folder", "s3", "gs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place of each kind: what a test says of it holds for all."""
    if request.param == "folder":
        return Place.of(tmp_path)
    found: Place = request.getfixturevalue({"s3": "stored", "gs": "in_cloud"}[request.param])
    return found
