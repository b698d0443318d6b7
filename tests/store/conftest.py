"""Places for indexes: a folder, and an address on an object store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

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


@pytest.fixture(params=["folder", "object store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place of either kind: what a test says of it holds for both."""
    if request.param == "folder":
        return Place.of(tmp_path)
    found: Place = request.getfixturevalue("stored")
    return found
