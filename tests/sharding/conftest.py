"""A corpus in shards on an object store, and the same in one index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hoptrail.index import Index
from hoptrail.publishing.fetching import restore
from hoptrail.sharding.building import build_shards, shard_addresses
from hoptrail.sharding.scatter import LocalShards
from hoptrail.sharding.sharded_index import ShardedIndex
from publishing.conftest import address, bucket, server, store
from sharding.towns import write_towns
from world import HashingEncoder

__all__ = ["address", "bucket", "server", "store"]

COUNT = 4


@pytest.fixture(autouse=True)
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of hashed words, everywhere."""
    for module in ("models.encoder_factory", "sharding.building", "sharding.sharded_index"):
        monkeypatch.setattr(f"hoptrail.{module}.open_encoder", lambda *_: HashingEncoder())


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    return write_towns(tmp_path / "towns")


@pytest.fixture
def whole(towns: Path, tmp_path: Path) -> Index:
    """All documents in one index."""
    index = Index(tmp_path / "whole")
    index.add(towns, ["trail"])
    return index


@pytest.fixture
def sharded(towns: Path, address: str, tmp_path: Path) -> Iterator[ShardedIndex]:
    """The same documents in shards, fetched from their addresses."""
    build_shards([towns], address, COUNT, ["trail"])
    with closing(opened(address, COUNT, tmp_path / "shards")) as shards:
        yield ShardedIndex(shards)


def opened(address: str, count: int, folder: Path) -> LocalShards:
    """The shards at an address, fetched into a new folder."""
    for number, one in enumerate(shard_addresses(address, count)):
        restore(one, folder / str(number))
    return LocalShards([folder / str(number) for number in range(count)])
