"""Addresses in new buckets of a running server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import cloud_storage
from cloud_storage import CloudStorage
from object_store import FaultyStore, serving, use

BUCKETS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[FaultyStore]:
    with serving() as store:
        yield store


@pytest.fixture
def store(server: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    """A server that speaks S3, which the environment names."""
    use(server, monkeypatch)
    server.requests.clear()
    return server


@pytest.fixture
def bucket(store: FaultyStore) -> str:
    name = f"bucket-{next(BUCKETS)}"
    store.make_bucket(name)
    return name


@pytest.fixture
def address(bucket: str) -> str:
    return f"s3://{bucket}/the index"


@pytest.fixture(scope="session")
def cloud_server() -> Iterator[FaultyStore]:
    with serving(CloudStorage()) as store:
        yield store


@pytest.fixture(params=["s3", "gs"])
def any_address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An address of each protocol: what a test says of it holds for all."""
    if request.param == "s3":
        found: str = request.getfixturevalue("address")
        return found
    account = tmp_path / "account"
    account.mkdir()
    for name, value in cloud_storage.environment(request.getfixturevalue("cloud_server"), account).items():
        monkeypatch.setenv(name, value)
    return f"gs://bucket-{next(BUCKETS)}/the index"
